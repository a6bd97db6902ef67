//! Which texts share a digest, which literals are found, and what they are bound to.
use super::*;
use crate::ast::{LiteralOrdinal, LiteralValue};
use crate::{LiteralUse, ParseOptions, SqlMode, parse};
use bumpalo::Bump;

const SEED: DigestSeed = DigestSeed(0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210);

fn digest_of(text: &str) -> Option<Digest> {
    digest(text.as_bytes(), SqlMode::default(), SEED, &mut DigestOutput::default())
}

fn literals_of(text: &str) -> Vec<(LiteralKind, String)> {
    let mut output = DigestOutput::default();
    digest(text.as_bytes(), SqlMode::default(), SEED, &mut output).expect("a digest");
    let text_of =
        |literal: &LiteralSpan| String::from_utf8_lossy(literal.span.of(text.as_bytes())).into_owned();
    output.literals.iter().map(|literal| (literal.kind, text_of(literal))).collect()
}

#[test]
fn only_literal_values_may_differ() {
    let same = [
        ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 234567"),
        ("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'it''s \\' more'"),
        ("INSERT INTO t VALUES (1, 'a', 2.50)", "INSERT INTO t VALUES (99, '', 7.25)"),
        ("SELECT 0x41, x'42', b'1', 1e5, N'x'", "SELECT 0x4243, x'', b'01', 2.5e-7, N'yy'"),
        ("SELECT a FROM t LIMIT 5", "SELECT a FROM t LIMIT 10"),
    ];
    for (first, second) in same {
        assert!(digest_of(first).is_some(), "{first}");
        assert_eq!(digest_of(first), digest_of(second), "{first} / {second}");
    }
}

#[test]
fn anything_else_makes_another_digest() {
    let base = "SELECT a FROM t WHERE b = 1";
    let others = [
        "SELECT a FROM t WHERE b = '1'",
        "SELECT a FROM t WHERE b = 1.0",
        "SELECT a FROM t WHERE b = 1e0",
        "SELECT a FROM t WHERE b = 0x1",
        "SELECT a FROM t WHERE b = 9223372036854775808",
        "SELECT a FROM t WHERE b = -1",
        "SELECT a FROM t WHERE b = 1 ",
        "SELECT a FROM t WHERE b  = 1",
        "SELECT A FROM t WHERE b = 1",
        "SELECT a FROM t WHERE b = 1;",
        "SELECT a FROM t WHERE b = @1",
        "SELECT a FROM t WHERE b = t1",
        "SELECT a FROM t WHERE b = 1 1",
        "SELECT a FROM t WHERE b = ''",
    ];
    for other in others {
        assert!(digest_of(other).is_some(), "{other}");
        assert_ne!(digest_of(base), digest_of(other), "{other}");
    }
    assert_ne!(digest_of("SELECT 1.5"), digest_of("SELECT 1.55"), "the scale is part of a decimal's type");
    assert_ne!(digest_of("SELECT 1, 'a'"), digest_of("SELECT 'a', 1"));
    let other_seed =
        digest(base.as_bytes(), SqlMode::default(), DigestSeed(1, 2), &mut DigestOutput::default());
    assert_ne!(digest_of(base), other_seed);
}

#[test]
fn some_texts_have_no_digest() {
    for text in [
        "SELECT 1; SELECT 2",
        "SELECT /*! 1 */ 2",
        "SELECT /*+ hint */ 1",
        "SELECT 'abc",
        "SELECT `abc",
        "SELECT /* abc",
        "SELECT @'abc",
        "SELECT x'41",
    ] {
        assert_eq!(digest_of(text), None, "{text}");
    }
    assert!(digest_of("SELECT 1;  \n").is_some());
}

#[test]
fn literals_are_found_in_order() {
    use LiteralKind::*;
    let text = "SELECT t1.2b, `3`, 4, @5, @'6', @`7`, @@v8, '9' /* 10 */, x'11' -- 12\n, .13, 1e4, 15a, 0x16, 0b1, 0bx, \
                N'17', \"18\", a.19, 'a''b', 18446744073709551616 # 20";
    let expected = [
        (Integer, "4"),
        (String, "'9'"),
        (Hex, "x'11'"),
        (Decimal, ".13"),
        (Float, "1e4"),
        (Hex, "0x16"),
        (Bit, "0b1"),
        (NationalString, "N'17'"),
        (String, "\"18\""),
        (String, "'a''b'"),
        (Decimal, "18446744073709551616"),
    ];
    let found = literals_of(text);
    let found: Vec<_> = found.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_sql_mode_decides_what_is_a_string() {
    let mut output = DigestOutput::default();
    let ansi = SqlMode { ansi_quotes: true, ..SqlMode::default() };
    digest(b"SELECT \"a\", 'b'", ansi, SEED, &mut output).expect("a digest");
    assert_eq!(output.literals.len(), 1);
    let plain = SqlMode { no_backslash_escapes: true, ..SqlMode::default() };
    digest(b"SELECT 'a\\', 'b'", plain, SEED, &mut output).expect("a digest");
    assert_eq!(output.literals.len(), 2);
}

#[test]
fn bound_values_are_those_of_the_parser() {
    let text = "SELECT 1, 18446744073709551615, 1.50, 2e3, 'a\\n''b', \"c\", N'd', x'4142', 0x142, b'1', 0b101000001, ''";
    let arena = Bump::new();
    let mut output = DigestOutput::default();
    digest(text.as_bytes(), SqlMode::default(), SEED, &mut output).expect("a digest");
    let parsed = parse(text.as_bytes(), ParseOptions::default(), &arena).expect("it parses");
    let crate::ast::StatementKind::Query(query) = parsed.statement.kind else { panic!("a query") };
    let crate::ast::QueryBody::Select(select) = query.body else { panic!("a select") };
    assert_eq!(select.items.len(), output.literals.len());
    assert_eq!(parsed.literal_count as usize, output.literals.len());
    for (index, (item, span)) in select.items.iter().zip(&output.literals).enumerate() {
        let crate::ast::SelectItem::Expression { expr, .. } = item else { panic!("an expression") };
        let crate::ast::ExprKind::Literal(literal) = expr.kind else { panic!("a literal") };
        assert_eq!(literal.ordinal, LiteralOrdinal(index as u32));
        let bound = span.value(text.as_bytes(), SqlMode::default(), &arena).expect("a value");
        assert_eq!(bound, literal.value);
    }
}

#[test]
fn malformed_literals_have_no_value() {
    for text in ["SELECT x'4'", "SELECT x'4g'", "SELECT b'2'"] {
        let arena = Bump::new();
        let mut output = DigestOutput::default();
        digest(text.as_bytes(), SqlMode::default(), SEED, &mut output).expect("a digest");
        assert_eq!(output.literals[0].value(text.as_bytes(), SqlMode::default(), &arena), None, "{text}");
    }
}

#[test]
fn strings_borrow_from_the_text_when_they_can() {
    let text = b"SELECT 'plain'".as_slice();
    let arena = Bump::new();
    let mut output = DigestOutput::default();
    digest(text, SqlMode::default(), SEED, &mut output).expect("a digest");
    let value = output.literals[0].value(text, SqlMode::default(), &arena);
    let Some(LiteralValue::String { bytes, .. }) = value else { panic!("a string") };
    assert!(text.as_ptr_range().contains(&bytes.as_ptr()));
    assert_eq!(arena.allocated_bytes(), 0);
}

#[test]
fn texts_tell_whether_their_plans_can_be_shared() {
    let shareable = [
        "SELECT c FROM sbtest1 WHERE id = 5",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5 AND 9",
        "SELECT DISTINCT c FROM t WHERE a IN (1, 2) AND b LIKE 'x%' ORDER BY c LIMIT 10",
        "INSERT INTO t (a, b) VALUES (1, 'x') ON DUPLICATE KEY UPDATE b = 'y'",
        "UPDATE t SET a = a + 1, b = 'x' WHERE id = 5 LIMIT 1",
        "DELETE FROM t WHERE a = 5 AND b > NOW() - INTERVAL 1 DAY",
        "SELECT a FROM t ORDER BY a + 1",
    ];
    for text in shareable {
        let arena = Bump::new();
        let parsed = parse(text.as_bytes(), ParseOptions::default(), &arena).expect(text);
        assert!(parsed.literal_use.is_shareable(), "{text}: {:?}", parsed.literal_use);
    }
    let others = [
        ("SELECT 1", LiteralUse { in_select_list: true, ..LiteralUse::default() }),
        (
            "SELECT a FROM (SELECT b + 1 AS a FROM t) x",
            LiteralUse { in_select_list: true, ..LiteralUse::default() },
        ),
        ("SELECT a FROM t ORDER BY 1", LiteralUse { ordinal: true, ..LiteralUse::default() }),
        ("SELECT a FROM t GROUP BY 1", LiteralUse { ordinal: true, ..LiteralUse::default() }),
        ("SELECT a AS 'x' FROM t", LiteralUse { structural: true, ..LiteralUse::default() }),
        ("SELECT CAST(a AS CHAR(5)) FROM t", LiteralUse { structural: true, ..LiteralUse::default() }),
        ("SELECT a FROM t WHERE b = 'x' 'y'", LiteralUse { structural: true, ..LiteralUse::default() }),
        (
            "SELECT a FROM t WHERE b = DATE '2024-01-01'",
            LiteralUse { structural: true, ..LiteralUse::default() },
        ),
        (
            "SELECT a FROM t WHERE b = {ts '2024-01-01'}",
            LiteralUse { structural: true, ..LiteralUse::default() },
        ),
        ("SELECT a FROM t WHERE b->'$.x' = c", LiteralUse { structural: true, ..LiteralUse::default() }),
        ("CREATE TABLE t (a CHAR(5))", LiteralUse { structural: true, ..LiteralUse::default() }),
    ];
    for (text, expected) in others {
        let arena = Bump::new();
        let parsed = parse(text.as_bytes(), ParseOptions::default(), &arena).expect(text);
        assert_eq!(parsed.literal_use, expected, "{text}");
    }
}
