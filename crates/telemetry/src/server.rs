//! All that a server keeps of what its statements did, and what of it is switched on.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::accounts::Accounts;
use crate::digests::Digests;
use crate::history::HistoryLong;
use crate::tables::TableCounts;

#[derive(Default)]
pub struct Telemetry {
    pub digests: Digests,
    pub accounts: Accounts,
    /// Of sessions that have ended.
    pub ended_tables: Mutex<TableCounts>,
    pub history_long: HistoryLong,
    pub consumers: Consumers,
}

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
}

impl Default for Consumers {
    fn default() -> Consumers {
        Consumers {
            statements_history_long: AtomicBool::new(false),
            statements_history: AtomicBool::new(true),
            statements_digest: AtomicBool::new(true),
            statements_cpu: AtomicBool::new(false),
            global_instrumentation: AtomicBool::new(true),
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
            _ => None,
        }
    }

    pub fn is_on(&self) -> bool {
        self.global_instrumentation.load(Relaxed)
    }
}
