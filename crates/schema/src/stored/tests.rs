//! The stored form reads back equal, and damaged bytes give errors.
use super::*;
use crate::{MatchOption, ReferentialAction};
use datum::{ColumnType, TypeKind, Value};

fn table() -> TableDef {
    let mut table = TableDef::new(TableId(12), "d", "tä`ble");
    let mut id = ColumnDef::new("id", ColumnType::bigint_unsigned().not_null());
    id.auto_increment = true;
    let mut name = ColumnDef::new("name", ColumnType::varchar(30, CollationId::LATIN1_SWEDISH_CI));
    name.default = ColumnDefault::Value { value: Value::bytes(b"\xe9\x00"), text: "é".to_owned() };
    name.comment = "who".to_owned();
    let members = [b"a".to_vec().into_boxed_slice(), b"b".to_vec().into_boxed_slice()];
    let choice = ColumnDef::new("choice", ColumnType::new(TypeKind::Enum(members.into())));
    let mut at = ColumnDef::new("at", ColumnType::new(TypeKind::DateTime { fsp: 6 }));
    at.default = ColumnDefault::CurrentTimestamp { fsp: 6 };
    at.on_update_current_timestamp = true;
    let mut amount = ColumnDef::new("amount", ColumnType::decimal(10, 2).not_null());
    let number = Value::Decimal(datum::Decimal::parse("-12.50").expect("a decimal"));
    amount.default = ColumnDefault::Value { value: number, text: "-12.50".to_owned() };
    let mut day = ColumnDef::new("day", ColumnType::new(TypeKind::Date));
    let date = datum::Date::new(2024, 2, 29).expect("a date");
    day.default = ColumnDefault::Value { value: Value::Date(date), text: "2024-02-29".to_owned() };
    let mut since = ColumnDef::new("since", ColumnType::new(TypeKind::Timestamp { fsp: 0 }));
    let instant = datum::Timestamp::from_unix_micros(1_700_000_000_000_000).expect("an instant");
    since.default = ColumnDefault::Value { value: Value::Timestamp(instant), text: String::new() };
    let ratio = ColumnDef::new("ratio", ColumnType::new(TypeKind::Float { digits: Some((7, 3)) }));
    let mut twice = ColumnDef::new("twice", ColumnType::bigint());
    twice.generated = Some(Generation { expression: "(`id` * 2)".to_owned(), stored: true });
    let mut part = ColumnDef::new("!hidden!i!0!0", ColumnType::bigint());
    part.generated = Some(Generation { expression: "(`id` + 1)".to_owned(), stored: false });
    part.hidden = true;
    table.columns = vec![id, name, choice, at, amount, day, since, ratio, twice, part];
    for enforced in [false, true] {
        let (name, condition) = (format!("c{enforced}"), "(`id` > 0)".to_owned());
        table.checks.push(CheckDef { name, condition, enforced });
    }
    table.indexes.push(IndexDef {
        id: IndexId(4),
        name: "PRIMARY".to_owned(),
        kind: IndexKind::Primary,
        parts: vec![IndexPart { column: 0, prefix_length: None, descending: true }],
        tree: 88,
        invisible: false,
        generated: true,
        comment: String::new(),
    });
    table.foreign_keys.push(ForeignKeyDef {
        name: "k".to_owned(),
        columns: vec![1, 0],
        parent_database: "e".to_owned(),
        parent_table: "p".to_owned(),
        parent_columns: vec!["x".to_owned(), "y".to_owned()],
        match_option: MatchOption::Full,
        on_delete: ReferentialAction::Cascade,
        on_update: ReferentialAction::SetDefault,
    });
    table.create_options.push(("ROW_FORMAT".to_owned(), "DYNAMIC".to_owned()));
    table.arrange_indexes();
    table.choose_clustering();
    table
}

#[test]
fn reads_back_equal() {
    let table = table();
    assert_eq!(TableDef::from_bytes(&table.to_bytes()), Ok(table));
}

/// What older programs can read is written as they wrote it.
#[test]
fn the_version_rises_with_what_is_in_the_table() {
    let version = |table: &TableDef| {
        let form: Json = serde_json::from_slice(&table.to_bytes()).expect("JSON");
        form["version"].as_u64()
    };
    let mut table = table();
    assert_eq!(version(&table), Some(3));
    table.checks.clear();
    table.columns.truncate(8);
    assert_eq!(version(&table), Some(2));
    table.foreign_keys.clear();
    assert_eq!(version(&table), Some(1));
    table.columns[1].generated = Some(Generation { expression: "1".to_owned(), stored: false });
    assert_eq!(version(&table), Some(3));
    assert_eq!(TableDef::from_bytes(&table.to_bytes()), Ok(table));
}

#[test]
fn places_of_columns_read_back() {
    let mut table = table();
    let of: Vec<Option<u16>> = (0..table.columns.len() as u16).map(|place| place.checked_sub(1)).collect();
    table.places = Some(RowPlaces { of, width: 12 });
    table.columns[1].added_value = Some(Value::bytes("old"));
    table.columns[2].added_value = Some(Value::Null);
    let bytes = table.to_bytes();
    assert_eq!(TableDef::from_bytes(&bytes), Ok(table.clone()));
    let narrow = String::from_utf8(bytes).expect("JSON is UTF-8").replace("\"width\":12", "\"width\":3");
    assert!(TableDef::from_bytes(narrow.as_bytes()).is_err());
    table.places = Some(RowPlaces { of: Vec::new(), width: 0 });
    assert!(TableDef::from_bytes(&table.to_bytes()).is_err());
}

#[test]
fn damage_is_an_error() {
    let bytes = table().to_bytes();
    for length in 0..bytes.len() {
        assert!(TableDef::from_bytes(&bytes[..length]).is_err());
    }
    let text = String::from_utf8(bytes).expect("JSON is UTF-8");
    for (from, to) in [
        ("\"version\":3", "\"version\":5"),
        ("\"on_delete\":\"CASCADE\"", "\"on_delete\":\"CASCADES\""),
        ("\"columns\":[1,0]", "\"columns\":[1,80]"),
        ("\"columns\":[1,0]", "\"columns\":[1]"),
        ("\"column\":0", "\"column\":90"),
        ("\"clustered_by\":4", "\"clustered_by\":5"),
        ("\"kind\":\"varchar\"", "\"kind\":\"varchat\""),
        ("latin1_swedish_ci", "latin9_swedish_ci"),
    ] {
        let damaged = text.replace(from, to);
        assert_ne!(damaged, text, "{from}");
        assert!(TableDef::from_bytes(damaged.as_bytes()).is_err(), "{from}");
    }
}
