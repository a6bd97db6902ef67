//! Figures of the engine beside InnoDB's: of the binary log's events, waiting time by cause, what is in flight, old snapshots.
use engine::{EngineStats, WaitStats};

pub fn numbers(stats: &EngineStats) -> Vec<(&'static str, u64)> {
    let mut all = vec![
        ("Binlog_cache_disk_use", stats.event_files),
        ("Binlog_cache_use", stats.event_commits),
        ("Evenkeel_checkpoints", stats.checkpoints),
        ("Evenkeel_commits", stats.commits),
        ("Evenkeel_data_reads_in_flight", stats.data_io.reads_pending),
        ("Evenkeel_data_syncs_in_flight", stats.data_io.syncs_pending),
        ("Evenkeel_data_writes_in_flight", stats.data_io.writes_pending),
        ("Evenkeel_dirty_pages_absent", stats.dirty_pages_absent),
        ("Evenkeel_dirty_pages_left", stats.dirty_pages_left),
        ("Evenkeel_dirty_pages_returned", stats.dirty_pages_returned),
        ("Evenkeel_flush_batches", stats.pool_write_batches),
        ("Evenkeel_flush_oldest_dirty_age", stats.log_end_lsn.saturating_sub(stats.pool_oldest_dirty_lsn)),
        ("Evenkeel_late_changes_buffered", stats.late_changes_buffered),
        ("Evenkeel_late_changes_bytes", stats.late_change_bytes),
        ("Evenkeel_late_changes_leaves_merged", stats.late_leaves_merged),
        ("Evenkeel_late_changes_merged", stats.late_changes_merged),
        ("Evenkeel_late_changes_pending", stats.late_changes_pending),
        ("Evenkeel_lock_timeouts", stats.lock_timeouts),
        ("Evenkeel_log_flush_spacing_us", stats.log_flush_spacing_us),
        ("Evenkeel_log_syncs_in_flight", stats.log_io.syncs_pending),
        ("Evenkeel_log_writes_in_flight", stats.log_io.writes_pending),
        ("Evenkeel_page_log_bytes", stats.page_log_bytes),
        ("Evenkeel_page_logs_renewed", stats.page_logs_renewed),
        ("Evenkeel_packed_pages", stats.packed.pages),
        ("Evenkeel_packed_pages_bytes", stats.packed.bytes),
        ("Evenkeel_packed_pages_bytes_borrowed", stats.packed.borrowed_bytes),
        ("Evenkeel_packed_pages_bytes_max", stats.packed.budget_bytes),
        ("Evenkeel_pages_behind_log", stats.pages_behind),
        ("Evenkeel_pages_evicted", stats.pool_pages_evicted),
        ("Evenkeel_pages_packed", stats.packed.packed),
        ("Evenkeel_pages_packed_dropped", stats.packed.dropped),
        ("Evenkeel_pages_unpacked", stats.packed.unpacked),
        ("Evenkeel_rollbacks", stats.rollbacks),
        ("Evenkeel_row_table_entries", stats.row_table_entries),
        ("Evenkeel_scrub_faults", stats.scrub_faults),
        ("Evenkeel_scrub_pages", stats.scrub_pages),
        ("Evenkeel_scrub_passes", stats.scrub_passes),
        ("Evenkeel_snapshot_age_bytes", snapshot_age(stats)),
        ("Evenkeel_snapshots", stats.active_snapshots),
        ("Evenkeel_undo_forwards", stats.undo_forwards),
        ("Evenkeel_version_memory_bytes", stats.history_bytes),
        ("Evenkeel_version_run_bytes", stats.version_run_bytes),
        ("Evenkeel_version_run_filter_bytes", stats.version_run_filter_bytes),
        ("Evenkeel_version_run_lookups", stats.version_run_lookups),
        ("Evenkeel_version_run_versions", stats.version_run_entries),
        ("Evenkeel_version_runs", stats.version_runs),
        ("Evenkeel_version_runs_joined", stats.version_runs_joined),
        ("Evenkeel_versions_moved", stats.versions_moved),
        ("Evenkeel_writing_transactions", stats.active_writers),
    ];
    all.extend(wait_numbers(stats));
    all
}

/// How much log was written since the oldest snapshot was taken: old versions are kept for it.
fn snapshot_age(stats: &EngineStats) -> u64 {
    match stats.active_snapshots {
        0 => 0,
        _ => stats.log_end_lsn.saturating_sub(stats.oldest_snapshot_lsn),
    }
}

fn wait_numbers(stats: &EngineStats) -> Vec<(&'static str, u64)> {
    let row_lock = WaitStats { waits: stats.lock_waits, ..stats.lock_wait };
    [
        ("Evenkeel_wait_free_frame", "Evenkeel_wait_free_frame_us", &stats.frame_wait),
        ("Evenkeel_wait_log_flush", "Evenkeel_wait_log_flush_us", &stats.commit_wait),
        ("Evenkeel_wait_log_space", "Evenkeel_wait_log_space_us", &stats.log_space_wait),
        ("Evenkeel_wait_page_read", "Evenkeel_wait_page_read_us", &stats.page_read_wait),
        ("Evenkeel_wait_row_lock", "Evenkeel_wait_row_lock_us", &row_lock),
        ("Evenkeel_wait_versions", "Evenkeel_wait_versions_us", &stats.version_wait),
    ]
    .into_iter()
    .flat_map(|(waits, time, wait)| [(waits, wait.waits), (time, wait.time_us)])
    .collect()
}
