//! `KEY_COLUMN_USAGE`
use datum::Value;

use super::tables::visible_tables;
use super::view::{ViewColumn::*, ViewSource, catalog_name};

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
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            for index in definition.indexes.iter().filter(|index| index.is_unique()) {
                for (position, part) in index.parts.iter().enumerate() {
                    rows.push(vec![
                        catalog_name(),
                        Value::bytes(&definition.database),
                        Value::bytes(&index.name),
                        catalog_name(),
                        Value::bytes(&definition.database),
                        Value::bytes(&definition.name),
                        Value::bytes(&definition.columns[part.column].name),
                        Value::UInt(position as u64 + 1),
                        Value::Null,
                        Value::Null,
                        Value::Null,
                        Value::Null,
                    ]);
                }
            }
        }
        rows
    },
};
