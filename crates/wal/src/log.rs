//! `Wal`: waiting for durability, the log's state, and what can be changed while it runs. Appending is in `admission`.
//!
//! Invariants: `durable <= written <= end`; all three only grow. Once `failure` is set nothing is appended or
//! published any more. Callers: `btree` (append), `buffer` (WAL before page), `engine` (commit, checkpoint).

use crate::format::segment_before;
use crate::spacing::Spacing;
use crate::staging::Staging;
use crate::waiters::LsnWaiters;
use crate::{FlushMode, Lsn, WalError, WalOptions};
use env::sync::{Mutex, Notify, WaitQueue};
use env::{AppendRing, Env, File, WaitCounter};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::Poll;

/// How long bytes that nobody waits for may stay unsynced in the modes `Written` and `Lazy`.
const LAZY_SYNC_US_DEFAULT: u64 = 1_000_000;

/// The log. Dropping it stops its tasks without flushing, like a crash; `close` flushes first.
pub struct Wal {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) env: Env,
    pub(crate) options: WalOptions,
    /// `WalOptions::capacity_bytes` as it is now.
    pub(crate) capacity_bytes: AtomicU64,
    pub(crate) log_id: u64,
    pub(crate) epoch: u64,
    /// Protects everything about chunks and segments. Not needed for appending to the open chunk; never held across I/O.
    pub(crate) state: Mutex<State>,
    /// Stored with Release after the sync returned; loaded with Acquire by whoever relies on it.
    pub(crate) durable: AtomicU64,
    pub(crate) written: AtomicU64,
    /// The memory of the open chunk, and the end of the log. Opened and closed under the lock of the state (`Staging`).
    pub(crate) ring: Arc<AppendRing>,
    pub(crate) appending: Appending,
    /// Set after `State::failure`; lets waiters look without taking the lock.
    pub(crate) failed: AtomicBool,
    /// What the flusher has been asked to make durable, and to write.
    pub(crate) sync_target: AtomicU64,
    pub(crate) write_target: AtomicU64,
    flush_mode: AtomicU8,
    lazy_sync_us: AtomicU64,
    pub(crate) durable_waiters: LsnWaiters,
    pub(crate) written_waiters: LsnWaiters,
    pub(crate) space_waiters: WaitQueue,
    pub(crate) flush_requested: Notify,
    pub(crate) spacing: Spacing,
    pub(crate) prepare_requested: Notify,
    pub(crate) space_waits: WaitCounter,
    pub(crate) commit_waits: WaitCounter,
}

/// What every appender writes, away from what others only read (processors fetch cache lines in pairs).
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Appending {
    /// What of `State::reserved` is left for the next reservations. Withdrawn under the lock.
    pub(crate) credit: AtomicU64,
    /// Groups that were appended.
    pub(crate) groups: AtomicU64,
}

pub(crate) struct State {
    pub(crate) staging: Staging,
    /// Open files of the segments from the current one to `ready_through`.
    pub(crate) files: BTreeMap<u64, Arc<dyn File>>,
    /// The last prepared segment; all between the current one and it are prepared too.
    pub(crate) ready_through: u64,
    /// The oldest segment that recovery may need.
    pub(crate) needed_from: u64,
    /// The oldest segments that others need, and how many of them.
    pub(crate) pins: BTreeMap<u64, usize>,
    /// The oldest segment that is kept for either.
    pub(crate) kept_from: u64,
    /// Older segments whose files can be used again.
    pub(crate) recyclable: VecDeque<u64>,
    /// The sum of the costs of all reservations, and the credit.
    pub(crate) reserved: u64,
    pub(crate) failure: Option<WalError>,
    /// When preparing a segment last met a full disk; None when it did not.
    pub(crate) no_space_since_us: Option<u64>,
    pub(crate) retry_prepare: bool,
    pub(crate) lazy_sync_armed: bool,
    /// A timer of an earlier round does nothing.
    pub(crate) lazy_sync_round: u64,
    pub(crate) stopped: bool,
}

impl Wal {
    /// The LSN up to which the log survives a crash.
    pub fn durable_lsn(&self) -> Lsn {
        Lsn(self.shared.durable.load(Ordering::Acquire))
    }

    /// The end of the last group that has its place. Its bytes may still be being copied; whoever waits for them to be
    /// durable waits for that too.
    pub fn end_lsn(&self) -> Lsn {
        self.shared.end()
    }

    /// Asks for the bytes before `lsn` to become durable, without waiting.
    pub fn request_flush(&self, lsn: Lsn) {
        if self.shared.sync_target.fetch_max(lsn.0, Ordering::SeqCst) < lsn.0 && lsn > self.durable_lsn() {
            self.shared.flush_requested.notify();
        }
    }

    /// Waits until everything before `lsn` survives a crash.
    pub async fn wait_durable(&self, lsn: Lsn) -> Result<(), WalError> {
        if self.durable_lsn() >= lsn {
            return Ok(());
        }
        self.request_flush(lsn);
        self.shared.wait(&self.shared.durable_waiters, &self.shared.durable, lsn).await
    }

    /// The same without asking for a flush: for what somebody else waits for, or the lazy sync brings.
    pub async fn wait_until_durable(&self, lsn: Lsn) -> Result<(), WalError> {
        self.shared.wait(&self.shared.durable_waiters, &self.shared.durable, lsn).await
    }

    /// Waits until the log has been written so far and that is durable, which may be never.
    pub async fn wait_for_growth(&self, lsn: Lsn) -> Result<(), WalError> {
        self.shared.wait_for(&self.shared.durable_waiters, &self.shared.durable, lsn).await
    }

    /// Waits as long as the flush mode demands before a commit at `lsn` may be acknowledged.
    pub async fn wait_commit(&self, lsn: Lsn) -> Result<(), WalError> {
        let clock = &*self.shared.env.clock;
        let since_us = clock.now_us();
        env::begin_wait(env::WaitCause::LogFlush, || None);
        let waited = self.wait_for_commit(lsn).await;
        let time_us = self.shared.commit_waits.end(clock, since_us);
        self.shared.spacing.note_commit_wait(env::note_wait(env::WaitCause::LogFlush, time_us));
        waited
    }

    async fn wait_for_commit(&self, lsn: Lsn) -> Result<(), WalError> {
        match self.flush_mode() {
            FlushMode::Durable => self.wait_durable(lsn).await,
            FlushMode::Written => {
                self.shared.arm_lazy_sync();
                if self.shared.write_target.fetch_max(lsn.0, Ordering::SeqCst) < lsn.0 {
                    self.shared.flush_requested.notify();
                }
                self.shared.wait(&self.shared.written_waiters, &self.shared.written, lsn).await
            }
            FlushMode::Lazy => {
                self.shared.arm_lazy_sync();
                self.shared.state.lock().failure.clone().map_or(Ok(()), Err)
            }
        }
    }

    /// Somebody has waited so long for a page that had to be read: by that goes how long commits wait for each other.
    pub fn note_page_wait(&self, took_us: u64) {
        self.shared.spacing.note_page_wait(took_us);
    }

    pub fn flush_mode(&self) -> FlushMode {
        match self.shared.flush_mode.load(Ordering::Relaxed) {
            0 => FlushMode::Lazy,
            1 => FlushMode::Durable,
            _ => FlushMode::Written,
        }
    }

    pub fn set_flush_mode(&self, mode: FlushMode) {
        self.shared.flush_mode.store(mode_number(mode), Ordering::Relaxed);
    }

    /// How long bytes that nobody waits for may stay unsynced from now on. What is unsynced is synced now.
    pub fn set_lazy_sync_us(&self, interval_us: u64) {
        self.shared.lazy_sync_us.store(interval_us, Ordering::Relaxed);
        let mut state = self.shared.state.lock();
        state.lazy_sync_round += 1;
        state.lazy_sync_armed = false;
        let end = state.staging.end();
        drop(state);
        self.shared.ask_for_flush(end);
    }

    /// The failure, once there is one. The server must stop.
    pub fn failure(&self) -> Option<WalError> {
        self.shared.state.lock().failure.clone()
    }

    pub fn capacity_bytes(&self) -> u64 {
        self.shared.capacity_bytes.load(Ordering::Relaxed)
    }

    /// Changes how far the log may grow, as far as its segments allow; files that are too many are removed as they
    /// become free. Chunks are refused until `truncate_before` has caught up with a lower capacity; the open one is filled.
    pub fn set_capacity(&self, bytes: u64) {
        let bytes = bytes.max(self.shared.options.capacity_bytes_min());
        self.shared.capacity_bytes.store(bytes, Ordering::Relaxed);
        self.shared.prepare_requested.notify();
        self.shared.space_waiters.wake_all();
    }

    /// Bytes from the oldest segment that is kept to the end: what `truncate_before` could shrink.
    pub fn used_bytes(&self) -> u64 {
        self.shared.used_bytes(&self.shared.state.lock())
    }

    /// The largest group that can be appended.
    pub fn group_bytes_max(&self) -> usize {
        self.shared.options.group_bytes_max
    }

    /// Gives the segments before `lsn` free for reuse, as far as no pin holds them. The caller has a durable checkpoint at or after `lsn`,
    /// so recovery will never ask for an earlier one.
    pub fn truncate_before(&self, lsn: Lsn) {
        assert!(lsn <= self.durable_lsn(), "a checkpoint lies in the durable part of the log");
        let mut state = self.shared.state.lock();
        let needed_from = segment_before(lsn, self.shared.options.segment_bytes);
        debug_assert!(needed_from <= state.staging.segment(), "a checkpoint lies in the log");
        state.needed_from = state.needed_from.max(needed_from);
        state.free_segments();
        drop(state);
        self.shared.offer_free_segments();
    }

    /// Flushes everything and stops the tasks.
    pub async fn close(&self) -> Result<(), WalError> {
        self.shared.flush_at_once(self.end_lsn());
        let result = self.wait_durable(self.end_lsn()).await;
        debug_assert!(result.is_err() || self.shared.is_in_order(), "a closed log's ends are in order");
        self.shared.stop();
        result
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

/// The number of `innodb_flush_log_at_trx_commit`.
pub(crate) fn mode_number(mode: FlushMode) -> u8 {
    match mode {
        FlushMode::Lazy => 0,
        FlushMode::Durable => 1,
        FlushMode::Written => 2,
    }
}

impl Shared {
    pub(crate) fn new(env: Env, options: WalOptions, log_id: u64, epoch: u64, state: State) -> Self {
        let (ring, end) = (state.staging.ring().clone(), state.staging.end().0);
        let flush_mode = AtomicU8::new(mode_number(options.flush_mode));
        Self {
            env,
            capacity_bytes: AtomicU64::new(options.capacity_bytes),
            options,
            log_id,
            epoch,
            state: Mutex::new(state),
            durable: AtomicU64::new(end),
            written: AtomicU64::new(end),
            ring,
            appending: Appending::default(),
            failed: AtomicBool::new(false),
            sync_target: AtomicU64::new(0),
            write_target: AtomicU64::new(0),
            flush_mode,
            lazy_sync_us: AtomicU64::new(LAZY_SYNC_US_DEFAULT),
            durable_waiters: LsnWaiters::default(),
            written_waiters: LsnWaiters::default(),
            space_waiters: WaitQueue::new(),
            flush_requested: Notify::new(),
            spacing: Spacing::default(),
            prepare_requested: Notify::new(),
            space_waits: WaitCounter::default(),
            commit_waits: WaitCounter::default(),
        }
    }

    /// The end of the last appended group.
    pub(crate) fn end(&self) -> Lsn {
        Lsn(self.ring.end())
    }

    /// `durable <= written <= end`. They only grow, so in this order each is read no later than what it is compared to.
    pub(crate) fn is_in_order(&self) -> bool {
        let durable = self.durable.load(Ordering::Acquire);
        let written = self.written.load(Ordering::Acquire);
        durable <= written && written <= self.end().0
    }

    fn ask_for_flush(&self, lsn: Lsn) {
        if self.sync_target.fetch_max(lsn.0, Ordering::SeqCst) < lsn.0 {
            self.flush_requested.notify();
        }
    }

    /// The same, however far apart flushes should be.
    pub(crate) fn flush_at_once(&self, lsn: Lsn) {
        self.ask_for_flush(lsn);
        self.spacing.urgent.notify();
    }

    async fn wait(&self, waiters: &LsnWaiters, reached: &AtomicU64, lsn: Lsn) -> Result<(), WalError> {
        assert!(lsn <= self.end(), "LSN {lsn} was never written");
        self.wait_for(waiters, reached, lsn).await
    }

    async fn wait_for(&self, waiters: &LsnWaiters, reached: &AtomicU64, lsn: Lsn) -> Result<(), WalError> {
        let is_reached = || reached.load(Ordering::Acquire) >= lsn.0;
        let mut place = None;
        poll_fn(|context| {
            // Who was woken need not enroll again.
            if is_reached() {
                return Poll::Ready(Ok(()));
            }
            waiters.enroll(&mut place, lsn, context.waker());
            if is_reached() {
                return Poll::Ready(Ok(()));
            }
            if !self.failed.load(Ordering::Acquire) {
                return Poll::Pending;
            }
            let failure = self.state.lock().failure.clone();
            Poll::Ready(Err(failure.expect("it is set before the flag")))
        })
        .await
    }

    /// Makes sure that what is appended now will be synced within the interval, by one timer at a time.
    fn arm_lazy_sync(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.lazy_sync_armed, true) {
            return;
        }
        let round = state.lazy_sync_round;
        drop(state);
        let sleep = self.env.clock.sleep(self.lazy_sync_us.load(Ordering::Relaxed));
        let shared = self.clone();
        let sync = async move {
            sleep.await;
            let mut state = shared.state.lock();
            if state.lazy_sync_round != round {
                return;
            }
            state.lazy_sync_armed = false;
            let end = state.staging.end();
            drop(state);
            shared.ask_for_flush(end);
        };
        self.env.spawner.spawn("wal-lazy-sync", Box::pin(sync));
    }

    /// Ends the log: every waiter learns of the failure, nothing is accepted any more.
    pub(crate) fn fail(&self, error: env::IoError) {
        let mut state = self.state.lock();
        if state.failure.is_none() {
            state.failure = Some(WalError::Failed(error));
        }
        debug_assert!(self.is_in_order(), "a failure leaves the log's ends in order");
        // Nobody opens another chunk.
        state.staging.seal();
        drop(state);
        self.failed.store(true, Ordering::Release);
        self.durable_waiters.wake_through(Lsn::MAX);
        self.written_waiters.wake_through(Lsn::MAX);
        self.space_waiters.wake_all();
    }

    fn stop(&self) {
        self.state.lock().stopped = true;
        self.flush_requested.notify();
        self.spacing.urgent.notify();
        self.prepare_requested.notify();
    }
}
