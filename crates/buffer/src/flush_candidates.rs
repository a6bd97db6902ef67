//! Which dirty pages a round of flushing writes: those that somebody wants the frame of, and the oldest, with their neighbours.
use crate::dirty::DirtyEntry;
use crate::page_table::Word;
use crate::pool::BufferPool;
use pagestore::{BATCH_PAGES_MAX, PageId};
use std::sync::atomic::Ordering;
use wal::Lsn;

/// What `flush_batch` chooses is filled up with neighbours, each page with at most so many on either side.
pub const NEIGHBOURS_MAX: u64 = 7;

/// A dirty page chosen for a batch.
pub struct Candidate {
    pub(super) page: PageId,
    pub(super) entry: DirtyEntry,
    pub(super) why: Why,
}

/// Decides what becomes of a page that cannot be written yet, because the log is not durable up to its LSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Taken from the queue of dirty pages: it goes back there.
    Oldest,
    /// Taken from those that are to be evicted: it goes back there.
    Wanted,
    /// It only adjoins another one: its turn will come.
    Neighbour,
}

/// Dirty pages whose turn to be evicted has come.
pub fn wanted_candidates(pool: &BufferPool, count: usize) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    while candidates.len() < count {
        let taken = pool.eviction.queues.lock().take_wanted(pool.memory(), count - candidates.len());
        if taken.is_empty() {
            break;
        }
        for index in taken {
            let frame = pool.frame(index);
            let rec_lsn = Lsn(frame.rec_lsn.load(Ordering::Acquire));
            if rec_lsn == Lsn::ZERO {
                // It became clean in the moment in which it was listed.
                pool.settle(index);
                continue;
            }
            if frame.writing.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(page) = frame.page() {
                candidates.push(Candidate { page, entry: DirtyEntry { index, rec_lsn }, why: Why::Wanted });
            }
        }
    }
    candidates
}

pub fn oldest_candidates(pool: &BufferPool, count: usize) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    while candidates.len() < count {
        let Some(entry) = pool.dirty.pop_oldest() else { break };
        let frame = pool.frame(entry.index);
        let current = Lsn(frame.rec_lsn.load(Ordering::Acquire)) == entry.rec_lsn;
        if current
            && !frame.writing.load(Ordering::Relaxed)
            && let Some(page) = frame.page()
        {
            candidates.push(Candidate { page, entry, why: Why::Oldest });
        }
    }
    candidates
}

/// Adds the dirty pages that adjoin chosen ones without a gap, as far as a batch has room for them. Their entries in the
/// queues become stale once they are written.
pub fn add_neighbours(pool: &BufferPool, candidates: &mut Vec<Candidate>) {
    debug_assert!(candidates.len() <= BATCH_PAGES_MAX, "what was chosen is one batch");
    for chosen in 0..candidates.len() {
        let page = candidates[chosen].page.0;
        let below = (1..=NEIGHBOURS_MAX).map_while(|distance| page.checked_sub(distance));
        let above = (1..=NEIGHBOURS_MAX).map_while(|distance| page.checked_add(distance));
        let run = below.map_while(|page| dirty_candidate(pool, page));
        candidates.extend(run.take(BATCH_PAGES_MAX.saturating_sub(candidates.len())));
        let run = above.map_while(|page| dirty_candidate(pool, page));
        candidates.extend(run.take(BATCH_PAGES_MAX.saturating_sub(candidates.len())));
    }
}

/// The page, if it is in memory, dirty, and not on its way to disk.
pub fn dirty_candidate(pool: &BufferPool, page: u64) -> Option<Candidate> {
    let page = PageId(page);
    let Word::Frame(index) = pool.table.load(page) else { return None };
    let frame = pool.frame(index);
    let rec_lsn = Lsn(frame.rec_lsn.load(Ordering::Acquire));
    let writable = rec_lsn != Lsn::ZERO && !frame.writing.load(Ordering::Relaxed);
    writable.then_some(Candidate { page, entry: DirtyEntry { index, rec_lsn }, why: Why::Neighbour })
}
