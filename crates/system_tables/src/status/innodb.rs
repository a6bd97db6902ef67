//! The engine's figures under the names that InnoDB gave to the same things, Percona's and MariaDB's where MySQL has
//! none.
use engine::EngineStats;

use instance::Instance;

pub fn numbers(stats: &EngineStats) -> Vec<(&'static str, u64)> {
    let mut all = pool_numbers(stats);
    all.extend(file_numbers(stats));
    all.extend(log_numbers(stats));
    all.extend(lock_numbers(stats));
    all
}

pub fn texts(instance: &Instance) -> Vec<(&'static str, String)> {
    vec![
        ("Innodb_buffer_pool_dump_status", "Dumping of buffer pool not started".to_owned()),
        ("Innodb_buffer_pool_load_status", instance.pool_load_status()),
        ("Innodb_buffer_pool_resize_status", instance.pool_resize_status()),
        ("Innodb_redo_log_enabled", "ON".to_owned()),
        ("Innodb_redo_log_read_only", "OFF".to_owned()),
    ]
}

fn pool_numbers(stats: &EngineStats) -> Vec<(&'static str, u64)> {
    let page_bytes = stats.page_size_bytes;
    let pages_read = stats.pool_reads + stats.pool_pages_prefetched;
    vec![
        ("Innodb_buffer_pool_bytes_data", stats.pool_pages_used * page_bytes),
        ("Innodb_buffer_pool_bytes_dirty", stats.pool_pages_dirty * page_bytes),
        ("Innodb_buffer_pool_pages_data", stats.pool_pages_used),
        ("Innodb_buffer_pool_pages_dirty", stats.pool_pages_dirty),
        ("Innodb_buffer_pool_pages_flushed", stats.pool_pages_written),
        ("Innodb_buffer_pool_pages_free", stats.pool_pages_free()),
        ("Innodb_buffer_pool_pages_misc", stats.pool_pages_misc),
        ("Innodb_buffer_pool_pages_total", stats.pool_pages_total),
        ("Innodb_buffer_pool_read_ahead", stats.pool_pages_prefetched),
        ("Innodb_buffer_pool_read_requests", stats.pool_read_requests),
        ("Innodb_buffer_pool_reads", stats.pool_reads),
        ("Innodb_buffer_pool_wait_free", stats.frame_wait.waits),
        ("Innodb_buffer_pool_write_requests", stats.pool_write_requests),
        ("Innodb_page_size", page_bytes),
        ("Innodb_pages_created", stats.pool_pages_created),
        ("Innodb_pages_read", pages_read),
        ("Innodb_pages_written", stats.pool_pages_written),
    ]
}

fn file_numbers(stats: &EngineStats) -> Vec<(&'static str, u64)> {
    let (data, log) = (&stats.data_io, &stats.log_io);
    vec![
        ("Innodb_data_fsyncs", data.syncs + log.syncs),
        ("Innodb_data_pending_fsyncs", data.syncs_pending + log.syncs_pending),
        ("Innodb_data_pending_reads", data.reads_pending + log.reads_pending),
        ("Innodb_data_pending_writes", data.writes_pending + log.writes_pending),
        ("Innodb_data_read", data.bytes_read + log.bytes_read),
        ("Innodb_data_reads", data.reads + log.reads),
        ("Innodb_data_writes", data.writes + log.writes),
        ("Innodb_data_written", data.bytes_written + log.bytes_written),
        ("Innodb_dblwr_pages_written", stats.doublewrite_pages),
        ("Innodb_dblwr_writes", stats.doublewrite_batches),
        ("Innodb_log_waits", stats.log_space_wait.waits),
        ("Innodb_log_write_requests", stats.log_groups),
        ("Innodb_log_writes", log.writes),
        ("Innodb_num_open_files", data.files_open + log.files_open),
        ("Innodb_os_log_fsyncs", log.syncs),
        ("Innodb_os_log_pending_fsyncs", log.syncs_pending),
        ("Innodb_os_log_pending_writes", log.writes_pending),
        ("Innodb_os_log_written", log.bytes_written),
    ]
}

fn log_numbers(stats: &EngineStats) -> Vec<(&'static str, u64)> {
    vec![
        ("Innodb_checkpoint_age", stats.log_end_lsn.saturating_sub(stats.checkpoint_lsn)),
        ("Innodb_checkpoint_max_age", stats.log_capacity_bytes),
        ("Innodb_lsn_current", stats.log_end_lsn),
        ("Innodb_lsn_flushed", stats.log_durable_lsn),
        ("Innodb_lsn_last_checkpoint", stats.checkpoint_lsn),
        ("Innodb_redo_log_capacity_resized", stats.log_capacity_bytes),
        ("Innodb_redo_log_checkpoint_lsn", stats.checkpoint_lsn),
        ("Innodb_redo_log_current_lsn", stats.log_end_lsn),
        ("Innodb_redo_log_flushed_to_disk_lsn", stats.log_durable_lsn),
        ("Innodb_redo_log_logical_size", stats.log_used_bytes),
        ("Innodb_redo_log_physical_size", stats.log_file_bytes),
    ]
}

fn lock_numbers(stats: &EngineStats) -> Vec<(&'static str, u64)> {
    let wait = &stats.lock_wait;
    vec![
        ("Innodb_deadlocks", stats.deadlocks),
        ("Innodb_history_list_length", stats.history_length),
        ("Innodb_max_trx_id", stats.next_transaction),
        ("Innodb_row_lock_current_waits", stats.lock_waits_current),
        ("Innodb_row_lock_time", wait.time_us / 1000),
        ("Innodb_row_lock_time_avg", wait.time_us / 1000 / stats.lock_waits.max(1)),
        ("Innodb_row_lock_time_max", wait.time_us_max / 1000),
        ("Innodb_row_lock_waits", stats.lock_waits),
    ]
}
