//! `OPTIMIZER_TRACE`: what the planner weighed for the session's last statements.
use catalog::Viewer;
use datum::Value;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[Table::of(
    "information_schema",
    Shape {
        name: "OPTIMIZER_TRACE",
        columns: "QUERY longtext; TRACE longtext; MISSING_BYTES_BEYOND_MAX_MEM_SIZE int; \
            INSUFFICIENT_PRIVILEGES tinyint(1)",
    },
    rows,
)];

fn rows(_: &Instance, viewer: &Viewer) -> Rows {
    let traces = viewer.optimizer_traces.lock();
    let row = |kept: &catalog::OptimizerTrace| {
        vec![
            Value::bytes(&kept.query),
            Value::bytes(&kept.trace),
            Value::Int(i64::try_from(kept.missing_bytes).unwrap_or(i64::MAX).min(i64::from(i32::MAX))),
            Value::boolean(kept.is_hidden),
        ]
    };
    traces.kept.iter().take(traces.shown_max).map(row).collect()
}
