//! `TABLES`
use std::sync::Arc;

use datum::{TimeZone, Value};
use schema::{TableDef, ViewDef};
use table::{ReadyTable, TableHandle};

use super::views::visible_views;
use crate::view::{LateColumns, ViewColumn::*, ViewSource, catalog_name};
use catalog::{Catalog, Viewer};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "TABLES",
    columns: &[
        Text("TABLE_CATALOG", 64),
        Text("TABLE_SCHEMA", 64),
        Text("TABLE_NAME", 64),
        Text("TABLE_TYPE", 11),
        NullText("ENGINE", 64),
        NullNumber("VERSION"),
        NullText("ROW_FORMAT", 10),
        NullNumber("TABLE_ROWS"),
        NullNumber("AVG_ROW_LENGTH"),
        NullNumber("DATA_LENGTH"),
        NullNumber("MAX_DATA_LENGTH"),
        NullNumber("INDEX_LENGTH"),
        NullNumber("DATA_FREE"),
        NullNumber("AUTO_INCREMENT"),
        DateTime("CREATE_TIME"),
        NullDateTime("UPDATE_TIME"),
        NullDateTime("CHECK_TIME"),
        NullText("TABLE_COLLATION", 64),
        NullNumber("CHECKSUM"),
        NullText("CREATE_OPTIONS", 256),
        NullLongText("TABLE_COMMENT"),
    ],
    rows: |catalog, viewer| {
        let tables = visible_tables(catalog, viewer).into_iter();
        let mut rows: Vec<Vec<Value>> = tables.map(|table| row(catalog, &table, &viewer.time_zone)).collect();
        rows.extend(visible_views(catalog, viewer).iter().map(|view| view_row(view, viewer)));
        rows.extend(visible_system_tables(catalog, viewer).map(system_row));
        rows
    },
    late: Some(LateColumns {
        columns: &[TABLE_ROWS, AVG_ROW_LENGTH, DATA_LENGTH, INDEX_LENGTH, AUTO_INCREMENT],
        fill,
    }),
};

const TABLE_ROWS: usize = 7;
const AVG_ROW_LENGTH: usize = 8;
const DATA_LENGTH: usize = 9;
const INDEX_LENGTH: usize = 11;
const AUTO_INCREMENT: usize = 13;

fn fill(catalog: &Catalog, table: &ReadyTable, row: &mut [Value]) {
    let (rows, size) = (table.estimated_rows(), catalog.stored_bytes(table));
    row[TABLE_ROWS] = Value::UInt(rows);
    row[AVG_ROW_LENGTH] = Value::UInt(size.of_row(rows));
    row[DATA_LENGTH] = Value::UInt(size.data);
    row[INDEX_LENGTH] = Value::UInt(size.indexes);
    if table.definition().auto_increment_column().is_some() {
        row[AUTO_INCREMENT] = Value::UInt(table.auto_increment().peek());
    }
}

/// Every stored table that the viewer may see, by database and name.
pub(super) fn visible_tables(catalog: &Catalog, viewer: &Viewer) -> Vec<Arc<TableHandle>> {
    let databases = catalog.databases();
    let tables = databases.iter().flat_map(|database| catalog.tables(&database.name));
    tables
        .filter(|table| (viewer.sees)(&table.definition().database, Some(&table.definition().name)))
        .collect()
}

/// Every table that is not stored and that the viewer may see.
pub(super) fn visible_system_tables<'a>(
    catalog: &'a Catalog,
    viewer: &'a Viewer,
) -> impl Iterator<Item = &'a Arc<TableDef>> {
    let all = catalog.system_tables().iter();
    all.filter(|table| (viewer.sees)(&table.database, Some(&table.name)))
}

/// A table without rows of its own; `sys` has views only.
fn system_row(definition: &Arc<TableDef>) -> Vec<Value> {
    let (kind, engine) = match definition.database.as_str() {
        catalog::INFORMATION_SCHEMA => ("SYSTEM VIEW", Value::Null),
        "sys" => ("VIEW", Value::Null),
        _ => ("BASE TABLE", Value::bytes(&definition.engine)),
    };
    let has_engine = !engine.is_null();
    let is_view = kind == "VIEW";
    let number = || if is_view { Value::Null } else { Value::UInt(0) };
    let collation = if has_engine { Value::bytes(definition.collation.name()) } else { Value::Null };
    vec![
        catalog_name(),
        Value::bytes(&definition.database),
        Value::bytes(&definition.name),
        Value::bytes(kind),
        engine,
        if is_view { Value::Null } else { Value::UInt(10) },
        if has_engine { Value::bytes("Dynamic") } else { Value::Null },
        number(),
        number(),
        number(),
        number(),
        number(),
        number(),
        Value::Null,
        Value::DateTime(datum::DateTime::ZERO),
        Value::Null,
        Value::Null,
        collation,
        Value::Null,
        if is_view { Value::Null } else { Value::bytes("") },
        Value::bytes(if is_view { "VIEW" } else { definition.comment.as_str() }),
    ]
}

fn row(catalog: &Catalog, table: &Arc<TableHandle>, zone: &TimeZone) -> Vec<Value> {
    let definition = table.definition();
    let created = zone.to_local(definition.created_at.saturating_mul(1_000_000));
    let mut row = vec![
        catalog_name(),
        Value::bytes(&definition.database),
        Value::bytes(&definition.name),
        Value::bytes("BASE TABLE"),
        Value::bytes(&definition.engine),
        Value::UInt(10),
        Value::bytes(definition.shown_row_format()),
        Value::Null,
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(0),
        Value::Null,
        Value::DateTime(created.unwrap_or(datum::DateTime::ZERO)),
        Value::Null,
        Value::Null,
        Value::bytes(definition.collation.name()),
        Value::Null,
        Value::bytes(definition.shown_create_options()),
        Value::bytes(&definition.comment),
    ];
    if let Some(ready) = table.if_ready() {
        fill(catalog, &ready, &mut row);
    }
    row
}

/// A view has no storage to tell of.
fn view_row(view: &Arc<ViewDef>, viewer: &Viewer) -> Vec<Value> {
    const COLUMN_COUNT: usize = 21;
    const CREATED: usize = 14;
    let mut row = vec![Value::Null; COLUMN_COUNT];
    row[0] = catalog_name();
    row[1] = Value::bytes(&view.database);
    row[2] = Value::bytes(&view.name);
    row[3] = Value::bytes("VIEW");
    let created = viewer.time_zone.to_local(view.created_at.saturating_mul(1_000_000));
    row[CREATED] = Value::DateTime(created.unwrap_or(datum::DateTime::ZERO));
    row[COLUMN_COUNT - 1] = match (viewer.view_columns)(view) {
        Ok(_) => Value::bytes("VIEW"),
        Err(error) => Value::bytes(&error.message),
    };
    row
}
