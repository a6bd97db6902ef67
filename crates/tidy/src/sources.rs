//! Rules for source files: each opens with what it is, none grows beyond reading, and none holds leftovers.

use crate::tree::{files, root, shown};

/// A file beyond this is several ideas. Generated tables carry the word `@generated` in their first lines.
const LINES_MAX: usize = 800;

fn sources() -> Vec<(String, String)> {
    let paths = files(&root().join("crates"), "rs").into_iter().chain(files(&root().join("fuzz"), "rs"));
    paths.map(|path| (shown(&path), std::fs::read_to_string(&path).expect("sources are UTF-8"))).collect()
}

fn is_generated(text: &str) -> bool {
    text.lines().take(5).any(|line| line.contains("@generated"))
}

#[test]
fn every_file_says_what_it_is() {
    for (path, text) in sources() {
        assert!(text.starts_with("//!"), "{path}:1: the first line is `//!` and says what the file is");
    }
}

#[test]
fn no_file_is_too_long() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(
            is_generated(&text) || lines <= LINES_MAX,
            "{path}: {lines} lines; split it (at most {LINES_MAX})"
        );
    }
}

#[test]
fn no_leftovers() {
    // Written in two parts so that this file does not match itself.
    let banned = [
        concat!("FIX", "ME"),
        concat!("dbg", "!("),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ig", "nore]"),
    ];
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            for word in banned {
                assert!(
                    !line.contains(word),
                    "{path}:{}: {word} does not belong on the main branch",
                    number + 1
                );
            }
        }
    }
}
