//! All that a server keeps of what its statements did, and what of it is switched on.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::accounts::Accounts;
use crate::actors::Actors;
use crate::digests::Digests;
use crate::history::HistoryLong;
use crate::instruments::Instruments;
use crate::single::{Keeping, Long, StageEvent, WaitEvent};
use crate::tables::TableCounts;

#[derive(Default)]
pub struct Telemetry {
    pub digests: Digests,
    pub accounts: Accounts,
    /// Of sessions that have ended.
    pub ended_tables: Mutex<TableCounts>,
    pub history_long: HistoryLong,
    pub waits_long: Long<WaitEvent>,
    pub stages_long: Long<StageEvent>,
    pub consumers: Consumers,
    pub instruments: Instruments,
    pub actors: Actors,
}

impl Telemetry {
    /// Whether single waits or stages are made at all.
    pub fn watches(&self) -> bool {
        let consumers = &self.consumers;
        (consumers.waits_are_on() || consumers.stages_are_on() || self.instruments.wants_stages())
            && consumers.is_on()
    }

    /// Where the events of a thread go.
    pub fn keeping(&self, thread: u64, has_history: bool) -> Keeping<'_> {
        Keeping {
            instruments: &self.instruments,
            consumers: &self.consumers,
            waits_long: &self.waits_long,
            stages_long: &self.stages_long,
            thread,
            has_history,
        }
    }
}

/// MySQL's consumers in its order, and whether each is on at first. The transactions' cannot be switched.
pub const CONSUMERS: [(&str, bool); 16] = [
    ("events_stages_current", false),
    ("events_stages_history", false),
    ("events_stages_history_long", false),
    ("events_statements_cpu", false),
    ("events_statements_current", true),
    ("events_statements_history", true),
    ("events_statements_history_long", false),
    ("events_transactions_current", true),
    ("events_transactions_history", true),
    ("events_transactions_history_long", false),
    ("events_waits_current", false),
    ("events_waits_history", false),
    ("events_waits_history_long", false),
    ("global_instrumentation", true),
    ("thread_instrumentation", true),
    ("statements_digest", true),
];

/// The rows of `setup_consumers` that can be switched; the others are always on, or stand for what is not kept.
#[derive(Debug)]
pub struct Consumers {
    pub statements_history_long: AtomicBool,
    pub statements_history: AtomicBool,
    pub statements_digest: AtomicBool,
    /// Whether it is measured how long statements have a worker's thread.
    pub statements_cpu: AtomicBool,
    /// Nothing at all is counted without it.
    pub global_instrumentation: AtomicBool,
    waits_current: AtomicBool,
    waits_history: AtomicBool,
    waits_history_long: AtomicBool,
    stages_current: AtomicBool,
    stages_history: AtomicBool,
    stages_history_long: AtomicBool,
}

impl Default for Consumers {
    fn default() -> Consumers {
        let off = || AtomicBool::new(false);
        Consumers {
            statements_history_long: off(),
            statements_history: AtomicBool::new(true),
            statements_digest: AtomicBool::new(true),
            statements_cpu: off(),
            global_instrumentation: AtomicBool::new(true),
            waits_current: off(),
            waits_history: off(),
            waits_history_long: off(),
            stages_current: off(),
            stages_history: off(),
            stages_history_long: off(),
        }
    }
}

impl Consumers {
    /// The switch of a consumer; `None` for one that cannot be switched.
    pub fn switch(&self, name: &str) -> Option<&AtomicBool> {
        match name {
            "events_statements_history_long" => Some(&self.statements_history_long),
            "events_statements_history" => Some(&self.statements_history),
            "statements_digest" => Some(&self.statements_digest),
            "events_statements_cpu" => Some(&self.statements_cpu),
            "global_instrumentation" => Some(&self.global_instrumentation),
            "events_waits_current" => Some(&self.waits_current),
            "events_waits_history" => Some(&self.waits_history),
            "events_waits_history_long" => Some(&self.waits_history_long),
            "events_stages_current" => Some(&self.stages_current),
            "events_stages_history" => Some(&self.stages_history),
            "events_stages_history_long" => Some(&self.stages_history_long),
            _ => None,
        }
    }

    pub fn is_on(&self) -> bool {
        self.global_instrumentation.load(Relaxed)
    }

    pub fn is_switched_on(&self, name: &str) -> bool {
        self.switch(name).is_some_and(|switch| switch.load(Relaxed))
    }

    /// Their histories get nothing without the current ones, as in MySQL.
    pub fn waits_are_on(&self) -> bool {
        self.waits_current.load(Relaxed)
    }

    pub fn stages_are_on(&self) -> bool {
        self.stages_current.load(Relaxed)
    }
}
