//! What all parts of the store share, and the rules about failure.
//!
//! Lock order: `state` before `tree`; both are leaves otherwise and never held across an await.

use super::cleaner::Cleaner;
use super::cycle::Cycle;
use super::files::Files;
use super::gates::Gates;
use super::map::{PageMap, blocks_for};
use super::pace::Limits;
use super::place::Geometry;
use super::state::State;
use super::stats::Counters;
use super::superblock::{self, Superblock};
use super::sync::{AtomicBool, AtomicU64, Mutex};
use super::tree::Tree;
use super::{PlantedFault, SegmentOptions};
use crate::turn::Turn;
use crate::{PageId, StoreError};
use env::sync::WaitQueue;
use env::{Env, File, IoError, IoErrorKind, IoOp};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) struct Core {
    pub(super) env: Env,
    pub(super) options: SegmentOptions,
    pub(super) geometry: Geometry,
    pub(super) map: PageMap,
    pub(super) gates: Gates,
    pub(super) files: Files,
    pub(super) state: Mutex<State>,
    pub(super) tree: Mutex<Tree>,
    pub(super) superblock_file: Arc<dyn File>,
    /// The newest durable one.
    pub(super) superblock: Mutex<Superblock>,
    pub(super) superblock_turn: Turn,
    pub(super) growth_turn: Turn,
    /// The checkpoint and the cleaner between two steps; only housekeeping touches them.
    pub(super) cycle: Mutex<Option<Cycle>>,
    pub(super) cleaner: Mutex<Cleaner>,
    /// Woken when chunks are installed, and on failure.
    pub(super) progress: WaitQueue,
    /// Woken when there may be room for fresh pages, and on failure.
    pub(super) space: WaitQueue,
    /// The housekeeping task exists.
    pub(super) housekeeping: AtomicBool,
    pub(super) closed: AtomicBool,
    pub(super) page_count: AtomicU64,
    pub(super) counters: Counters,
    /// The first failed write or sync.
    failed: Mutex<Option<StoreError>>,
}

impl Core {
    pub(super) fn new(
        env: &Env,
        options: SegmentOptions,
        files: Files,
        superblock_file: Arc<dyn File>,
        superblock: Superblock,
        state: State,
    ) -> Self {
        Self {
            env: env.clone(),
            options,
            geometry: superblock.geometry,
            map: PageMap::new(),
            gates: Gates::default(),
            files,
            state: Mutex::new(state),
            tree: Mutex::new(Tree::with_root(superblock.root)),
            superblock_file,
            page_count: AtomicU64::new(superblock.page_count),
            superblock: Mutex::new(superblock),
            superblock_turn: Turn::default(),
            growth_turn: Turn::default(),
            cycle: Mutex::new(None),
            cleaner: Mutex::new(Cleaner::default()),
            progress: WaitQueue::new(),
            space: WaitQueue::new(),
            housekeeping: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            counters: Counters::default(),
            failed: Mutex::new(None),
        }
    }

    /// After a failed write or sync nothing more is written: the kernel reports a lost write once and then lets later
    /// syncs succeed, so nothing after it may count as durable.
    pub(super) fn check_healthy(&self) -> Result<(), StoreError> {
        self.failed.lock().clone().map_or(Ok(()), Err)
    }

    pub(super) fn fail(&self, error: StoreError) {
        self.failed.lock().get_or_insert(error);
        self.progress.wake_all();
        self.space.wake_all();
    }

    pub(super) fn note_failure<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            self.fail(error.clone());
        }
        result
    }

    pub(super) fn is_planted(&self, fault: PlantedFault) -> bool {
        self.options.fault == fault
    }

    pub(super) fn page_count(&self) -> u64 {
        self.page_count.load(Ordering::Acquire)
    }

    pub(super) fn limits(&self, segments: u32) -> Limits {
        let blocks = blocks_for(self.page_count());
        Limits::new(self.geometry, &self.options, segments, blocks)
    }

    /// The error of a full disk: nothing was changed.
    pub(super) fn no_space(&self) -> StoreError {
        let last = self.state.lock().table.len().saturating_sub(1);
        IoError::new(IoOp::Allocate, self.files.path(last), IoErrorKind::NoSpace).into()
    }

    /// Replaces the superblock, one at a time.
    pub(super) async fn put_superblock(
        &self,
        change: impl FnOnce(&mut Superblock),
    ) -> Result<(), StoreError> {
        let _turn = self.superblock_turn.take().await;
        self.check_healthy()?;
        let mut next = self.superblock.lock().clone();
        change(&mut next);
        next.number += 1;
        next.page_count = next.page_count.max(self.page_count());
        {
            let state = self.state.lock();
            next.segment_count = state.table.len();
            next.durable_through = state.durable_through;
            next.newest_lsn = state.newest_lsn;
        }
        let sync = !self.is_planted(PlantedFault::SuperblockUnsynced);
        self.note_failure(superblock::write(&self.superblock_file, &next, sync).await)?;
        *self.superblock.lock() = next;
        Ok(())
    }

    /// Waits until everything through `sequence` is durable and installed.
    pub(super) async fn wait_durable(&self, sequence: u64) -> Result<(), StoreError> {
        loop {
            let waiter = self.progress.register();
            if self.state.lock().durable_through >= sequence {
                return Ok(());
            }
            self.check_healthy()?;
            waiter.await;
        }
    }

    /// How many of the pages have never been written, or were freed.
    pub(super) fn count_unmapped(&self, pages: &[PageId]) -> u64 {
        pages.iter().filter(|page| self.map.load(**page).is_nowhere()).count() as u64
    }
}
