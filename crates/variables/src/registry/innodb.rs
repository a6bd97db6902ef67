//! Variables of the storage engine under the names that MySQL gave them.
//!
//! Each row: name, scope, default (and limits), then what the server does with it. Rows without a word at the
//! end are accepted and shown but change no result.
use super::super::definition::Scope::{Both, Global};
use super::super::definition::{Definition, boolean, choice, double, text, unsigned};

pub(super) const INNODB: &[Definition] = &[
    boolean("innodb_adaptive_flushing", Global, true),
    unsigned("innodb_adaptive_flushing_lwm", Global, 10, 0, 70),
    boolean("innodb_adaptive_hash_index", Global, false),
    unsigned("innodb_autoinc_lock_mode", Global, 2, 0, 2).read_only().fixed(),
    unsigned("innodb_buffer_pool_chunk_size", Global, 134217728, 1048576, 144115188075855871).read_only(),
    boolean("innodb_buffer_pool_dump_at_shutdown", Global, true).obeyed(
        "Whether an orderly end writes the list of hot pages; it is written while the server works too.",
    ),
    unsigned("innodb_buffer_pool_dump_pct", Global, 100, 1, 100)
        .obeyed("How many of the pages in memory the list of hot pages names, in percent."),
    unsigned("innodb_buffer_pool_instances", Global, 1, 0, 64).read_only(),
    boolean("innodb_buffer_pool_load_at_startup", Global, true).read_only(),
    unsigned("innodb_buffer_pool_size", Global, 134217728, 5242880, 9223372036854775807)
        .obeyed("Memory for data pages; changes while the server works."),
    unsigned("innodb_change_buffer_max_size", Global, 5, 0, 50),
    choice(
        "innodb_change_buffering",
        Global,
        "all",
        &["none", "inserts", "deletes", "changes", "purges", "all"],
    ),
    choice(
        "innodb_checksum_algorithm",
        Global,
        "crc32",
        &["crc32", "strict_crc32", "innodb", "strict_innodb", "none", "strict_none"],
    ),
    unsigned("innodb_commit_concurrency", Global, 0, 0, 1000),
    unsigned("innodb_concurrency_tickets", Global, 5000, 1, 4294967295),
    text("innodb_data_file_path", Global, "").read_only(),
    text("innodb_data_home_dir", Global, "").read_only(),
    boolean("innodb_deadlock_detect", Global, true).fixed(),
    choice("innodb_doublewrite", Global, "ON", &["OFF", "ON", "DETECT_AND_RECOVER", "DETECT_ONLY"]),
    unsigned("innodb_fast_shutdown", Global, 1, 0, 2),
    boolean("innodb_file_per_table", Global, true).fixed(),
    unsigned("innodb_fill_factor", Global, 100, 10, 100),
    unsigned("innodb_flush_log_at_timeout", Global, 1, 0, 2700)
        .obeyed("Seconds after which commits that did not wait for the disk are durable."),
    unsigned("innodb_flush_log_at_trx_commit", Global, 1, 0, 2)
        .obeyed("1: a commit is durable before its answer; 2 and 0: within innodb_flush_log_at_timeout."),
    choice(
        "innodb_flush_method",
        Global,
        "O_DIRECT",
        &["fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"],
    )
    .read_only(),
    unsigned("innodb_flush_neighbors", Global, 0, 0, 2),
    boolean("innodb_flush_sync", Global, true),
    unsigned("innodb_flushing_avg_loops", Global, 30, 1, 1000),
    unsigned("innodb_force_recovery", Global, 0, 0, 6).read_only().fixed(),
    unsigned("innodb_fsync_threshold", Global, 0, 0, u64::MAX),
    unsigned("innodb_idle_flush_pct", Global, 100, 0, 100),
    unsigned("innodb_io_capacity", Global, 10000, 100, 4294967295)
        .obeyed("When set, the most pages that the background writes in a second."),
    unsigned("innodb_io_capacity_max", Global, 20000, 100, 4294967295),
    unsigned("innodb_lock_wait_timeout", Both, 50, 1, 1073741824).obeyed("Seconds to wait for a row lock."),
    unsigned("innodb_log_buffer_size", Global, 67108864, 262144, 4294967295),
    text("innodb_log_group_home_dir", Global, "./").read_only(),
    unsigned("innodb_lru_scan_depth", Global, 1024, 100, 4294967295),
    double("innodb_max_dirty_pages_pct", Global, 90.0, 0.0, 99.999)
        .obeyed("The most dirty pages, in percent of the buffer pool."),
    double("innodb_max_dirty_pages_pct_lwm", Global, 10.0, 0.0, 99.0),
    unsigned("innodb_max_purge_lag", Global, 0, 0, 4294967295),
    unsigned("innodb_max_purge_lag_delay", Global, 0, 0, 10000000),
    boolean("innodb_numa_interleave", Global, false).read_only(),
    unsigned("innodb_old_blocks_pct", Global, 37, 5, 95),
    unsigned("innodb_old_blocks_time", Global, 1000, 0, 4294967295),
    unsigned("innodb_online_alter_log_max_size", Global, 134217728, 65536, u64::MAX),
    unsigned("innodb_open_files", Global, 4000, 0, 2147483647).read_only(),
    unsigned("innodb_page_cleaners", Global, 1, 1, 64).read_only(),
    unsigned("innodb_page_size", Global, 8192, 4096, 65536).read_only().at_start(),
    unsigned("innodb_parallel_read_threads", Both, 4, 1, 256),
    boolean("innodb_print_all_deadlocks", Global, false)
        .obeyed("Whether every deadlock is written to the log, and not only the latest is kept."),
    unsigned("innodb_purge_batch_size", Global, 300, 1, 5000),
    unsigned("innodb_purge_threads", Global, 1, 1, 32).read_only(),
    boolean("innodb_random_read_ahead", Global, false),
    unsigned("innodb_read_ahead_threshold", Global, 56, 0, 64),
    unsigned("innodb_read_io_threads", Global, 4, 1, 64).read_only(),
    boolean("innodb_read_only", Global, false).read_only().fixed(),
    unsigned("innodb_redo_log_capacity", Global, 1073741824, 8388608, 549755813888)
        .obeyed("Disk space of the write-ahead log; changes while the server works."),
    boolean("innodb_rollback_on_timeout", Global, false).read_only().fixed(),
    boolean("innodb_snapshot_isolation", Both, false)
        .obeyed("Whether changing or locking a row that changed after the snapshot is an error (1020)."),
    unsigned("innodb_sort_buffer_size", Global, 1048576, 65536, 67108864).read_only(),
    unsigned("innodb_spin_wait_delay", Global, 6, 0, 1000),
    unsigned("innodb_spin_wait_pause_multiplier", Global, 50, 0, 100),
    boolean("innodb_stats_auto_recalc", Global, true),
    boolean("innodb_stats_on_metadata", Global, false),
    boolean("innodb_stats_persistent", Global, true),
    unsigned("innodb_stats_persistent_sample_pages", Global, 20, 1, u64::MAX),
    unsigned("innodb_stats_transient_sample_pages", Global, 8, 1, u64::MAX),
    boolean("innodb_status_output", Global, false),
    boolean("innodb_status_output_locks", Global, false),
    boolean("innodb_strict_mode", Both, true),
    unsigned("innodb_sync_spin_loops", Global, 30, 0, 4294967295),
    boolean("innodb_table_locks", Both, true),
    text("innodb_temp_data_file_path", Global, "ibtmp1:12M:autoextend").read_only(),
    unsigned("innodb_thread_concurrency", Global, 0, 0, 1000),
    unsigned("innodb_thread_sleep_delay", Global, 10000, 0, 1000000),
    boolean("innodb_undo_log_truncate", Global, true),
    boolean("innodb_use_native_aio", Global, true).read_only(),
    text("innodb_version", Global, "").read_only(),
    unsigned("innodb_write_io_threads", Global, 4, 1, 64).read_only(),
];
