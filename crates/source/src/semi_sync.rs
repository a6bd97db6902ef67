//! Semi-synchronous replication: a commit waits until replicas have confirmed its events, or for `rpl_semi_sync_source_timeout` at most.
//!
//! Invariant: what the engine holds has its end here as soon as it is in the file, or will have; what is confirmed is released in the order of
//! the log. When nobody confirms in time, everything is released and nothing is held until a replica has read to the end again. The
//! task wakes up for the oldest transaction only. Callers: the writer of the log, streams of replicas, the program when variables change.
use crate::log::BinaryLog;
use engine::HoldPoint;
use env::sync::WaitQueue;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Poll;

/// The variables of it, as they are now.
#[derive(Clone, Copy, Debug)]
pub struct SemiSyncSettings {
    /// `rpl_semi_sync_source_enabled`.
    pub is_enabled: bool,
    /// `rpl_semi_sync_source_timeout`, in milliseconds.
    pub timeout_ms: u64,
    /// `rpl_semi_sync_source_wait_for_replica_count`.
    pub replicas: usize,
    /// `rpl_semi_sync_source_wait_no_replica`: commits wait also while fewer replicas are there.
    pub waits_without: bool,
    /// `rpl_semi_sync_source_wait_point`.
    pub point: HoldPoint,
}

/// What the status variables `Rpl_semi_sync_source_*` tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct SemiSyncFigures {
    /// Replicas that confirm.
    pub clients: u64,
    /// Commits wait for them now.
    pub is_on: bool,
    /// How often nobody confirmed in time.
    pub timeouts: u64,
    /// Transactions that were confirmed in time.
    pub confirmed: u64,
    /// Those that were not.
    pub unconfirmed: u64,
    /// How long those that were confirmed took, in microseconds.
    pub waited_us: u64,
    /// How often a confirmation was asked for.
    pub asked: u64,
    /// Transactions that wait now.
    pub waiting: u64,
}

/// The number of a file and a position in it.
type Place = (u64, u64);

const DISABLED: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct SemiSync {
    /// `DISABLED`, `OFF` or `ON`; changed with `state`.
    mode: AtomicU8,
    state: Mutex<State>,
    changed: WaitQueue,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// How far each replica has confirmed, by its `server_id`.
    confirmed: BTreeMap<u32, Place>,
    has_task: bool,
    figures: SemiSyncFigures,
}

struct Waiting {
    end: Place,
    lsn: u64,
    since_us: u64,
}

impl State {
    /// What as many replicas as are wanted have.
    fn confirmed_by(&self, replicas: usize) -> Option<Place> {
        let mut places: Vec<Place> = self.confirmed.values().copied().collect();
        places.sort_unstable();
        places.len().checked_sub(replicas.max(1)).map(|at| places[at])
    }
}

impl SemiSync {
    fn is(&self, mode: u8) -> bool {
        self.mode.load(Ordering::Acquire) == mode
    }

    /// The task looks at the settings and at the oldest transaction again.
    pub fn wake(&self) {
        self.changed.wake_all();
    }
}

impl BinaryLog {
    fn semi_sync_settings(&self) -> SemiSyncSettings {
        (self.config.live)().semi_sync
    }

    /// A variable has changed; call it at start, too.
    pub fn semi_sync_changed(self: &Arc<Self>) {
        let settings = self.semi_sync_settings();
        let mut state = self.semi_sync.state.lock();
        if !settings.is_enabled {
            self.switch_off(&mut state, DISABLED);
        } else if self.semi_sync.is(ON) {
            self.engine.hold_commits(settings.point);
        } else {
            self.semi_sync.mode.store(OFF, Ordering::Release);
            if settings.waits_without || state.figures.clients >= settings.replicas as u64 {
                self.switch_on(settings.point);
            }
            if !state.has_task {
                state.has_task = true;
                self.env.spawner.spawn("semi-sync", Box::pin(watch(self.clone())));
            }
        }
        drop(state);
        self.semi_sync.wake();
    }

    /// Called with the state locked, so that whatever the engine holds from now on meets a mode that notes it.
    fn switch_on(&self, point: HoldPoint) {
        self.semi_sync.mode.store(ON, Ordering::Release);
        self.engine.hold_commits(point);
    }

    fn switch_off(&self, state: &mut State, mode: u8) {
        if self.semi_sync.mode.swap(mode, Ordering::AcqRel) == ON {
            self.engine.stop_holding_commits();
            state.figures.unconfirmed += state.waiting.len() as u64;
            state.waiting.clear();
        }
    }

    /// A transaction is about to be in a file, up to `end`.
    pub(crate) fn semi_sync_written(&self, end: Place, lsn: u64) {
        if self.semi_sync.is(DISABLED) {
            return;
        }
        let mut state = self.semi_sync.state.lock();
        if !self.semi_sync.is(ON) {
            state.figures.unconfirmed += 1;
            return;
        }
        state.waiting.push_back(Waiting { end, lsn, since_us: self.env.clock.now_us() });
        let is_first = state.waiting.len() == 1;
        drop(state);
        if is_first {
            self.semi_sync.wake();
        }
    }

    /// The files begin anew.
    pub(crate) fn semi_sync_reset(&self) {
        self.semi_sync.state.lock().confirmed.clear();
    }

    /// A replica that confirms what it has, as long as its stream.
    pub fn semi_sync_replica(self: &Arc<Self>, server_id: u32) -> SemiSyncReplica {
        self.semi_sync.state.lock().figures.clients += 1;
        SemiSyncReplica { log: self.clone(), server_id }
    }

    /// For SHOW STATUS.
    pub fn semi_sync_figures(&self) -> SemiSyncFigures {
        let state = self.semi_sync.state.lock();
        SemiSyncFigures { is_on: self.semi_sync.is(ON), waiting: state.waiting.len() as u64, ..state.figures }
    }

    /// Microseconds until the oldest transaction has waited too long; `None` while none waits.
    fn semi_sync_patience(&self) -> Option<u64> {
        let mut state = self.semi_sync.state.lock();
        let since = state.waiting.front()?.since_us;
        let until = since.saturating_add(self.semi_sync_settings().timeout_ms.saturating_mul(1000));
        let left = until.saturating_sub(self.env.clock.now_us());
        if left == 0 {
            state.figures.timeouts += 1;
            self.switch_off(&mut state, OFF);
            return None;
        }
        Some(left)
    }
}

/// Ends the wait of those whom no replica confirms.
async fn watch(log: Arc<BinaryLog>) {
    loop {
        let mut changed = pin!(log.semi_sync.changed.register());
        if log.semi_sync.is(DISABLED) || log.check_running().is_err() {
            let mut state = log.semi_sync.state.lock();
            // Whoever enables it in between finds a task, or begins one.
            if log.semi_sync.is(DISABLED) || log.check_running().is_err() {
                log.switch_off(&mut state, DISABLED);
                state.has_task = false;
                return;
            }
        }
        match log.semi_sync_patience() {
            None => changed.await,
            Some(left_us) => {
                let mut sleep = log.env.clock.sleep(left_us);
                std::future::poll_fn(|context| {
                    let is_over =
                        sleep.as_mut().poll(context).is_ready() || changed.as_mut().poll(context).is_ready();
                    if is_over { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
            }
        }
    }
}

/// A replica that confirms; see [`BinaryLog::semi_sync_replica`].
pub struct SemiSyncReplica {
    log: Arc<BinaryLog>,
    server_id: u32,
}

impl SemiSyncReplica {
    /// Whether an event that ends there ends a transaction which waits to be confirmed.
    pub fn asks_at(&self, file: u64, position: u64) -> bool {
        if !self.log.semi_sync.is(ON) {
            return false;
        }
        let mut state = self.log.semi_sync.state.lock();
        let asks = state.waiting.binary_search_by(|one| one.end.cmp(&(file, position))).is_ok();
        state.figures.asked += u64::from(asks);
        asks
    }

    /// The replica has everything up to there.
    pub fn confirm(&self, file: &str, position: u64) {
        let Some(number) = self.log.file_named(file) else { return };
        let settings = self.log.semi_sync_settings();
        let now_us = self.log.env.clock.now_us();
        let mut state = self.log.semi_sync.state.lock();
        let place = state.confirmed.entry(self.server_id).or_default();
        *place = (*place).max((number, position));
        let Some(confirmed) = state.confirmed_by(settings.replicas) else { return };
        let count = state.waiting.partition_point(|one| one.end <= confirmed);
        let mut released = None;
        for one in state.waiting.drain(..count).collect::<Vec<_>>() {
            state.figures.confirmed += 1;
            state.figures.waited_us += now_us.saturating_sub(one.since_us);
            released = Some(one.lsn);
        }
        drop(state);
        if let Some(lsn) = released {
            self.log.engine.release_commits(lsn);
        }
    }

    /// The replica has been sent everything that there is: commits wait for it from now on, if they have not before.
    pub fn has_caught_up(&self) {
        if !self.log.semi_sync.is(OFF) {
            return;
        }
        let settings = self.log.semi_sync_settings();
        let state = self.log.semi_sync.state.lock();
        if self.log.semi_sync.is(OFF) && state.figures.clients >= settings.replicas as u64 {
            self.log.switch_on(settings.point);
        }
    }
}

impl Drop for SemiSyncReplica {
    fn drop(&mut self) {
        let settings = self.log.semi_sync_settings();
        let mut state = self.log.semi_sync.state.lock();
        state.figures.clients -= 1;
        if !settings.waits_without
            && state.figures.clients < settings.replicas as u64
            && self.log.semi_sync.is(ON)
        {
            self.log.switch_off(&mut state, OFF);
        }
    }
}
