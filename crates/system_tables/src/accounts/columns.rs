//! The kinds of columns that the privilege tables of `mysql` are made of.
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, TypeKind, Value};
use schema::{ColumnDef, ColumnDefault, TableDef, TableId};

const GENERAL: CollationId = CollationId::UTF8MB3_GENERAL_CI;

fn with_default(column: ColumnDef, text: &str) -> ColumnDef {
    let default = ColumnDefault::Value { value: Value::bytes(text), text: text.to_owned() };
    ColumnDef { default, ..column }
}

fn character(name: &str, length: u32, collation: CollationId) -> ColumnDef {
    let column_type = ColumnType { length, collation, ..ColumnType::new(TypeKind::Char) };
    with_default(ColumnDef::new(name, column_type.not_null()), "")
}

pub fn host(name: &str) -> ColumnDef {
    character(name, 255, CollationId::ASCII_GENERAL_CI)
}

/// A name of an account, a database or an object.
pub fn name(name: &str, length: u32) -> ColumnDef {
    character(name, length, CollationId::UTF8MB3_BIN)
}

pub fn folded_name(name: &str, length: u32) -> ColumnDef {
    character(name, length, GENERAL)
}

pub fn grantor() -> ColumnDef {
    with_default(ColumnDef::new("Grantor", ColumnType::varchar(288, CollationId::UTF8MB3_BIN).not_null()), "")
}

fn members(words: &[&str]) -> Arc<[Box<[u8]>]> {
    words.iter().map(|word| word.as_bytes().into()).collect()
}

pub fn choice(name: &str, words: &[&str], default: Option<&str>) -> ColumnDef {
    let column_type = ColumnType { collation: GENERAL, ..ColumnType::new(TypeKind::Enum(members(words))) };
    match default {
        Some(text) => with_default(ColumnDef::new(name, column_type.not_null()), text),
        None => ColumnDef::new(name, column_type),
    }
}

/// ENUM('N','Y').
pub fn flag(name: &str) -> ColumnDef {
    choice(name, &["N", "Y"], Some("N"))
}

pub fn set(name: &str, words: &[&str]) -> ColumnDef {
    let column_type = ColumnType { collation: GENERAL, ..ColumnType::new(TypeKind::Set(members(words))) };
    with_default(ColumnDef::new(name, column_type.not_null()), "")
}

pub fn bytes(name: &str) -> ColumnDef {
    let column_type = ColumnType { collation: CollationId::BINARY, ..ColumnType::new(TypeKind::Blob) };
    ColumnDef::new(name, column_type.not_null())
}

pub fn text(name: &str) -> ColumnDef {
    let column_type = ColumnType { collation: CollationId::UTF8MB3_BIN, ..ColumnType::new(TypeKind::Text) };
    ColumnDef::new(name, column_type)
}

pub fn unsigned(name: &str) -> ColumnDef {
    let column_type = ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Long) };
    let default = ColumnDefault::Value { value: Value::UInt(0), text: "0".to_owned() };
    ColumnDef { default, ..ColumnDef::new(name, column_type.not_null()) }
}

pub fn small(name: &str) -> ColumnDef {
    ColumnDef::new(name, ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Short) })
}

pub fn truth(name: &str) -> ColumnDef {
    let column_type = ColumnType { length: 1, ..ColumnType::new(TypeKind::Tiny) };
    let default = ColumnDefault::Value { value: Value::Int(0), text: "0".to_owned() };
    ColumnDef { default, ..ColumnDef::new(name, column_type.not_null()) }
}

pub fn moment(name: &str, fsp: u8) -> ColumnDef {
    ColumnDef {
        default: ColumnDefault::CurrentTimestamp { fsp },
        on_update_current_timestamp: fsp == 0,
        ..ColumnDef::new(name, ColumnType::new(TypeKind::Timestamp { fsp }).not_null())
    }
}

pub fn optional_moment(name: &str) -> ColumnDef {
    ColumnDef::new(name, ColumnType::new(TypeKind::Timestamp { fsp: 0 }))
}

pub fn table(name: &str, comment: &str, columns: Vec<ColumnDef>) -> Arc<TableDef> {
    Arc::new(TableDef {
        columns,
        collation: CollationId::UTF8MB3_BIN,
        comment: comment.to_owned(),
        ..TableDef::new(TableId(0), "mysql", name)
    })
}
