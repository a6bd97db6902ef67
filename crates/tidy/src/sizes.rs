//! Rules for sizes: functions that fit a page, crates that stay one subject.
//!
//! What is counted is product code: test modules and test files do not count.

use std::collections::BTreeMap;

use crate::tree::{files, root, shown};

/// Lines from a function's head to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// The ones that were longer when this rule came. The list only shrinks.
const LONG_FUNCTIONS: [&str; 5] = [
    "crates/expression/src/build/in_list.rs in_list",
    "crates/expression/src/evaluate/arithmetic.rs arithmetic",
    "crates/expression/src/evaluate/cast.rs cast",
    "crates/expression/src/evaluate/cast_moment.rs to_moment",
    "crates/expression/src/text.rs fmt",
];

const CRATE_LINES_MAX: usize = 12_000;
/// One grammar, and one engine whose parts share pages, log and locks.
const LARGE_CRATES: [&str; 2] = ["engine", "parser"];

/// The product lines of each source file, by its path.
fn product_files() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("crates/ exists").flatten() {
        for path in files(&entry.path().join("src"), "rs") {
            let name = shown(&path);
            if name.ends_with("/tests.rs") || name.contains("/tests/") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("sources are UTF-8");
            found.push((name, without_test_modules(&text)));
        }
    }
    found
}

/// rustfmt closes a module with a brace below its first letter.
fn without_test_modules(text: &str) -> Vec<String> {
    let mut kept = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens = line.trim() == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.trim_start().starts_with("mod ") && next.ends_with('{'));
        if !opens {
            kept.push(line.to_string());
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        for inner in lines.by_ref() {
            if inner == end {
                break;
            }
        }
    }
    kept
}

/// The name of the function that a line begins.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(visible) = rest.strip_prefix("pub") {
        rest = match visible.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => visible,
        };
        rest = rest.strip_prefix(' ')?;
    }
    for word in ["const ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Each function's name and lines.
fn functions(lines: &[String]) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut begun: Option<(&str, usize, String)> = None;
    for (number, line) in lines.iter().enumerate() {
        if let Some(name) = function_name(line) {
            let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
            begun = Some((name, number, end));
        }
        if begun.as_ref().is_some_and(|(_, _, end)| line == end) {
            found.extend(begun.take().map(|(name, from, _)| (name, number - from + 1)));
        }
    }
    found
}

#[test]
fn functions_fit_a_page() {
    let mut known: Vec<&str> = LONG_FUNCTIONS.to_vec();
    for (path, lines) in product_files() {
        for (name, length) in functions(&lines).into_iter().filter(|(_, length)| *length > FUNCTION_LINES_MAX)
        {
            let shown = format!("{path} {name}");
            let count = known.len();
            known.retain(|old| *old != shown);
            let is_known = known.len() < count;
            assert!(is_known, "{shown}: {length} lines; give its steps names (at most {FUNCTION_LINES_MAX})");
        }
    }
    assert!(known.is_empty(), "no longer too long, take them from LONG_FUNCTIONS: {known:?}");
}

#[test]
fn crates_stay_one_subject() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (path, product) in product_files() {
        let name = path.split('/').nth(1).expect("crates/NAME/..");
        *lines.entry(name.to_string()).or_default() += product.len();
    }
    for (name, count) in lines {
        assert!(
            count <= CRATE_LINES_MAX || LARGE_CRATES.contains(&name.as_str()),
            "crates/{name}: {count} lines of product code; divide it (at most {CRATE_LINES_MAX})"
        );
    }
}
