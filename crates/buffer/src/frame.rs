//! What the pool knows about each frame besides its bytes.

use crate::latch::Latch;
use pagestore::PageId;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// A slot of the pool's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FrameIndex(pub(crate) u32);

/// A frame that holds no page. Beyond every page id.
const NO_PAGE: u64 = u64::MAX;

/// Each epoch with a use makes a page survive one more round in its queue, up to this many.
const USAGE_MAX: u8 = 3;

/// Where a frame with a page stands in the order of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In no queue: empty, or about to be evicted.
    Nowhere,
    Cold,
    Main,
    /// Its turn to be evicted came while it was dirty: it is queued again when it is written.
    Wanted,
}

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
    /// All changes since the image on disk are kept (`page_logs`), or were a moment ago: dirty as it is, the page may leave.
    pub(crate) may_leave: AtomicBool,
    usage: AtomicU8,
    /// The epoch of the last use that counted.
    epoch: AtomicU8,
    /// A `Place`; changes only under the lock of the queues.
    place: AtomicU8,
    /// It is in the list of wanted frames; changes only under the lock of the queues.
    pub(crate) is_listed: AtomicBool,
    /// It holds a page or is on its way to one; changes only under the lock of the queues.
    pub(crate) is_taken: AtomicBool,
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
            may_leave: AtomicBool::new(false),
            usage: AtomicU8::new(0),
            epoch: AtomicU8::new(0),
            place: AtomicU8::new(Place::Nowhere as u8),
            is_listed: AtomicBool::new(false),
            is_taken: AtomicBool::new(false),
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
        debug_assert!(self.latch.is_exclusive(), "a frame changes its page under its exclusive latch");
        debug_assert!(
            self.page().is_some() != page.is_some(),
            "a page comes into an empty frame, or leaves its own"
        );
        debug_assert!(
            page.is_some() || !self.writing.load(Ordering::Relaxed),
            "a page on its way to disk stays"
        );
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

    /// Notes a use. Those of one epoch count once: the steps of one statement are no sign of a hot page.
    #[inline]
    pub(crate) fn touch(&self, epoch: u8) {
        // Plain loads first: a hot page's line is not written again and again.
        let usage = self.usage.load(Ordering::Relaxed);
        if usage < USAGE_MAX && self.epoch.load(Ordering::Relaxed) != epoch {
            self.epoch.store(epoch, Ordering::Relaxed);
            self.usage.store(usage + 1, Ordering::Relaxed);
        }
    }

    /// A page begins its stay; the use that brought it does not count.
    pub(crate) fn begin_usage(&self, epoch: u8) {
        self.usage.store(0, Ordering::Relaxed);
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// The page moves to another frame with what is known of its use.
    pub(crate) fn copy_usage(&self, other: &Frame) {
        debug_assert!(self.latch.is_exclusive() && other.latch.is_exclusive(), "both frames are the mover's");
        self.usage.store(other.usage.load(Ordering::Relaxed), Ordering::Relaxed);
        self.epoch.store(other.epoch.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(crate) fn reset_usage(&self) {
        self.usage.store(0, Ordering::Relaxed);
    }

    pub(crate) fn is_cold(&self) -> bool {
        self.usage.load(Ordering::Relaxed) == 0
    }

    /// Its turn in the main queue has come: true when it was still in use.
    pub(crate) fn age(&self) -> bool {
        let usage = self.usage.load(Ordering::Relaxed);
        if usage > 0 {
            self.usage.store(usage - 1, Ordering::Relaxed);
        }
        usage > 0
    }

    pub(crate) fn place(&self) -> Place {
        match self.place.load(Ordering::Relaxed) {
            1 => Place::Cold,
            2 => Place::Main,
            3 => Place::Wanted,
            _ => Place::Nowhere,
        }
    }

    /// Only under the lock of the queues.
    pub(crate) fn set_place(&self, place: Place) {
        self.place.store(place as u8, Ordering::Relaxed);
    }
}
