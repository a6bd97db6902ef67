//! `BufferPool`: synchronous access to pages in memory.
//!
//! How a reader and an eviction agree: the reader loads the page's word, latches the frame it names and then
//! compares the frame's page id, which changes only under the exclusive latch. Frames are never unmapped, so
//! latching a frame that has been given to another page meanwhile is harmless: the reader notices and looks again.

use crate::Stop;
use crate::caps::Caps;
use crate::dirty::DirtyPages;
use crate::eviction::Eviction;
use crate::flusher::FlusherState;
use crate::frame::{Frame, FrameIndex};
use crate::guard::{ExclusiveGuard, SharedGuard};
use crate::hot_list::HotList;
use crate::late::LateChanges;
use crate::load::Loads;
use crate::memory::FrameMemory;
use crate::packed::{Pacer, PackedPages, PackedStats, Packing};
use crate::page_logs::PageLogs;
use crate::page_table::{PageTable, Word};
use crate::redo::{ApplyPageLog, PagesBehind};
use crate::repair::PageRepairer;
use crate::resize::Resize;
use crate::run::Slots;
use crate::scrub::Scrub;
use crate::stats::{Counters, PoolStats, bump};
use env::{Env, Overlap};
use pagestore::{CorruptPage, PageFault, PageId, PageStore};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use wal::Wal;

/// Says whether the bytes of a page, intact by checksum, may be handed to page code.
pub type PageCheck = fn(&[u8]) -> Result<(), PageFault>;

/// Brings the late changes of a page into it.
pub type ApplyLate = Arc<dyn Fn(&BufferPool, PageId) -> Result<(), Stop> + Send + Sync>;

#[derive(Clone)]
pub struct PoolOptions {
    /// Memory for frames and what is kept about them.
    pub memory_bytes: usize,
    /// How far `BufferPool::resize` can go; costs nothing but addresses.
    pub memory_bytes_max: usize,
    /// A dirty page is written before the log has grown by about this much: it bounds the time of recovery.
    pub log_budget_bytes: u64,
    pub check: PageCheck,
    /// The file with the list of pages in memory (see `hot_list`); without one nothing is kept.
    pub hot_list: Option<String>,
    /// Memory for changes of pages that are not in memory (`late`), beside the frames; 0: there are none.
    pub late_bytes: usize,
    /// Memory for the logs of dirty pages (`page_logs`), beside the frames; 0: a dirty page is written before it leaves.
    pub page_log_bytes: usize,
    /// When pages are compressed that lose their frames, in the place of frames.
    pub packing: Packing,
    /// Applies the late changes of a page. Like all page code it never waits.
    pub apply_late: ApplyLate,
    /// Brings a page up to date that is behind the log (`redo`).
    pub apply_page_log: ApplyPageLog,
}

impl PoolOptions {
    /// Without late changes and pages behind the log.
    pub fn new(memory_bytes: usize, check: PageCheck) -> Self {
        let apply_late: ApplyLate = Arc::new(|_, page| unreachable!("page {page} has no late changes"));
        Self {
            memory_bytes,
            memory_bytes_max: memory_bytes,
            log_budget_bytes: 256 << 20,
            check,
            hot_list: None,
            late_bytes: 0,
            page_log_bytes: 0,
            packing: Packing::Never,
            apply_late,
            apply_page_log: |page, _, _, _| unreachable!("page {page} is behind the log"),
        }
    }
}

/// How an access influences what stays in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Point,
    /// A part of a long scan: it does not make the page survive.
    Scan,
}

/// Fewer frames would not hold the pages that one operation of each thread latches.
pub(crate) const FRAMES_MIN: usize = 32;

/// Memory for a frame and what is kept about it.
pub(crate) fn frame_cost(page_bytes: usize) -> usize {
    page_bytes + size_of::<Frame>()
}

/// How many frames fit into the memory.
pub(crate) fn frames_in(memory_bytes: usize, page_bytes: usize) -> usize {
    (memory_bytes / frame_cost(page_bytes)).min(u32::MAX as usize - 1)
}

/// How many descents may keep their pins.
pub(crate) fn descents_max(frames: usize) -> usize {
    (frames / 32).max(1)
}

/// See the crate's documentation.
pub struct BufferPool {
    pub(crate) env: Env,
    pub(crate) store: Arc<dyn PageStore>,
    pub(crate) wal: Arc<Wal>,
    pub(crate) options: PoolOptions,
    memory: FrameMemory,
    pub(crate) table: PageTable,
    pub(crate) eviction: Eviction,
    pub(crate) loads: Loads,
    /// Who may keep the pins of a whole descent (see `run`).
    pub(crate) descents: Slots,
    pub(crate) resize: Resize,
    pub(crate) caps: Caps,
    pub(crate) hot_list: HotList,
    pub(crate) scrub: Scrub,
    pub(crate) dirty: DirtyPages,
    pub(crate) late: LateChanges,
    pub(crate) page_logs: PageLogs,
    pub(crate) packed: PackedPages,
    pub(crate) pacer: Pacer,
    pub(crate) behind: PagesBehind,
    pub(crate) flusher: FlusherState,
    pub(crate) counters: Counters,
    /// The number of pages when the disk had no room for more.
    pub(crate) growth_refused_at: AtomicU64,
    pub(crate) repairer: OnceLock<Arc<dyn PageRepairer>>,
    pub(crate) weak: Weak<BufferPool>,
}

impl BufferPool {
    /// Makes the pool and starts its flusher. `stop` ends the flusher, which otherwise keeps the pool alive.
    pub fn open(env: &Env, store: Arc<dyn PageStore>, wal: Arc<Wal>, options: PoolOptions) -> Arc<Self> {
        let page_bytes = store.page_size().bytes();
        let all = frames_in(options.memory_bytes, page_bytes);
        assert!(all >= FRAMES_MIN, "the buffer pool needs at least {FRAMES_MIN} frames");
        let pacer = Pacer::new(options.packing, frame_cost(page_bytes));
        let packed_bytes = pacer.share_of(options.memory_bytes);
        let count = frames_in(options.memory_bytes - packed_bytes, page_bytes).max(FRAMES_MIN);
        let count_max = frames_in(options.memory_bytes_max, page_bytes).max(count);
        let memory = FrameMemory::reserve(page_bytes, count_max);
        assert!(memory.make(count as u32), "the system refused the memory of the buffer pool");
        let pool = Arc::new_cyclic(|weak| Self {
            env: env.clone(),
            late: LateChanges::new(options.late_bytes as u64),
            page_logs: PageLogs::new(page_bytes, options.page_log_bytes as u64),
            packed: PackedPages::new(page_bytes),
            pacer,
            store,
            wal,
            caps: Caps::new(options.log_budget_bytes),
            behind: PagesBehind::default(),
            memory,
            table: PageTable::new(),
            eviction: Eviction::new(count as u32),
            loads: Loads::new(count),
            descents: Slots::new(descents_max(count)),
            resize: Resize::new(options.memory_bytes, count),
            hot_list: HotList::new(),
            scrub: Scrub::default(),
            dirty: DirtyPages::default(),
            flusher: FlusherState::default(),
            counters: Counters::default(),
            growth_refused_at: AtomicU64::new(0),
            options,
            repairer: OnceLock::new(),
            weak: weak.clone(),
        });
        pool.set_packed_budget();
        env.spawner.spawn_dedicated(
            "page-flush",
            Overlap::Many,
            Box::pin(crate::flusher::work(pool.clone())),
        );
        pool
    }

    pub fn store(&self) -> &Arc<dyn PageStore> {
        &self.store
    }

    pub fn page_logs(&self) -> &PageLogs {
        &self.page_logs
    }

    pub fn packed_stats(&self) -> PackedStats {
        self.packed.stats()
    }

    pub fn wal(&self) -> &Arc<Wal> {
        &self.wal
    }

    pub fn page_bytes(&self) -> usize {
        self.memory.frame_bytes()
    }

    pub fn frame_count(&self) -> usize {
        self.eviction.limit() as usize
    }

    /// The number of pages, if the disk had no room for more when that was last tried.
    pub fn growth_refused_at(&self) -> Option<u64> {
        let count = self.store.page_count();
        (self.growth_refused_at.load(Ordering::Relaxed) == count).then_some(count)
    }

    #[inline]
    pub(crate) fn memory(&self) -> &FrameMemory {
        &self.memory
    }

    #[inline]
    pub(crate) fn frame(&self, index: FrameIndex) -> &Frame {
        self.memory.header(index)
    }

    /// Latches a page for reading.
    #[inline]
    pub fn read(&self, page: PageId) -> Result<SharedGuard<'_>, Stop> {
        self.read_as(page, Access::Point)
    }

    #[inline]
    pub fn read_as(&self, page: PageId, access: Access) -> Result<SharedGuard<'_>, Stop> {
        self.counters.requests.add_one();
        while let Word::Frame(index) = self.table.load(page) {
            let frame = self.frame(index);
            if !frame.latch.lock_shared_in_time() {
                return Err(Stop::Restart);
            }
            // SAFETY: the latch was just taken shared; dropping the guard releases it.
            let guard = unsafe { SharedGuard::new(self, index) };
            if frame.holds(page) {
                if frame.is_late() {
                    return Err(Stop::Late(page));
                }
                if access == Access::Point {
                    frame.touch(self.eviction.epoch());
                }
                return Ok(guard);
            }
        }
        Err(self.miss(page))
    }

    /// Latches a frame if it holds this page. For callers that hold no latch.
    pub(crate) fn read_frame(&self, index: FrameIndex, page: PageId) -> Option<SharedGuard<'_>> {
        let frame = self.frame(index);
        frame.latch.lock_shared();
        // SAFETY: the latch was just taken shared; dropping the guard releases it.
        let guard = unsafe { SharedGuard::new(self, index) };
        frame.holds(page).then_some(guard)
    }

    /// Latches a page for writing.
    #[inline]
    pub fn write(&self, page: PageId) -> Result<ExclusiveGuard<'_>, Stop> {
        let guard = self.write_late(page)?;
        if guard.is_late() { Err(Stop::Late(page)) } else { Ok(guard) }
    }

    /// The same for who applies late changes.
    #[inline]
    pub fn write_late(&self, page: PageId) -> Result<ExclusiveGuard<'_>, Stop> {
        self.counters.requests.add_one();
        while let Word::Frame(index) = self.table.load(page) {
            let frame = self.frame(index);
            if !frame.latch.lock_exclusive_in_time() {
                return Err(Stop::Restart);
            }
            if frame.holds(page) {
                frame.touch(self.eviction.epoch());
                // SAFETY: the latch was just taken exclusively and the frame holds the page.
                return Ok(unsafe { ExclusiveGuard::new(self, index, false) });
            }
            // SAFETY: taken above, and no guard was made from it.
            unsafe { frame.latch.unlock_exclusive() }
        }
        Err(self.miss(page))
    }

    /// Latches a page whose old content does not matter, without reading it from disk. The bytes are zeros, or
    /// the old content when the page was in memory. Without `ExclusiveGuard::confirm` it leaves no trace.
    pub fn create(&self, page: PageId) -> Result<ExclusiveGuard<'_>, Stop> {
        self.check_id(page)?;
        if page.0 >= self.store.page_count() {
            return Err(Stop::Extend(page));
        }
        loop {
            match self.table.load(page) {
                Word::Loading => return Err(Stop::Loading(page)),
                Word::Frame(_) => match self.write_late(page) {
                    Err(Stop::Miss(_)) => {}
                    Err(stop) => return Err(stop),
                    Ok(mut guard) => {
                        // Those of a tree that is dropped are void.
                        guard.set_late(self.late.has(page));
                        return Ok(guard);
                    }
                },
                // Its changes come first, or they would come on top of what is made of it now.
                Word::Disk if self.behind.has(page) || self.page_logs.is_absent(page) => {
                    return Err(self.miss(page));
                }
                Word::Disk => {
                    let index = self.take_frame_for_creator().ok_or(Stop::NoFrame)?;
                    if let Some(guard) = self.place(page, index) {
                        return Ok(guard);
                    }
                    self.give_to_creators(index);
                }
            }
        }
    }

    /// Gives an empty frame to a new page; `None` when the page has appeared in memory meanwhile.
    fn place(&self, page: PageId, index: FrameIndex) -> Option<ExclusiveGuard<'_>> {
        let frame = self.frame(index);
        frame.latch.lock_exclusive();
        assert!(frame.page().is_none() && !frame.is_dirty(), "a free frame is empty and clean");
        frame.set_page(Some(page));
        self.mark_if_late(page, index);
        let Ok(evicted) = self.table.leave_disk(page, Word::Frame(index)) else {
            frame.set_page(None);
            // SAFETY: taken above, and no guard was made from it.
            unsafe { frame.latch.unlock_exclusive() }
            return None;
        };
        self.packed.discard(page);
        self.admit(index, self.eviction.first_place(evicted));
        bump(&self.counters.pages_created);
        // SAFETY: the latch was taken above and the frame holds the page.
        let mut guard = unsafe { ExclusiveGuard::new(self, index, true) };
        guard.bytes_mut().fill(0);
        Some(guard)
    }

    /// Undoes `place`. The caller holds the exclusive latch and releases it afterwards.
    pub(crate) fn forget(&self, page: PageId, index: FrameIndex) {
        debug_assert!(self.frame(index).holds(page), "the frame is that of the page");
        let replaced = self.table.replace(page, Word::Frame(index), Word::Disk);
        assert!(replaced, "a page in memory is moved only under its exclusive latch");
        self.mark_clean(index);
        self.frame(index).set_page(None);
    }

    #[cold]
    fn miss(&self, page: PageId) -> Stop {
        match self.check_id(page) {
            Ok(()) => {
                bump(&self.counters.misses);
                Stop::Miss(page)
            }
            Err(stop) => stop,
        }
    }

    fn check_id(&self, page: PageId) -> Result<(), Stop> {
        if page.0 < self.table.page_count_max() {
            return Ok(());
        }
        Err(Stop::Corrupt(CorruptPage { page, fault: PageFault::BeyondEnd }))
    }

    /// Pages written since the start.
    pub fn pages_written(&self) -> u64 {
        self.counters.pages_written.load(Ordering::Relaxed)
    }

    pub fn stats(&self) -> PoolStats {
        let counters = &self.counters;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        PoolStats {
            frames: self.frame_count() as u64,
            frames_free: self.free_frame_count() as u64,
            pages_dirty: self.dirty.count(),
            oldest_dirty_lsn: self.oldest_dirty().unwrap_or_else(|| self.wal.end_lsn()).0,
            requests: counters.requests.sum(),
            misses: load(&counters.misses),
            pages_read: load(&counters.pages_read),
            pages_written: load(&counters.pages_written),
            pages_created: load(&counters.pages_created),
            pages_evicted: load(&counters.pages_evicted),
            pages_prefetched: load(&counters.pages_prefetched),
            scrub_pages: load(&self.scrub.pages),
            scrub_passes: load(&self.scrub.passes),
            scrub_faults: load(&self.scrub.faults),
            frame_waits: load(&counters.frame_waits),
            write_batches: load(&counters.write_batches),
            write_requests: counters.write_requests.sum(),
            read_wait: counters.read_waits.stats(),
            frame_wait: counters.free_frame_waits.stats(),
            page_bytes: self.page_bytes() as u64,
        }
    }
}
