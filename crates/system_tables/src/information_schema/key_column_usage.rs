//! `KEY_COLUMN_USAGE`
use datum::Value;
use schema::{IndexPart, TableDef};

use super::tables::visible_tables;
use crate::view::{ViewColumn::*, ViewSource, catalog_name};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "KEY_COLUMN_USAGE",
    columns: &[
        Text("CONSTRAINT_CATALOG", 64),
        Text("CONSTRAINT_SCHEMA", 64),
        NullText("CONSTRAINT_NAME", 64),
        Text("TABLE_CATALOG", 64),
        Text("TABLE_SCHEMA", 64),
        Text("TABLE_NAME", 64),
        NullText("COLUMN_NAME", 64),
        Number("ORDINAL_POSITION"),
        NullNumber("POSITION_IN_UNIQUE_CONSTRAINT"),
        NullText("REFERENCED_TABLE_SCHEMA", 64),
        NullText("REFERENCED_TABLE_NAME", 64),
        NullText("REFERENCED_COLUMN_NAME", 64),
    ],
    late: None,
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            for index in definition.indexes.iter().filter(|index| index.is_unique()) {
                let shown = |(_, part): &(usize, &IndexPart)| !definition.columns[part.column].hidden;
                for (position, part) in index.parts.iter().enumerate().filter(shown) {
                    rows.push(row(
                        definition,
                        &index.name,
                        part.column,
                        position,
                        [const { Value::Null }; 4],
                    ));
                }
            }
            for key in &definition.foreign_keys {
                for (position, (&column, parent)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                    let referenced = [
                        Value::UInt(position as u64 + 1),
                        Value::bytes(&key.parent_database),
                        Value::bytes(&key.parent_table),
                        Value::bytes(parent),
                    ];
                    rows.push(row(definition, &key.name, column, position, referenced));
                }
            }
        }
        rows
    },
};

/// A column of a key; `referenced` is its place, database, table and name in the parent.
fn row(
    table: &TableDef,
    constraint: &str,
    column: usize,
    position: usize,
    referenced: [Value; 4],
) -> Vec<Value> {
    let own = [
        catalog_name(),
        Value::bytes(&table.database),
        Value::bytes(constraint),
        catalog_name(),
        Value::bytes(&table.database),
        Value::bytes(&table.name),
        Value::bytes(&table.columns[column].name),
        Value::UInt(position as u64 + 1),
    ];
    own.into_iter().chain(referenced).collect()
}
