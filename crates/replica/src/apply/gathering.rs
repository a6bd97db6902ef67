//! Which transactions go to workers: the applier gathers each until its end, and hands it over or applies it alone.
//!
//! Invariant: what is applied alone begins when no worker works, and the next transaction waits for its end. Alone are definitions,
//! branches of XA, large transactions, those of which the source's log does not say what they follow, and what is near a failure.
use std::future::poll_fn;

use binlog::{Checksum, Event, GtidEvent, RawEvent, event_type, split_event};
use datum::SqlError;
use instance::replication::Until;

use super::applier::{Applier, Stage, event_error};
use super::engine_failed;
use super::workers::{Done, Whole, Workers};

/// Beyond these a transaction is not gathered.
const GATHERED_BYTES_MAX: usize = 1 << 20;

/// What is gathered, and how many transactions are applied alone first.
#[derive(Default)]
pub(super) struct Gathering {
    whole: Option<Whole>,
    alone: usize,
}

impl Applier {
    /// `replica_parallel_workers`, where several transactions may be on their way at one time.
    pub(super) fn make_workers(&mut self) {
        let count = self.session.instance().globals.by_name("replica_parallel_workers").as_unsigned();
        let count = usize::try_from(count).unwrap_or(0);
        let is_delayed = self.channel.settings.lock().delay > 0;
        let is_possible = count > 1 && !is_delayed && *self.channel.until.lock() == Until::Never;
        let made = || Workers::new(count, self.session.instance(), self.session.families(), &self.channel);
        self.workers = is_possible.then(made);
    }

    /// An event of the relay.
    pub(super) async fn take(&mut self, bytes: Vec<u8>) -> Result<(), SqlError> {
        let raw = split_event(&bytes, Checksum::None).map_err(|error| event_error(&error))?;
        if self.gathering.whole.is_none() {
            let Some(head) = self.gathered_head(&raw)? else {
                self.finish_workers().await?;
                self.apply_event(&bytes).await?;
                return Ok(());
            };
            let next = &self.applying().next;
            let (file, position) = (next.file.clone(), next.position);
            self.gathering.whole = Some(Whole { head, events: Vec::new(), bytes: 0, file, position });
        }
        let Some(whole) = &mut self.gathering.whole else { return Ok(()) };
        let (kind, is_plain) = (raw.header.event_type, is_plain(&raw, whole.events.len()));
        whole.bytes += bytes.len();
        if kind == event_type::XID {
            self.advance(&raw);
        }
        let Some(whole) = &mut self.gathering.whole else { return Ok(()) };
        whole.events.push(bytes);
        if is_plain && kind != event_type::XID && whole.bytes <= GATHERED_BYTES_MAX {
            return Ok(());
        }
        let Some(whole) = self.gathering.whole.take() else { return Ok(()) };
        if is_plain && kind == event_type::XID {
            return self.hand_over(whole).await;
        }
        if self.finish_workers().await? {
            self.apply_alone(whole).await?;
        }
        Ok(())
    }

    /// The head of a transaction that workers may apply.
    fn gathered_head(&mut self, raw: &RawEvent<'_>) -> Result<Option<GtidEvent>, SqlError> {
        let is_head = matches!(raw.header.event_type, event_type::GTID | event_type::ANONYMOUS_GTID);
        if !is_head || self.workers.is_none() || self.stage != Stage::Outside {
            return Ok(None);
        }
        if self.gathering.alone > 0 {
            self.gathering.alone -= 1;
            return Ok(None);
        }
        let Event::Gtid(head) = Event::decode(raw).map_err(|error| event_error(&error))? else {
            return Ok(None);
        };
        let is_known = head.gtid.is_some_and(|gtid| self.knows(gtid));
        // Without a clock it may depend on any.
        Ok(Some(head).filter(|head| !is_known && head.last_committed < head.sequence_number))
    }

    async fn hand_over(&mut self, whole: Whole) -> Result<(), SqlError> {
        loop {
            let Some(workers) = &mut self.workers else { return Ok(()) };
            if workers.has_failed() {
                break;
            }
            if workers.has_room(whole.head.last_committed) {
                workers.start(whole);
                return Ok(());
            }
            let done = poll_fn(|context| workers.poll(context)).await;
            self.settle(done).await?;
        }
        if self.finish_workers().await? {
            self.apply_alone(whole).await?;
        }
        Ok(())
    }

    /// What a worker is done with.
    pub(super) async fn settle(&mut self, done: Done) -> Result<(), SqlError> {
        let Some(workers) = &mut self.workers else { return Ok(()) };
        match workers.settle(done) {
            Some(commit) => self.settling.add(commit).await.map_err(engine_failed),
            None => Ok(()),
        }
    }

    /// Until nobody works; what has failed is applied alone. False if something of it is asked for again.
    pub(super) async fn finish_workers(&mut self) -> Result<bool, SqlError> {
        while let Some(workers) = self.workers.as_mut().filter(|workers| !workers.are_idle()) {
            let done = poll_fn(|context| workers.poll(context)).await;
            self.settle(done).await?;
        }
        let Some(workers) = self.workers.as_mut().filter(|workers| workers.has_failed()) else {
            return Ok(true);
        };
        // What has disturbed them may go on for a while.
        self.gathering.alone = workers.count();
        let failed = workers.take_failed();
        self.channel.status.lock().retries += 1;
        let (file, position) = {
            let next = &self.applying().next;
            (next.file.clone(), next.position)
        };
        for whole in failed {
            if !self.apply_alone(whole).await? {
                return Ok(false);
            }
        }
        self.stand_at(&file, position);
        Ok(true)
    }

    /// Nobody works. False if it is asked for again.
    async fn apply_alone(&mut self, whole: Whole) -> Result<bool, SqlError> {
        self.stand_at(&whole.file, whole.position);
        for bytes in &whole.events {
            if !self.apply_event(bytes).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Behind an error too: what the workers have begun is over.
    pub(super) async fn close_workers(&mut self) {
        let Some(mut workers) = self.workers.take() else { return };
        while !workers.are_idle() {
            let done = poll_fn(|context| workers.poll(context)).await;
            if let Some(commit) = workers.settle(done) {
                // Who waits for all of them is told of a failure.
                let _ = self.settling.add(commit).await;
            }
        }
        workers.close().await;
    }
}

/// An event that a transaction of rows has at this place.
fn is_plain(raw: &RawEvent<'_>, place: usize) -> bool {
    match raw.header.event_type {
        event_type::GTID | event_type::ANONYMOUS_GTID => place == 0,
        event_type::QUERY if place == 1 => {
            matches!(Event::decode(raw), Ok(Event::Query(query)) if query.sql.eq_ignore_ascii_case(b"BEGIN"))
        }
        event_type::TABLE_MAP | event_type::ROWS_QUERY | event_type::XID => true,
        event_type::WRITE_ROWS | event_type::UPDATE_ROWS | event_type::DELETE_ROWS => true,
        _ => false,
    }
}
