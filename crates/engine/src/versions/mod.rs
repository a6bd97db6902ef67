//! Old versions: which snapshots need them, and how they are merged and pruned, with the ghosts and long values behind them.

pub(crate) mod ghosts;
pub(crate) mod history;
pub(crate) mod merge;
pub(crate) mod prune;
pub(crate) mod snapshot;

use ghosts::GhostQueue;
use history::History;
use parking_lot::Mutex;
use snapshot::SnapshotRegistry;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// What committed transactions have left behind, and who may still see it.
pub(crate) struct Versions {
    pub snapshots: SnapshotRegistry,
    /// The commit mutex: see `transactions::commit`. Locked before transactions' undo stacks and the log.
    pub history: Mutex<History>,
    pub ghosts: GhostQueue,
    pub upkeep: Upkeep,
}

/// When versions are pruned and merged in the background; each by one task at a time.
pub(crate) struct Upkeep {
    pub prunes: AtomicBool,
    pub merges: AtomicBool,
    /// The history is merged when it is longer than this,
    pub merge_at_rows: AtomicUsize,
    /// or when it takes more than its budget and this.
    pub merge_at_bytes: AtomicU64,
}

impl Versions {
    pub fn new() -> Versions {
        Versions {
            snapshots: SnapshotRegistry::default(),
            history: Mutex::new(History::default()),
            ghosts: GhostQueue::default(),
            upkeep: Upkeep {
                prunes: AtomicBool::new(false),
                merges: AtomicBool::new(false),
                merge_at_rows: AtomicUsize::new(merge::MERGE_ROWS_MIN),
                merge_at_bytes: AtomicU64::new(0),
            },
        }
    }
}
