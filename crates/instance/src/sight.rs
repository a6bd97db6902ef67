//! What a session lets others look at while it lives: its user variables, its memory, its prepared statements.
//!
//! Invariant: a session only keeps what it has anyway; whoever reads `performance_schema` asks, and pays. Implemented by the
//! session, asked by `system_tables` through the session's `ProcessEntry`.
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use telemetry::{StatementFigures, StatementTotals};

use crate::plan_cache::StatementText;

pub trait SessionSight: Send + Sync {
    /// Names in small letters, and values as text; `None` is NULL.
    fn user_variables(&self) -> Vec<(String, Option<Vec<u8>>)>;

    /// Bytes that the session holds.
    fn memory_bytes(&self) -> u64;

    fn prepared(&self) -> Vec<Arc<PreparedSight>>;
}

/// The way to a session's sight, as long as it lives.
#[derive(Default)]
pub struct SightCell(OnceLock<Weak<dyn SessionSight>>);

impl SightCell {
    /// Only the session's first call counts.
    pub fn set(&self, sight: Weak<dyn SessionSight>) {
        let _ = self.0.set(sight);
    }

    pub fn get(&self) -> Option<Arc<dyn SessionSight>> {
        self.0.get()?.upgrade()
    }
}

impl fmt::Debug for SightCell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SightCell")
    }
}

/// One prepared statement, and what its executions did. Small, since a session may have hundreds that it never executes.
#[derive(Debug)]
pub struct PreparedSight {
    pub text: Arc<StatementText>,
    pub prepare_ns: u64,
    /// The session's statement that prepared it.
    pub event: u64,
    /// Of the binary protocol; 0 for one that has a name.
    id: AtomicU32,
    /// A leaf lock, held for an addition or a copy; only the session adds.
    details: Mutex<Option<Box<Details>>>,
}

/// What only a statement has that has a name or was executed.
#[derive(Debug, Default)]
struct Details {
    name: Option<String>,
    totals: StatementTotals,
}

impl PreparedSight {
    pub fn new(text: Arc<StatementText>, prepare_ns: u64, event: u64) -> PreparedSight {
        PreparedSight { text, prepare_ns, event, id: AtomicU32::new(0), details: Mutex::default() }
    }

    /// It is of the binary protocol.
    pub fn set_number(&self, id: u32) {
        self.id.store(id, Relaxed);
    }

    /// It is of PREPARE.
    pub fn set_name(&self, name: &str) {
        self.details.lock().get_or_insert_default().name = Some(name.to_owned());
    }

    pub fn add(&self, elapsed_ns: u64, figures: &StatementFigures) {
        self.details.lock().get_or_insert_default().totals.add(elapsed_ns, figures);
    }

    pub fn totals(&self) -> StatementTotals {
        self.details.lock().as_ref().map_or_else(StatementTotals::default, |details| details.totals)
    }

    pub fn forget(&self) {
        if let Some(details) = &mut *self.details.lock() {
            details.totals = StatementTotals::default();
        }
    }

    pub fn number(&self) -> u32 {
        self.id.load(Relaxed)
    }

    pub fn name(&self) -> Option<String> {
        self.details.lock().as_ref()?.name.clone()
    }
}
