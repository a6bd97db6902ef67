//! `INNODB_FOREIGN` and `INNODB_FOREIGN_COLS`
use datum::Value;
use schema::{ForeignKeyDef, ReferentialAction};

use super::tables::visible_tables;
use crate::view::{ViewColumn::*, ViewSource};

pub(super) const KEYS: ViewSource = ViewSource {
    name: "INNODB_FOREIGN",
    columns: &[
        NullText("ID", 129),
        NullText("FOR_NAME", 129),
        NullText("REF_NAME", 129),
        Signed("N_COLS"),
        Number("TYPE"),
    ],
    late: None,
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            for key in &definition.foreign_keys {
                rows.push(vec![
                    Value::bytes(format!("{}/{}", definition.database, key.name)),
                    Value::bytes(format!("{}/{}", definition.database, definition.name)),
                    Value::bytes(format!("{}/{}", key.parent_database, key.parent_table)),
                    Value::Int(key.columns.len() as i64),
                    Value::UInt(type_bits(key)),
                ]);
            }
        }
        rows
    },
};

pub(super) const COLUMNS: ViewSource = ViewSource {
    name: "INNODB_FOREIGN_COLS",
    columns: &[NullText("ID", 129), Text("FOR_COL_NAME", 64), Text("REF_COL_NAME", 64), Number("POS")],
    late: None,
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            for key in &definition.foreign_keys {
                for (position, (&column, parent)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                    rows.push(vec![
                        Value::bytes(format!("{}/{}", definition.database, key.name)),
                        Value::bytes(&definition.columns[column].name),
                        Value::bytes(parent),
                        Value::UInt(position as u64 + 1),
                    ]);
                }
            }
        }
        rows
    },
};

/// The actions as InnoDB counts them.
fn type_bits(key: &ForeignKeyDef) -> u64 {
    let bits = |action, cascade, set_null, no_action| match action {
        ReferentialAction::Cascade => cascade,
        ReferentialAction::SetNull => set_null,
        ReferentialAction::NoAction => no_action,
        ReferentialAction::Restrict | ReferentialAction::SetDefault => 0,
    };
    bits(key.on_delete, 1, 2, 16) | bits(key.on_update, 4, 8, 32)
}
