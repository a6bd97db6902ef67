//! `user_summary` and `host_summary`: what each user and each host did.
use std::collections::{BTreeMap, BTreeSet};

use datum::Value;
use instance::Instance;
use telemetry::ThreadFigures;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{bytes_text, decimal, time, time_text};

pub(super) const TABLES: &[Table] = &[
    Table::of("sys", USERS, |instance, _| summary(instance, false, user_first)),
    Table::of("sys", X_USERS, |instance, _| summary(instance, true, user_first)),
    Table::of("sys", HOSTS, |instance, _| summary(instance, false, host_first)),
    Table::of("sys", X_HOSTS, |instance, _| summary(instance, true, host_first)),
    Table::of("sys", USER_STATEMENTS, |instance, _| by_statement(instance, false, user_first)),
    Table::of("sys", X_USER_STATEMENTS, |instance, _| by_statement(instance, true, user_first)),
    Table::of("sys", HOST_STATEMENTS, |instance, _| by_statement(instance, false, host_first)),
    Table::of("sys", X_HOST_STATEMENTS, |instance, _| by_statement(instance, true, host_first)),
];

const USERS: Shape = Shape {
    name: "user_summary",
    columns: "user varchar(32)?; statements decimal(64,0)?; statement_latency varchar(11)?; statement_avg_latency \
        varchar(11)?; table_scans decimal(65,0)?; file_ios decimal(64,0)?; file_io_latency varchar(11)?; \
        current_connections decimal(41,0)?; total_connections decimal(41,0)?; unique_hosts bigint; \
        current_memory varchar(11)?; total_memory_allocated varchar(11)?",
};
const X_USERS: Shape = Shape {
    name: "x$user_summary",
    columns: "user varchar(32)?; statements decimal(64,0)?; statement_latency decimal(64,0)?; statement_avg_latency \
        decimal(65,4); table_scans decimal(65,0)?; file_ios decimal(64,0)?; file_io_latency decimal(64,0)?; \
        current_connections decimal(41,0)?; total_connections decimal(41,0)?; unique_hosts bigint; \
        current_memory decimal(63,0)?; total_memory_allocated decimal(64,0)?",
};
const HOSTS: Shape = Shape {
    name: "host_summary",
    columns: "host varchar(255)?; statements decimal(64,0)?; statement_latency varchar(11)?; statement_avg_latency \
        varchar(11)?; table_scans decimal(65,0)?; file_ios decimal(64,0)?; file_io_latency varchar(11)?; \
        current_connections decimal(41,0)?; total_connections decimal(41,0)?; unique_users bigint; \
        current_memory varchar(11)?; total_memory_allocated varchar(11)?",
};
const X_HOSTS: Shape = Shape {
    name: "x$host_summary",
    columns: "host varchar(255)?; statements decimal(64,0)?; statement_latency decimal(64,0)?; statement_avg_latency \
        decimal(65,4)?; table_scans decimal(65,0)?; file_ios decimal(64,0)?; file_io_latency decimal(64,0)?; \
        current_connections decimal(41,0)?; total_connections decimal(41,0)?; unique_users bigint; \
        current_memory decimal(63,0)?; total_memory_allocated decimal(64,0)?",
};
const USER_STATEMENTS: Shape = Shape {
    name: "user_summary_by_statement_type",
    columns: "user varchar(32)?; statement varchar(128)?; total bigint unsigned; total_latency varchar(11)?; \
        max_latency varchar(11)?; lock_latency varchar(11)?; cpu_latency varchar(11)?; rows_sent bigint \
        unsigned; rows_examined bigint unsigned; rows_affected bigint unsigned; full_scans bigint unsigned",
};
const X_USER_STATEMENTS: Shape = Shape {
    name: "x$user_summary_by_statement_type",
    columns: "user varchar(32)?; statement varchar(128)?; total bigint unsigned; total_latency bigint unsigned; \
        max_latency bigint unsigned; lock_latency bigint unsigned; cpu_latency bigint unsigned; rows_sent bigint \
        unsigned; rows_examined bigint unsigned; rows_affected bigint unsigned; full_scans bigint unsigned",
};
const HOST_STATEMENTS: Shape = Shape {
    name: "host_summary_by_statement_type",
    columns: "host varchar(255)?; statement varchar(128)?; total bigint unsigned; total_latency varchar(11)?; \
        max_latency varchar(11)?; lock_latency varchar(11)?; cpu_latency varchar(11)?; rows_sent bigint \
        unsigned; rows_examined bigint unsigned; rows_affected bigint unsigned; full_scans bigint unsigned",
};
const X_HOST_STATEMENTS: Shape = Shape {
    name: "x$host_summary_by_statement_type",
    columns: "host varchar(255)?; statement varchar(128)?; total bigint unsigned; total_latency bigint unsigned; \
        max_latency bigint unsigned; lock_latency bigint unsigned; cpu_latency bigint unsigned; rows_sent bigint \
        unsigned; rows_examined bigint unsigned; rows_affected bigint unsigned; full_scans bigint unsigned",
};

/// By what rows are summed, and what is counted beside it.
pub(super) type Split = fn(String, String) -> (String, String);

pub(super) fn user_first(user: String, host: String) -> (String, String) {
    (user, host)
}

pub(super) fn host_first(user: String, host: String) -> (String, String) {
    (host, user)
}

#[derive(Default)]
pub(super) struct Sums {
    pub figures: ThreadFigures,
    others: BTreeSet<String>,
    current: u64,
    total: u64,
}

pub(super) fn sums(instance: &Instance, split: Split) -> BTreeMap<String, Sums> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for ((user, host), account) in instance.telemetry.accounts.all() {
        let (name, other) = split(user, host);
        let sum = sums.entry(name).or_default();
        sum.others.insert(other);
        sum.current += account.current;
        sum.total += account.total;
        sum.figures.merge(&account.ended);
    }
    for entry in instance.processes().all() {
        let (name, _) = split(entry.activity().user, entry.client_host());
        sums.entry(name).or_default().figures.merge(&entry.figures.figures());
    }
    sums
}

fn summary(instance: &Instance, is_raw: bool, split: Split) -> Rows {
    let shown = |nanoseconds: u64| match is_raw {
        true => decimal(&(nanoseconds.saturating_mul(1000)).to_string()),
        false => Value::bytes(time_text(nanoseconds)),
    };
    let row = |(name, sum): (String, Sums)| {
        let statements = sum.figures.statements.iter().map(|(_, totals)| totals);
        let (mut count, mut time_ns, mut scans) = (0, 0, 0);
        for totals in statements {
            count += totals.timings.count;
            time_ns += totals.timings.sum_ns;
            scans += totals.figures.no_index_used + totals.figures.no_good_index_used;
        }
        let memory = || if is_raw { decimal("0") } else { Value::bytes(bytes_text(0)) };
        let reads = sum.figures.waits.of(env::WaitCause::PageRead);
        vec![
            Value::bytes(name),
            decimal(&count.to_string()),
            shown(time_ns),
            shown(time_ns / count.max(1)),
            decimal(&scans.to_string()),
            decimal(&reads.count.to_string()),
            shown(reads.sum_ns),
            decimal(&sum.current.to_string()),
            decimal(&sum.total.to_string()),
            Value::Int(sum.others.len() as i64),
            memory(),
            memory(),
        ]
    };
    sums(instance, split).into_iter().map(row).collect()
}

/// The kinds of statements of each, those that took longest first.
fn by_statement(instance: &Instance, is_raw: bool, split: Split) -> Rows {
    let shown =
        |nanoseconds: u64| if is_raw { time(nanoseconds) } else { Value::bytes(time_text(nanoseconds)) };
    let mut rows = Rows::new();
    for (name, sum) in sums(instance, split) {
        let mut statements = sum.figures.statements;
        statements.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.timings.sum_ns));
        for (event, totals) in statements {
            let figures = &totals.figures;
            rows.push(vec![
                Value::bytes(&name),
                Value::bytes(event.rsplit('/').next().unwrap_or(event)),
                Value::UInt(totals.timings.count),
                shown(totals.timings.sum_ns),
                shown(totals.timings.max_ns),
                shown(figures.lock_time_ns),
                shown(figures.cpu_time_ns),
                Value::UInt(figures.rows_sent),
                Value::UInt(figures.rows_examined),
                Value::UInt(figures.rows_affected),
                Value::UInt(figures.no_index_used + figures.no_good_index_used),
            ]);
        }
    }
    rows
}
