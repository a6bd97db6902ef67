//! Every line of `testdata/store.tsv` was recorded from MySQL 9.7: column type, assigned expression, outcome.
use std::sync::Arc;

use collation::CollationId;

use super::*;
use crate::error::Severity;
use crate::sql_mode::SqlMode;
use crate::time_zone::TimeZone;

fn column(name: &str) -> ColumnType {
    let text = CollationId::UTF8MB4_0900_AI_CI;
    let members = |names: &[&str]| -> crate::Members {
        names.iter().map(|name| Box::from(name.as_bytes())).collect::<Vec<Box<[u8]>>>().into()
    };
    let of = ColumnType::new;
    match name {
        "int" => ColumnType::int(),
        "tinyint unsigned" => ColumnType { unsigned: true, ..of(TypeKind::Tiny) },
        "bigint" => ColumnType::bigint(),
        "decimal(5,2)" => ColumnType::decimal(5, 2),
        "float" => of(TypeKind::Float { digits: None }),
        "double" => ColumnType::double(),
        "char(3)" => ColumnType { kind: TypeKind::Char, ..ColumnType::varchar(3, text) },
        "varchar(3)" => ColumnType::varchar(3, text),
        "binary(3)" => ColumnType { kind: TypeKind::Binary, ..ColumnType::varbinary(3) },
        "varbinary(3)" => ColumnType::varbinary(3),
        "tinytext" => ColumnType { collation: text, ..of(TypeKind::TinyText) },
        "date" => of(TypeKind::Date),
        "time" => of(TypeKind::Time { fsp: 0 }),
        "timestamp" => of(TypeKind::Timestamp { fsp: 0 }),
        "datetime" => of(TypeKind::DateTime { fsp: 0 }),
        "year" => of(TypeKind::Year),
        "enum" => ColumnType { collation: text, ..of(TypeKind::Enum(members(&["a", "b", "1"]))) },
        "set" => ColumnType { collation: text, ..of(TypeKind::Set(members(&["a", "b"]))) },
        "bit(4)" => of(TypeKind::Bit(4)),
        "json" => of(TypeKind::Json),
        _ => panic!("unknown type {name}"),
    }
}

fn assigned(expression: &str) -> (Value, ColumnType) {
    if let Some(inner) = expression.strip_prefix("cast('") {
        let (text, kind) = inner.trim_end_matches(')').split_once("' as ").unwrap();
        let text = text.as_bytes();
        return match kind {
            "date" => (Value::Date(Date::parse(text, false).unwrap().value), ColumnType::new(TypeKind::Date)),
            "time" => {
                (Value::Time(Time::parse(text).unwrap().value), ColumnType::new(TypeKind::Time { fsp: 0 }))
            }
            _ => (
                Value::DateTime(DateTime::parse(text, false).unwrap().value),
                ColumnType::new(TypeKind::DateTime { fsp: 1 }),
            ),
        };
    }
    if let Some(text) = expression.strip_prefix('\'') {
        let text = &text[..text.len() - 1];
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        return (Value::bytes(text), ColumnType::varchar(text.len() as u32, collation));
    }
    if expression == "true" {
        return (Value::Int(1), ColumnType::bigint());
    }
    if let Ok(number) = expression.parse::<i64>() {
        return (Value::Int(number), ColumnType::bigint());
    }
    if expression.contains('e') {
        return (Value::Double(expression.parse().unwrap()), ColumnType::double());
    }
    let number = Decimal::parse(expression).unwrap();
    let column = ColumnType::decimal(number.digit_count() as u8, number.scale());
    (Value::Decimal(number), column)
}

fn check(line: &str, zone: &TimeZone) -> Result<(), String> {
    let mut fields = line.split('\t');
    let (type_name, expression) = (fields.next().unwrap(), fields.next().unwrap());
    let expected: Vec<&str> = fields.collect();
    let to = column(type_name);
    let (value, from) = assigned(expression);
    let today = Date::new(2026, 11, 21).unwrap();
    let moments = MomentContext { zone, mode: SqlMode::DEFAULT, today };
    let result = value.cast_to_column(&from, &to, &StoreMode { moments, is_strict: true });
    let name = if type_name == "json" { "x_j.v" } else { "v" };
    let actual: Vec<String> = match &result {
        Err(error) => {
            let error = error.to_error(name, 1);
            vec![format!("error {} {}", error.errno, error.message)]
        }
        Ok(stored) => {
            let mut lines = Vec::new();
            if let Some(problem) = &stored.problem {
                let word = if problem.severity == Severity::Note { "note" } else { "warning" };
                let error = problem.to_error(name, 1);
                lines.push(format!("{word} {} {}", error.errno, error.message));
            }
            let text = match &stored.value {
                Value::Bit(bits) => bits.to_string(),
                other => String::from_utf8(other.to_text(&to).into_owned()).unwrap().replace('\0', "\\0"),
            };
            lines.push(format!("={text}"));
            lines
        }
    };
    if actual == expected { Ok(()) } else { Err(format!("{line}\n    gives {actual:?}")) }
}

#[test]
fn recorded_assignments() {
    let zone = TimeZone::utc();
    let failures: Vec<String> = include_str!("../../testdata/store.tsv")
        .lines()
        .filter_map(|line| check(line, &zone).err())
        .collect();
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn lenient_mode_stores_the_nearest_value() {
    let zone = TimeZone::utc();
    let moments = MomentContext { zone: &zone, mode: SqlMode::default(), today: Date::ZERO };
    let mode = StoreMode { moments, is_strict: false };
    for (expression, type_name, expected, errno) in [
        ("999", "tinyint unsigned", "255", 1264),
        ("'12abc'", "int", "12", 1265),
        ("'abc'", "int", "0", 1366),
        ("'abcd'", "varchar(3)", "abc", 1265),
        ("'x'", "enum", "", 1265),
        ("'a,x'", "set", "a", 1265),
        ("12345", "decimal(5,2)", "999.99", 1264),
        ("'2020-02-30'", "date", "0000-00-00", 1264),
        ("'2020-01-02abc'", "date", "2020-01-02", 1265),
        ("'839:00:00'", "time", "838:59:59", 1264),
    ] {
        let (value, from) = assigned(expression);
        let to = column(type_name);
        let stored = value.cast_to_column(&from, &to, &mode).unwrap();
        assert_eq!(String::from_utf8_lossy(&stored.value.to_text(&to)), expected, "{expression}");
        let problem = stored.problem.unwrap();
        assert_eq!((problem.severity, problem.to_error("v", 1).errno), (Severity::Warning, errno));
    }
}

#[test]
fn null_needs_a_nullable_column() {
    let zone = TimeZone::utc();
    let moments = MomentContext { zone: &zone, mode: SqlMode::default(), today: Date::ZERO };
    let mode = StoreMode { moments, is_strict: false };
    let null_type = ColumnType::new(TypeKind::Null);
    let refused = Value::Null.cast_to_column(&null_type, &ColumnType::int().not_null(), &mode).unwrap_err();
    assert_eq!(refused.to_error("v", 1).message, "Column 'v' cannot be null");
    assert!(Value::Null.cast_to_column(&null_type, &ColumnType::int(), &mode).is_ok());
}

#[test]
fn characters_missing_in_the_column() {
    let zone = TimeZone::utc();
    let moments = MomentContext { zone: &zone, mode: SqlMode::default(), today: Date::ZERO };
    let mode = StoreMode { moments, is_strict: true };
    let from = ColumnType::varchar(10, CollationId::UTF8MB4_0900_AI_CI);
    let to = ColumnType::varchar(10, CollationId::LATIN1_SWEDISH_CI);
    let stored = Value::bytes("aé").cast_to_column(&from, &to, &mode).unwrap();
    assert_eq!(stored.value, Value::bytes(b"a\xe9"));
    let error = Value::bytes("a中").cast_to_column(&from, &to, &mode).unwrap_err().to_error("v", 1);
    assert_eq!(error.message, "Incorrect string value: '\\xE4\\xB8\\xAD' for column 'v' at row 1");
    let members: crate::Members = Arc::from([Box::from(&b"x"[..])]);
    let to =
        ColumnType { collation: CollationId::LATIN1_SWEDISH_CI, ..ColumnType::new(TypeKind::Enum(members)) };
    assert_eq!(Value::bytes("X").cast_to_column(&from, &to, &mode).unwrap().value, Value::Enum(1));
}
