//! Documents as MySQL 9.7 reads, shows and compares them.
use super::*;

#[test]
fn normal_form() {
    for (text, expected) in [
        (r#"{"b":1, "aa":[1,2 ,3.0,"x"], "a":null}"#, r#"{"a": null, "b": 1, "aa": [1, 2, 3.0, "x"]}"#),
        ("1e2", "100.0"),
        ("  5 ", "5"),
        ("-0", "0"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e19"),
        (r#""a\u0041\n\ud83d\ude00""#, "\"aA\\n\u{1f600}\""),
        (r#"{"a":1,"a":2}"#, r#"{"a": 2}"#),
        ("[]", "[]"),
    ] {
        assert_eq!(normalize_json(text.as_bytes()).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn errors_have_positions() {
    for (text, reason, position) in [
        ("abc", "Invalid value.", 0),
        ("not json", "Invalid value.", 1),
        ("nul", "Invalid value.", 3),
        ("-", "Invalid value.", 1),
        ("12abc", "The document root must not be followed by other values.", 2),
        ("01", "The document root must not be followed by other values.", 1),
        ("", "The document is empty.", 0),
        ("   ", "The document is empty.", 3),
        ("{\"a\":1", "Missing a comma or '}' after an object member.", 6),
        ("{\"a\"", "Missing a colon after a name of object member.", 4),
        ("{a:1}", "Missing a name for object member.", 1),
        ("[1,2", "Missing a comma or ']' after an array element.", 4),
        ("\"abc", "Missing a closing quotation mark in string.", 4),
        ("\"a\\qc\"", "Invalid escape character in string.", 2),
        ("\"a\\u12\"", "Incorrect hex digit after \\u escape in string.", 2),
        ("\"a\\ud800x\"", "The surrogate pair in string is invalid.", 2),
        ("\"a\nb\"", "Invalid encoding in string.", 2),
        ("1.", "Miss fraction part in number.", 2),
        ("1e", "Miss exponent in number.", 2),
        ("1e400", "Number too big to be stored in double.", 0),
        ("\u{1}5", "Invalid value.", 0),
    ] {
        assert_eq!(normalize_json(text.as_bytes()), Err(InvalidJson { reason, position }), "{text}");
    }
    assert!(normalize_json("[".repeat(100_000).as_bytes()).unwrap_err().is_too_deep());
}

#[test]
fn kinds_beyond_json_survive_being_stored() {
    let decimal = Decimal::parse_prefix(b"1.50").value;
    let date = Date::new(2024, 1, 2).unwrap();
    let document = Json::Array(vec![
        Json::UInt(5),
        Json::Decimal(decimal),
        Json::Date(date),
        Json::Time(Time::new(true, 1, 2, 3, 450_000).unwrap()),
        Json::DateTime(date.at_midnight()),
        Json::Opaque(opaque::VARBINARY, b"abc".to_vec()),
        Json::Opaque(opaque::BLOB, vec![0; 100]),
    ]);
    let text = json_text(&document);
    assert_eq!(read_json(&text), document);
    assert!(json_shown(&text).starts_with(
        r#"[5, 1.50, "2024-01-02", "-01:02:03.450000", "2024-01-02 00:00:00.000000", "base64:type15:YWJj", "base64:"#
    ));
    assert_eq!(json_shown(&text), json_shown_text(&document));
}

#[test]
fn documents_in_order() {
    let ordered = [
        "null",
        "-1",
        "1.5",
        "9007199254740992.0",
        "9007199254740993",
        "\"a\"",
        "{}",
        r#"{"aa": 1}"#,
        "{\"b\": 2}",
        r#"{"a": 1, "b": 2}"#,
        r#"{"a": 1, "c": 2}"#,
        r#"{"a": 3, "b": 2}"#,
        "[]",
        "[1]",
        "[1, 2]",
        "[2]",
        "false",
        "true",
        "\u{3}\"2024-01-01\"",
        "\u{4}\"-01:00:00.000000\"",
        "\u{4}\"01:00:00.000000\"",
    ];
    for pair in ordered.windows(2) {
        let ordering = compare_documents(&read_json(pair[0]), &read_json(pair[1]));
        assert!(ordering.is_lt(), "{pair:?}");
        assert_ne!(json_key(pair[0]), json_key(pair[1]));
    }
    for (left, right) in [("1", "1.0"), ("[1.5]", "[\u{2}1.50]"), ("\u{1}7", "7"), ("0", "-0.0")] {
        assert!(compare_documents(&read_json(left), &read_json(right)).is_eq(), "{left} {right}");
        assert_eq!(json_key(left), json_key(right));
    }
}
