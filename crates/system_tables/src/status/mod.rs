//! SHOW STATUS: every name with its value, from the sessions' counters, the server and the engine.
//!
//! Names are MySQL's where the same thing exists here; what exists here alone begins with `Evenkeel_`. A name of
//! something that does not exist here is 0 (`absent`); one whose value nobody measures is left out.
//! Nothing walks over frames, rows or locks, so it costs little however large the server is.
mod absent;
mod deadlock;
mod innodb;
mod innodb_report;
mod lock_text;
mod locks;
mod metadata_locks;
mod metrics;
mod own;
mod semi_sync;
mod transactions;

pub use deadlock::DeadlockWitness;
pub use innodb_report::InnodbReport;

pub(crate) use lock_text::TreeNames;
pub(crate) use locks::{LOCK_COLUMNS, data_lock_waits, data_locks, sys_lock_waits};
pub(crate) use locks::{SYS_LOCK_WAIT_COLUMNS, WAIT_COLUMNS};
pub(crate) use metadata_locks::{METADATA_LOCK_COLUMNS, metadata_locks};
pub(crate) use metrics::{METRIC_COLUMNS, metrics};
pub(crate) use transactions::{TRANSACTION_COLUMNS, transactions};

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use engine::EngineStats;

use instance::Counters;
use instance::Instance;

pub type StatusValue = (&'static str, String);

/// Global status, ordered by name.
pub fn global_status(instance: &Instance) -> Vec<StatusValue> {
    let total = instance.total_counters();
    collect(instance, &total, &total)
}

/// The same for one session: its own counters, and those of the whole server that no session has.
pub fn session_status(instance: &Instance, own: &Counters) -> Vec<StatusValue> {
    collect(instance, own, &instance.total_counters())
}

fn collect(instance: &Instance, own: &Counters, total: &Counters) -> Vec<StatusValue> {
    let stats = instance.engine().stats();
    let mut numbers: Vec<(&'static str, u64)> = own.all();
    for number in &mut numbers {
        if number.0 == "Queries" {
            number.1 = total.queries.load(Relaxed);
        }
    }
    numbers.extend(instance.gauges.values());
    let steps = env::coroutine::step_stats();
    numbers.extend([
        ("Evenkeel_long_steps", steps.long_steps),
        ("Evenkeel_longest_step_us", steps.longest_us),
        ("Evenkeel_session_memory", instance.memory.held()),
        ("Evenkeel_session_memory_max", instance.memory.bound()),
        ("Evenkeel_session_memory_most", instance.memory.most_held()),
        ("Global_connection_memory", instance.memory.tracked()),
    ]);
    numbers.extend(server_numbers(instance, total));
    numbers.extend(innodb::numbers(&stats));
    numbers.extend(row_numbers(&stats, total));
    numbers.extend(own::numbers(&stats));
    numbers.extend(semi_sync::numbers(instance));
    numbers.extend(absent::NAMES.iter().map(|name| (*name, 0)));
    let mut values: Vec<StatusValue> =
        numbers.into_iter().map(|(name, number)| (name, number.to_string())).collect();
    values.extend(innodb::texts(instance));
    values.extend(semi_sync::texts(instance));
    values.extend(absent::TEXTS.iter().map(|(name, text)| (*name, (*text).to_owned())));
    values.extend(instance.tls.status());
    values.push(("Max_used_connections_time", max_used_time(instance)));
    values.sort_by_key(|(name, _)| *name);
    values
}

fn max_used_time(instance: &Instance) -> String {
    let unix_us = instance.gauges.most_sessions_unix_us();
    let local = datum::TimeZone::system().to_local(unix_us);
    local.map(lock_text::datetime_text).unwrap_or_default()
}

fn server_numbers(instance: &Instance, total: &Counters) -> Vec<(&'static str, u64)> {
    let uptime = instance.uptime().as_secs();
    let entries = instance.processes().all();
    let now = Instant::now();
    let oldest = entries.iter().filter_map(|entry| entry.in_transaction_since()).min();
    let tables = instance.catalog().table_count() as u64;
    let errors = instance.logs.writer().map(|writer| writer.errors().figures()).unwrap_or_default();
    vec![
        ("Created_tmp_files", instance.temporary().files_created()),
        ("Flush_commands", total.com_flush.load(Relaxed)),
        ("Open_table_definitions", tables),
        ("Open_tables", tables),
        ("Prepared_stmt_count", instance.prepared_places.taken()),
        ("Threads_connected", instance.processes().client_count() as u64),
        ("Threads_running", entries.iter().filter(|entry| entry.is_running()).count() as u64),
        ("Uptime", uptime),
        ("Uptime_since_flush_status", uptime),
        ("Error_log_buffered_bytes", errors.bytes),
        ("Error_log_buffered_events", errors.rows),
        ("Error_log_expired_events", errors.expired),
        ("Evenkeel_log_records_lost", instance.logs.lost()),
        ("Evenkeel_temporary_bytes", instance.temporary().used_bytes()),
        ("Evenkeel_oldest_open_transaction_s", oldest.map_or(0, |since| (now - since).as_secs())),
    ]
}

/// Rows are counted where statements ask tables for them; the engine counts entries of trees, indexes' among them.
fn row_numbers(stats: &EngineStats, total: &Counters) -> Vec<(&'static str, u64)> {
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed);
    let read = [
        &total.handler_read_key,
        &total.handler_read_next,
        &total.handler_read_prev,
        &total.handler_read_rnd_next,
    ];
    vec![
        ("Innodb_rows_deleted", load(&total.handler_delete)),
        ("Innodb_rows_inserted", load(&total.handler_write)),
        ("Innodb_rows_read", read.into_iter().map(load).sum()),
        ("Innodb_rows_updated", load(&total.handler_update)),
        ("Evenkeel_entries_deleted", stats.rows_deleted),
        ("Evenkeel_entries_inserted", stats.rows_inserted),
        ("Evenkeel_entries_read", stats.rows_read),
        ("Evenkeel_entries_updated", stats.rows_updated),
    ]
}
