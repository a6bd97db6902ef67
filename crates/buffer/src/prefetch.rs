//! Reading ahead: pages that lie side by side come in one read.
//!
//! The pages are claimed at once, so whoever misses one of them a moment later waits for this read and starts none of
//! its own. It is a hint all the same: frames are taken only if that needs no waiting, and a page that cannot be had
//! is left to whoever really needs it.

use crate::frame::Place;
use crate::free_frame::FreeFrame;
use crate::load::{Loader, Role};
use crate::page_table::Word;
use crate::pool::BufferPool;
use crate::publish::Image;
use crate::stats::bump;
use pagestore::PageId;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One read is at most this long: enough to count as one operation on every volume, little enough to be quick.
const RUN_PAGES_MAX: usize = 16;

/// One read of pages that are near one another.
const NEAR_RUN_PAGES_MAX: usize = 32;
/// Pages that are read for nothing between two that are wanted, at most.
const GAP_PAGES_MAX: u64 = 12;

impl BufferPool {
    /// Whether a page would have to be read.
    #[inline]
    pub fn is_absent(&self, page: PageId) -> bool {
        self.table.load(page) == Word::Disk
    }

    /// Whether a page can be had without reading, as it is or packed.
    pub fn is_in_memory(&self, page: PageId) -> bool {
        !self.is_absent(page) || self.packed.has(page)
    }

    /// Whether there is a frame for each page there is.
    pub fn has_room_for_all(&self) -> bool {
        self.store.page_count() <= self.frame_count() as u64
    }

    /// Starts reading pages that will be needed soon.
    pub fn prefetch(&self, pages: impl IntoIterator<Item = PageId>) {
        let mut wanted: Vec<PageId> = Vec::new();
        for page in pages {
            if page.0 < self.store.page_count() && self.is_absent(page) {
                wanted.push(page);
            }
        }
        wanted.sort_unstable();
        let longest = (self.frame_count() / 16).min(RUN_PAGES_MAX);
        for run in wanted.chunks(longest) {
            self.prefetch_run(run);
        }
    }

    /// The same for pages here and there: what lies between two near ones comes along, because one long read costs a device
    /// less than two short ones. Answers how many of them are not in memory.
    pub fn prefetch_near(&self, pages: &[PageId]) -> usize {
        let absent = |page: &&PageId| page.0 < self.store.page_count() && self.is_absent(**page);
        let mut wanted: Vec<PageId> = pages.iter().filter(absent).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        let longest = (self.frame_count() / 64).min(NEAR_RUN_PAGES_MAX) as u64;
        let mut start = 0;
        for next in 1..=wanted.len() {
            let goes_on = next < wanted.len()
                && wanted[next].0 - wanted[next - 1].0 <= GAP_PAGES_MAX
                && wanted[next].0 - wanted[start].0 < longest;
            if !goes_on {
                let run = wanted[start].0..=wanted[next - 1].0;
                let run: Vec<PageId> = run.map(PageId).filter(|page| self.is_absent(*page)).collect();
                self.prefetch_run(&run);
                start = next;
            }
        }
        wanted.len()
    }

    fn prefetch_run(&self, pages: &[PageId]) {
        debug_assert!(pages.is_sorted(), "a run is read in the order of its pages");
        let Some(pool) = self.weak.upgrade() else { return };
        if !self.eviction.waiters.is_empty() || !self.loads.prefetches.take_unguarded() {
            return;
        }
        let permit = PrefetchPermit(pool);
        // Somebody else may have claimed a page since.
        let claimed = pages.iter().filter_map(|page| match self.choose_role(*page) {
            Role::Load(mut loader) => {
                // Nobody has asked for the page itself yet.
                loader.place = Place::Cold;
                Some(loader)
            }
            Role::Wait(_) | Role::LookAgain => None,
        });
        let loaders: Vec<Loader> = claimed.collect();
        if loaders.is_empty() {
            return;
        }
        self.counters.pages_prefetched.fetch_add(loaders.len() as u64, Ordering::Relaxed);
        let read = async move {
            let pool = &*permit.0;
            let _slot = pool.loads.slots.take().await;
            load_run(pool, loaders, Purpose::Range).await;
        };
        self.env.spawner.spawn("page-prefetch", Box::pin(read));
    }
}

/// One of the reads ahead that may be in flight.
struct PrefetchPermit(Arc<BufferPool>);

impl Drop for PrefetchPermit {
    fn drop(&mut self) {
        self.0.loads.prefetches.give_unguarded();
    }
}

/// Why pages are read that nobody waits for yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A range goes on to them.
    Range,
    /// They were in memory before a restart. No page has to go for one of them.
    WarmUp,
}

/// Reads pages together and publishes them. False when there were not frames for all of them. A loader that is dropped
/// says nothing about its page: who waits for it reads it alone and learns what is wrong with it, if anything is.
pub(crate) async fn load_run(pool: &BufferPool, mut loaders: Vec<Loader>, purpose: Purpose) -> bool {
    if purpose == Purpose::Range {
        loaders.iter().for_each(|loader| {
            pool.behind.want(loader.page);
        });
    }
    loaders.retain(|loader| pool.behind.is_to_be_read(loader.page));
    if loaders.is_empty() {
        return true;
    }
    let mut run = Vec::with_capacity(loaders.len());
    let mut all_have_frames = true;
    for loader in loaders {
        let taken = match purpose {
            Purpose::Range => pool.try_take_frame(),
            Purpose::WarmUp => pool.take_free_frame(),
        };
        let Some(index) = taken else {
            all_have_frames = false;
            break;
        };
        let mut frame = FreeFrame::new(pool, index);
        if pool.packed.take(loader.page, frame.bytes_mut()) {
            deliver(pool, loader, frame, Image::Packed);
        } else {
            run.push((loader, frame));
        }
    }
    let pages: Vec<PageId> = run.iter().map(|(loader, _)| loader.page).collect();
    let found = pool.store.read_many(&pages).await;
    for ((loader, mut frame), image) in run.into_iter().zip(found) {
        let Some(image) = image else { continue };
        if pool.store.verify(loader.page, image.as_slice()).is_err() {
            continue;
        }
        frame.bytes_mut().copy_from_slice(image.as_slice());
        if deliver(pool, loader, frame, Image::OnDisk(Ok(()))) {
            bump(&pool.counters.pages_read);
        }
    }
    all_have_frames
}

/// Publishes a page that nobody need wait for. False when it cannot be had.
fn deliver(pool: &BufferPool, loader: Loader, frame: FreeFrame<'_>, image: Image) -> bool {
    let Ok(index) = loader.publish(frame, image) else { return false };
    loader.conclude(&Ok(index));
    pool.unpin(index);
    true
}
