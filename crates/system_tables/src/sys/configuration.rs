//! `version`, `sys_config` and `metrics`.
use catalog::Viewer;
use datum::Value;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[
    Table::of("sys", VERSION, version),
    Table::of("sys", CONFIGURATION, configuration),
    Table::of("sys", METRICS, metrics),
    Table::empty("sys", LOST),
];

const VERSION: Shape = Shape { name: "version", columns: "sys_version varchar(5); mysql_version varchar(7)" };
const CONFIGURATION: Shape = Shape {
    name: "sys_config",
    columns: "variable varchar(128); value varchar(128)?; set_time timestamp?; set_by varchar(128)?",
};
const METRICS: Shape = Shape {
    name: "metrics",
    columns: "Variable_name varchar(193); Variable_value text?; Type varchar(210); Enabled varchar(7)",
};
const LOST: Shape = Shape {
    name: "ps_check_lost_instrumentation",
    columns: "variable_name varchar(64); variable_value varchar(1024)?",
};

/// Of the schema whose views these are.
fn version(instance: &Instance, _: &Viewer) -> Rows {
    vec![vec![Value::bytes("2.1.3"), Value::bytes(instance.version())]]
}

/// What the views here obey; nothing of it can be changed.
fn configuration(_: &Instance, _: &Viewer) -> Rows {
    [("statement_truncate_len", "64"), ("statement_performance_analyzer.limit", "100")]
        .into_iter()
        .map(|(name, value)| vec![Value::bytes(name), Value::bytes(value), Value::Null, Value::Null])
        .collect()
}

fn metrics(instance: &Instance, viewer: &Viewer) -> Rows {
    let status = crate::status::global_status(instance).into_iter().map(|(name, value)| {
        vec![
            Value::bytes(name.to_lowercase()),
            Value::bytes(value),
            Value::bytes("Global Status"),
            Value::bytes("YES"),
        ]
    });
    let engine = crate::status::metrics(instance, viewer).into_iter().filter_map(|row| {
        let [name, Value::Bytes(subsystem), Value::Int(count), ..] = &row[..] else { return None };
        let kind = format!("InnoDB Metrics - {}", String::from_utf8_lossy(subsystem));
        Some(vec![name.clone(), Value::bytes(count.to_string()), Value::bytes(kind), Value::bytes("YES")])
    });
    status.chain(engine).collect()
}
