//! Indexes that nobody uses or that another one makes needless: `schema_unused_indexes`, `schema_redundant_indexes`.
use catalog::Viewer;
use datum::Value;
use instance::Instance;
use schema::{IndexDef, TableDef};

use crate::performance_schema::{counts_by_index, table_counts, tables};
use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[
    Table::of("sys", UNUSED, unused),
    Table::of("sys", REDUNDANT, redundant),
    Table::of("sys", FLATTENED, flattened),
];

const UNUSED: Shape = Shape {
    name: "schema_unused_indexes",
    columns: "object_schema varchar(64)?; object_name varchar(64)?; index_name varchar(64)?",
};
const REDUNDANT: Shape = Shape {
    name: "schema_redundant_indexes",
    columns: "table_schema varchar(64); table_name varchar(64); redundant_index_name varchar(64)?; \
        redundant_index_columns text?; redundant_index_non_unique int?; dominant_index_name varchar(64)?; \
        dominant_index_columns text?; dominant_index_non_unique int?; subpart_exists int; sql_drop_index \
        varchar(223)?",
};
const FLATTENED: Shape = Shape {
    name: "x$schema_flattened_keys",
    columns: "table_schema varchar(64); table_name varchar(64); index_name varchar(64)?; non_unique int?; \
        subpart_exists bigint?; index_columns text?",
};

/// Since the start.
fn unused(instance: &Instance, viewer: &Viewer) -> Rows {
    let sums = table_counts(instance);
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        let definition = table.definition();
        for (name, counts) in counts_by_index(&sums, &table) {
            let Some(name) = name else { continue };
            let is_plain = definition.indexes.iter().any(|index| index.name == name && !index.is_unique());
            if is_plain && counts.all() == 0 {
                rows.push(vec![
                    Value::bytes(&definition.database),
                    Value::bytes(&definition.name),
                    Value::bytes(name),
                ]);
            }
        }
    }
    rows
}

fn column_names(table: &TableDef, index: &IndexDef) -> Vec<String> {
    let names =
        index.parts.iter().map(|part| table.columns.get(part.column).map(|column| column.name.clone()));
    names.map(Option::unwrap_or_default).collect()
}

fn has_prefix(index: &IndexDef) -> bool {
    index.has_prefix_parts()
}

/// Whether `dominant` does all that `index` does.
fn is_redundant(table: &TableDef, index: &IndexDef, dominant: &IndexDef) -> bool {
    if index.name == dominant.name {
        return false;
    }
    let (own, other) = (column_names(table, index), column_names(table, dominant));
    if own == other {
        let rank = |index: &IndexDef| (!index.is_unique(), index.name != "PRIMARY", index.name.clone());
        return rank(index) > rank(dominant);
    }
    !index.is_unique() && other.starts_with(&own)
}

fn redundant(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for handle in tables(instance, viewer) {
        let table = handle.definition();
        for index in &table.indexes {
            for dominant in table.indexes.iter().filter(|dominant| is_redundant(table, index, dominant)) {
                let names = |index: &IndexDef| Value::bytes(column_names(table, index).join(","));
                let plain = |index: &IndexDef| Value::Int(i64::from(!index.is_unique()));
                rows.push(vec![
                    Value::bytes(&table.database),
                    Value::bytes(&table.name),
                    Value::bytes(&index.name),
                    names(index),
                    plain(index),
                    Value::bytes(&dominant.name),
                    names(dominant),
                    plain(dominant),
                    Value::Int(i64::from(has_prefix(index) || has_prefix(dominant))),
                    Value::bytes(format!(
                        "ALTER TABLE `{}`.`{}` DROP INDEX `{}`",
                        table.database, table.name, index.name
                    )),
                ]);
            }
        }
    }
    rows
}

fn flattened(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for handle in tables(instance, viewer) {
        let table = handle.definition();
        for index in &table.indexes {
            rows.push(vec![
                Value::bytes(&table.database),
                Value::bytes(&table.name),
                Value::bytes(&index.name),
                Value::Int(i64::from(!index.is_unique())),
                Value::Int(i64::from(has_prefix(index))),
                Value::bytes(column_names(table, index).join(",")),
            ]);
        }
    }
    rows
}
