//! Files, waits and memory of the whole server and of each thread: `io_..`, `wait_classes_..`, `memory_..`.
//!
//! The pages that a table has in memory are not told: `innodb_buffer_stats_..` have no rows.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use env::{WAIT_CAUSES, WaitCause};
use instance::{Instance, ProcessEntry};
use telemetry::{Timings, wait_name};

use super::cells::{Cell, shown, twins};
use crate::performance_schema::{FileFigures, bytes_of, file_of, files, memory_parts, of_everybody};
use crate::shape::Shape;
use crate::table::Table;

pub(super) const TABLES: &[&[Table]] = &[
    twins! {
        (IO_GLOBAL_BY_FILE_BY_LATENCY, X_IO_GLOBAL_BY_FILE_BY_LATENCY): instance => by_file(instance);
        (IO_GLOBAL_BY_WAIT_BY_BYTES, X_IO_GLOBAL_BY_WAIT_BY_BYTES): instance => by_bytes(instance);
        (IO_GLOBAL_BY_WAIT_BY_LATENCY, X_IO_GLOBAL_BY_WAIT_BY_LATENCY): instance => by_latency(instance);
        (IO_BY_THREAD_BY_LATENCY, X_IO_BY_THREAD_BY_LATENCY): instance => by_thread(instance);
        (LATEST_FILE_IO, X_LATEST_FILE_IO): instance => latest_file_io(instance);
        (WAIT_CLASSES_GLOBAL_BY_LATENCY, X_WAIT_CLASSES_GLOBAL_BY_LATENCY): instance => wait_classes(instance, |timings| timings.sum_ns);
        (WAIT_CLASSES_GLOBAL_BY_AVG_LATENCY, X_WAIT_CLASSES_GLOBAL_BY_AVG_LATENCY): instance => wait_classes(instance, Timings::average_ns);
        (MEMORY_GLOBAL_BY_CURRENT_BYTES, X_MEMORY_GLOBAL_BY_CURRENT_BYTES): instance => memory(instance);
        (MEMORY_BY_THREAD_BY_CURRENT_BYTES, X_MEMORY_BY_THREAD_BY_CURRENT_BYTES): instance => memory_by_thread(instance);
    },
    &[
        Table::empty("sys", INNODB_BUFFER_STATS_BY_SCHEMA),
        Table::empty("sys", X_INNODB_BUFFER_STATS_BY_SCHEMA),
        Table::empty("sys", INNODB_BUFFER_STATS_BY_TABLE),
        Table::empty("sys", X_INNODB_BUFFER_STATS_BY_TABLE),
    ],
];

const IO_GLOBAL_BY_FILE_BY_LATENCY: Shape = Shape {
    name: "io_global_by_file_by_latency",
    columns: "file varchar(512)?; total bigint unsigned; total_latency varchar(11)?; count_read bigint \
        unsigned; read_latency varchar(11)?; count_write bigint unsigned; write_latency varchar(11)?; \
        count_misc bigint unsigned; misc_latency varchar(11)?",
};

const X_IO_GLOBAL_BY_FILE_BY_LATENCY: Shape = Shape {
    name: "x$io_global_by_file_by_latency",
    columns: "file varchar(512); total bigint unsigned; total_latency bigint unsigned; count_read bigint \
        unsigned; read_latency bigint unsigned; count_write bigint unsigned; write_latency bigint \
        unsigned; count_misc bigint unsigned; misc_latency bigint unsigned",
};

const IO_GLOBAL_BY_WAIT_BY_BYTES: Shape = Shape {
    name: "io_global_by_wait_by_bytes",
    columns: "event_name varchar(128)?; total bigint unsigned; total_latency varchar(11)?; min_latency \
        varchar(11)?; avg_latency varchar(11)?; max_latency varchar(11)?; count_read bigint unsigned; \
        total_read varchar(11)?; avg_read varchar(11)?; count_write bigint unsigned; total_written \
        varchar(11)?; avg_written varchar(11)?; total_requested varchar(11)?",
};

const X_IO_GLOBAL_BY_WAIT_BY_BYTES: Shape = Shape {
    name: "x$io_global_by_wait_by_bytes",
    columns: "event_name varchar(128)?; total bigint unsigned; total_latency bigint unsigned; min_latency \
        bigint unsigned; avg_latency bigint unsigned; max_latency bigint unsigned; count_read bigint \
        unsigned; total_read bigint; avg_read decimal(23,4); count_write bigint unsigned; total_written \
        bigint; avg_written decimal(23,4); total_requested bigint",
};

const IO_GLOBAL_BY_WAIT_BY_LATENCY: Shape = Shape {
    name: "io_global_by_wait_by_latency",
    columns: "event_name varchar(128)?; total bigint unsigned; total_latency varchar(11)?; avg_latency \
        varchar(11)?; max_latency varchar(11)?; read_latency varchar(11)?; write_latency varchar(11)?; \
        misc_latency varchar(11)?; count_read bigint unsigned; total_read varchar(11)?; avg_read \
        varchar(11)?; count_write bigint unsigned; total_written varchar(11)?; avg_written varchar(11)?",
};

const X_IO_GLOBAL_BY_WAIT_BY_LATENCY: Shape = Shape {
    name: "x$io_global_by_wait_by_latency",
    columns: "event_name varchar(128)?; total bigint unsigned; total_latency bigint unsigned; avg_latency \
        bigint unsigned; max_latency bigint unsigned; read_latency bigint unsigned; write_latency bigint \
        unsigned; misc_latency bigint unsigned; count_read bigint unsigned; total_read bigint; avg_read \
        decimal(23,4); count_write bigint unsigned; total_written bigint; avg_written decimal(23,4)",
};

const IO_BY_THREAD_BY_LATENCY: Shape = Shape {
    name: "io_by_thread_by_latency",
    columns: "user varchar(288)?; total decimal(42,0)?; total_latency varchar(11)?; min_latency varchar(11)?; \
        avg_latency varchar(11)?; max_latency varchar(11)?; thread_id bigint unsigned; processlist_id \
        bigint unsigned?",
};

const X_IO_BY_THREAD_BY_LATENCY: Shape = Shape {
    name: "x$io_by_thread_by_latency",
    columns: "user varchar(288)?; total decimal(42,0)?; total_latency decimal(42,0)?; min_latency bigint \
        unsigned?; avg_latency decimal(24,4)?; max_latency bigint unsigned?; thread_id bigint unsigned; \
        processlist_id bigint unsigned?",
};

const LATEST_FILE_IO: Shape = Shape {
    name: "latest_file_io",
    columns: "thread varchar(317)?; file varchar(512)?; latency varchar(11)?; operation varchar(32); requested \
        varchar(11)?",
};

const X_LATEST_FILE_IO: Shape = Shape {
    name: "x$latest_file_io",
    columns: "thread varchar(317)?; file varchar(512)?; latency bigint unsigned?; operation varchar(32); \
        requested bigint?",
};

const WAIT_CLASSES_GLOBAL_BY_LATENCY: Shape = Shape {
    name: "wait_classes_global_by_latency",
    columns: "event_class varchar(128)?; total decimal(42,0)?; total_latency varchar(11)?; min_latency \
        varchar(11)?; avg_latency varchar(11)?; max_latency varchar(11)?",
};

const X_WAIT_CLASSES_GLOBAL_BY_LATENCY: Shape = Shape {
    name: "x$wait_classes_global_by_latency",
    columns: "event_class varchar(128)?; total decimal(42,0)?; total_latency decimal(42,0)?; min_latency \
        bigint unsigned?; avg_latency decimal(46,4); max_latency bigint unsigned?",
};

const WAIT_CLASSES_GLOBAL_BY_AVG_LATENCY: Shape = Shape {
    name: "wait_classes_global_by_avg_latency",
    columns: "event_class varchar(128)?; total decimal(42,0)?; total_latency varchar(11)?; min_latency \
        varchar(11)?; avg_latency varchar(11)?; max_latency varchar(11)?",
};

const X_WAIT_CLASSES_GLOBAL_BY_AVG_LATENCY: Shape = Shape {
    name: "x$wait_classes_global_by_avg_latency",
    columns: "event_class varchar(128)?; total decimal(42,0)?; total_latency decimal(42,0)?; min_latency \
        bigint unsigned?; avg_latency decimal(46,4); max_latency bigint unsigned?",
};

const MEMORY_GLOBAL_BY_CURRENT_BYTES: Shape = Shape {
    name: "memory_global_by_current_bytes",
    columns: "event_name varchar(128); current_count bigint; current_alloc varchar(11)?; current_avg_alloc \
        varchar(11)?; high_count bigint; high_alloc varchar(11)?; high_avg_alloc varchar(11)?",
};

const X_MEMORY_GLOBAL_BY_CURRENT_BYTES: Shape = Shape {
    name: "x$memory_global_by_current_bytes",
    columns: "event_name varchar(128); current_count bigint; current_alloc bigint; current_avg_alloc \
        decimal(23,4); high_count bigint; high_alloc bigint; high_avg_alloc decimal(23,4)",
};

const MEMORY_BY_THREAD_BY_CURRENT_BYTES: Shape = Shape {
    name: "memory_by_thread_by_current_bytes",
    columns: "thread_id bigint unsigned; user varchar(288)?; current_count_used decimal(41,0)?; \
        current_allocated varchar(11)?; current_avg_alloc varchar(11)?; current_max_alloc varchar(11)?; \
        total_allocated varchar(11)?",
};

const X_MEMORY_BY_THREAD_BY_CURRENT_BYTES: Shape = Shape {
    name: "x$memory_by_thread_by_current_bytes",
    columns: "thread_id bigint unsigned; user varchar(288)?; current_count_used decimal(41,0)?; \
        current_allocated decimal(41,0)?; current_avg_alloc decimal(45,4); current_max_alloc bigint?; \
        total_allocated decimal(42,0)?",
};

const INNODB_BUFFER_STATS_BY_SCHEMA: Shape = Shape {
    name: "innodb_buffer_stats_by_schema",
    columns: "object_schema text?; allocated varchar(11)?; data varchar(11)?; pages bigint; pages_hashed \
        bigint; pages_old bigint; rows_cached decimal(45,0)?",
};

const X_INNODB_BUFFER_STATS_BY_SCHEMA: Shape = Shape {
    name: "x$innodb_buffer_stats_by_schema",
    columns: "object_schema text?; allocated decimal(44,0)?; data decimal(44,0)?; pages bigint; pages_hashed \
        bigint; pages_old bigint; rows_cached decimal(45,0)",
};

const INNODB_BUFFER_STATS_BY_TABLE: Shape = Shape {
    name: "innodb_buffer_stats_by_table",
    columns: "object_schema text?; object_name text?; allocated varchar(11)?; data varchar(11)?; pages bigint; \
        pages_hashed bigint; pages_old bigint; rows_cached decimal(45,0)?",
};

const X_INNODB_BUFFER_STATS_BY_TABLE: Shape = Shape {
    name: "x$innodb_buffer_stats_by_table",
    columns: "object_schema text?; object_name text?; allocated decimal(44,0)?; data decimal(44,0)?; pages \
        bigint; pages_hashed bigint; pages_old bigint; rows_cached decimal(45,0)",
};

fn operations(file: &FileFigures) -> u64 {
    file.io.reads + file.io.writes + file.io.syncs
}

fn by_file(instance: &Instance) -> Vec<Vec<Cell>> {
    let row = |file: &FileFigures| {
        vec![
            Cell::text(format!("@@datadir/{}", file.file)),
            Cell::Count(operations(file)),
            Cell::Time(file.read_ns + file.sync_ns),
            Cell::Count(file.io.reads),
            Cell::Time(file.read_ns),
            Cell::Count(file.io.writes),
            Cell::Time(0),
            Cell::Count(file.io.syncs),
            Cell::Time(file.sync_ns),
        ]
    };
    files(instance).iter().map(row).collect()
}

/// The event's name as these views shorten it.
fn short_event(file: &FileFigures) -> Cell {
    Cell::text(file.event.trim_start_matches("wait/io/file/"))
}

fn by_bytes(instance: &Instance) -> Vec<Vec<Cell>> {
    let row = |file: &FileFigures| {
        let (io, all_ns) = (&file.io, file.read_ns + file.sync_ns);
        vec![
            short_event(file),
            Cell::Count(operations(file)),
            Cell::Time(all_ns),
            Cell::Time(0),
            Cell::Time(all_ns / operations(file).max(1)),
            Cell::Time(0),
            Cell::Count(io.reads),
            Cell::Bytes(io.bytes_read),
            Cell::Bytes(io.bytes_read / io.reads.max(1)),
            Cell::Count(io.writes),
            Cell::Bytes(io.bytes_written),
            Cell::Bytes(io.bytes_written / io.writes.max(1)),
            Cell::Bytes(io.bytes_read + io.bytes_written),
        ]
    };
    files(instance).iter().map(row).collect()
}

fn by_latency(instance: &Instance) -> Vec<Vec<Cell>> {
    let row = |file: &FileFigures| {
        let (io, all_ns) = (&file.io, file.read_ns + file.sync_ns);
        vec![
            short_event(file),
            Cell::Count(operations(file)),
            Cell::Time(all_ns),
            Cell::Time(all_ns / operations(file).max(1)),
            Cell::Time(0),
            Cell::Time(file.read_ns),
            Cell::Time(0),
            Cell::Time(file.sync_ns),
            Cell::Count(io.reads),
            Cell::Bytes(io.bytes_read),
            Cell::Bytes(io.bytes_read / io.reads.max(1)),
            Cell::Count(io.writes),
            Cell::Bytes(io.bytes_written),
            Cell::Bytes(io.bytes_written / io.writes.max(1)),
        ]
    };
    files(instance).iter().map(row).collect()
}

fn thread_name(entry: &ProcessEntry) -> Cell {
    Cell::text(format!("{}@{}", entry.activity().user, entry.client_host()))
}

fn by_thread(instance: &Instance) -> Vec<Vec<Cell>> {
    let mut all = Vec::new();
    for entry in instance.processes().all() {
        let (figures, mut timings) = (entry.figures.figures(), Timings::default());
        for cause in [WaitCause::PageRead, WaitCause::LogFlush] {
            timings.merge(figures.waits.of(cause));
        }
        all.push((entry, timings));
    }
    all.retain(|(_, timings)| timings.count > 0);
    all.sort_by_key(|(_, timings)| Reverse(timings.sum_ns));
    let row = |(entry, timings): &(std::sync::Arc<ProcessEntry>, Timings)| {
        let id = u64::from(entry.id.0);
        vec![
            thread_name(entry),
            Cell::Count(timings.count),
            Cell::Time(timings.sum_ns),
            Cell::Time(timings.min_ns),
            Cell::Time(timings.average_ns()),
            Cell::Time(timings.max_ns),
            Cell::Count(id),
            Cell::Count(id),
        ]
    };
    all.iter().map(row).collect()
}

/// Of `events_waits_history_long` what waited for files, in the order of time.
fn latest_file_io(instance: &Instance) -> Vec<Vec<Cell>> {
    let mut all = instance.telemetry.waits_long.events();
    all.retain(|(_, event)| event.name.starts_with("wait/io/file/"));
    all.sort_by_key(|(_, event)| event.span.began_ns);
    let processes = instance.processes().all();
    let row = |(thread, event): &(u64, telemetry::WaitEvent)| {
        // As in MySQL, what sessions did that are gone is not told.
        let process = processes.iter().find(|process| u64::from(process.id.0) == *thread)?;
        let activity = process.activity();
        let file = file_of(instance, event.name)?;
        let directory = instance.global_variable("datadir");
        let below = file.strip_prefix(directory.trim_end_matches('/')).map(|rest| format!("@@datadir{rest}"));
        let waited = event.span.began_ns.zip(event.span.ended_ns);
        Some(vec![
            Cell::text(format!("{}@{}:{thread}", activity.user, activity.host)),
            Cell::text(below.unwrap_or(file)),
            waited.map_or(Cell::Text(None), |(began, ended)| Cell::Time(ended.saturating_sub(began))),
            Cell::text(event.operation),
            bytes_of(event).map_or(Cell::Text(None), Cell::Bytes),
        ])
    };
    all.iter().filter_map(row).collect()
}

/// The first three words of an event's name.
fn wait_class(event: &str) -> String {
    event.split('/').take(3).collect::<Vec<_>>().join("/")
}

fn wait_classes(instance: &Instance, order: fn(&Timings) -> u64) -> Vec<Vec<Cell>> {
    let figures = of_everybody(instance);
    let mut classes: BTreeMap<String, Timings> = BTreeMap::new();
    for cause in WAIT_CAUSES {
        let timings = figures.waits.of(cause);
        if timings.count > 0 {
            classes.entry(wait_class(wait_name(cause))).or_default().merge(timings);
        }
    }
    let mut classes: Vec<(String, Timings)> = classes.into_iter().collect();
    classes.sort_by_key(|(_, timings)| Reverse(order(timings)));
    let row = |(class, timings): (String, Timings)| {
        vec![
            Cell::text(class),
            Cell::Count(timings.count),
            Cell::Time(timings.sum_ns),
            Cell::Time(timings.min_ns),
            Cell::Time(timings.average_ns()),
            Cell::Time(timings.max_ns),
        ]
    };
    classes.into_iter().map(row).collect()
}

fn memory(instance: &Instance) -> Vec<Vec<Cell>> {
    let mut parts = memory_parts(instance);
    parts.sort_by_key(|(_, bytes)| Reverse(*bytes));
    let row = |(event, bytes): &(&str, u64)| {
        let (count, bytes) = (Cell::Count(1), Cell::Bytes(*bytes));
        vec![Cell::text(*event), count.clone(), bytes.clone(), bytes.clone(), count, bytes.clone(), bytes]
    };
    parts.iter().map(row).collect()
}

fn memory_by_thread(instance: &Instance) -> Vec<Vec<Cell>> {
    let entries = instance.processes().all().into_iter();
    let mut held: Vec<_> =
        entries.filter_map(|entry| Some((entry.sight.get()?.memory_bytes(), entry))).collect();
    held.sort_by_key(|(bytes, _)| Reverse(*bytes));
    let row = |(bytes, entry): &(u64, std::sync::Arc<ProcessEntry>)| {
        let bytes = Cell::Bytes(*bytes);
        vec![
            Cell::Count(u64::from(entry.id.0)),
            thread_name(entry),
            Cell::Count(1),
            bytes.clone(),
            bytes.clone(),
            bytes.clone(),
            bytes,
        ]
    };
    held.iter().map(row).collect()
}
