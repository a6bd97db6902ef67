//! What the pool knows about each frame besides its bytes.

use crate::latch::Latch;
use pagestore::PageId;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// A slot of the pool's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FrameIndex(pub(crate) u32);

/// A frame that holds no page. Beyond every page id.
const NO_PAGE: u64 = u64::MAX;

/// Each access makes a page survive one more round of the clock hand, up to this many.
const USAGE_MAX: u8 = 3;

/// One cache line: neighbours do not slow each other down.
#[repr(align(64))]
pub(crate) struct Frame {
    /// Protects the frame's bytes and its page id.
    pub(crate) latch: Latch,
    /// Changes only under the exclusive latch.
    page: AtomicU64,
    /// The oldest log position that recovery needs for this page; 0 when the page is clean. Set under the
    /// exclusive latch, cleared by the flusher under the shared latch.
    pub(crate) rec_lsn: AtomicU64,
    /// The first change after the flusher copied the page, 0 when there is none.
    pub(crate) rec_lsn_next: AtomicU64,
    /// Grows only under the shared latch, so a holder of the exclusive latch that sees 0 may evict.
    pub(crate) pins: AtomicU32,
    /// A copy of the page is on its way to disk.
    pub(crate) writing: AtomicBool,
    /// The page has late changes. Changes under the exclusive latch, or before anybody knows the frame.
    late: AtomicBool,
    usage: AtomicU8,
}

const _: () = assert!(size_of::<Frame>() == 64, "the memory budget counts 64 bytes for each frame");

impl Frame {
    pub(crate) const fn new() -> Self {
        Self {
            latch: Latch::new(),
            page: AtomicU64::new(NO_PAGE),
            rec_lsn: AtomicU64::new(0),
            rec_lsn_next: AtomicU64::new(0),
            pins: AtomicU32::new(0),
            writing: AtomicBool::new(false),
            late: AtomicBool::new(false),
            usage: AtomicU8::new(0),
        }
    }

    #[inline]
    pub(crate) fn holds(&self, page: PageId) -> bool {
        self.page.load(Ordering::Relaxed) == page.0
    }

    pub(crate) fn page(&self) -> Option<PageId> {
        let page = self.page.load(Ordering::Relaxed);
        (page != NO_PAGE).then_some(PageId(page))
    }

    /// Only under the exclusive latch.
    pub(crate) fn set_page(&self, page: Option<PageId>) {
        self.page.store(page.map_or(NO_PAGE, |page| page.0), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    pub(crate) fn set_late(&self, late: bool) {
        self.late.store(late, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_dirty(&self) -> bool {
        self.rec_lsn.load(Ordering::Acquire) != 0
    }

    #[inline]
    pub(crate) fn touch(&self) {
        // A plain load first: a hot page's line is not written again and again.
        let usage = self.usage.load(Ordering::Relaxed);
        if usage < USAGE_MAX {
            self.usage.store(usage + 1, Ordering::Relaxed);
        }
    }

    pub(crate) fn reset_usage(&self) {
        self.usage.store(0, Ordering::Relaxed);
    }

    pub(crate) fn is_cold(&self) -> bool {
        self.usage.load(Ordering::Relaxed) == 0
    }

    /// The clock hand passes: true when the frame was still in use.
    pub(crate) fn age(&self) -> bool {
        let usage = self.usage.load(Ordering::Relaxed);
        if usage > 0 {
            self.usage.store(usage - 1, Ordering::Relaxed);
        }
        usage > 0
    }
}
