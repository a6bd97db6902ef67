//! Reading ahead: neighbours on disk come in one read.
//!
//! The pages are claimed at once, so whoever misses one of them a moment later waits for this read and starts none of
//! its own. It is a hint all the same: frames are taken only if that needs no waiting, and a page that cannot be had
//! is left to whoever really needs it.

use crate::BufferError;
use crate::frame::{FrameIndex, Place};
use crate::load::{FreeFrame, Loader, Role};
use crate::page_table::Word;
use crate::pool::BufferPool;
use env::IoBuf;
use pagestore::{PageId, header};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One read is at most this long: enough to count as one operation on every volume, little enough to be quick.
const RUN_PAGES_MAX: usize = 16;

impl BufferPool {
    /// Whether a page would have to be read.
    #[inline]
    pub fn is_absent(&self, page: PageId) -> bool {
        self.table.load(page) == Word::Disk
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
        for neighbours in wanted.chunk_by(|one, other| one.0 + 1 == other.0) {
            for run in neighbours.chunks(longest) {
                self.prefetch_run(run);
            }
        }
    }

    fn prefetch_run(&self, pages: &[PageId]) {
        let Some(pool) = self.weak.upgrade() else { return };
        if !self.eviction.waiters.is_empty() || !self.loads.prefetches.take_unguarded() {
            return;
        }
        let permit = PrefetchPermit(pool);
        // Somebody else may have claimed a page since; then the run ends before it.
        let claimed = pages.iter().map_while(|page| match self.choose_role(*page) {
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
            load_run(pool, loaders, BufferPool::try_take_frame).await;
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

/// Reads pages that lie close together, in order, with one read and publishes them. False when there were not frames
/// for all of them; then the loaders without one are dropped, and who waits for their pages starts again.
pub(crate) async fn load_run(
    pool: &BufferPool,
    loaders: Vec<Loader>,
    take_frame: impl Fn(&BufferPool) -> Option<FrameIndex>,
) -> bool {
    let wanted = loaders.len();
    let mut run = Vec::with_capacity(wanted);
    for loader in loaders {
        let Some(index) = take_frame(pool) else { break };
        run.push((loader, FreeFrame::new(pool, index)));
    }
    let all_came = run.len() == wanted;
    let (Some((first, _)), Some((last, _))) = (run.first(), run.last()) else { return all_came };
    let (first, page_bytes) = (first.page, pool.page_bytes());
    let span = (last.page.0 - first.0 + 1) as usize;
    let (buffer, result) = pool.store.read_run(first, IoBuf::zeroed(span * page_bytes)).await;
    pool.counters.pages_read.fetch_add(run.len() as u64, Ordering::Relaxed);
    for (loader, frame) in run {
        let start = (loader.page.0 - first.0) as usize * page_bytes;
        let bytes = &buffer.as_slice()[start..start + page_bytes];
        let read: Result<(), BufferError> = result.clone().map_err(BufferError::from);
        let read = read.and_then(|()| header::verify(bytes, loader.page).map_err(BufferError::from));
        let published: Result<FrameIndex, BufferError> = read.and_then(|()| loader.publish(frame, bytes));
        loader.conclude(&published);
        if let Ok(index) = published {
            pool.unpin(index);
        }
    }
    all_came
}
