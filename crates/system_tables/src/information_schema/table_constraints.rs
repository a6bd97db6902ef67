//! `TABLE_CONSTRAINTS`
use datum::Value;
use schema::{CheckDef, IndexKind};

use super::tables::visible_tables;
use crate::view::{ViewColumn::*, ViewSource, catalog_name, yes_no};

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
            let keys = unique.chain(foreign).map(|(name, kind)| (name, kind, true));
            let mut checks: Vec<&CheckDef> = definition.checks.iter().collect();
            checks.sort_by_key(|check| check.name.to_lowercase());
            let checks = checks.into_iter().map(|check| (&check.name, "CHECK", check.enforced));
            for (name, kind, is_enforced) in keys.chain(checks) {
                rows.push(vec![
                    catalog_name(),
                    Value::bytes(&definition.database),
                    Value::bytes(name),
                    Value::bytes(&definition.database),
                    Value::bytes(&definition.name),
                    Value::bytes(kind),
                    yes_no(is_enforced),
                ]);
            }
        }
        rows
    },
};
