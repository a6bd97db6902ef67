//! `information_schema.INNODB_METRICS`: the engine's counters under InnoDB's names for the same things.
//!
//! Everything is always counted and never reset, so there are no minimum and maximum and no time.
use crate::view::ViewColumn::{self, NullDateTime, NullFloat, NullSigned, Signed, Text};
use catalog::Viewer;
use datum::Value;
use engine::EngineStats;
use std::sync::atomic::Ordering::Relaxed;

use instance::Counters;
use instance::Instance;

pub(crate) const METRIC_COLUMNS: &[ViewColumn] = &[
    Text("NAME", 193),
    Text("SUBSYSTEM", 193),
    Signed("COUNT"),
    NullSigned("MAX_COUNT"),
    NullSigned("MIN_COUNT"),
    NullFloat("AVG_COUNT"),
    Signed("COUNT_RESET"),
    NullSigned("MAX_COUNT_RESET"),
    NullSigned("MIN_COUNT_RESET"),
    NullFloat("AVG_COUNT_RESET"),
    NullDateTime("TIME_ENABLED"),
    NullDateTime("TIME_DISABLED"),
    NullSigned("TIME_ELAPSED"),
    NullDateTime("TIME_RESET"),
    Text("STATUS", 193),
    Text("TYPE", 193),
    Text("COMMENT", 193),
];

/// Grows, or is of the moment.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Value,
}
use Kind::{Counter, Value as Moment};

/// Name, kind, number, what it is.
type Metric = (&'static str, Kind, u64, &'static str);

pub(crate) fn metrics(instance: &Instance, viewer: &Viewer) -> Vec<Vec<Value>> {
    if !viewer.sees_all_sessions {
        return Vec::new();
    }
    let stats = instance.engine().stats();
    let groups = [
        ("lock", lock_metrics(&stats)),
        ("buffer", buffer_metrics(&stats)),
        ("os", file_metrics(&stats)),
        ("transaction", transaction_metrics(&stats)),
        ("log", log_metrics(&stats)),
        ("dml", row_metrics(&instance.total_counters())),
    ];
    groups
        .into_iter()
        .flat_map(|(subsystem, metrics)| metrics.into_iter().map(move |metric| row(subsystem, metric)))
        .collect()
}

fn row(subsystem: &str, (name, kind, number, comment): Metric) -> Vec<Value> {
    let count = || Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let mut row = vec![Value::bytes(name), Value::bytes(subsystem), count()];
    row.extend([Value::Null, Value::Null, Value::Null, count(), Value::Null, Value::Null, Value::Null]);
    row.extend([Value::Null, Value::Null, Value::Null, Value::Null]);
    row.push(Value::bytes("enabled"));
    row.push(Value::bytes(match kind {
        Counter => "counter",
        Moment => "value",
    }));
    row.push(Value::bytes(comment));
    row
}

fn lock_metrics(stats: &EngineStats) -> Vec<Metric> {
    let wait = &stats.lock_wait;
    vec![
        ("lock_deadlocks", Counter, stats.deadlocks, "Transactions rolled back to break a deadlock"),
        ("lock_timeouts", Counter, stats.lock_timeouts, "Waits for locks that took too long"),
        (
            "lock_row_lock_current_waits",
            Moment,
            stats.lock_waits_current,
            "Transactions that wait for a lock",
        ),
        ("lock_row_lock_time", Counter, wait.time_us / 1000, "Milliseconds waited for locks"),
        (
            "lock_row_lock_time_max",
            Moment,
            wait.time_us_max / 1000,
            "The longest wait for a lock in milliseconds",
        ),
        ("lock_row_lock_waits", Counter, stats.lock_waits, "Waits for locks"),
        (
            "lock_row_lock_time_avg",
            Moment,
            wait.time_us / 1000 / stats.lock_waits.max(1),
            "Milliseconds of an average wait for a lock",
        ),
    ]
}

fn buffer_metrics(stats: &EngineStats) -> Vec<Metric> {
    let page_bytes = stats.page_size_bytes;
    let free = stats.pool_pages_free();
    let read = stats.pool_reads + stats.pool_pages_prefetched;
    vec![
        ("buffer_pool_size", Moment, stats.pool_pages_total * page_bytes, "Bytes of the buffer pool's pages"),
        ("buffer_pool_reads", Counter, stats.pool_reads, "Pages read because somebody needed them"),
        ("buffer_pool_read_requests", Counter, stats.pool_read_requests, "Accesses to pages"),
        ("buffer_pool_write_requests", Counter, stats.pool_write_requests, "Changes of pages"),
        ("buffer_pool_wait_free", Counter, stats.frame_wait.waits, "Waits for a free frame"),
        ("buffer_pool_read_ahead", Counter, stats.pool_pages_prefetched, "Pages read ahead"),
        ("buffer_pool_pages_total", Moment, stats.pool_pages_total, "Frames"),
        ("buffer_pool_pages_data", Moment, stats.pool_pages_used, "Frames with a page"),
        ("buffer_pool_bytes_data", Moment, stats.pool_pages_used * page_bytes, "Bytes of pages in memory"),
        ("buffer_pool_pages_dirty", Moment, stats.pool_pages_dirty, "Pages to be written"),
        ("buffer_pool_bytes_dirty", Moment, stats.pool_pages_dirty * page_bytes, "Bytes to be written"),
        ("buffer_pool_pages_free", Moment, free, "Frames without a page"),
        ("buffer_pool_pages_misc", Moment, stats.pool_pages_misc, "Memory of packed pages, in pages"),
        ("buffer_pages_created", Counter, stats.pool_pages_created, "New pages"),
        ("buffer_pages_written", Counter, stats.pool_pages_written, "Pages written"),
        ("buffer_pages_read", Counter, read, "Pages read"),
    ]
}

fn file_metrics(stats: &EngineStats) -> Vec<Metric> {
    let (data, log) = (&stats.data_io, &stats.log_io);
    vec![
        ("os_data_reads", Counter, data.reads + log.reads, "Reads of files"),
        ("os_data_writes", Counter, data.writes + log.writes, "Writes of files"),
        ("os_data_fsyncs", Counter, data.syncs + log.syncs, "Syncs of files"),
        ("os_pending_reads", Moment, data.reads_pending + log.reads_pending, "Reads under way"),
        ("os_pending_writes", Moment, data.writes_pending + log.writes_pending, "Writes under way"),
        ("os_log_bytes_written", Counter, log.bytes_written, "Bytes written to the log's files"),
        ("os_log_fsyncs", Counter, log.syncs, "Syncs of the log"),
        ("os_log_pending_fsyncs", Moment, log.syncs_pending, "Syncs of the log under way"),
        ("os_log_pending_writes", Moment, log.writes_pending, "Writes of the log under way"),
        ("file_num_open_files", Moment, data.files_open + log.files_open, "Open files"),
    ]
}

fn transaction_metrics(stats: &EngineStats) -> Vec<Metric> {
    vec![
        ("trx_rw_commits", Counter, stats.commits, "Commits of changes"),
        ("trx_rollbacks", Counter, stats.rollbacks, "Rollbacks"),
        ("trx_active_transactions", Moment, stats.active_writers, "Transactions that hold locks or changes"),
        ("trx_rseg_history_len", Moment, stats.history_length, "Commits whose old versions are kept"),
    ]
}

fn log_metrics(stats: &EngineStats) -> Vec<Metric> {
    let age = stats.log_end_lsn.saturating_sub(stats.checkpoint_lsn);
    vec![
        ("log_lsn_last_flush", Moment, stats.log_durable_lsn, "The log is durable up to here"),
        ("log_lsn_last_checkpoint", Moment, stats.checkpoint_lsn, "Recovery would start here"),
        ("log_lsn_current", Moment, stats.log_end_lsn, "The end of the log"),
        ("log_lsn_checkpoint_age", Moment, age, "Bytes of log since the checkpoint"),
        (
            "log_lsn_buf_pool_oldest_approx",
            Moment,
            stats.pool_oldest_dirty_lsn,
            "The oldest unwritten change",
        ),
        ("log_waits", Counter, stats.log_space_wait.waits, "Waits because the log was full"),
        ("log_write_requests", Counter, stats.log_groups, "Groups of records appended"),
        ("log_writes", Counter, stats.log_io.writes, "Writes of the log"),
        ("log_checkpoints", Counter, stats.checkpoints, "Checkpoints"),
    ]
}

fn row_metrics(total: &Counters) -> Vec<Metric> {
    vec![
        ("dml_inserts", Counter, total.handler_write.load(Relaxed), "Rows inserted"),
        ("dml_deletes", Counter, total.handler_delete.load(Relaxed), "Rows deleted"),
        ("dml_updates", Counter, total.handler_update.load(Relaxed), "Rows updated"),
    ]
}
