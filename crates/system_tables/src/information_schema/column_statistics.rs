//! `COLUMN_STATISTICS`: the histograms.
use datum::Value;

use super::tables::visible_tables;
use crate::view::{ViewColumn::*, ViewSource};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "COLUMN_STATISTICS",
    columns: &[Text("SCHEMA_NAME", 64), Text("TABLE_NAME", 64), Text("COLUMN_NAME", 64), Json("HISTOGRAM")],
    rows: |catalog, viewer| {
        let mut rows = Vec::new();
        for table in visible_tables(catalog, viewer) {
            let definition = table.definition();
            for histogram in table.statistics().histograms().iter() {
                // A column of that name may be gone.
                if !definition.columns.iter().any(|column| column.name == histogram.column) {
                    continue;
                }
                rows.push(vec![
                    Value::bytes(&definition.database),
                    Value::bytes(&definition.name),
                    Value::bytes(&histogram.column),
                    Value::Json(histogram.text.as_str().into()),
                ]);
            }
        }
        rows
    },
    late: None,
};
