//! `TABLE_CONSTRAINTS`
use datum::Value;
use schema::IndexKind;

use super::tables::visible_tables;
use crate::view::{ViewColumn::*, ViewSource, catalog_name};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "TABLE_CONSTRAINTS",
    columns: &[
        Text("CONSTRAINT_CATALOG", 64),
        Text("CONSTRAINT_SCHEMA", 64),
        NullText("CONSTRAINT_NAME", 64),
        Text("TABLE_SCHEMA", 64),
        Text("TABLE_NAME", 64),
        Text("CONSTRAINT_TYPE", 11),
        Text("ENFORCED", 3),
    ],
    late: None,
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            let unique = definition.indexes.iter().filter(|index| index.is_unique());
            let unique = unique.map(|index| match index.kind {
                IndexKind::Primary => (&index.name, "PRIMARY KEY"),
                _ => (&index.name, "UNIQUE"),
            });
            let foreign = definition.foreign_keys.iter().map(|key| (&key.name, "FOREIGN KEY"));
            for (name, kind) in unique.chain(foreign) {
                rows.push(vec![
                    catalog_name(),
                    Value::bytes(&definition.database),
                    Value::bytes(name),
                    Value::bytes(&definition.database),
                    Value::bytes(&definition.name),
                    Value::bytes(kind),
                    Value::bytes("YES"),
                ]);
            }
        }
        rows
    },
};
