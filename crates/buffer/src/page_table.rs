//! The page table: one word for each page id, saying where the page is.
//!
//! A word is `Disk` (not in memory; also the state of every page never seen), `Loading` or `Frame`. The word of a page
//! on disk also remembers its last eviction, which tells a page that comes back soon from one that is new.
//! Legal moves: Disk → Loading (a load begins), Loading → Frame (it is done), Loading → Disk (it failed or was
//! dropped), Disk → Frame (a page is created), Frame → Disk (evicted, under the exclusive latch).
//! Words live in chunks that are made on first use, so that page ids may have gaps.

use crate::frame::FrameIndex;
use pagestore::PageId;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const CHUNK_BITS: u32 = 16;
const CHUNK_WORDS: usize = 1 << CHUNK_BITS;
/// 2^32 pages: 32 TB with 8K pages, for a directory of 1 MB.
const DIRECTORY_BITS: u32 = 16;

const TAG_SHIFT: u32 = 62;
const TAG_DISK: u64 = 0;
const TAG_LOADING: u64 = 1;
const TAG_FRAME: u64 = 2;

/// Set in a `Disk` word that has a time of eviction in its lower half.
const EVICTED: u64 = 1 << 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Disk,
    Loading,
    Frame(FrameIndex),
}

/// When a page was evicted, counted in evictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EvictionTime(pub(crate) u32);

impl Word {
    const fn encode(self) -> u64 {
        match self {
            Self::Disk => TAG_DISK << TAG_SHIFT,
            Self::Loading => TAG_LOADING << TAG_SHIFT,
            Self::Frame(index) => TAG_FRAME << TAG_SHIFT | index.0 as u64,
        }
    }

    #[inline]
    fn decode(word: u64) -> Self {
        match word >> TAG_SHIFT {
            TAG_FRAME => Self::Frame(FrameIndex(word as u32)),
            TAG_LOADING => Self::Loading,
            _ => Self::Disk,
        }
    }
}

type Chunk = Box<[AtomicU64]>;

pub(crate) struct PageTable {
    directory: Box<[OnceLock<Chunk>]>,
}

impl PageTable {
    pub(crate) fn new() -> Self {
        Self { directory: (0..1 << DIRECTORY_BITS).map(|_| OnceLock::new()).collect() }
    }

    /// Page ids from here on do not exist.
    pub(crate) fn page_count_max(&self) -> u64 {
        (self.directory.len() * CHUNK_WORDS) as u64
    }

    #[inline]
    pub(crate) fn load(&self, page: PageId) -> Word {
        let chunk = self.directory.get((page.0 >> CHUNK_BITS) as usize).and_then(OnceLock::get);
        match chunk {
            Some(chunk) => Word::decode(chunk[page.0 as usize % CHUNK_WORDS].load(Ordering::Acquire)),
            None => Word::Disk,
        }
    }

    /// False when the word is not `from` any more. For pages that are in memory or on their way.
    pub(crate) fn replace(&self, page: PageId, from: Word, to: Word) -> bool {
        assert!(from != Word::Disk, "`leave_disk` knows what the word remembers");
        debug_assert!(from != to, "a move changes the word");
        let word = self.word(page);
        word.compare_exchange(from.encode(), to.encode(), Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// A page in memory goes back to disk, and the word remembers when.
    pub(crate) fn evict(&self, page: PageId, from: FrameIndex, time: EvictionTime) -> bool {
        let (from, to) = (Word::Frame(from).encode(), Word::Disk.encode() | EVICTED | u64::from(time.0));
        self.word(page).compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// `Disk` becomes `to`: says when the page was evicted last, if that is known. `Err` when the page is not on disk.
    pub(crate) fn leave_disk(&self, page: PageId, to: Word) -> Result<Option<EvictionTime>, ()> {
        let word = self.word(page);
        debug_assert!(to != Word::Disk, "a page leaves the disk for memory");
        let mut present = word.load(Ordering::Acquire);
        while Word::decode(present) == Word::Disk {
            match word.compare_exchange(present, to.encode(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok((present & EVICTED != 0).then_some(EvictionTime(present as u32))),
                Err(other) => present = other,
            }
        }
        Err(())
    }

    fn word(&self, page: PageId) -> &AtomicU64 {
        assert!(page.0 < self.page_count_max(), "page ids are checked before they get here");
        let chunk = self.directory[(page.0 >> CHUNK_BITS) as usize]
            .get_or_init(|| (0..CHUNK_WORDS).map(|_| AtomicU64::new(Word::Disk.encode())).collect());
        &chunk[page.0 as usize % CHUNK_WORDS]
    }
}
