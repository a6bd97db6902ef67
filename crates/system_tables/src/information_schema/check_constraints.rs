//! `CHECK_CONSTRAINTS`
use datum::Value;

use super::tables::visible_tables;
use crate::view::{ViewColumn::*, ViewSource, catalog_name};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "CHECK_CONSTRAINTS",
    columns: &[
        Text("CONSTRAINT_CATALOG", 64),
        Text("CONSTRAINT_SCHEMA", 64),
        Text("CONSTRAINT_NAME", 64),
        LongText("CHECK_CLAUSE"),
    ],
    late: None,
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            rows.extend(definition.checks.iter().map(|check| {
                vec![
                    catalog_name(),
                    Value::bytes(&definition.database),
                    Value::bytes(&check.name),
                    Value::bytes(schema::escaped(&check.condition)),
                ]
            }));
        }
        rows
    },
};
