//! The life of an open engine: whether it recovers, works or is closed, and what one phase leaves to the next.
//!
//! Invariant: `closed` is set once and never taken back; background tasks look at it and end, and the orderly end waits for
//! `tasks` to be none. Written by `open`, read by every background task.

use crate::EngineError;
use crate::recovery::Unfinished;
use crate::transactions::transaction_state::TransactionState;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use wal::LogPin;

/// See the file.
pub(crate) struct Life {
    /// Until the losers are running transactions again nothing can move the checkpoint, so nothing waits for it.
    pub recovering: AtomicBool,
    pub unfinished: Unfinished,
    /// Prepared transactions of an earlier life whom nobody has asked for yet.
    pub recovered: Mutex<Vec<Arc<TransactionState>>>,
    /// The log that `keep_log_from` has kept, until somebody else holds it.
    pub opening_hold: Mutex<Option<LogPin>>,
    /// The log that the next start's `keep_log_from` will want.
    pub closing_holds: Mutex<Vec<LogPin>>,
    /// Background tasks that have not ended.
    pub tasks: AtomicUsize,
    pub closed: AtomicBool,
    /// Whether an orderly end writes the list of pages in memory.
    pub saves_hot_pages: AtomicBool,
    /// The first failure that stops all changes.
    pub failure: Mutex<Option<EngineError>>,
}

impl Life {
    /// A life that begins with recovery.
    pub fn new() -> Life {
        Life {
            recovering: AtomicBool::new(true),
            unfinished: Unfinished::default(),
            recovered: Mutex::default(),
            opening_hold: Mutex::default(),
            closing_holds: Mutex::default(),
            tasks: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            saves_hot_pages: AtomicBool::new(true),
            failure: Mutex::new(None),
        }
    }
}
