//! Text that comes back: introducers, hexadecimal, and every golden query parsing to itself.
use super::*;
use crate::ast::{ExprKind, QueryBody, SelectItem, StatementKind};
use crate::{ParseOptions, parse};
use bumpalo::Bump;

fn with_first_item(text: &str, check: impl FnOnce(&Expr<'_>)) {
    let arena = Bump::new();
    let parsed = parse(text.as_bytes(), ParseOptions::default(), &arena).expect("it parses");
    let StatementKind::Query(query) = parsed.statement.kind else { panic!("a query") };
    let QueryBody::Select(select) = query.body else { panic!("a select") };
    let SelectItem::Expression { expr, .. } = &select.items[0] else { panic!("an expression") };
    check(expr);
}

#[test]
fn strings_get_the_introducer_that_is_asked_for() {
    with_first_item("SELECT concat('a', _latin1'b', N'c', x'41')", |expr| {
        let options = RestoreOptions { string_charset: Some("utf8mb4"), ..RestoreOptions::default() };
        assert_eq!(restore(expr, options).to_string(), "concat(_utf8mb4'a',_latin1'b',_utf8mb3'c',x'41')");
        assert_eq!(expr.to_string(), "concat('a',_latin1'b',_utf8mb3'c',x'41')");
    });
}

#[test]
fn strings_that_are_no_text_become_hexadecimal() {
    let arena = Bump::new();
    let parsed = parse(b"SELECT '\xFF\x01'", ParseOptions::default(), &arena).expect("it parses");
    let StatementKind::Query(query) = parsed.statement.kind else { panic!("a query") };
    assert_eq!(query.to_string(), "select x'ff01'");
}

#[test]
fn a_query_that_is_restored_parses_to_itself() {
    for file in ["expression.txt", "select.txt"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(file);
        let statements = std::fs::read_to_string(path).expect("the golden file is there");
        for statement in statements.lines().filter_map(|line| line.strip_prefix("> ")) {
            let arena = Bump::new();
            let options = ParseOptions { parameters: true, ..ParseOptions::default() };
            let parsed = parse(statement.as_bytes(), options, &arena).expect(statement);
            let StatementKind::Query(query) = parsed.statement.kind else { panic!("a query") };
            let text = query.to_string();
            let again =
                parse(text.as_bytes(), options, &arena).unwrap_or_else(|error| panic!("{text}: {error}"));
            let StatementKind::Query(again) = again.statement.kind else { panic!("a query") };
            assert_eq!(again.to_string(), text, "{statement}");
        }
    }
}

/// The recorded answers of MySQL; each parses, and is then written as before.
#[test]
fn resolved_expressions_are_written_as_mysql_keeps_them() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/resolved.txt");
    let text = std::fs::read_to_string(path).expect("the golden file is there");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let options = RestoreOptions { string_charset: Some("utf8mb4"), resolved: true, view: None };
    for pair in lines.chunks(2) {
        let [written, kept] = pair else { panic!("an expression has an answer") };
        let written = written.strip_prefix("> ").expect("an expression begins with its mark");
        for text in [written, kept] {
            with_first_item(&format!("SELECT {text}"), |expr| {
                assert_eq!(restore(expr, options).to_string(), *kept, "{written}");
            });
        }
    }
}

#[test]
fn spans_cover_the_expression_without_its_parentheses() {
    let text = "SELECT ((a + b) * c)";
    with_first_item(text, |expr| {
        assert_eq!(expr.span.of(text.as_bytes()), b"(a + b) * c");
        let ExprKind::Binary { left, .. } = expr.kind else { panic!("a product") };
        assert_eq!(left.span.of(text.as_bytes()), b"a + b");
    });
}
