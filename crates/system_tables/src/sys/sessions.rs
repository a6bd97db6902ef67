//! `processlist` and `session`: what each connection does, with its statement's figures.
use catalog::Viewer;
use datum::Value;
use instance::{Instance, ProcessEntry};
use std::time::Instant;
use telemetry::{WaitEvent, picoseconds};

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{bytes_text, member, optional, short_statement, time, time_text};

pub(super) const TABLES: &[Table] = &[
    Table::of("sys", PROCESSES, |instance, viewer| rows(instance, viewer, false)),
    Table::of("sys", X_PROCESSES, |instance, viewer| rows(instance, viewer, true)),
    Table::of("sys", SESSIONS, |instance, viewer| rows(instance, viewer, false)),
    Table::of("sys", X_SESSIONS, |instance, viewer| rows(instance, viewer, true)),
    Table::of("sys", SSL, |_, _| Rows::new()),
];

const PROCESSES: Shape = Shape {
    name: "processlist",
    columns: "thd_id bigint unsigned; conn_id bigint unsigned?; user varchar(288)?; db varchar(64)?; command \
        varchar(16)?; state varchar(64)?; time bigint?; current_statement longtext?; execution_engine \
        enum('PRIMARY','SECONDARY')?; statement_latency varchar(11)?; progress decimal(26,2)?; lock_latency \
        varchar(11)?; cpu_latency varchar(11)?; rows_examined bigint unsigned?; rows_sent bigint unsigned?; \
        rows_affected bigint unsigned?; tmp_tables bigint unsigned?; tmp_disk_tables bigint unsigned?; full_scan \
        varchar(3); last_statement longtext?; last_statement_latency varchar(11)?; current_memory varchar(11)?; \
        last_wait varchar(128)?; last_wait_latency varchar(13)?; source varchar(64)?; trx_latency varchar(11)?; \
        trx_state enum('ACTIVE','COMMITTED','ROLLED BACK')?; trx_autocommit enum('YES','NO')?; pid \
        varchar(1024)?; program_name varchar(1024)?",
};
const X_PROCESSES: Shape = Shape {
    name: "x$processlist",
    columns: "thd_id bigint unsigned; conn_id bigint unsigned?; user varchar(288)?; db varchar(64)?; command \
        varchar(16)?; state varchar(64)?; time bigint?; current_statement longtext?; execution_engine \
        enum('PRIMARY','SECONDARY')?; statement_latency bigint unsigned?; progress decimal(26,2)?; lock_latency \
        bigint unsigned?; cpu_latency bigint unsigned?; rows_examined bigint unsigned?; rows_sent bigint \
        unsigned?; rows_affected bigint unsigned?; tmp_tables bigint unsigned?; tmp_disk_tables bigint \
        unsigned?; full_scan varchar(3); last_statement longtext?; last_statement_latency bigint unsigned?; \
        current_memory decimal(41,0)?; last_wait varchar(128)?; last_wait_latency varchar(20)?; source \
        varchar(64)?; trx_latency bigint unsigned?; trx_state enum('ACTIVE','COMMITTED','ROLLED BACK')?; \
        trx_autocommit enum('YES','NO')?; pid varchar(1024)?; program_name varchar(1024)?",
};
const SESSIONS: Shape = Shape {
    name: "session",
    columns: "thd_id bigint unsigned; conn_id bigint unsigned?; user varchar(288)?; db varchar(64)?; command \
        varchar(16)?; state varchar(64)?; time bigint?; current_statement longtext?; execution_engine \
        enum('PRIMARY','SECONDARY')?; statement_latency varchar(11)?; progress decimal(26,2)?; lock_latency \
        varchar(11)?; cpu_latency varchar(11)?; rows_examined bigint unsigned?; rows_sent bigint unsigned?; \
        rows_affected bigint unsigned?; tmp_tables bigint unsigned?; tmp_disk_tables bigint unsigned?; full_scan \
        varchar(3); last_statement longtext?; last_statement_latency varchar(11)?; current_memory varchar(11)?; \
        last_wait varchar(128)?; last_wait_latency varchar(13)?; source varchar(64)?; trx_latency varchar(11)?; \
        trx_state enum('ACTIVE','COMMITTED','ROLLED BACK')?; trx_autocommit enum('YES','NO')?; pid \
        varchar(1024)?; program_name varchar(1024)?",
};
const X_SESSIONS: Shape = Shape {
    name: "x$session",
    columns: "thd_id bigint unsigned; conn_id bigint unsigned?; user varchar(288)?; db varchar(64)?; command \
        varchar(16)?; state varchar(64)?; time bigint?; current_statement longtext?; execution_engine \
        enum('PRIMARY','SECONDARY')?; statement_latency bigint unsigned?; progress decimal(26,2)?; lock_latency \
        bigint unsigned?; cpu_latency bigint unsigned?; rows_examined bigint unsigned?; rows_sent bigint \
        unsigned?; rows_affected bigint unsigned?; tmp_tables bigint unsigned?; tmp_disk_tables bigint \
        unsigned?; full_scan varchar(3); last_statement longtext?; last_statement_latency bigint unsigned?; \
        current_memory decimal(41,0)?; last_wait varchar(128)?; last_wait_latency varchar(20)?; source \
        varchar(64)?; trx_latency bigint unsigned?; trx_state enum('ACTIVE','COMMITTED','ROLLED BACK')?; \
        trx_autocommit enum('YES','NO')?; pid varchar(1024)?; program_name varchar(1024)?",
};
const SSL: Shape = Shape {
    name: "session_ssl_status",
    columns: "thread_id bigint unsigned; ssl_version varchar(1024)?; ssl_cipher varchar(1024)?; ssl_sessions_reused \
        varchar(1024)?",
};

fn rows(instance: &Instance, viewer: &Viewer, is_raw: bool) -> Rows {
    let entries = instance.processes().all().into_iter();
    let seen = entries.filter(|entry| viewer.sees_all_sessions || entry.activity().user == viewer.user);
    seen.map(|entry| row(instance, &entry, is_raw)).collect()
}

fn row(instance: &Instance, entry: &ProcessEntry, is_raw: bool) -> Vec<Value> {
    let activity = entry.activity();
    let shown_time = |nanoseconds: u64| match is_raw {
        true => time(nanoseconds),
        false => Value::bytes(time_text(nanoseconds)),
    };
    let shown_text = |text: &str| {
        if is_raw { Value::bytes(text) } else { Value::bytes(short_statement(text)) }
    };
    let last = entry.figures.last_statement();
    let running = activity.info();
    let figures = last.as_ref().filter(|_| running.is_none()).map(|event| event.figures).unwrap_or_default();
    let now_ns = instance.event_clock_ns(Instant::now());
    let since_ns = activity.since.elapsed().as_nanos() as u64;
    let transaction = entry.figures.transaction();
    let open_ns = transaction.map(|event| {
        let end = if event.end_event_id == 0 { now_ns } else { event.ended_ns };
        end.saturating_sub(event.began_ns)
    });
    let wait = entry.figures.wait();
    let scans = figures.no_index_used + figures.no_good_index_used > 0;
    vec![
        Value::UInt(u64::from(entry.id.0)),
        Value::UInt(u64::from(entry.id.0)),
        Value::bytes(format!("{}@{}", activity.user, entry.client_host())),
        optional(activity.database.as_deref()),
        Value::bytes(activity.command),
        Value::bytes(entry.shown_state(&activity, instance.catalog().locks()).as_bytes()),
        Value::Int(activity.since.elapsed().as_secs() as i64),
        running.map_or(Value::Null, shown_text),
        member(1),
        running.map_or(Value::Null, |_| shown_time(since_ns)),
        progress(entry),
        shown_time(figures.lock_time_ns),
        shown_time(figures.cpu_time_ns),
        Value::UInt(figures.rows_examined),
        Value::UInt(figures.rows_sent),
        Value::UInt(figures.rows_affected),
        Value::UInt(figures.created_tmp_tables),
        Value::UInt(figures.created_tmp_disk_tables),
        Value::bytes(if scans { "YES" } else { "NO" }),
        match (&last, running) {
            (Some(event), None) => shown_text(&String::from_utf8_lossy(&event.text)),
            _ => Value::Null,
        },
        match (&last, running) {
            (Some(event), None) => shown_time(event.ended_ns.saturating_sub(event.began_ns)),
            _ => Value::Null,
        },
        if is_raw { crate::values::decimal("0") } else { Value::bytes(bytes_text(0)) },
        optional(wait.as_ref().map(|wait| wait.name)),
        wait.as_ref().map_or(Value::Null, |wait| wait_time(wait, is_raw)),
        Value::Null,
        open_ns.map_or(Value::Null, shown_time),
        transaction.map_or(Value::Null, |event| {
            member(match event.state {
                "ACTIVE" => 1,
                "COMMITTED" => 2,
                _ => 3,
            })
        }),
        transaction.map_or(Value::Null, |_| member(2)),
        Value::Null,
        Value::Null,
    ]
}

/// Of a hundred, with two digits.
fn progress(entry: &ProcessEntry) -> Value {
    let Some((share, _)) = entry.progress() else { return Value::Null };
    match (share.done.saturating_mul(10_000)).checked_div(share.estimated) {
        Some(share) => crate::values::decimal(&format!("{}.{:02}", share / 100, share % 100)),
        None => Value::Null,
    }
}

/// How long the last wait was.
fn wait_time(wait: &WaitEvent, is_raw: bool) -> Value {
    if wait.end_event_id == 0 {
        return Value::bytes("Still Waiting");
    }
    let Some((began, ended)) = wait.span.began_ns.zip(wait.span.ended_ns) else { return Value::Null };
    let waited = ended.saturating_sub(began);
    Value::bytes(if is_raw { picoseconds(waited).to_string() } else { time_text(waited) })
}
