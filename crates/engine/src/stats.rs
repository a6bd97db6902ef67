//! Counters of the engine, and what the layers below it count, as one plain struct.
//!
//! Reading them is cheap: a few locks for an instant each, and no walk over frames, rows or transactions' locks.

use crate::engine::Engine;
use buffer::PackedStats;
use env::{IoStats, WaitCounter, WaitStats};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Live counters; relaxed, since nothing depends on their order.
#[derive(Default)]
pub(crate) struct Counters {
    pub rows_read: AtomicU64,
    pub rows_inserted: AtomicU64,
    pub rows_updated: AtomicU64,
    pub rows_deleted: AtomicU64,
    pub commits: AtomicU64,
    /// Commits with events, and those of them whose events were a file.
    pub event_commits: AtomicU64,
    pub event_files: AtomicU64,
    pub rollbacks: AtomicU64,
    pub lock_waits: AtomicU64,
    pub lock_waits_current: AtomicU64,
    pub lock_wait: WaitCounter,
    pub version_wait: WaitCounter,
    pub lock_timeouts: AtomicU64,
    pub deadlocks: AtomicU64,
    pub checkpoints: AtomicU64,
    pub undo_forwards: AtomicU64,
    /// Changes that were moved from memory to a spill.
    pub spilled_changes: AtomicU64,
    /// Versions that were moved from memory to a run.
    pub versions_moved: AtomicU64,
    /// Look-ups in a run.
    pub run_lookups: AtomicU64,
    /// Runs that were made part of another.
    pub runs_joined: AtomicU64,
}

/// The counters at one moment. They start at 0 with [`Engine::open`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct EngineStats {
    /// Records that were returned to readers, of all trees.
    pub rows_read: u64,
    /// Records that were inserted, of all trees: an index entry counts like a row. Likewise the next two.
    pub rows_inserted: u64,
    /// Records whose value was replaced.
    pub rows_updated: u64,
    /// Records that were removed.
    pub rows_deleted: u64,
    /// Transactions that committed changes.
    pub commits: u64,
    /// Commits with events.
    pub event_commits: u64,
    /// Those of them whose events were too many for memory.
    pub event_files: u64,
    /// Transactions that were rolled back.
    pub rollbacks: u64,
    /// Waits for row locks and gaps: ended and current ones together.
    pub lock_waits: u64,
    /// Transactions that wait for a lock now.
    pub lock_waits_current: u64,
    /// The ended waits for locks.
    pub lock_wait: WaitStats,
    /// Waits for locks that ended without the lock because the time was over.
    pub lock_timeouts: u64,
    /// Transactions that were rolled back to break a deadlock.
    pub deadlocks: u64,
    /// Waits for the log to be durable before a commit, or what a locking read saw, was acknowledged.
    pub commit_wait: WaitStats,
    /// Waits of committers because versions that old snapshots need could not be moved to runs as fast.
    pub version_wait: WaitStats,
    /// Pages that a crash left behind the log and that nobody has needed yet.
    pub pages_behind: u64,
    /// Changes that wait for their leaf to be read.
    pub late_changes_pending: u64,
    /// The memory that they take.
    pub late_change_bytes: u64,
    /// Changes that were made without their leaf.
    pub late_changes_buffered: u64,
    /// Late changes that have come into their leaf.
    pub late_changes_merged: u64,
    /// How often a leaf got its late changes.
    pub late_leaves_merged: u64,
    /// Dirty pages that are not in memory: their changes since the image on disk are kept.
    pub dirty_pages_absent: u64,
    /// How many dirty pages have left memory so.
    pub dirty_pages_left: u64,
    /// How many of them have returned.
    pub dirty_pages_returned: u64,
    /// The memory that the logs of dirty pages take.
    pub page_log_bytes: u64,
    /// How many were logged again.
    pub page_logs_renewed: u64,
    /// Pages that are compressed in memory.
    pub packed: PackedStats,
    /// Waits because the log, or its buffer, was full.
    pub log_space_wait: WaitStats,
    /// How far apart flushes of the log should begin now, because pages are slow to come; below a millisecond none is held back.
    pub log_flush_spacing_us: u64,
    /// Waits for pages to be read.
    pub page_read_wait: WaitStats,
    /// Waits for a frame of the buffer pool to become free.
    pub frame_wait: WaitStats,
    /// Committed changes whose old versions are still kept.
    pub history_length: u64,
    /// About what they take in memory.
    pub history_bytes: u64,
    /// Runs: trees with versions of committed changes that memory has no room for.
    pub version_runs: u64,
    /// Versions in runs.
    pub version_run_entries: u64,
    /// Their keys and images.
    pub version_run_bytes: u64,
    /// What the filters of runs take in memory.
    pub version_run_filter_bytes: u64,
    /// Versions that were moved from memory to a run.
    pub versions_moved: u64,
    /// Runs that were made part of another.
    pub version_runs_joined: u64,
    /// Look-ups in a run.
    pub version_run_lookups: u64,
    /// Rows with versions or locks in memory.
    pub row_table_entries: u64,
    /// Transactions that have locked or changed something and not ended.
    pub active_writers: u64,
    /// Snapshots in use.
    pub active_snapshots: u64,
    /// The commit up to which the oldest snapshot in use sees; the newest commit when there is none.
    pub oldest_snapshot_lsn: u64,
    /// The number that the next transaction gets.
    pub next_transaction: u64,
    /// Checkpoints that were made.
    pub checkpoints: u64,
    /// How often the undo records of an old transaction were logged again.
    pub undo_forwards: u64,
    /// Recovery would start here.
    pub checkpoint_lsn: u64,
    /// The end of the log.
    pub log_end_lsn: u64,
    /// The log survives a crash of the operating system up to here.
    pub log_durable_lsn: u64,
    /// The operating system has the log up to here.
    pub log_written_lsn: u64,
    /// From the oldest part of the log that is kept to its end.
    pub log_used_bytes: u64,
    /// What checkpoints keep the log below.
    pub log_capacity_bytes: u64,
    /// What the files of the log take.
    pub log_file_bytes: u64,
    /// Numbers of the first and the last file of the log.
    pub log_files: (u64, u64),
    /// Groups of records that were appended to the log.
    pub log_groups: u64,
    /// Frames of the buffer pool.
    pub pool_pages_total: u64,
    /// The memory of packed pages, in pages.
    pub pool_pages_misc: u64,
    /// Frames that hold a page.
    pub pool_pages_used: u64,
    /// Frames that hold a page that has to be written.
    pub pool_pages_dirty: u64,
    /// The oldest change that is only in the log and in a dirty page; the log's end when there is none.
    pub pool_oldest_dirty_lsn: u64,
    /// Accesses to pages.
    pub pool_read_requests: u64,
    /// Changes of pages.
    pub pool_write_requests: u64,
    /// Pages that were read because somebody needed them at once.
    pub pool_reads: u64,
    /// Pages that were read ahead.
    pub pool_pages_prefetched: u64,
    /// Pages on disk that the scrub has looked at.
    pub scrub_pages: u64,
    /// How often it has come to the end of them.
    pub scrub_passes: u64,
    /// How many of them were damaged; a page counts in each pass.
    pub scrub_faults: u64,
    /// Pages that were made new.
    pub pool_pages_created: u64,
    /// Pages that were written.
    pub pool_pages_written: u64,
    /// Pages that left memory.
    pub pool_pages_evicted: u64,
    /// Batches of pages that were written.
    pub pool_write_batches: u64,
    /// The size of a page.
    pub page_size_bytes: u64,
    /// What the files of pages were asked.
    pub data_io: IoStats,
    /// What the files of the log were asked.
    pub log_io: IoStats,
    /// Batches that went through the doublewrite file.
    pub doublewrite_batches: u64,
    /// Pages in those batches.
    pub doublewrite_pages: u64,
}

impl Counters {
    fn fill(&self, stats: &mut EngineStats) {
        stats.rows_read = self.rows_read.load(Relaxed);
        stats.rows_inserted = self.rows_inserted.load(Relaxed);
        stats.rows_updated = self.rows_updated.load(Relaxed);
        stats.rows_deleted = self.rows_deleted.load(Relaxed);
        stats.commits = self.commits.load(Relaxed);
        stats.event_commits = self.event_commits.load(Relaxed);
        stats.event_files = self.event_files.load(Relaxed);
        stats.rollbacks = self.rollbacks.load(Relaxed);
        stats.lock_waits = self.lock_waits.load(Relaxed);
        stats.lock_waits_current = self.lock_waits_current.load(Relaxed);
        stats.lock_wait = self.lock_wait.stats();
        stats.lock_timeouts = self.lock_timeouts.load(Relaxed);
        stats.deadlocks = self.deadlocks.load(Relaxed);
        stats.version_wait = self.version_wait.stats();
        stats.checkpoints = self.checkpoints.load(Relaxed);
        stats.undo_forwards = self.undo_forwards.load(Relaxed);
        stats.versions_moved = self.versions_moved.load(Relaxed);
        stats.version_runs_joined = self.runs_joined.load(Relaxed);
        stats.version_run_lookups = self.run_lookups.load(Relaxed);
    }
}

impl EngineStats {
    /// Frames without a page.
    pub fn pool_pages_free(&self) -> u64 {
        self.pool_pages_total.saturating_sub(self.pool_pages_misc + self.pool_pages_used)
    }
}

impl Engine {
    /// The counters at this moment.
    pub fn stats(&self) -> EngineStats {
        let mut stats = EngineStats::default();
        self.stats.fill(&mut stats);
        self.fill_transactions(&mut stats);
        self.fill_log(&mut stats);
        self.fill_pages(&mut stats);
        stats
    }

    fn fill_transactions(&self, stats: &mut EngineStats) {
        let (history_length, history_bytes) = self.history_size();
        (stats.history_length, stats.history_bytes) = (history_length as u64, history_bytes);
        let runs = self.runs.totals();
        stats.version_runs = runs.runs;
        stats.version_run_entries = runs.entries;
        stats.version_run_bytes = runs.bytes;
        stats.version_run_filter_bytes = runs.filter_bytes;
        stats.row_table_entries = self.rows.len() as u64;
        stats.active_writers = self.writers.active_count() as u64;
        stats.next_transaction = self.writers.next_id();
        stats.active_snapshots = self.versions.snapshots.len() as u64;
        stats.oldest_snapshot_lsn = self.versions.snapshots.horizon(|| self.visible_lsn());
    }

    fn fill_log(&self, stats: &mut EngineStats) {
        let log = self.wal.stats();
        stats.checkpoint_lsn = self.checkpointer.checkpoint_lsn();
        stats.log_end_lsn = self.wal.end_lsn().0;
        debug_assert!(stats.checkpoint_lsn <= stats.log_end_lsn, "a checkpoint is a place in the log");
        stats.log_durable_lsn = self.wal.durable_lsn().0;
        stats.log_written_lsn = log.written_lsn;
        stats.log_used_bytes = log.used_bytes;
        stats.log_capacity_bytes = self.checkpointer.capacity_bytes();
        stats.log_file_bytes = log.file_bytes;
        stats.log_files = (log.segment_first, log.segment_last);
        stats.log_groups = log.groups;
        stats.commit_wait = log.commit_wait;
        stats.log_space_wait = log.space_wait;
        stats.log_flush_spacing_us = log.flush_spacing_us;
        stats.log_io = self.io.log.stats();
    }

    fn fill_pages(&self, stats: &mut EngineStats) {
        let pool = self.pool.stats();
        stats.packed = self.pool.packed_stats();
        stats.pool_pages_misc = stats.packed.own_bytes() / pool.page_bytes;
        stats.pool_pages_total = pool.frames + stats.pool_pages_misc;
        debug_assert!(pool.frames_free <= pool.frames, "free frames are some of them");
        stats.pool_pages_used = pool.frames - pool.frames_free;
        stats.pool_pages_dirty = pool.pages_dirty;
        stats.pool_oldest_dirty_lsn = pool.oldest_dirty_lsn;
        stats.pool_read_requests = pool.requests;
        stats.pool_write_requests = pool.write_requests;
        stats.pool_reads = pool.pages_read;
        stats.pool_pages_prefetched = pool.pages_prefetched;
        stats.scrub_pages = pool.scrub_pages;
        stats.scrub_passes = pool.scrub_passes;
        stats.scrub_faults = pool.scrub_faults;
        stats.pool_pages_created = pool.pages_created;
        stats.pool_pages_written = pool.pages_written;
        stats.pool_pages_evicted = pool.pages_evicted;
        stats.pool_write_batches = pool.write_batches;
        stats.page_read_wait = pool.read_wait;
        stats.frame_wait = pool.frame_wait;
        stats.page_size_bytes = pool.page_bytes;
        stats.data_io = self.io.data.stats();
        stats.pages_behind = self.pool.behind().count();
        let late = self.pool.late().stats();
        stats.late_changes_pending = late.pending;
        stats.late_change_bytes = late.bytes;
        stats.late_changes_buffered = late.buffered;
        stats.late_changes_merged = late.merged;
        stats.late_leaves_merged = late.pages_merged;
        let logs = self.pool.page_logs().stats();
        stats.dirty_pages_absent = logs.absent;
        stats.dirty_pages_left = logs.left;
        stats.dirty_pages_returned = logs.returned;
        stats.page_log_bytes = logs.bytes;
        stats.page_logs_renewed = logs.renewed;
        let store = self.pool.store().store_stats();
        stats.doublewrite_batches = store.doublewrite_batches;
        stats.doublewrite_pages = store.doublewrite_pages;
    }
}
