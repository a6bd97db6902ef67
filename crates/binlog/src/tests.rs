//! The decoder against a file that MySQL 9.7 wrote, with a table of every type; and every event written again.
use crate::*;
use datum::{Value, json_shown, normalize_json};
use proptest::prelude::*;

/// Written by MySQL 9.7.4 with `binlog_row_metadata=FULL`: a table with every type of column, its rows, savepoints, XA,
/// CREATE .. SELECT, minimal row images and a compressed transaction.
const FILE: &[u8] = include_bytes!("../tests/data/every-type.binlog");

fn events() -> Vec<Event> {
    Events::of_file(FILE).unwrap().map(|raw| Event::decode(&raw.unwrap()).unwrap()).collect()
}

#[test]
fn every_event_of_mysql_is_written_as_it_was() {
    let mut written = MAGIC.to_vec();
    for raw in Events::of_file(FILE).unwrap() {
        let raw = raw.unwrap();
        let mut body = Vec::new();
        match Event::decode(&raw).unwrap() {
            Event::TransactionPayload(events) => {
                assert_eq!(unpack_transaction(&pack_transaction(&events, 3).unwrap()).unwrap(), events);
                body = raw.body.to_vec();
            }
            event => event.encode(&mut body),
        }
        assert_eq!(body, raw.body, "{:?}", Event::decode(&raw));
        write_event(&raw.header, &body, Checksum::Crc32, &mut written);
    }
    assert_eq!(written, FILE);
}

#[test]
fn our_format_description_is_that_of_mysql() {
    let Some(Event::FormatDescription(theirs)) = events().into_iter().next() else {
        panic!("no description")
    };
    assert_eq!(FormatDescription::new("9.7.4-2", 0, Checksum::Crc32), theirs);
}

#[test]
fn values_of_every_type_are_read() {
    let mut map = None;
    let mut rows = Vec::new();
    for event in events() {
        match event {
            Event::TableMap(table) if table.table == "a" => map = Some(table),
            Event::Rows(found) => rows.push(found),
            _ => {}
        }
    }
    let map = map.unwrap();
    let names: Vec<&str> = map.columns.iter().map(|column| column.name.as_deref().unwrap()).collect();
    assert_eq!(names.len(), 43);
    let change = rows[0].changes(&map).next().unwrap().unwrap();
    let image = change.after.unwrap();
    let shown = |name: &str| {
        let at = names.iter().position(|one| *one == name).unwrap();
        format!("{:?}", image[at].as_ref().unwrap())
    };
    for (name, expected) in [
        ("id", "Int(1)"),
        ("tu", "UInt(250)"),
        ("m", "Int(-8388608)"),
        ("mu", "UInt(16777215)"),
        ("bu", "UInt(18446744073709551615)"),
        ("de", "Decimal(-12345678.12345)"),
        ("d2", "Decimal(12345678901234567890123456789012345.123456789012345678901234567891)"),
        ("f", "Float(1.5)"),
        ("y", "Year(2024)"),
        ("en", "Enum(2)"),
        ("se", "Set(5)"),
        ("bt", "Bit(5461)"),
        ("g", "Int(-299)"),
        ("inv", "Int(5)"),
    ] {
        assert_eq!(shown(name), expected, "{name}");
    }
    let at = |name: &str| names.iter().position(|one| *one == name).unwrap();
    let text = |name: &str| match &image[at(name)] {
        Some(Value::Json(text)) => json_shown(text).into_owned(),
        other => panic!("{other:?}"),
    };
    let document =
        r#"{"a":1,"bb":[1,2.5,"s",null,true,-70000,123456789012],"c":{"d":"e"},"u":18446744073709551615}"#;
    assert_eq!(text("js"), json_shown(&normalize_json(document.as_bytes()).unwrap()));
    assert_eq!(map.columns[at("inv")].visible, Some(false));
    assert_eq!(map.columns[at("l1")].collation, Some(8));
    assert_eq!(map.columns[at("en")].members.as_ref().unwrap()[1], b"b");
    assert_eq!(map.primary_key, [(0, 0)]);
    // With minimal images only what is needed is there.
    let minimal = rows.iter().rev().find(|rows| rows.header.kind == RowsKind::Update).unwrap();
    let change = minimal.changes(&map).next().unwrap().unwrap();
    let present = |image: &RowImage| image.iter().filter(|cell| cell.is_some()).count();
    assert_eq!((present(&change.before.unwrap()), present(&change.after.unwrap())), (1, 1));
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    for cut in (0..FILE.len()).step_by(13) {
        if let Ok(events) = Events::of_file(&FILE[..cut]) {
            assert!(events.map(|raw| raw.map(|raw| Event::decode(&raw))).all(|event| event.is_ok()));
        }
    }
    let whole = Events::of_file(FILE).unwrap().count();
    for at in (4..FILE.len()).step_by(7) {
        let mut flipped = FILE.to_vec();
        flipped[at] ^= 0x10;
        let read = Events::of_file(&flipped).unwrap().take_while(Result::is_ok).count();
        assert!(read < whole, "byte {at}");
    }
}

#[test]
fn the_bodies_of_events_with_any_bytes_changed_do_not_panic() {
    let mut plain = Vec::new();
    for raw in Events::of_file(FILE).unwrap() {
        let raw = raw.unwrap();
        write_event(&raw.header, raw.body, Checksum::None, &mut plain);
    }
    for at in (0..plain.len()).step_by(5) {
        let mut changed = plain.clone();
        changed[at] ^= [0x01, 0x80, 0xFF][at % 3];
        fuzz_one(&changed);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_events_or_an_error(event_type in 0u8..45, body: Vec<u8>) {
        let mut bytes = Vec::new();
        let header = EventHeader { event_type, ..EventHeader::default() };
        write_event(&header, &body, Checksum::None, &mut bytes);
        fuzz_one(&bytes);
    }
}
