//! Dependencies point one way: a crate uses only crates that stand before it in the workspace manifest,
//! and only the crates named here may contain unsafe code.

use crate::tree::root;

/// The order of `[workspace.dependencies]` in the root manifest is the order of the layers.
fn layers() -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the root has a manifest");
    let ours = manifest.lines().filter(|line| line.contains("path = \"crates/"));
    ours.map(|line| line.split(' ').next().expect("a line has a first word").to_string()).collect()
}

fn dependencies(crate_name: &str) -> Vec<String> {
    let path = root().join("crates").join(crate_name).join("Cargo.toml");
    let manifest = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{} is missing", path.display()));
    let mut section = "";
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]" && line.contains(".workspace") {
            names.push(line.split('.').next().expect("split gives one part").to_string());
        }
    }
    names
}

#[test]
fn dependencies_point_down() {
    let layers = layers();
    assert!(layers.len() > 10, "the root manifest lists the layers");
    for (rank, name) in layers.iter().enumerate() {
        for used in dependencies(name) {
            if let Some(used_rank) = layers.iter().position(|layer| *layer == used) {
                assert!(
                    used_rank < rank,
                    "crates/{name} uses crates/{used}, which stands above it; put a trait into the lower crate instead"
                );
            }
        }
    }
}

#[test]
fn every_crate_is_on_the_map() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md exists");
    for entry in std::fs::read_dir(root().join("crates")).expect("crates/ exists").flatten() {
        let name = entry.file_name().into_string().expect("crate folders have plain names");
        assert!(map.contains(&format!("| `{name}` |")), "crates/{name} has no row in ARCHITECTURE.md");
    }
}

#[test]
fn unsafe_code_stays_in_its_places() {
    for entry in std::fs::read_dir(root().join("crates")).expect("crates/ exists").flatten() {
        let name = entry.file_name().into_string().expect("crate folders have plain names");
        if ["env", "buffer"].contains(&name.as_str()) {
            continue;
        }
        let library = entry.path().join("src/lib.rs");
        let text = std::fs::read_to_string(&library).expect("a crate has a library");
        assert!(
            text.contains("#![forbid(unsafe_code)]"),
            "crates/{name}/src/lib.rs does not forbid unsafe code"
        );
    }
}
