//! `REFERENTIAL_CONSTRAINTS`
use datum::Value;

use super::tables::visible_tables;
use crate::view::{ViewColumn::*, ViewSource, catalog_name};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "REFERENTIAL_CONSTRAINTS",
    columns: &[
        Text("CONSTRAINT_CATALOG", 64),
        Text("CONSTRAINT_SCHEMA", 64),
        NullText("CONSTRAINT_NAME", 64),
        Text("UNIQUE_CONSTRAINT_CATALOG", 64),
        Text("UNIQUE_CONSTRAINT_SCHEMA", 64),
        NullText("UNIQUE_CONSTRAINT_NAME", 64),
        Text("MATCH_OPTION", 7),
        Text("UPDATE_RULE", 11),
        Text("DELETE_RULE", 11),
        Text("TABLE_NAME", 64),
        Text("REFERENCED_TABLE_NAME", 64),
    ],
    late: None,
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            for key in &definition.foreign_keys {
                let parent = catalog.table(&key.parent_database, &key.parent_table);
                let unique = parent.and_then(|parent| {
                    let parent = parent.definition();
                    let index = parent.referenced_index(&key.parent_positions(parent)?)?;
                    parent.indexes[index].is_unique().then(|| Value::bytes(&parent.indexes[index].name))
                });
                rows.push(vec![
                    catalog_name(),
                    Value::bytes(&definition.database),
                    Value::bytes(&key.name),
                    catalog_name(),
                    Value::bytes(&key.parent_database),
                    unique.unwrap_or(Value::Null),
                    Value::bytes(key.match_option.name()),
                    Value::bytes(key.on_update.name()),
                    Value::bytes(key.on_delete.name()),
                    Value::bytes(&definition.name),
                    Value::bytes(&key.parent_table),
                ]);
            }
        }
        rows
    },
};
