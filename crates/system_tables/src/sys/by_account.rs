//! What users and hosts took time, files and memory for: `user_summary_by_..`, `host_summary_by_..`, `waits_by_..`,
//! `memory_by_..`, `.._by_stages`.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use env::{WAIT_CAUSES, WaitCause};
use instance::{Instance, ProcessEntry};
use telemetry::{StatementTotals, Timings, wait_name};

use super::accounts::{Split, host_first, sums, user_first};
use super::cells::{Cell, shown, twins};
use crate::shape::Shape;
use crate::table::Table;

pub(super) const TABLES: &[&[Table]] = &[twins! {
    (USER_SUMMARY_BY_STATEMENT_LATENCY, X_USER_SUMMARY_BY_STATEMENT_LATENCY): instance => statements(instance, user_first);
    (HOST_SUMMARY_BY_STATEMENT_LATENCY, X_HOST_SUMMARY_BY_STATEMENT_LATENCY): instance => statements(instance, host_first);
    (USER_SUMMARY_BY_FILE_IO, X_USER_SUMMARY_BY_FILE_IO): instance => file_io(instance, user_first);
    (HOST_SUMMARY_BY_FILE_IO, X_HOST_SUMMARY_BY_FILE_IO): instance => file_io(instance, host_first);
    (USER_SUMMARY_BY_FILE_IO_TYPE, X_USER_SUMMARY_BY_FILE_IO_TYPE): instance => file_io_types(instance, user_first);
    (HOST_SUMMARY_BY_FILE_IO_TYPE, X_HOST_SUMMARY_BY_FILE_IO_TYPE): instance => file_io_types(instance, host_first);
    (WAITS_BY_USER_BY_LATENCY, X_WAITS_BY_USER_BY_LATENCY): instance => waits(instance, user_first);
    (WAITS_BY_HOST_BY_LATENCY, X_WAITS_BY_HOST_BY_LATENCY): instance => waits(instance, host_first);
    (MEMORY_BY_USER_BY_CURRENT_BYTES, X_MEMORY_BY_USER_BY_CURRENT_BYTES): instance => memory(instance, |entry| entry.activity().user);
    (MEMORY_BY_HOST_BY_CURRENT_BYTES, X_MEMORY_BY_HOST_BY_CURRENT_BYTES): instance => memory(instance, |entry| entry.client_host());
    (USER_SUMMARY_BY_STAGES, X_USER_SUMMARY_BY_STAGES): instance => stages(instance, user_first);
    (HOST_SUMMARY_BY_STAGES, X_HOST_SUMMARY_BY_STAGES): instance => stages(instance, host_first);
}];

const USER_SUMMARY_BY_STATEMENT_LATENCY: Shape = Shape {
    name: "user_summary_by_statement_latency",
    columns: "user varchar(32)?; total decimal(42,0)?; total_latency varchar(11)?; max_latency varchar(11)?; \
        lock_latency varchar(11)?; cpu_latency varchar(11)?; rows_sent decimal(42,0)?; rows_examined \
        decimal(42,0)?; rows_affected decimal(42,0)?; full_scans decimal(43,0)?",
};

const X_USER_SUMMARY_BY_STATEMENT_LATENCY: Shape = Shape {
    name: "x$user_summary_by_statement_latency",
    columns: "user varchar(32)?; total decimal(42,0)?; total_latency decimal(42,0)?; max_latency \
        decimal(42,0)?; lock_latency decimal(42,0)?; cpu_latency decimal(42,0)?; rows_sent \
        decimal(42,0)?; rows_examined decimal(42,0)?; rows_affected decimal(42,0)?; full_scans \
        decimal(43,0)?",
};

const HOST_SUMMARY_BY_STATEMENT_LATENCY: Shape = Shape {
    name: "host_summary_by_statement_latency",
    columns: "host varchar(255)?; total decimal(42,0)?; total_latency varchar(11)?; max_latency varchar(11)?; \
        lock_latency varchar(11)?; cpu_latency varchar(11)?; rows_sent decimal(42,0)?; rows_examined \
        decimal(42,0)?; rows_affected decimal(42,0)?; full_scans decimal(43,0)?",
};

const X_HOST_SUMMARY_BY_STATEMENT_LATENCY: Shape = Shape {
    name: "x$host_summary_by_statement_latency",
    columns: "host varchar(255)?; total decimal(42,0)?; total_latency decimal(42,0)?; max_latency bigint \
        unsigned?; lock_latency decimal(42,0)?; cpu_latency decimal(42,0)?; rows_sent decimal(42,0)?; \
        rows_examined decimal(42,0)?; rows_affected decimal(42,0)?; full_scans decimal(43,0)?",
};

const USER_SUMMARY_BY_FILE_IO: Shape = Shape {
    name: "user_summary_by_file_io",
    columns: "user varchar(32)?; ios decimal(42,0)?; io_latency varchar(11)?",
};

const X_USER_SUMMARY_BY_FILE_IO: Shape = Shape {
    name: "x$user_summary_by_file_io",
    columns: "user varchar(32)?; ios decimal(42,0)?; io_latency decimal(42,0)?",
};

const HOST_SUMMARY_BY_FILE_IO: Shape = Shape {
    name: "host_summary_by_file_io",
    columns: "host varchar(255)?; ios decimal(42,0)?; io_latency varchar(11)?",
};

const X_HOST_SUMMARY_BY_FILE_IO: Shape = Shape {
    name: "x$host_summary_by_file_io",
    columns: "host varchar(255)?; ios decimal(42,0)?; io_latency decimal(42,0)?",
};

const USER_SUMMARY_BY_FILE_IO_TYPE: Shape = Shape {
    name: "user_summary_by_file_io_type",
    columns: "user varchar(32)?; event_name varchar(128); total bigint unsigned; latency varchar(11)?; \
        max_latency varchar(11)?",
};

const X_USER_SUMMARY_BY_FILE_IO_TYPE: Shape = Shape {
    name: "x$user_summary_by_file_io_type",
    columns: "user varchar(32)?; event_name varchar(128); total bigint unsigned; latency bigint unsigned; \
        max_latency bigint unsigned",
};

const HOST_SUMMARY_BY_FILE_IO_TYPE: Shape = Shape {
    name: "host_summary_by_file_io_type",
    columns: "host varchar(255)?; event_name varchar(128); total bigint unsigned; total_latency varchar(11)?; \
        max_latency varchar(11)?",
};

const X_HOST_SUMMARY_BY_FILE_IO_TYPE: Shape = Shape {
    name: "x$host_summary_by_file_io_type",
    columns: "host varchar(255)?; event_name varchar(128); total bigint unsigned; total_latency bigint \
        unsigned; max_latency bigint unsigned",
};

const USER_SUMMARY_BY_STAGES: Shape = Shape {
    name: "user_summary_by_stages",
    columns: "user varchar(32)?; event_name varchar(128); total bigint unsigned; total_latency varchar(11)?; \
        avg_latency varchar(11)?",
};

const X_USER_SUMMARY_BY_STAGES: Shape = Shape {
    name: "x$user_summary_by_stages",
    columns: "user varchar(32)?; event_name varchar(128); total bigint unsigned; total_latency bigint \
        unsigned; avg_latency bigint unsigned",
};

const HOST_SUMMARY_BY_STAGES: Shape = Shape {
    name: "host_summary_by_stages",
    columns: "host varchar(255)?; event_name varchar(128); total bigint unsigned; total_latency varchar(11)?; \
        avg_latency varchar(11)?",
};

const X_HOST_SUMMARY_BY_STAGES: Shape = Shape {
    name: "x$host_summary_by_stages",
    columns: "host varchar(255)?; event_name varchar(128); total bigint unsigned; total_latency bigint \
        unsigned; avg_latency bigint unsigned",
};

const WAITS_BY_USER_BY_LATENCY: Shape = Shape {
    name: "waits_by_user_by_latency",
    columns: "user varchar(32)?; event varchar(128); total bigint unsigned; total_latency varchar(11)?; \
        avg_latency varchar(11)?; max_latency varchar(11)?",
};

const X_WAITS_BY_USER_BY_LATENCY: Shape = Shape {
    name: "x$waits_by_user_by_latency",
    columns: "user varchar(32)?; event varchar(128); total bigint unsigned; total_latency bigint unsigned; \
        avg_latency bigint unsigned; max_latency bigint unsigned",
};

const WAITS_BY_HOST_BY_LATENCY: Shape = Shape {
    name: "waits_by_host_by_latency",
    columns: "host varchar(255)?; event varchar(128); total bigint unsigned; total_latency varchar(11)?; \
        avg_latency varchar(11)?; max_latency varchar(11)?",
};

const X_WAITS_BY_HOST_BY_LATENCY: Shape = Shape {
    name: "x$waits_by_host_by_latency",
    columns: "host varchar(255)?; event varchar(128); total bigint unsigned; total_latency bigint unsigned; \
        avg_latency bigint unsigned; max_latency bigint unsigned",
};

const MEMORY_BY_USER_BY_CURRENT_BYTES: Shape = Shape {
    name: "memory_by_user_by_current_bytes",
    columns: "user varchar(32)?; current_count_used decimal(41,0)?; current_allocated varchar(11)?; \
        current_avg_alloc varchar(11)?; current_max_alloc varchar(11)?; total_allocated varchar(11)?",
};

const X_MEMORY_BY_USER_BY_CURRENT_BYTES: Shape = Shape {
    name: "x$memory_by_user_by_current_bytes",
    columns: "user varchar(32)?; current_count_used decimal(41,0)?; current_allocated decimal(41,0)?; \
        current_avg_alloc decimal(45,4); current_max_alloc bigint?; total_allocated decimal(42,0)?",
};

const MEMORY_BY_HOST_BY_CURRENT_BYTES: Shape = Shape {
    name: "memory_by_host_by_current_bytes",
    columns: "host varchar(255)?; current_count_used decimal(41,0)?; current_allocated varchar(11)?; \
        current_avg_alloc varchar(11)?; current_max_alloc varchar(11)?; total_allocated varchar(11)?",
};

const X_MEMORY_BY_HOST_BY_CURRENT_BYTES: Shape = Shape {
    name: "x$memory_by_host_by_current_bytes",
    columns: "host varchar(255)?; current_count_used decimal(41,0)?; current_allocated decimal(41,0)?; \
        current_avg_alloc decimal(45,4); current_max_alloc bigint?; total_allocated decimal(42,0)?",
};

fn statements(instance: &Instance, split: Split) -> Vec<Vec<Cell>> {
    let mut all: Vec<(String, StatementTotals)> = Vec::new();
    for (name, sum) in sums(instance, split) {
        let mut totals = StatementTotals::default();
        sum.figures.statements.iter().for_each(|(_, one)| totals.merge(one));
        all.push((name, totals));
    }
    all.sort_by_key(|(_, totals)| Reverse(totals.timings.sum_ns));
    let row = |(name, totals): (String, StatementTotals)| {
        let figures = &totals.figures;
        vec![
            Cell::text(name),
            Cell::Count(totals.timings.count),
            Cell::Time(totals.timings.sum_ns),
            Cell::Time(totals.timings.max_ns),
            Cell::Time(figures.lock_time_ns),
            Cell::Time(figures.cpu_time_ns),
            Cell::Count(figures.rows_sent),
            Cell::Count(figures.rows_examined),
            Cell::Count(figures.rows_affected),
            Cell::Count(figures.no_index_used + figures.no_good_index_used),
        ]
    };
    all.into_iter().map(row).collect()
}

/// The waits for files.
const FILE_WAITS: [WaitCause; 2] = [WaitCause::PageRead, WaitCause::LogFlush];

fn file_io(instance: &Instance, split: Split) -> Vec<Vec<Cell>> {
    let mut all: Vec<(String, Timings)> = Vec::new();
    for (name, sum) in sums(instance, split) {
        let mut timings = Timings::default();
        FILE_WAITS.iter().for_each(|cause| timings.merge(sum.figures.waits.of(*cause)));
        all.push((name, timings));
    }
    all.sort_by_key(|(_, timings)| Reverse(timings.sum_ns));
    let row = |(name, timings): (String, Timings)| {
        vec![Cell::text(name), Cell::Count(timings.count), Cell::Time(timings.sum_ns)]
    };
    all.into_iter().map(row).collect()
}

/// Waits of these causes that each user or host had, the longest first.
fn causes(instance: &Instance, split: Split, causes: &[WaitCause]) -> Vec<(String, &'static str, Timings)> {
    let mut all = Vec::new();
    for (name, sum) in sums(instance, split) {
        let own = causes.iter().map(|cause| (name.clone(), wait_name(*cause), *sum.figures.waits.of(*cause)));
        all.extend(own.filter(|(_, _, timings)| timings.count > 0));
    }
    all.sort_by(|left, right| left.0.cmp(&right.0).then(right.2.sum_ns.cmp(&left.2.sum_ns)));
    all
}

fn file_io_types(instance: &Instance, split: Split) -> Vec<Vec<Cell>> {
    let row = |(name, event, timings): (String, &str, Timings)| {
        vec![
            Cell::text(name),
            Cell::text(event),
            Cell::Count(timings.count),
            Cell::Time(timings.sum_ns),
            Cell::Time(timings.max_ns),
        ]
    };
    causes(instance, split, &FILE_WAITS).into_iter().map(row).collect()
}

fn waits(instance: &Instance, split: Split) -> Vec<Vec<Cell>> {
    let row = |(name, event, timings): (String, &str, Timings)| {
        vec![
            Cell::text(name),
            Cell::text(event),
            Cell::Count(timings.count),
            Cell::Time(timings.sum_ns),
            Cell::Time(timings.average_ns()),
            Cell::Time(timings.max_ns),
        ]
    };
    causes(instance, split, &WAIT_CAUSES).into_iter().map(row).collect()
}

/// The stages that statements of each have come to, the longest first.
fn stages(instance: &Instance, split: Split) -> Vec<Vec<Cell>> {
    let mut all = Vec::new();
    for (name, sum) in sums(instance, split) {
        all.extend(sum.figures.stages.iter().map(|(stage, timings)| (name.clone(), *stage, *timings)));
    }
    all.sort_by(|left, right| left.0.cmp(&right.0).then(right.2.sum_ns.cmp(&left.2.sum_ns)));
    let row = |(name, stage, timings): (String, &str, Timings)| {
        vec![
            Cell::text(name),
            Cell::text(stage),
            Cell::Count(timings.count),
            Cell::Time(timings.sum_ns),
            Cell::Time(timings.average_ns()),
        ]
    };
    all.into_iter().map(row).collect()
}

/// What sessions hold now, those who hold most first.
fn memory(instance: &Instance, name: fn(&ProcessEntry) -> String) -> Vec<Vec<Cell>> {
    let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for entry in instance.processes().all() {
        let Some(sight) = entry.sight.get() else { continue };
        let bytes = sight.memory_bytes();
        let (count, all, most) = sums.entry(name(&entry)).or_default();
        *count += 1;
        *all += bytes;
        *most = bytes.max(*most);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, (_, all, _))| Reverse(*all));
    let row = |(name, (count, all, most)): (String, (u64, u64, u64))| {
        vec![
            Cell::text(name),
            Cell::Count(count),
            Cell::Bytes(all),
            Cell::Bytes(all / count.max(1)),
            Cell::Bytes(most),
            Cell::Bytes(all),
        ]
    };
    sums.into_iter().map(row).collect()
}
