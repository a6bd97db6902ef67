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
    unsigned("innodb_buffer_pool_instances", Global, 1, 0, 64).read_only(),
    unsigned("innodb_buffer_pool_size", Global, 134217728, 5242880, 9223372036854775807).at_start(),
    boolean("innodb_deadlock_detect", Global, true).fixed(),
    choice("innodb_doublewrite", Global, "ON", &["OFF", "ON", "DETECT_AND_RECOVER", "DETECT_ONLY"]),
    unsigned("innodb_fast_shutdown", Global, 1, 0, 2),
    boolean("innodb_file_per_table", Global, true).fixed(),
    unsigned("innodb_fill_factor", Global, 100, 10, 100),
    unsigned("innodb_flush_log_at_timeout", Global, 1, 0, 2700),
    unsigned("innodb_flush_log_at_trx_commit", Global, 1, 0, 2).at_start(),
    choice(
        "innodb_flush_method",
        Global,
        "O_DIRECT",
        &["fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"],
    )
    .read_only(),
    unsigned("innodb_flush_neighbors", Global, 0, 0, 2),
    unsigned("innodb_force_recovery", Global, 0, 0, 6).read_only().fixed(),
    unsigned("innodb_io_capacity", Global, 10000, 100, 4294967295),
    unsigned("innodb_lock_wait_timeout", Both, 50, 1, 1073741824).obeyed("Seconds to wait for a row lock."),
    unsigned("innodb_log_buffer_size", Global, 67108864, 262144, 4294967295),
    double("innodb_max_dirty_pages_pct", Global, 90.0, 0.0, 99.0),
    double("innodb_max_dirty_pages_pct_lwm", Global, 10.0, 0.0, 99.0),
    unsigned("innodb_page_size", Global, 8192, 4096, 65536).read_only().at_start(),
    unsigned("innodb_purge_threads", Global, 1, 1, 32).read_only(),
    unsigned("innodb_read_ahead_threshold", Global, 56, 0, 64),
    unsigned("innodb_read_io_threads", Global, 4, 1, 64).read_only(),
    unsigned("innodb_redo_log_capacity", Global, 1073741824, 8388608, 549755813888).at_start(),
    boolean("innodb_rollback_on_timeout", Global, false).read_only().fixed(),
    unsigned("innodb_spin_wait_delay", Global, 6, 0, 1000),
    boolean("innodb_stats_auto_recalc", Global, true),
    boolean("innodb_stats_on_metadata", Global, false),
    boolean("innodb_stats_persistent", Global, true),
    unsigned("innodb_stats_persistent_sample_pages", Global, 20, 1, u64::MAX),
    boolean("innodb_strict_mode", Both, true)
        .obeyed("Whether odd table options are errors instead of warnings."),
    unsigned("innodb_sync_spin_loops", Global, 30, 0, 4294967295),
    boolean("innodb_table_locks", Both, true),
    unsigned("innodb_thread_concurrency", Global, 0, 0, 1000),
    text("innodb_version", Global, "").read_only(),
    unsigned("innodb_write_io_threads", Global, 4, 1, 64).read_only(),
];
