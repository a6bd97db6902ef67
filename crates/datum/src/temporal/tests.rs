//! Parsing, printing and calendar arithmetic with results as MySQL 9.7 gives them.
use super::*;
use crate::TimeZone;

fn datetime(text: &str) -> Option<String> {
    DateTime::parse(text.as_bytes(), false).map(|parsed| shown(parsed.value))
}

fn shown(value: DateTime) -> String {
    let mut out = Vec::new();
    value.write_text(if value.micros() == 0 { 0 } else { 6 }, &mut out);
    String::from_utf8(out).expect("ASCII")
}

fn time(text: &str) -> Option<(String, bool)> {
    Time::parse(text.as_bytes()).map(|parsed| {
        let mut out = Vec::new();
        parsed.value.write_text(if parsed.value.micros() == 0 { 0 } else { 6 }, &mut out);
        (String::from_utf8(out).expect("ASCII"), parsed.truncated)
    })
}

fn date(text: &str) -> Date {
    Date::parse(text.as_bytes(), false).expect("a date").value
}

#[test]
fn relaxed_datetime_literals() {
    for (text, expected) in [
        ("2024-02-29 12:30:45", "2024-02-29 12:30:45"),
        ("2024^02@29 12+30", "2024-02-29 12:30:00"),
        ("20240229123045", "2024-02-29 12:30:45"),
        ("240229", "2024-02-29 00:00:00"),
        ("20240229", "2024-02-29 00:00:00"),
        ("2024-2-9 1:2:3", "2024-02-09 01:02:03"),
        ("2024-02-29T12:30:45.1234567", "2024-02-29 12:30:45.123457"),
        ("2024-12-31 23:59:59.9999999", "2025-01-01 00:00:00"),
        ("70-01-01", "1970-01-01 00:00:00"),
        ("69-12-31", "2069-12-31 00:00:00"),
        ("0000-00-00", "0000-00-00 00:00:00"),
        ("2024-00-10", "2024-00-10 00:00:00"),
        ("2024-02-29 12:30:45+02:00", "2024-02-29 12:30:45"),
    ] {
        assert_eq!(datetime(text).as_deref(), Some(expected), "{text}");
    }
    for text in ["", "abc", "2023-02-29", "2024-13-01", "2024-01-32", "2024-01-01 25:00:00", "x2024-01-01"] {
        assert_eq!(datetime(text), None, "{text}");
    }
    let parsed = DateTime::parse(b"2024-01-01x", false).expect("a date and rubbish");
    assert!(parsed.truncated);
    assert!(DateTime::parse(b"2023-02-31", true).is_some());
}

#[test]
fn times() {
    for (text, expected, truncated) in [
        ("12:34:56", "12:34:56", false),
        ("-12:34:56.5", "-12:34:56.500000", false),
        ("1 10:11:12", "34:11:12", false),
        ("11:12", "11:12:00", false),
        ("1112", "00:11:12", false),
        ("12", "00:00:12", false),
        ("850:00:00", "838:59:59", true),
        ("-850:00:00", "-838:59:59", true),
        ("2024-01-01 10:11:12", "10:11:12", false),
        ("101112", "10:11:12", false),
        ("10:11:12x", "10:11:12", true),
    ] {
        assert_eq!(time(text), Some((expected.to_string(), truncated)), "{text}");
    }
    assert_eq!(time("10:61:00"), None);
    assert_eq!(time("x"), None);
}

#[test]
fn numbers() {
    assert_eq!(DateTime::from_number(20_240_229, false).map(shown).as_deref(), Some("2024-02-29 00:00:00"));
    assert_eq!(DateTime::from_number(700_101, false).map(shown).as_deref(), Some("1970-01-01 00:00:00"));
    assert_eq!(
        DateTime::from_number(20_240_229_010_203, false).map(shown).as_deref(),
        Some("2024-02-29 01:02:03")
    );
    assert_eq!(DateTime::from_number(700_100, false), None);
    assert_eq!(Time::from_number(-123_456).map(|parsed| parsed.value.to_number()), Some(-123_456));
    assert_eq!(Time::from_number(9_000_000), None);
    assert_eq!(Time::from_number(1260), None);
}

#[test]
fn day_numbers_agree_both_ways() {
    assert_eq!(date("1970-01-01").day_number(), 719_528);
    assert_eq!(date("2008-10-07").day_number(), 733_687);
    assert_eq!(date("0000-01-01").day_number(), 1);
    for number in (366..=3_652_424).step_by(97).chain([366, 3_652_424]) {
        let date = Date::from_day_number(number).expect("in range");
        assert_eq!(date.day_number(), number);
        assert_eq!(Date::new(date.year(), date.month(), date.day()), Some(date));
    }
    assert_eq!(Date::from_day_number(3_652_425), None);
    assert_eq!(date("2024-03-01").weekday(), 4);
    assert_eq!(date("2024-12-31").day_of_year(), 366);
}

#[test]
fn arithmetic() {
    assert_eq!(date("2024-01-31").add_months(1), Some(date("2024-02-29")));
    assert_eq!(date("2024-01-31").add_months(-2), Some(date("2023-11-30")));
    assert_eq!(date("9999-12-31").add_days(1), None);
    let end = DateTime::parse(b"2024-12-31 23:59:59", false).expect("valid").value;
    assert_eq!(end.add_micros(1_000_000).map(shown).as_deref(), Some("2025-01-01 00:00:00"));
    let fine = DateTime::parse(b"2024-12-31 23:59:59.9996", false).expect("valid").value;
    assert_eq!(fine.rounded(3).map(shown).as_deref(), Some("2025-01-01 00:00:00"));
    assert_eq!(shown(fine.truncated(0)), "2024-12-31 23:59:59");
}

#[test]
fn weeks_by_mode() {
    // Each row: WEEK(date, 0) to WEEK(date, 7).
    for (text, weeks) in [
        ("2008-02-20", [7, 8, 7, 8, 8, 7, 8, 7]),
        ("2000-01-01", [0, 0, 52, 52, 0, 0, 52, 52]),
        ("2008-12-31", [52, 53, 52, 1, 53, 52, 53, 52]),
        ("2024-12-30", [52, 53, 52, 1, 53, 53, 1, 53]),
        ("2023-01-01", [1, 0, 1, 52, 1, 0, 1, 52]),
    ] {
        let found: Vec<u32> = (0..8).map(|mode| date(text).week(mode).1).collect();
        assert_eq!(found, weeks, "{text}");
    }
    assert_eq!(date("1987-01-01").week(2), (1986, 52));
}

#[test]
fn packed_numbers_order_as_moments() {
    let early = DateTime::parse(b"2024-01-31 23:59:59.999999", false).expect("valid").value;
    let late = DateTime::parse(b"2024-02-01", false).expect("valid").value;
    assert!(early < late);
    assert_eq!(DateTime::from_packed(early.to_packed()), Some(early));
    assert_eq!(DateTime::from_packed(u64::MAX), None);
    assert_eq!(Date::from_packed(u32::MAX), None);
}

#[test]
fn zones() {
    let berlin = TimeZone::parse("+02:00").expect("an offset");
    let local = DateTime::parse(b"2024-06-01 12:00:00", false).expect("valid").value;
    let instant = Timestamp::from_zone(local, &berlin).expect("in range");
    assert_eq!(shown(instant.in_zone(&TimeZone::utc())), "2024-06-01 10:00:00");
    assert_eq!(instant.in_zone(&berlin), local);
    assert_eq!(TimeZone::parse("-1:30").map(|zone| zone.name().to_string()).as_deref(), Some("-01:30"));
    for wrong in ["+15:00", "-14:00", "+1", "+aa:bb", "Mars/Base", ""] {
        assert_eq!(TimeZone::parse(wrong), None, "{wrong}");
    }
    assert_eq!(Timestamp::from_unix_micros(i64::MAX), None);
    assert_eq!(Timestamp::from_unix_micros(-1), None);
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, number: i64) {
        let _ = (DateTime::parse(&bytes, false), Time::parse(&bytes), Date::parse(&bytes, true));
        let _ = (DateTime::from_number(number, true), Time::from_number(number));
    }

    #[test]
    fn what_looks_like_a_date_does_not_panic(text in "[0-9:. T+-]{0,30}") {
        let _ = (DateTime::parse(text.as_bytes(), false), Time::parse(text.as_bytes()));
    }
}
