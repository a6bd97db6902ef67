//! Single waits and stages of a session: `events_waits_..` and `events_stages_..`.
//!
//! Invariant: a ring of fixed size for each session, written by its own task alone and only while somebody wants events; its
//! numbers are those of the session's other events, and what happens inside of a stage or a statement is nested in that.
use std::collections::VecDeque;

use env::WaitObject;
use parking_lot::Mutex;

use crate::instruments::Instruments;
use crate::server::Consumers;

/// `performance_schema_events_waits_history_size` and that of stages.
pub const SINGLE_HISTORY_MAX: usize = 10;
/// Of `.._history_long`.
const LONG_MAX: usize = 10_000;

/// What an event happens inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outer {
    Statement(u64),
    Stage(u64),
}

/// Times in nanoseconds since the server's start; none where none are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub began_ns: Option<u64>,
    /// `None` while it goes on, too.
    pub ended_ns: Option<u64>,
}

/// What was waited for, or used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventObject {
    Wait(WaitObject),
    /// A table and its index, by their numbers.
    Table(u64, Option<usize>),
}

#[derive(Clone, Debug)]
pub struct WaitEvent {
    pub event_id: u64,
    /// 0 while it goes on.
    pub end_event_id: u64,
    pub name: &'static str,
    pub span: Span,
    pub object: Option<EventObject>,
    pub operation: &'static str,
    /// Rows of a table.
    pub rows: Option<u64>,
    pub outer: Option<Outer>,
}

#[derive(Clone, Copy, Debug)]
pub struct StageEvent {
    pub event_id: u64,
    /// 0 while it goes on.
    pub end_event_id: u64,
    pub name: &'static str,
    pub span: Span,
    /// What is done, and what there is to do.
    pub work: Option<(u64, u64)>,
    pub outer: Option<Outer>,
}

/// The server's last events with the thread of each.
#[derive(Debug)]
pub struct Long<E>(Mutex<VecDeque<(u64, E)>>);

impl<E> Default for Long<E> {
    fn default() -> Long<E> {
        Long(Mutex::default())
    }
}

impl<E: Clone> Long<E> {
    fn push(&self, thread: u64, event: E) {
        let mut events = self.0.lock();
        if events.len() == LONG_MAX {
            events.pop_front();
        }
        events.push_back((thread, event));
    }

    pub fn events(&self) -> Vec<(u64, E)> {
        self.0.lock().iter().cloned().collect()
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// Where events go, as the consumers and the session's thread want it.
#[derive(Clone, Copy)]
pub struct Keeping<'a> {
    pub instruments: &'a Instruments,
    pub consumers: &'a Consumers,
    pub waits_long: &'a Long<WaitEvent>,
    pub stages_long: &'a Long<StageEvent>,
    pub thread: u64,
    /// Whether the thread has a history.
    pub has_history: bool,
}

/// A session's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Single {
    /// The running statement, if it has a number already.
    pub statement: Option<u64>,
    pub stage: Option<StageEvent>,
    /// The one that goes on, or the last.
    pub wait: Option<WaitEvent>,
    pub waits: VecDeque<WaitEvent>,
    pub stages: VecDeque<StageEvent>,
}

fn push<E>(ring: &mut VecDeque<E>, event: E) {
    if ring.len() == SINGLE_HISTORY_MAX {
        ring.pop_front();
    }
    ring.push_back(event);
}

impl Single {
    pub fn outer(&self) -> Option<Outer> {
        let stage = self.stage.as_ref().map(|stage| Outer::Stage(stage.event_id));
        stage.or(self.statement.map(Outer::Statement))
    }

    /// A wait begins to be the current one; `None` without consumers of it.
    pub fn begin_wait(&mut self, event: WaitEvent, keeping: Keeping<'_>) {
        if keeping.consumers.waits_are_on()
            && keeping.instruments.of(event.name).is_some_and(|(is_on, _)| is_on)
        {
            self.wait = Some(event);
        }
    }

    /// One that has ended.
    pub fn end_wait(&mut self, event: WaitEvent, keeping: Keeping<'_>) {
        let consumers = keeping.consumers;
        if !consumers.waits_are_on() || keeping.instruments.of(event.name).is_none_or(|(is_on, _)| !is_on) {
            return;
        }
        if keeping.has_history && consumers.is_switched_on("events_waits_history") {
            push(&mut self.waits, event.clone());
        }
        if keeping.has_history && consumers.is_switched_on("events_waits_history_long") {
            keeping.waits_long.push(keeping.thread, event.clone());
        }
        self.wait = Some(event);
    }

    pub fn end_stage(&mut self, event: StageEvent, keeping: Keeping<'_>) {
        let consumers = keeping.consumers;
        if !consumers.stages_are_on() {
            return;
        }
        if keeping.has_history && consumers.is_switched_on("events_stages_history") {
            push(&mut self.stages, event);
        }
        if keeping.has_history && consumers.is_switched_on("events_stages_history_long") {
            keeping.stages_long.push(keeping.thread, event);
        }
    }
}
