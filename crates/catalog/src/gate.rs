//! What FLUSH TABLES WITH READ LOCK and its kin close: who may pass, who waits.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gate {
    /// Statements that change rows, definitions or accounts.
    Changes,
    /// Commits of transactions with changes.
    Commits,
    /// Changes of definitions: LOCK INSTANCE FOR BACKUP.
    Definitions,
}

/// Who is inside without a metadata lock.
#[derive(Default)]
pub(crate) struct GateState {
    pub(super) state: AtomicU64,
    /// Closers that wait for those inside. A leaf lock.
    pub(super) closers: Mutex<Vec<Waker>>,
}

impl GateState {
    pub(super) fn try_enter(&self) -> bool {
        let enter = |state: u64| (state < CLOSER).then_some(state + 1);
        self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter).is_ok()
    }

    pub(super) fn leave(&self) {
        let before = self.state.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(!before.is_multiple_of(CLOSER), "who leaves was inside");
        if before >= CLOSER {
            self.closers.lock().drain(..).for_each(Waker::wake);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state.load(Ordering::SeqCst).is_multiple_of(CLOSER)
    }
}

/// The upper half of a gate's state counts closers, the lower half those inside.
pub const CLOSER: u64 = 1 << 32;
