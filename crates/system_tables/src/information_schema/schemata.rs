//! `SCHEMATA`
use datum::Value;

use crate::view::{ViewColumn::*, ViewSource, catalog_name};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "SCHEMATA",
    columns: &[
        Text("CATALOG_NAME", 64),
        Text("SCHEMA_NAME", 64),
        Text("DEFAULT_CHARACTER_SET_NAME", 64),
        Text("DEFAULT_COLLATION_NAME", 64),
        NullText("SQL_PATH", 1),
        Text("DEFAULT_ENCRYPTION", 3),
    ],
    late: None,
    rows: |catalog, viewer| {
        let visible = catalog.databases().into_iter().filter(|database| (viewer.sees)(&database.name, None));
        let row = |database: schema::DatabaseDef| {
            vec![
                catalog_name(),
                Value::bytes(&database.name),
                Value::bytes(database.collation.charset().name()),
                Value::bytes(database.collation.name()),
                Value::Null,
                Value::bytes("NO"),
            ]
        };
        visible.map(row).collect()
    },
};
