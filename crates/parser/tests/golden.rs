//! Golden files: every statement of `testdata` with what it parses to, one file for each family.
//!
//! A line that begins with `>` is a statement, the lines after it are what is expected. `UPDATE_GOLDEN=1 cargo test
//! -p parser --test golden` writes what the parser says now; read the difference before it is committed.
use bumpalo::Bump;
use parser::ast::StatementKind;
use parser::{ParseOptions, parse};
use std::path::PathBuf;

fn describe(statement: &str) -> String {
    let arena = Bump::new();
    let options = ParseOptions { parameters: statement.contains("LIMIT ?"), ..ParseOptions::default() };
    match parse(statement.as_bytes(), options, &arena) {
        Ok(parsed) => match parsed.statement.kind {
            StatementKind::Query(query) if query.into.is_none() => format!("{query}\n"),
            StatementKind::Query(query) => format!("{query}\n{:?}\n", query.into),
            kind => format!("{kind:?}\n"),
        },
        Err(error) => format!("{error}\n"),
    }
}

fn check(name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    let expected = std::fs::read_to_string(&path).expect("the golden file is there");
    let mut actual = String::new();
    for statement in expected.lines().filter_map(|line| line.strip_prefix('>')) {
        let statement = statement.trim_start();
        actual += format!("> {statement}").trim_end();
        actual += "\n";
        actual += &describe(statement);
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).expect("the golden file can be written");
        return;
    }
    for (line, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "{name}:{}", line + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count(), "{name}");
}

macro_rules! golden {
    ($($test:ident $file:literal)*) => {
        $(#[test]
        fn $test() {
            check($file);
        })*
    };
}

golden! {
    expressions "expression.txt"
    selects "select.txt"
    data_changes "dml.txt"
    definitions "ddl.txt"
    sessions "session.txt"
    shows "show.txt"
    accounts "account.txt"
    administration "admin.txt"
    dumps "dump.txt"
    errors "error.txt"
    programs "program.txt"
}
