//! `INNODB_TEMP_TABLE_INFO`
use datum::Value;

use crate::view::{ViewColumn::*, ViewSource};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "INNODB_TEMP_TABLE_INFO",
    columns: &[Number("TABLE_ID"), NullText("NAME", 64), Number("N_COLS"), Number("SPACE")],
    rows: |catalog, viewer| {
        if !viewer.sees_all_sessions {
            return Vec::new();
        }
        let row = |table: &std::sync::Arc<table::TableHandle>| {
            let definition = table.definition();
            vec![
                Value::UInt(definition.id.0),
                Value::bytes(&definition.name),
                Value::UInt(definition.columns.len() as u64),
                Value::UInt(0),
            ]
        };
        catalog.temporary_tables().iter().map(row).collect()
    },
    late: None,
};
