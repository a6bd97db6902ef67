//! Events of commits: bytes that travel with a commit record, and the queue in which whoever derives a log of them finds
//! them again in the order of the commits.
//!
//! Invariant: events are in the same log group as the record that makes them count, but for pieces of large ones, which
//! are in groups before it. A commit enters the queue under the commit mutex, so the queue has the order of the log; what
//! is taken from it is durable. What the queue has lost in a crash is in the log: `logged_events` reads it there.
//! Events that would be too many for it are in a file that they name (`event_file`). Callers: `commit` and `prepared`; crate
//! `source` takes them.

use crate::EngineError;
use crate::engine::Engine;
use crate::log::event_file::EventFile;
use crate::log::log_record::{LogRecord, NO_TRANSACTION};
use crate::transactions::transaction::{Transaction, Work};
use env::BoxFuture;
use env::sync::{Notify, WaitQueue};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wal::{AppendError, LogPin, Lsn, Priority, WalGroup};

/// Those who commit wait when so much has been committed and not been taken.
const QUEUED_BYTES_MAX: u64 = 64 << 20;
/// More commits are not looked through under the commit mutex.
const UNTAKEN_MAX: usize = 1000;

/// Gathers what a transaction has to say of its changes.
pub trait EventSource: Send {
    /// The transaction goes back to where its savepoint was this number: forget what was noted behind it.
    fn undone_to(&mut self, savepoint: u64);
    /// Before `finish`: writes to a file what is too much for the log. `None` if nothing is.
    fn write_file<'a>(
        &'a mut self,
        engine: &'a Engine,
    ) -> Option<BoxFuture<'a, Result<EventFile, EngineError>>>;
    /// The events, called when the transaction commits; empty if there is nothing to say. Those in the file are named there.
    fn finish(&mut self, file: Option<&EventFile>) -> Vec<u8>;
    /// For whoever notes changes.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// The events of one commit.
#[derive(Debug, Clone)]
pub struct CommittedEvents {
    /// The end of the commit's log group.
    pub lsn: u64,
    /// What [`EventSource::finish`] gave.
    pub bytes: Arc<[u8]>,
}

/// What [`Engine::next_events`] has waited for.
#[derive(Debug)]
pub enum EventNews {
    /// Durable commits, in order; never empty.
    Commits(Vec<CommittedEvents>),
    /// The log runs short, so what is held of it for events should become less; or `call_events` was called; or a backup begins,
    /// which should find a fresh `log_event_state`.
    Called,
    /// `stop_events` was called and everything has been taken.
    Stopped,
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct EventQueue {
    queued: Mutex<Queued>,
    news: Notify,
    room: WaitQueue,
    called: AtomicBool,
    stopping: AtomicBool,
    /// Where the log ended when it was opened.
    pub opened_at: AtomicU64,
}

#[derive(Default)]
struct Queued {
    commits: VecDeque<QueuedCommit>,
    bytes: u64,
    newest: u64,
    /// Where the pieces of events begin that have not been taken.
    open_pieces: BTreeMap<u64, usize>,
}

struct QueuedCommit {
    events: CommittedEvents,
    /// What its pieces are counted at, if it has some.
    first_piece: Option<u64>,
}

impl Queued {
    fn end_pieces(&mut self, first: u64) {
        debug_assert!(self.open_pieces.contains_key(&first), "pieces end once");
        if let Some(count) = self.open_pieces.get_mut(&first) {
            *count -= 1;
            if *count == 0 {
                self.open_pieces.remove(&first);
            }
        }
    }
}

impl EventQueue {
    fn push(&self, events: CommittedEvents, first_piece: Option<u64>) {
        let mut queued = self.queued.lock();
        debug_assert!(queued.newest < events.lsn, "commits come in the order of the log");
        queued.bytes += events.bytes.len() as u64;
        queued.newest = events.lsn;
        queued.commits.push_back(QueuedCommit { events, first_piece });
        drop(queued);
        self.news.notify();
    }

    /// Wakes whoever takes events.
    pub fn call(&self) {
        self.called.store(true, Ordering::Release);
        self.news.notify();
    }
}

/// What [`EventSource`] has given for a commit.
pub(crate) struct FinishedEvents {
    bytes: Vec<u8>,
    file: Option<EventFile>,
}

/// Events on their way into the log. Dropped without `queue`, they do not count.
pub(crate) struct LoggedPieces<'a> {
    engine: &'a Engine,
    bytes: Arc<[u8]>,
    /// What the bytes name.
    file: Option<EventFile>,
    /// What goes into the group of the commit.
    last_from: usize,
    first_piece: Option<u64>,
    is_queued: AtomicBool,
}

impl LoggedPieces<'_> {
    /// Adds the last piece to the group of the record that makes the events count.
    pub fn push_to(&self, group: &mut WalGroup, txn: u64) {
        debug_assert!(self.last_from <= self.bytes.len(), "pieces are parts of the events");
        let record = LogRecord::Events { is_last: true, bytes: &self.bytes[self.last_from..] };
        group.push_with(record.kind(), txn, |bytes| record.encode(bytes));
    }

    /// The group is in the log and ends at `lsn`; called under the commit mutex.
    pub fn queue(&self, lsn: u64) {
        let stats = &self.engine.stats;
        stats.event_commits.fetch_add(1, Ordering::Relaxed);
        if let Some(file) = &self.file {
            file.named();
            stats.event_files.fetch_add(1, Ordering::Relaxed);
        }
        let events = CommittedEvents { lsn, bytes: self.bytes.clone() };
        let before = self.is_queued.swap(true, Ordering::Relaxed);
        debug_assert!(!before, "events are queued once");
        self.engine.held_commits.arrived(lsn);
        self.engine.events.push(events, self.first_piece);
    }
}

impl Drop for LoggedPieces<'_> {
    fn drop(&mut self) {
        let is_queued = *self.is_queued.get_mut();
        if let Some(first) = self.first_piece.filter(|_| !is_queued) {
            self.engine.events.queued.lock().end_pieces(first);
        }
    }
}

impl Transaction {
    /// Has the transaction's changes noted from now on.
    pub fn set_events(&mut self, source: Box<dyn EventSource>) {
        self.work.events = Some(source);
    }

    /// What `set_events` was given.
    pub fn events(&mut self) -> Option<&mut dyn EventSource> {
        match &mut self.work.events {
            Some(source) => Some(source.as_mut()),
            None => None,
        }
    }
}

impl crate::PreparedTransaction {
    /// What is said of its end, as [`Transaction::set_events`].
    pub fn set_events(&mut self, source: Box<dyn EventSource>) {
        self.work.events = Some(source);
    }
}

impl Work {
    /// The events of the transaction, if it has any to log.
    pub async fn finish_events(&mut self) -> Result<Option<FinishedEvents>, EngineError> {
        let Some(source) = &mut self.events else { return Ok(None) };
        let file = match source.write_file(&self.engine) {
            Some(written) => Some(written.await?),
            None => None,
        };
        let bytes = source.finish(file.as_ref());
        Ok((!bytes.is_empty()).then_some(FinishedEvents { bytes, file }))
    }

    /// Events of a transaction that has changed nothing: they are a log group of their own.
    pub async fn append_events_alone(&mut self, events: FinishedEvents) -> Result<u64, EngineError> {
        debug_assert!(!self.has_undo(), "the events of changes are in the group of their commit");
        let engine = self.engine.clone();
        let txn = self.state().id.0;
        let pieces = engine.log_pieces(txn, events).await?;
        let mut group = WalGroup::new();
        pieces.push_to(&mut group, txn);
        loop {
            let appended = {
                let _commits_wait = engine.versions.history.lock();
                engine.wal.append_reserve(&group).inspect(|range| pieces.queue(range.end.0))
            };
            match appended {
                Ok(range) => return Ok(range.end.0),
                Err(AppendError::Full) => engine.wait_for_log_space(group.encoded_len()).await?,
                Err(error) => return Err(engine.log_error(error)),
            }
        }
    }
}

impl Engine {
    /// Logs all of the events but what fits beside the commit's record. Waits while too much is in the queue.
    pub(crate) async fn log_pieces(
        &self,
        txn: u64,
        events: FinishedEvents,
    ) -> Result<LoggedPieces<'_>, EngineError> {
        let queue = &self.events;
        loop {
            let waiter = queue.room.register();
            if queue.queued.lock().bytes < QUEUED_BYTES_MAX || self.failure().is_some() {
                break;
            }
            waiter.await;
        }
        // The commit's record may take half a group.
        let piece_bytes = self.wal.group_bytes_max() / 4;
        let (bytes, file) = (events.bytes.into(), events.file);
        let is_queued = AtomicBool::new(false);
        let mut pieces =
            LoggedPieces { engine: self, bytes, file, last_from: 0, first_piece: None, is_queued };
        while pieces.bytes.len() - pieces.last_from > piece_bytes {
            if pieces.first_piece.is_none() {
                let start = self.wal.end_lsn().0;
                *queue.queued.lock().open_pieces.entry(start).or_default() += 1;
                pieces.first_piece = Some(start);
            }
            let piece = &pieces.bytes[pieces.last_from..][..piece_bytes];
            let record = LogRecord::Events { is_last: false, bytes: piece };
            let mut group = WalGroup::new();
            group.push_with(record.kind(), txn, |bytes| record.encode(bytes));
            match self.wal.append_reserve(&group) {
                Ok(_) => {
                    pieces.last_from += piece_bytes;
                    env::yield_now().await;
                }
                Err(AppendError::Full) => {
                    let space = self.wal.wait_for_space(group.encoded_len(), Priority::Normal);
                    space.await.map_err(|error| self.log_error(error))?;
                }
                Err(error) => return Err(self.log_error(error)),
            }
        }
        Ok(pieces)
    }

    /// More bytes of events than these should be in a file: the log has to hold the others until they are taken.
    pub fn logged_events_bytes_max(&self) -> u64 {
        self.wal.capacity_bytes() / 16
    }

    /// Waits until there are durable commits with events that nobody has taken, and takes them. Called by one task.
    pub async fn next_events(&self) -> Result<EventNews, EngineError> {
        loop {
            if self.events.called.swap(false, Ordering::AcqRel) {
                return Ok(EventNews::Called);
            }
            let first = self.events.queued.lock().commits.front().map(|commit| commit.events.lsn);
            let Some(first) = first else {
                if self.events.stopping.load(Ordering::Acquire) {
                    return Ok(EventNews::Stopped);
                }
                self.events.news.notified().await;
                continue;
            };
            let waited = self.wal.wait_until_durable(Lsn(first)).await;
            waited.map_err(|error| self.log_failed(&error))?;
            let taken = self.take_durable_events();
            debug_assert!(!taken.is_empty(), "one task takes events, and the first of them is durable");
            return Ok(EventNews::Commits(taken));
        }
    }

    fn take_durable_events(&self) -> Vec<CommittedEvents> {
        let durable = self.wal.durable_lsn().0;
        let mut queued = self.events.queued.lock();
        let count = queued.commits.partition_point(|commit| commit.events.lsn <= durable);
        let mut taken = Vec::with_capacity(count);
        for _ in 0..count {
            let Some(commit) = queued.commits.pop_front() else { break };
            queued.bytes -= commit.events.bytes.len() as u64;
            commit.first_piece.into_iter().for_each(|first| queued.end_pieces(first));
            taken.push(commit.events);
        }
        debug_assert_eq!(queued.bytes == 0, queued.commits.is_empty(), "the bytes are those of the commits");
        drop(queued);
        self.events.room.wake_all();
        taken
    }

    /// The LSN of the newest commit with events of this life, durable or not; 0 without any.
    pub fn newest_events(&self) -> u64 {
        self.events.queued.lock().newest
    }

    /// Lets `next_events` return.
    pub fn call_events(&self) {
        self.events.call();
    }

    /// Up to where the log holds nothing that has not been taken: what is behind it has to be kept. `taken` is the LSN of the
    /// last commit that was taken, and all that were taken are where they belong.
    pub fn events_taken_to(&self, taken: u64) -> u64 {
        let durable = self.wal.durable_lsn().0;
        // A commit that is durable is in the queue by then.
        let _commits_wait = self.versions.history.lock();
        let queued = self.events.queued.lock();
        let all = if queued.commits.is_empty() { durable.max(taken) } else { taken };
        queued.open_pieces.keys().next().map_or(all, |first| all.min(*first))
    }

    /// Logs what the events of all commits before come to. `make` gets those that have not been taken, in order; all others have
    /// to be where they belong. Nothing is logged if that is `None`, large, or there is no room at once.
    pub fn log_event_state(&self, make: impl FnOnce(&mut dyn Iterator<Item = &[u8]>) -> Option<Vec<u8>>) {
        let _commits_wait = self.versions.history.lock();
        let queued = self.events.queued.lock();
        if queued.commits.len() > UNTAKEN_MAX {
            return;
        }
        let state = make(&mut queued.commits.iter().map(|commit| &*commit.events.bytes));
        let Some(state) = state.filter(|state| state.len() < self.wal.group_bytes_max() / 2) else { return };
        let record = LogRecord::EventState { bytes: &state };
        let mut group = WalGroup::new();
        group.push_with(record.kind(), NO_TRANSACTION.0, |bytes| record.encode(bytes));
        // The next one says the same of more.
        let _ = self.wal.append_reserve(&group);
    }

    /// Whoever takes events cannot go on: the engine stops, because commits would be missing in what is derived.
    pub fn events_failed(&self, what: &str) {
        if !self.life.closed.load(Ordering::Acquire) {
            self.fail(EngineError::Io { what: format!("binary log: {what}") });
        }
        self.events.room.wake_all();
    }

    /// Lets `next_events` end once the queue is empty.
    pub fn stop_events(&self) {
        self.stop_holding_commits();
        self.events.stopping.store(true, Ordering::Release);
        self.events.news.notify();
    }

    /// Keeps the log from an LSN on; `None` if a part of it may be gone. From then on what `keep_log_from` has kept counts no
    /// more.
    pub fn hold_log(&self, from: u64) -> Option<LogPin> {
        let pin = self.wal.pin(Lsn(from));
        drop(self.life.opening_hold.lock().take());
        pin
    }

    /// What is held of the log begins at `lsn` now.
    pub fn release_log(hold: &mut LogPin, lsn: u64) {
        hold.move_to(Lsn(lsn));
    }
}
