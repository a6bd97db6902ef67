//! `COLUMNS`
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, TypeKind, Value};
use schema::{TableDef, TableId, ViewDef, column_default, column_extra, column_key, escaped, type_text};

use crate::view::{ViewColumn::*, ViewSource, catalog_name, yes_no};
use catalog::{Catalog, Viewer};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "COLUMNS",
    columns: &[
        Text("TABLE_CATALOG", 64),
        Text("TABLE_SCHEMA", 64),
        Text("TABLE_NAME", 64),
        NullText("COLUMN_NAME", 64),
        Number("ORDINAL_POSITION"),
        NullLongText("COLUMN_DEFAULT"),
        Text("IS_NULLABLE", 3),
        NullLongText("DATA_TYPE"),
        NullNumber("CHARACTER_MAXIMUM_LENGTH"),
        NullNumber("CHARACTER_OCTET_LENGTH"),
        NullNumber("NUMERIC_PRECISION"),
        NullNumber("NUMERIC_SCALE"),
        NullNumber("DATETIME_PRECISION"),
        NullText("CHARACTER_SET_NAME", 64),
        NullText("COLLATION_NAME", 64),
        LongText("COLUMN_TYPE"),
        Text("COLUMN_KEY", 3),
        NullText("EXTRA", 256),
        NullText("PRIVILEGES", 154),
        LongText("COLUMN_COMMENT"),
        LongText("GENERATION_EXPRESSION"),
        NullNumber("SRS_ID"),
    ],
    late: None,
    rows,
};

fn rows(catalog: &Catalog, viewer: &Viewer) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in super::tables::visible_tables(catalog, viewer) {
        let definition: &Arc<TableDef> = table.definition();
        let shown = definition.columns.iter().enumerate().filter(|(_, column)| !column.hidden);
        for (number, (position, column)) in shown.enumerate() {
            let privileges = (viewer.column_privileges)(&definition.database, &definition.name, &column.name);
            if !privileges.is_empty() {
                rows.push(row(definition, position, number, &privileges));
            }
        }
    }
    for view in super::views::visible_views(catalog, viewer) {
        view_rows(&view, viewer, &mut rows);
    }
    for definition in super::tables::visible_system_tables(catalog, viewer) {
        let shown = 0..definition.columns.len();
        rows.extend(shown.map(|position| row(definition, position, position, "select")));
    }
    rows
}

/// The columns of a view are found out now; an invalid one has none.
fn view_rows(view: &Arc<ViewDef>, viewer: &Viewer, rows: &mut Vec<Vec<Value>>) {
    let mut table = TableDef::new(TableId(0), view.database.as_str(), view.name.as_str());
    let Ok(columns) = (viewer.view_columns)(view) else { return };
    table.columns = columns;
    for (position, column) in table.columns.iter().enumerate() {
        let privileges = (viewer.column_privileges)(&view.database, &view.name, &column.name);
        if !privileges.is_empty() {
            rows.push(row(&table, position, position, &privileges));
        }
    }
}

/// `number` counts the columns that are shown.
fn row(table: &TableDef, position: usize, number: usize, privileges: &str) -> Vec<Value> {
    let column = &table.columns[position];
    let column_type = &column.column_type;
    let (characters, octets) = lengths(column_type);
    let (precision, scale) = numeric(column_type);
    let optional = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
    let is_text = column_type.collation != CollationId::BINARY;
    vec![
        catalog_name(),
        Value::bytes(&table.database),
        Value::bytes(&table.name),
        Value::bytes(&column.name),
        Value::UInt(number as u64 + 1),
        column_default(column),
        yes_no(column.nullable()),
        Value::bytes(data_type(column_type)),
        optional(characters),
        optional(octets),
        optional(precision),
        optional(scale),
        optional(datetime_precision(&column_type.kind)),
        if is_text { Value::bytes(column_type.collation.charset().name()) } else { Value::Null },
        if is_text { Value::bytes(column_type.collation.name()) } else { Value::Null },
        Value::bytes(type_text(column_type)),
        Value::bytes(column_key(table, position)),
        Value::bytes(column_extra(column)),
        Value::bytes(privileges),
        Value::bytes(&column.comment),
        Value::bytes(column.generated.as_ref().map_or_else(String::new, |made| escaped(&made.expression))),
        Value::Null,
    ]
}

/// The first word of the type.
pub(super) fn data_type(column_type: &ColumnType) -> String {
    let text = type_text(column_type);
    let end = text.find(['(', ' ']).unwrap_or(text.len());
    text[..end].to_owned()
}

pub(super) fn lengths(column_type: &ColumnType) -> (Option<u64>, Option<u64>) {
    use TypeKind::*;
    let width = u64::from(column_type.collation.charset().bytes_per_character_max());
    let declared = u64::from(column_type.length);
    let count = |member: &[u8]| column_type.collation.charset().character_count(member) as u64;
    match &column_type.kind {
        Char | VarChar => (Some(declared), Some(declared * width)),
        Binary | VarBinary => (Some(declared), Some(declared)),
        TinyText | TinyBlob => (Some(255), Some(255)),
        Text | Blob => (Some(65_535), Some(65_535)),
        MediumText | MediumBlob => (Some(16_777_215), Some(16_777_215)),
        LongText | LongBlob => (Some(4_294_967_295), Some(4_294_967_295)),
        Enum(members) => {
            let longest = members.iter().map(|member| count(member)).max().unwrap_or(0);
            (Some(longest), Some(longest * width))
        }
        Set(members) => {
            let all: u64 = members.iter().map(|member| count(member)).sum();
            let all = all + (members.len() as u64).saturating_sub(1);
            (Some(all), Some(all * width))
        }
        _ => (None, None),
    }
}

pub(super) fn numeric(column_type: &ColumnType) -> (Option<u64>, Option<u64>) {
    use TypeKind::*;
    match &column_type.kind {
        Tiny => (Some(3), Some(0)),
        Short => (Some(5), Some(0)),
        Int24 => (Some(7), Some(0)),
        Long => (Some(10), Some(0)),
        LongLong => (Some(if column_type.unsigned { 20 } else { 19 }), Some(0)),
        Decimal { precision, scale } => (Some(u64::from(*precision)), Some(u64::from(*scale))),
        Float { digits: Some((precision, scale)) } | Double { digits: Some((precision, scale)) } => {
            (Some(u64::from(*precision)), Some(u64::from(*scale)))
        }
        Float { digits: None } => (Some(12), None),
        Double { digits: None } => (Some(22), None),
        Bit(bits) => (Some(u64::from(*bits)), None),
        _ => (None, None),
    }
}

pub(super) fn datetime_precision(kind: &TypeKind) -> Option<u64> {
    match kind {
        TypeKind::Time { fsp } | TypeKind::DateTime { fsp } | TypeKind::Timestamp { fsp } => {
            Some(u64::from(*fsp))
        }
        _ => None,
    }
}
