//! Checkpoints: moving the start of recovery forward so that the log can be reused.
//!
//! They are continuous: the buffer pool writes old dirty pages back all the time, and whenever the log has
//! grown by a share of its capacity, a checkpoint notes how far that has come. Nobody waits for one.
//!
//! Invariant: the checkpoint LSN is at or before the recovery LSN of every dirty page, the first undo record
//! of every active transaction, the oldest late change, the oldest mark that is in the log alone, the list of pending
//! frees, what pages are behind by after a crash (`Checkpointer::redo_hold`), and every pin; and it is durable in the
//! superblock before the log behind it is reused. A transaction that would hold it back for too long has its
//! undo records logged again (`forward`).

use crate::EngineError;
use crate::checkpoints::superblock::Superblock;
use crate::engine::Engine;
use crate::log::log_record::{LogRecord, NO_TRANSACTION};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wal::{AppendError, Lsn, Priority, WalGroup};

/// A checkpoint is due whenever the log has grown by this share of its capacity.
const CAPACITY_SHARE: u64 = 16;

/// A transaction whose undo records begin further back than this share of the log is forwarded.
const UNDO_SHARE: u64 = 4;

/// Late changes that began to wait further back than this share of the log are logged again.
const LATE_SHARE: u64 = 4;

/// Marks that are in the log alone since further back than this share of it are written into their trees' rows.
const MARK_SHARE: u64 = 4;

/// How often a writer that was held back looks again, and for how long.
const ROOM_RETRY_US: u64 = 1_000;
const ROOM_WAIT_US_MAX: u64 = 30_000_000;
/// The same when writing fails meanwhile because the disk is full: no page that is written makes room then.
const FULL_WAIT_US_MAX: u64 = 500_000;

/// While something else still holds the checkpoint back and the log is nearly full.
const STUCK_RETRY_US: u64 = 10_000;

/// How long a checkpoint waits before it looks whether another has ended; they rarely meet.
const TURN_US: u64 = 1_000;

/// A record of pending frees names at most this many chains.
const CHAINS_PER_RECORD: usize = 4096;

pub(crate) struct Checkpointer {
    /// How long the log should be at most; the log itself takes twice as much before it refuses.
    capacity_bytes: AtomicU64,
    /// The log end at which the next one is due.
    due_lsn: AtomicU64,
    is_due: AtomicBool,
    /// The background task exists.
    running: AtomicBool,
    /// A checkpoint is being made.
    writing: AtomicBool,
    checkpoint_lsn: AtomicU64,
    pins: Mutex<BTreeMap<u64, usize>>,
    redo_hold: Mutex<Option<RedoHold>>,
}

/// Pages are behind the log after a crash, or those that have caught up may be in memory alone.
struct RedoHold {
    /// The log from here on is needed.
    from: u64,
    /// Where the log ended when the last page had caught up. Pages that became dirty before may have done so by catching
    /// up: what the log says of them is older than their `rec_lsn`.
    done: Option<Lsn>,
}

/// Keeps the checkpoint from passing an LSN until it is dropped.
pub(crate) struct CheckpointPin {
    engine: Arc<Engine>,
    lsn: u64,
}

impl Checkpointer {
    pub fn new(capacity_bytes: u64, checkpoint_lsn: u64) -> Checkpointer {
        debug_assert!(capacity_bytes > 0, "a log has room");
        Checkpointer {
            capacity_bytes: AtomicU64::new(capacity_bytes),
            due_lsn: AtomicU64::new(checkpoint_lsn + (capacity_bytes / CAPACITY_SHARE).max(1)),
            is_due: AtomicBool::new(false),
            running: AtomicBool::new(false),
            writing: AtomicBool::new(false),
            checkpoint_lsn: AtomicU64::new(checkpoint_lsn),
            pins: Mutex::default(),
            redo_hold: Mutex::default(),
        }
    }

    /// Pages are behind: the log from `from` on stays.
    pub fn hold_for_redo(&self, from: u64) {
        debug_assert!(from >= self.checkpoint_lsn(), "the log that redo needs is still there");
        let before = self.redo_hold.lock().replace(RedoHold { from, done: None });
        debug_assert!(before.is_none(), "redo begins once");
    }

    /// No page is behind any more, and the log ends here or later.
    pub fn redo_is_done(&self, end: Lsn) {
        if let Some(hold) = &mut *self.redo_hold.lock() {
            debug_assert!(hold.done.is_none(), "redo ends once");
            debug_assert!(end.0 >= hold.from, "the log ends behind what redo has needed");
            hold.done = Some(end);
        }
    }

    /// Where the log ended when the last page had caught up, until those pages are written.
    pub fn redo_done(&self) -> Option<Lsn> {
        self.redo_hold.lock().as_ref().and_then(|hold| hold.done)
    }

    /// The log that redo still needs, if any, when the oldest dirty page is dirty since `min_rec_lsn`.
    fn needed_for_redo(&self, min_rec_lsn: Lsn) -> Option<u64> {
        let mut hold = self.redo_hold.lock();
        if hold.as_ref()?.done.is_some_and(|done| done <= min_rec_lsn) {
            *hold = None;
        }
        hold.as_ref().map(|hold| hold.from)
    }

    pub fn checkpoint_lsn(&self) -> u64 {
        self.checkpoint_lsn.load(Ordering::Acquire)
    }

    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes.load(Ordering::Relaxed)
    }

    /// The next checkpoint is due at once, for it may be late by the new measure.
    pub fn set_capacity(&self, bytes: u64) {
        debug_assert!(bytes > 0, "a log has room");
        self.capacity_bytes.store(bytes, Ordering::Relaxed);
        self.due_lsn.store(0, Ordering::Relaxed);
    }

    fn interval_bytes(&self) -> u64 {
        (self.capacity_bytes() / CAPACITY_SHARE).max(1)
    }

    /// Called after every change; one load and one comparison.
    pub fn note_log_end(&self, log_end: u64) {
        if log_end >= self.due_lsn.load(Ordering::Relaxed) {
            self.is_due.store(true, Ordering::Relaxed);
        }
    }

    /// Makes a checkpoint due, however little log there is.
    pub fn request(&self) {
        self.is_due.store(true, Ordering::Relaxed);
    }

    fn oldest_pin(&self) -> Option<u64> {
        self.pins.lock().keys().next().copied()
    }
}

impl CheckpointPin {
    pub fn lsn(&self) -> u64 {
        self.lsn
    }
}

impl Drop for CheckpointPin {
    fn drop(&mut self) {
        let mut pins = self.engine.checkpointer.pins.lock();
        let count = pins.get_mut(&self.lsn).expect("it was pinned");
        debug_assert!(*count > 0, "a pin counts until it is dropped");
        *count -= 1;
        if *count == 0 {
            pins.remove(&self.lsn);
        }
    }
}

/// Lets the next checkpoint begin, also when this one's future is dropped.
pub(crate) struct CheckpointTurn<'a>(&'a AtomicBool);

impl Drop for CheckpointTurn<'_> {
    fn drop(&mut self) {
        let was_taken = self.0.swap(false, Ordering::AcqRel);
        debug_assert!(was_taken, "a turn ends once");
    }
}

impl Engine {
    /// Keeps the checkpoint from passing `lsn`, which it has not passed yet.
    pub(crate) fn pin_checkpoint(self: &Arc<Self>, lsn: u64) -> CheckpointPin {
        *self.checkpointer.pins.lock().entry(lsn).or_default() += 1;
        CheckpointPin { engine: self.clone(), lsn }
    }

    /// Starts a checkpoint in the background if one is due and none is running.
    pub(crate) fn start_due_checkpoint(self: &Arc<Self>) {
        let checkpointer = &self.checkpointer;
        if self.renewal.is_due(self.wal.end_lsn().0) {
            self.start_renewal();
        }
        if !checkpointer.is_due.load(Ordering::Relaxed) || checkpointer.running.swap(true, Ordering::AcqRel) {
            return;
        }
        self.spawn("checkpoint", |engine| async move {
            let result = engine.checkpoint_until_roomy().await;
            engine.checkpointer.is_due.store(false, Ordering::Relaxed);
            let was_running = engine.checkpointer.running.swap(false, Ordering::AcqRel);
            debug_assert!(was_running, "one task makes checkpoints");
            result
        });
    }

    /// How much log a recovery would have to read now.
    pub(crate) fn log_age(&self) -> u64 {
        self.wal.end_lsn().0.saturating_sub(self.checkpointer.checkpoint_lsn())
    }

    /// Holds a writer back while the log is so full that checkpoints need what is left of it.
    pub(crate) async fn keep_log_room(self: &Arc<Self>) -> Result<(), EngineError> {
        if self.life.recovering.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.pool.wait_for_dirty_room().await.map_err(|error| self.pool_error(error))?;
        let limit = || self.checkpointer.capacity_bytes() / 8 * 5;
        let progress = || (self.pool.pages_written(), self.pool.behind().count());
        let (mut waited_us, mut last) = (0, progress());
        let full_before = self.full_disk.failures();
        while self.log_age() > limit() {
            if let Some(error) = self.failure() {
                return Err(error);
            }
            let most =
                if self.full_disk.failures() > full_before { FULL_WAIT_US_MAX } else { ROOM_WAIT_US_MAX };
            if waited_us > most {
                return Err(self.disk_is_full());
            }
            self.checkpointer.request();
            self.start_due_checkpoint();
            self.env.clock.sleep(ROOM_RETRY_US).await;
            waited_us += ROOM_RETRY_US;
            // As long as pages are written, or catch up, there will be room, however slowly the user lets them be written.
            let now = progress();
            if std::mem::replace(&mut last, now) != now {
                waited_us = 0;
            }
        }
        Ok(())
    }

    fn is_roomy(&self) -> bool {
        self.log_age() < self.checkpointer.capacity_bytes() / 2
    }

    /// Makes checkpoints until the log has room again: nobody else would, if all writers wait for that room.
    async fn checkpoint_until_roomy(&self) -> Result<(), EngineError> {
        loop {
            // Pages that have been dirty for longer are written before a checkpoint.
            let mut behind = self.page_log_limit();
            if !self.is_roomy() {
                // Pages that have caught up are not old, but the log that they needed is.
                behind = self.checkpointer.redo_done().map_or(behind, |done| behind.max(done));
            }
            self.renew_page_logs(|_| behind).await?;
            self.pool.flush_through(behind).await.map_err(|error| self.pool_error(error))?;
            let before = self.checkpointer.checkpoint_lsn();
            self.checkpoint(false).await?;
            if self.is_roomy() {
                return Ok(());
            }
            if self.checkpointer.checkpoint_lsn() == before {
                self.env.clock.sleep(STUCK_RETRY_US).await;
            }
        }
    }

    /// Makes one checkpoint as far forward as it can be now. `clean`: nothing is dirty or active.
    pub(crate) async fn checkpoint(&self, clean: bool) -> Result<(), EngineError> {
        self.checkpoint_for(self.checkpointer.capacity_bytes(), clean).await
    }

    /// The same so that the log can become as short as it has to be with this capacity.
    pub(crate) async fn checkpoint_for(&self, capacity_bytes: u64, clean: bool) -> Result<(), EngineError> {
        let _turn = self.checkpoint_turn().await;
        self.checkpoint_in_turn(capacity_bytes, clean).await
    }

    /// One at a time, or an older superblock could replace a newer one whose log is already reused.
    pub(crate) async fn checkpoint_turn(&self) -> CheckpointTurn<'_> {
        while self.checkpointer.writing.swap(true, Ordering::AcqRel) {
            self.env.clock.sleep(TURN_US).await;
        }
        CheckpointTurn(&self.checkpointer.writing)
    }

    /// For a checkpoint that shall come as far as it can.
    pub(crate) async fn store_all_marks(&self) -> Result<(), EngineError> {
        let _turn = self.checkpoint_turn().await;
        self.store_marks(self.wal.end_lsn()).await
    }

    async fn checkpoint_in_turn(&self, capacity_bytes: u64, clean: bool) -> Result<(), EngineError> {
        debug_assert!(self.checkpointer.writing.load(Ordering::Relaxed), "checkpoints are made in turns");
        let start = self.wal.end_lsn();
        self.checkpointer.due_lsn.store(start.0 + self.checkpointer.interval_bytes(), Ordering::Relaxed);
        let far_back = |share: u64| Lsn(start.0.saturating_sub(capacity_bytes / share));
        self.forward_old_undo(far_back(UNDO_SHARE)).await?;
        self.renew_late(far_back(LATE_SHARE)).await?;
        let old_before = self.page_log_limit();
        self.renew_page_logs(|_| old_before).await?;
        self.store_marks(far_back(MARK_SHARE)).await?;
        self.log_pending_chains().await?;
        // What has an LSN before `start` and is not listed anywhere is over and in the pages.
        // Late changes first: those that leave meanwhile are in pages that were dirty before.
        let oldest_late = self.pool.late().oldest_lsn().unwrap_or(start);
        let min_rec_lsn = self.pool.min_rec_lsn();
        let mut checkpoint_lsn = start.0.min(oldest_late.0).min(min_rec_lsn.0);
        let for_redo = self.checkpointer.needed_for_redo(min_rec_lsn);
        checkpoint_lsn = for_redo.map_or(checkpoint_lsn, |lsn| lsn.min(checkpoint_lsn));
        checkpoint_lsn =
            self.writers.oldest_active_lsn().map_or(checkpoint_lsn, |lsn| lsn.min(checkpoint_lsn));
        // After the active transactions: a write raises its mark before its transaction can end.
        checkpoint_lsn = self.trees.marks.oldest_lsn().map_or(checkpoint_lsn, |lsn| lsn.min(checkpoint_lsn));
        checkpoint_lsn = self.checkpointer.oldest_pin().map_or(checkpoint_lsn, |lsn| lsn.min(checkpoint_lsn));
        let durable = self.wal.end_lsn();
        self.wal.wait_durable(durable).await.map_err(|error| self.log_failed(&error))?;
        if checkpoint_lsn <= self.checkpointer.checkpoint_lsn() && !clean {
            return Ok(());
        }
        assert!(self.wal.durable_lsn() >= durable, "the log is durable before a superblock relies on it");
        assert!(checkpoint_lsn <= durable.0, "recovery starts in the log that is durable");
        assert!(checkpoint_lsn >= self.checkpointer.checkpoint_lsn(), "the log before a checkpoint is gone");
        let superblock = Superblock {
            checkpoint_lsn,
            known_durable_lsn: durable.0,
            next_transaction: self.writers.next_id(),
            next_tree: self.trees.next_id(),
            meta_root: self.trees.meta().root,
            page_size_bytes: self.pool.page_bytes() as u32,
            clean,
        };
        let written = self.pool.store().write_superblock(&superblock.encode()).await;
        written.map_err(|error| self.pool_error(error.into()))?;
        let before_lsn = self.checkpointer.checkpoint_lsn.swap(checkpoint_lsn, Ordering::AcqRel);
        debug_assert!(before_lsn <= checkpoint_lsn, "nobody else has made a checkpoint meanwhile");
        self.stats.checkpoints.fetch_add(1, Ordering::Relaxed);
        self.wal.truncate_before(Lsn(checkpoint_lsn));
        self.events.call();
        Ok(())
    }

    /// Lists the overflow chains that committed transactions have left to free, so that the log with their
    /// commit records can be given up. The list and its record are made under the commit mutex: nothing is
    /// freed or added in between.
    async fn log_pending_chains(&self) -> Result<(), EngineError> {
        let mut from = 0;
        loop {
            let (appended, bytes) = {
                let history = self.versions.history.lock();
                let chains: Vec<u64> = history.pending_chains(from).take(CHAINS_PER_RECORD).collect();
                let Some(last) = chains.last().copied() else { return Ok(()) };
                debug_assert!(last >= from, "the list goes on by page number");
                let record = LogRecord::PendingFrees { chains };
                let mut group = WalGroup::new();
                group.push_with(record.kind(), NO_TRANSACTION.0, |bytes| record.encode(bytes));
                (self.wal.append_reserve(&group).map(|_| last), group.encoded_len())
            };
            match appended {
                Ok(last) => from = last + 1,
                Err(AppendError::Full) => self.wait_for_log_space(bytes).await?,
                Err(error) => return Err(self.log_error(error)),
            }
        }
    }

    /// Waits for room for a group of a checkpoint. It has to be the size of the very group that was refused: room for less
    /// may be there all the time, and then nobody else would get a turn to make more.
    pub(crate) async fn wait_for_log_space(&self, bytes: usize) -> Result<(), EngineError> {
        debug_assert!(bytes > 0, "a group that was refused has a size");
        let space = self.wal.wait_for_space(bytes, Priority::Reserve).await;
        space.map_err(|error| self.log_error(error))
    }
}
