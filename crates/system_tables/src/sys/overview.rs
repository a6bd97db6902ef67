//! Files, memory, waits and objects as a whole.
use std::collections::BTreeMap;

use catalog::Viewer;
use datum::Value;
use env::WAIT_CAUSES;
use instance::Instance;
use telemetry::wait_name;

use crate::performance_schema::{files, memory_parts, of_everybody, tables};
use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{bytes_text, decimal, time, time_text};

pub(super) const TABLES: &[Table] = &[
    Table::of("sys", MEMORY_TOTAL, |instance, _| vec![vec![Value::bytes(bytes_text(memory(instance)))]]),
    Table::of("sys", X_MEMORY_TOTAL, |instance, _| vec![vec![decimal(&memory(instance).to_string())]]),
    Table::of("sys", FILES, |instance, _| file_bytes(instance, false)),
    Table::of("sys", X_FILES, |instance, _| file_bytes(instance, true)),
    Table::of("sys", WAITS, |instance, _| waits(instance, false)),
    Table::of("sys", X_WAITS, |instance, _| waits(instance, true)),
    Table::of("sys", OBJECTS, objects),
    Table::of("sys", AUTO_INCREMENT, auto_increment),
];

const MEMORY_TOTAL: Shape = Shape { name: "memory_global_total", columns: "total_allocated varchar(11)?" };
const X_MEMORY_TOTAL: Shape =
    Shape { name: "x$memory_global_total", columns: "total_allocated decimal(41,0)?" };
const FILES: Shape = Shape {
    name: "io_global_by_file_by_bytes",
    columns: "file varchar(512)?; count_read bigint unsigned; total_read varchar(11)?; avg_read varchar(11)?; \
        count_write bigint unsigned; total_written varchar(11)?; avg_write varchar(11)?; total varchar(11)?; \
        write_pct decimal(26,2)",
};
const X_FILES: Shape = Shape {
    name: "x$io_global_by_file_by_bytes",
    columns: "file varchar(512); count_read bigint unsigned; total_read bigint; avg_read decimal(23,4); count_write \
        bigint unsigned; total_written bigint; avg_write decimal(23,4); total bigint; write_pct decimal(26,2)",
};
const WAITS: Shape = Shape {
    name: "waits_global_by_latency",
    columns: "events varchar(128); total bigint unsigned; total_latency varchar(11)?; avg_latency varchar(11)?; \
        max_latency varchar(11)?",
};
const X_WAITS: Shape = Shape {
    name: "x$waits_global_by_latency",
    columns: "events varchar(128); total bigint unsigned; total_latency bigint unsigned; avg_latency bigint unsigned; \
        max_latency bigint unsigned",
};
const OBJECTS: Shape = Shape {
    name: "schema_object_overview",
    columns: "db varchar(64); object_type varchar(19)?; count bigint",
};
const AUTO_INCREMENT: Shape = Shape {
    name: "schema_auto_increment_columns",
    columns: "table_schema varchar(64); table_name varchar(64); column_name varchar(64)?; data_type longtext?; \
        column_type mediumtext; is_signed int; is_unsigned int; max_value bigint unsigned?; auto_increment \
        bigint unsigned?; auto_increment_ratio decimal(25,4) unsigned?",
};

fn memory(instance: &Instance) -> u64 {
    memory_parts(instance).iter().map(|(_, bytes)| bytes).sum()
}

fn file_bytes(instance: &Instance, is_raw: bool) -> Rows {
    let row = |file: &crate::performance_schema::FileFigures| {
        let io = &file.io;
        let total = io.bytes_read + io.bytes_written;
        let percent = if total == 0 { 0.0 } else { 100.0 - io.bytes_read as f64 * 100.0 / total as f64 };
        let bytes = |number: u64| {
            if is_raw { Value::Int(number as i64) } else { Value::bytes(bytes_text(number)) }
        };
        let average = |sum: u64, count: u64| match is_raw {
            true => decimal(&format!("{:.4}", sum as f64 / count.max(1) as f64)),
            false => Value::bytes(bytes_text(sum / count.max(1))),
        };
        vec![
            Value::bytes(format!("@@datadir/{}", file.file)),
            Value::UInt(io.reads),
            bytes(io.bytes_read),
            average(io.bytes_read, io.reads),
            Value::UInt(io.writes),
            bytes(io.bytes_written),
            average(io.bytes_written, io.writes),
            bytes(total),
            decimal(&format!("{percent:.2}")),
        ]
    };
    files(instance).iter().map(row).collect()
}

/// The longest first.
fn waits(instance: &Instance, is_raw: bool) -> Rows {
    let figures = of_everybody(instance);
    let mut all: Vec<_> =
        WAIT_CAUSES.iter().map(|cause| (wait_name(*cause), *figures.waits.of(*cause))).collect();
    all.retain(|(_, timings)| timings.count > 0);
    all.sort_by_key(|(_, timings)| std::cmp::Reverse(timings.sum_ns));
    let shown =
        |nanoseconds: u64| if is_raw { time(nanoseconds) } else { Value::bytes(time_text(nanoseconds)) };
    all.into_iter()
        .map(|(name, timings)| {
            vec![
                Value::bytes(name),
                Value::UInt(timings.count),
                shown(timings.sum_ns),
                shown(timings.average_ns()),
                shown(timings.max_ns),
            ]
        })
        .collect()
}

fn objects(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut counts: BTreeMap<(String, &str), i64> = BTreeMap::new();
    for table in tables(instance, viewer) {
        let definition = table.definition();
        *counts.entry((definition.database.clone(), "BASE TABLE")).or_default() += 1;
        let parts: usize = definition.indexes.iter().map(|index| index.parts.len()).sum();
        *counts.entry((definition.database.clone(), "INDEX (BTREE)")).or_default() += parts as i64;
    }
    counts.retain(|_, count| *count > 0);
    let row = |((database, kind), count)| vec![Value::bytes(database), Value::bytes(kind), Value::Int(count)];
    counts.into_iter().map(row).collect()
}

fn auto_increment(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        let definition = table.definition();
        let Some(position) = definition.auto_increment_column() else { continue };
        let Some(column) = definition.columns.get(position) else { continue };
        let text = schema::type_text(&column.column_type);
        let kind = text.split([' ', '(']).next().unwrap_or_default().to_owned();
        let unsigned = column.column_type.unsigned;
        let max: u64 = match kind.as_str() {
            "tinyint" => 255,
            "smallint" => 65_535,
            "mediumint" => 16_777_215,
            "int" => 4_294_967_295,
            _ => u64::MAX,
        };
        let max = if unsigned { max } else { max >> 1 };
        let next = table.if_ready().map(|table| table.auto_increment().peek());
        rows.push(vec![
            Value::bytes(&definition.database),
            Value::bytes(&definition.name),
            Value::bytes(&column.name),
            Value::bytes(kind),
            Value::bytes(&text),
            Value::Int(i64::from(!unsigned)),
            Value::Int(i64::from(unsigned)),
            Value::UInt(max),
            next.map_or(Value::Null, Value::UInt),
            next.map_or(Value::Null, |next| decimal(&format!("{:.4}", next as f64 / max as f64))),
        ]);
    }
    rows
}
