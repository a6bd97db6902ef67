//! The names of result columns, as MySQL makes them from the text.
use bumpalo::Bump;
use parser::ast::{QueryBody, SelectItem, StatementKind};
use parser::{ParseOptions, parse};

fn names_of(text: &str) -> Vec<String> {
    let arena = Bump::new();
    let parsed = parse(text.as_bytes(), ParseOptions::default(), &arena).expect(text);
    let StatementKind::Query(query) = parsed.statement.kind else { panic!("a query") };
    let QueryBody::Select(select) = query.body else { panic!("a select") };
    let name_of = |item: &SelectItem<'_>| match item {
        SelectItem::Expression { name, .. } => (*name).to_owned(),
        other => format!("{other:?}"),
    };
    select.items.iter().map(name_of).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(names_of(text), expected, "{text}");
}

#[test]
fn an_alias_is_the_name() {
    check("SELECT 1 AS a, 2 b, 3 'c d', 4 AS `e``f`, 5 AS \"g\"", &["a", "b", "c d", "e`f", "g"]);
}

#[test]
fn a_column_gives_its_own_name() {
    check("SELECT a, t.b, d.t.`C c`, (d) FROM t", &["a", "b", "C c", "d"]);
}

#[test]
fn an_expression_gives_its_text() {
    check(
        "SELECT 1+1, a  +  b, COUNT( * ), (1 + 2), -5, @x, @@version FROM t",
        &["1+1", "a  +  b", "COUNT( * )", "(1 + 2)", "-5", "@x", "@@version"],
    );
    check(
        "SELECT CASE WHEN a THEN 'x' END, (SELECT 1), NOW() FROM t",
        &["CASE WHEN a THEN 'x' END", "(SELECT 1)", "NOW()"],
    );
}

#[test]
fn literals_give_their_value() {
    check(
        "SELECT 'abc', 'it''s', '  x y', 'a' 'b', 'q\\nr' \"s\", ''",
        &["abc", "it's", "x y", "a", "q\nr", ""],
    );
    check(
        "SELECT 12, 1.50, 1e3, 0x41, NULL, TRUE, False, null",
        &["12", "1.50", "1e3", "0x41", "NULL", "TRUE", "FALSE", "NULL"],
    );
}

#[test]
fn a_long_text_is_cut_inside_no_character() {
    let text = format!("SELECT concat('{}')", "é".repeat(200));
    let names = names_of(&text);
    assert!(names[0].len() <= 256 && names[0].len() > 250);
    assert!(names[0].starts_with("concat('éé"));
}
