//! Runs: where the versions of committed transactions are that old snapshots need and memory has no room for.
//!
//! A run is a tree that is written once, in key order, and never changed (`entry` says what is in it). `fill` moves the
//! oldest part of the merged history there; `lookup` is how readers find versions; `choose` says which runs are joined and
//! `compact` makes one of them, at the pace of `pacer`; `end` drops a run when no snapshot needs it.
//!
//! Invariants:
//! - Only commits that every new snapshot sees are in runs. So a run holds no lock, and who has a newer snapshot than its
//!   last commit need not ask it.
//! - A version is in a run that can be seen before it leaves memory. Who needs both looks into memory first.
//! - The tree of trees has a run as a dropped tree from its creation on: a restart, which no snapshot survives, frees its
//!   pages. The overflow chains of its images stay listed as pending meanwhile, so a restart frees those too.
//!
//! While there are no runs, all this costs one load where versions of a row are looked up.

mod choose;
mod compact;
mod end;
mod entry;
mod fill;
mod filter;
mod lookup;
mod pacer;
mod write;

pub(crate) use pacer::Pacer;

use btree::Tree;
use filter::Filter;
use pacer::MovingPace;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// With more runs than this joins do not rest.
const RUNS_MAX: usize = 48;

/// One run.
pub(crate) struct Run {
    tree: Tree,
    /// Every version in it was committed at or before this LSN.
    last_lsn: u64,
    /// None of its changes was made before this LSN, so older pages have none of its rows.
    low_lsn: u64,
    filter: Filter,
    entries: u64,
    /// Of keys and values.
    bytes: u64,
    /// How many images own an overflow chain.
    chains: u64,
    /// How many rows were deleted, whose ghosts may be in their leaves.
    ghosts: u64,
    /// It is being compacted, and must not be taken apart meanwhile.
    is_busy: AtomicBool,
    /// Some page cannot be read: it is not compacted any more.
    is_damaged: AtomicBool,
}

impl Run {
    /// False when the run surely has no version of the row, which is in a page with this LSN.
    fn may_have(&self, hash: u64, page_lsn: u64) -> bool {
        page_lsn >= self.low_lsn && self.filter.may_have(hash)
    }
}

/// What all runs hold.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunTotals {
    pub runs: u64,
    pub entries: u64,
    pub bytes: u64,
    pub filter_bytes: u64,
}

/// The runs that readers have to look into.
#[derive(Default)]
pub(crate) struct Runs {
    /// The last commit of all of them; 0 while there are none.
    newest_lsn: AtomicU64,
    /// In the order of their commits. Held by readers while they look into a run, so that a run that is removed is not in
    /// use any more. Locked after the latches of tables' leaves and before those of runs.
    live: RwLock<Vec<Arc<Run>>>,
    /// The bytes of each join that goes on. Locked before `live`.
    joining: Mutex<Vec<u64>>,
    moving_pace: MovingPace,
}

impl Runs {
    /// The last commit that a run has; 0 while there are none.
    pub fn newest_lsn(&self) -> u64 {
        self.newest_lsn.load(Ordering::Acquire)
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<Arc<Run>>) -> R) -> R {
        let mut live = self.live.write();
        let changed = change(&mut live);
        assert!(live.is_sorted_by_key(|run| run.last_lsn), "runs are in the order of commits");
        self.newest_lsn.store(live.last().map_or(0, |run| run.last_lsn), Ordering::SeqCst);
        changed
    }

    fn add(&self, run: Arc<Run>) {
        self.change(|live| live.push(run));
    }

    /// Removes the runs that no snapshot from `horizon_lsn` on needs.
    fn take_seen(&self, horizon_lsn: u64) -> Vec<Arc<Run>> {
        let is_seen =
            |run: &mut Arc<Run>| run.last_lsn <= horizon_lsn && !run.is_busy.load(Ordering::Acquire);
        self.change(|live| live.extract_if(.., is_seen).collect())
    }

    /// The first commit that makes a run unneeded once every snapshot sees it; `u64::MAX` while there are none.
    fn first_end_lsn(&self) -> u64 {
        self.live.read().first().map_or(u64::MAX, |run| run.last_lsn)
    }

    /// How many runs there are, and the bytes of those with later commits than this one.
    fn count_and_bytes_after(&self, lsn: u64) -> (usize, u64) {
        let live = self.live.read();
        let newer = live.iter().rev().take_while(|run| run.last_lsn > lsn);
        (live.len(), newer.map(|run| run.bytes).sum())
    }

    pub fn totals(&self) -> RunTotals {
        let mut totals = RunTotals::default();
        for run in self.live.read().iter() {
            totals.runs += 1;
            totals.entries += run.entries;
            totals.bytes += run.bytes;
            totals.filter_bytes += run.filter.bytes() as u64;
        }
        totals
    }

    /// True when some run may have a version of the row with this hash.
    fn may_have(&self, hash: u64, page_lsn: u64) -> bool {
        self.newest_lsn() > 0 && self.live.read().iter().any(|run| run.may_have(hash, page_lsn))
    }
}
