//! Bringing a page into memory: one read for all who wait, and a pin for each of them.
//!
//! Invariants: a page's word is `Loading` exactly while its `Load` is in the map. A read that has begun is waited for,
//! if need be by a task of its own when whoever began it is dropped: otherwise the page could be loaded again,
//! changed and written while the first read is still under way.

use crate::frame::{FrameIndex, Place};
use crate::free_frame::FreeFrame;
use crate::guard::{ExclusiveGuard, PagePin};
use crate::page_table::Word;
use crate::pool::BufferPool;
use crate::redo::PageLog;
use crate::run::Slots;
use crate::stats::bump;
use crate::{BufferError, Stop};
use env::sync::{Event, Mutex};
use env::{BoxFuture, yield_now};
use foldhash::fast::FixedState;
use pagestore::{CorruptPage, PageFault, PageId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Lsn;

const SHARDS: usize = 16;
/// Reads in flight: enough to keep a fast disk busy, few enough that buffers stay a small constant.
const LOADS_MAX: usize = 128;
/// Reads ahead in flight.
const PREFETCHES_MAX: usize = 64;

fn loads_max(frames: usize) -> usize {
    (frames / 4).min(LOADS_MAX)
}

fn prefetches_max(frames: usize) -> usize {
    (frames / 8).min(PREFETCHES_MAX)
}

pub(crate) struct Loads {
    shards: [Mutex<LoadsByPage>; SHARDS],
    pub(crate) slots: Slots,
    pub(crate) prefetches: Slots,
}

type LoadsByPage = HashMap<PageId, Arc<Load>, FixedState>;

struct Load {
    state: Mutex<LoadState>,
    done: Event,
}

struct LoadState {
    outcome: Option<Outcome>,
    /// Waiters that get a pin when the page arrives.
    members: u32,
}

#[derive(Clone)]
enum Outcome {
    Loaded(FrameIndex),
    Failed(BufferError),
    Abandoned,
}

impl Loads {
    pub(crate) fn new(frames: usize) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::new(LoadsByPage::default())),
            slots: Slots::new(loads_max(frames)),
            prefetches: Slots::new(prefetches_max(frames)),
        }
    }

    /// The pool has another number of frames now.
    pub(crate) fn set_frames(&self, frames: usize) {
        self.slots.set_count(loads_max(frames));
        self.prefetches.set_count(prefetches_max(frames));
    }

    fn shard(&self, page: PageId) -> &Mutex<LoadsByPage> {
        &self.shards[page.0 as usize % SHARDS]
    }
}

/// What to do about a page that is not in memory.
pub(crate) enum Role<'p> {
    Load(Loader),
    Wait(Member<'p>),
    LookAgain,
}

impl BufferPool {
    /// Waits until what stopped page code is resolved. Hold the pin until after the retry. Late changes are applied by
    /// `run`, which calls page code for it.
    pub async fn resolve(&self, stop: Stop) -> Result<PagePin<'_>, BufferError> {
        match stop {
            Stop::Miss(page) => {
                let since_us = self.env.clock.now_us();
                self.bring_run_of(page);
                let loaded = self.load(page).await;
                let took_us = self.counters.read_waits.end(&*self.env.clock, since_us);
                self.wal.note_page_wait(took_us);
                return loaded;
            }
            Stop::Loading(page) => self.wait_for_load(page).await,
            Stop::NoFrame => {
                let index = self.take_frame().await?;
                self.give_to_creators(index);
            }
            Stop::Extend(page) => self.extend(page).await?,
            Stop::LogFull { bytes, priority } => {
                self.flusher.wake.notify();
                self.wal.wait_for_space(bytes as usize, priority).await?;
            }
            Stop::Late(_) | Stop::Restart => yield_now().await,
            Stop::Corrupt(corrupt) => return Err(BufferError::Corrupt(corrupt)),
        }
        Ok(PagePin::nothing())
    }

    /// Grows the store. The first time that the disk is full it just notes that: the caller looks again, now for a page
    /// that needs no growth.
    async fn extend(&self, page: PageId) -> Result<(), BufferError> {
        match self.store.extend(page.0 + 1).await {
            Err(error) if error.is_no_space() => {
                let count = self.store.page_count();
                let known = self.growth_refused_at.swap(count, Ordering::Relaxed) == count;
                if known { Err(error.into()) } else { Ok(()) }
            }
            result => Ok(result?),
        }
    }

    pub(crate) async fn load(&self, page: PageId) -> Result<PagePin<'_>, BufferError> {
        loop {
            if let Word::Frame(index) = self.table.load(page)
                && let Some(pin) = self.try_pin(page, index)
            {
                return Ok(pin);
            }
            match self.choose_role(page) {
                Role::Load(loader) => return self.run_loader(loader).await,
                Role::Wait(member) => match member.wait().await {
                    Some(result) => return result,
                    None => continue,
                },
                Role::LookAgain => {}
            }
        }
    }

    async fn run_loader(&self, loader: Loader) -> Result<PagePin<'_>, BufferError> {
        let mut running = RunningLoader { pool: self, future: Some(Box::pin(loader.load())) };
        let future = running.future.as_mut().expect("just made");
        let result = future.as_mut().await;
        running.future = None;
        result.map(|index| PagePin::adopt(self, index))
    }

    /// Waits until nobody loads the page. Whether it arrived does not matter: it will be overwritten.
    async fn wait_for_load(&self, page: PageId) {
        let member = self.loads.shard(page).lock().get(&page).and_then(|load| self.join(load));
        if let Some(member) = member {
            drop(member.wait().await);
        }
    }

    /// Becomes a member of a load that is not over.
    fn join(&self, load: &Arc<Load>) -> Option<Member<'_>> {
        let mut state = load.state.lock();
        if state.outcome.is_some() {
            return None;
        }
        state.members += 1;
        Some(Member { pool: self, load: load.clone(), served: false })
    }

    fn try_pin(&self, page: PageId, index: FrameIndex) -> Option<PagePin<'_>> {
        let frame = self.frame(index);
        frame.latch.lock_shared();
        let holds = frame.holds(page);
        if holds {
            frame.pins.fetch_add(1, Ordering::AcqRel);
        }
        // SAFETY: taken above, and no guard was made from it.
        unsafe { frame.latch.unlock_shared() }
        holds.then(|| PagePin::adopt(self, index))
    }

    pub(crate) fn choose_role(&self, page: PageId) -> Role<'_> {
        let mut shard = self.loads.shard(page).lock();
        if let Some(load) = shard.get(&page) {
            return self.join(load).map_or(Role::LookAgain, Role::Wait);
        }
        let Ok(evicted) = self.table.leave_disk(page, Word::Loading) else { return Role::LookAgain };
        let state = Mutex::new(LoadState { outcome: None, members: 0 });
        let load = Arc::new(Load { state, done: Event::new() });
        shard.insert(page, load.clone());
        let pool = self.weak.upgrade().expect("a pool in use is alive");
        let place = self.eviction.first_place(evicted);
        Role::Load(Loader { pool, page, place, load, finished: false })
    }
}

/// One of those who wait for a load. Counted in `members` until it is served or dropped.
pub(crate) struct Member<'p> {
    pool: &'p BufferPool,
    load: Arc<Load>,
    served: bool,
}

impl<'p> Member<'p> {
    /// `None`: the loader was dropped (its executor is going down), start again.
    async fn wait(mut self) -> Option<Result<PagePin<'p>, BufferError>> {
        self.load.done.wait().await;
        let outcome = self.load.state.lock().outcome.clone().expect("the event follows the outcome");
        match outcome {
            Outcome::Loaded(index) => {
                self.served = true;
                Some(Ok(PagePin::adopt(self.pool, index)))
            }
            Outcome::Failed(error) => Some(Err(error)),
            Outcome::Abandoned => None,
        }
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if self.served {
            return;
        }
        let mut state = self.load.state.lock();
        match state.outcome {
            None => state.members -= 1,
            Some(Outcome::Loaded(index)) => {
                drop(state);
                self.pool.unpin(index);
            }
            Some(Outcome::Failed(_) | Outcome::Abandoned) => {}
        }
    }
}

/// A load being polled by the task that wants the page. Dropped before its end, it goes on as a task of its own.
struct RunningLoader<'p> {
    pool: &'p BufferPool,
    future: Option<BoxFuture<'static, Result<FrameIndex, BufferError>>>,
}

impl Drop for RunningLoader<'_> {
    fn drop(&mut self) {
        let (Some(future), Some(pool)) = (self.future.take(), self.pool.weak.upgrade()) else { return };
        if pool.is_stopped() {
            // Nothing is written any more, and the executor may be going down.
            return;
        }
        let finish = async move {
            if let Ok(index) = future.await {
                pool.unpin(index);
            }
        };
        self.pool.env.spawner.spawn("page-load", Box::pin(finish));
    }
}

/// What a frame has of the page that is to be published in it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Image {
    /// What the disk has, or why that is of no use.
    OnDisk(Result<(), PageFault>),
    /// The page as it was when it left its last frame.
    Packed,
}

/// The one that reads the page.
pub(crate) struct Loader {
    pool: Arc<BufferPool>,
    pub(crate) page: PageId,
    /// The queue in which the page begins.
    pub(crate) place: Place,
    load: Arc<Load>,
    finished: bool,
}

impl Loader {
    /// Returns the frame with one pin for the caller.
    async fn load(self) -> Result<FrameIndex, BufferError> {
        let result = self.read().await;
        self.conclude(&result);
        result
    }

    /// Tells everybody who waits.
    pub(crate) fn conclude(mut self, result: &Result<FrameIndex, BufferError>) {
        self.finish(match result {
            Ok(index) => Outcome::Loaded(*index),
            Err(error) => Outcome::Failed(error.clone()),
        });
    }

    /// Reads, checks and publishes the page with one pin, ours.
    async fn read(&self) -> Result<FrameIndex, BufferError> {
        let pool = &*self.pool;
        pool.wait_for_log_of(self.page).await?;
        if pool.packed.has(self.page) {
            let mut frame = FreeFrame::new(pool, pool.take_frame().await?);
            if pool.packed.take(self.page, frame.bytes_mut()) {
                return self.publish(frame, Image::Packed);
            }
            // It was dropped just now.
        }
        let _slot = pool.loads.slots.take().await;
        let frame = FreeFrame::new(pool, pool.take_frame().await?);
        if pool.behind.has(self.page) && self.page.0 >= pool.store.page_count() {
            // The crash took the growth of the store and left the log.
            pool.store.extend(self.page.0 + 1).await?;
        }
        if pool.behind.begins_with_image(self.page) {
            return self.publish(frame, Image::OnDisk(Err(PageFault::Absent)));
        }
        let (lent, bytes) = frame.lend(self.pool.clone());
        let (bytes, result) = pool.store.read(self.page, bytes).await;
        let frame = lent.take_back(bytes);
        bump(&pool.counters.pages_read);
        match result.map_err(BufferError::from) {
            Ok(()) => self.publish(frame, Image::OnDisk(Ok(()))),
            Err(BufferError::Corrupt(corrupt)) => self.publish(frame, Image::OnDisk(Err(corrupt.fault))),
            Err(error) => Err(error),
        }
    }

    /// Checks the image in the frame, brings it up to date, and makes the page known, with one pin. Without an image the
    /// page must be behind the log.
    pub(crate) fn publish(&self, mut frame: FreeFrame<'_>, image: Image) -> Result<FrameIndex, BufferError> {
        let pool = &*self.pool;
        let read = match image {
            Image::OnDisk(read) => read.and_then(|()| (pool.options.check)(frame.bytes_mut())),
            Image::Packed => Ok(()),
        };
        pool.packed.discard(self.page);
        let log = pool.behind.take(self.page);
        if let (Err(fault), None) = (read, &log)
            && !pool.page_logs.is_absent(self.page)
        {
            return Err(CorruptPage { page: self.page, fault }.into());
        }
        let index = frame.into_index();
        let frame = pool.frame(index);
        // From `Loading` on nobody adds late changes.
        pool.mark_if_late(self.page, index);
        frame.latch.lock_exclusive();
        assert!(frame.page().is_none() && !frame.is_dirty(), "a free frame is empty and clean");
        frame.set_page(Some(self.page));
        pool.admit(index, self.place);
        assert_eq!(frame.pins.fetch_add(1, Ordering::AcqRel), 0, "nobody pins a free frame");
        // SAFETY: the latch was just taken exclusively and the frame holds the page.
        let mut guard = unsafe { ExclusiveGuard::new(pool, index, false) };
        if read.is_err() {
            guard.bytes_mut().fill(0);
        }
        match (log, image) {
            (Some(log), _) => self.bring_up_to_date(&mut guard, read, &log),
            (None, Image::OnDisk(_)) => self.give_changes_back(index, &mut guard, read),
            (None, Image::Packed) => {
                // It has its changes; only that it is dirty has to be known again.
                if let Some((rec_lsn, ())) = pool.page_logs.arrive(self.page, |_, _| ()) {
                    pool.mark_returned(index, rec_lsn);
                }
            }
        }
        let replaced = self.pool.table.replace(self.page, Word::Loading, Word::Frame(index));
        assert!(replaced, "a loading page's word is its loader's");
        Ok(index)
    }

    fn bring_up_to_date(&self, guard: &mut ExclusiveGuard<'_>, read: Result<(), PageFault>, log: &PageLog) {
        let pool = &*self.pool;
        let applied = (pool.options.apply_page_log)(self.page, guard.bytes_mut(), read, log);
        if applied != Ok(false) {
            // The position only gives the page its turn to be written (see `redo`). It lies before the end, so that who
            // waits for all that is dirty now waits for this page too.
            guard.mark_dirty(Lsn(pool.wal.end_lsn().0 - 1));
        }
        if let Err(fault) = applied {
            pool.behind.give_up(CorruptPage { page: self.page, fault });
        }
    }

    /// If the page left memory dirty, makes it what it was then.
    fn give_changes_back(
        &self,
        index: FrameIndex,
        guard: &mut ExclusiveGuard<'_>,
        read: Result<(), PageFault>,
    ) {
        let pool = &*self.pool;
        let returned = pool.page_logs.arrive(self.page, |log, image_lsn| {
            // Another image than the one that was changed: a write that replaced it was lost.
            let is_stale = image_lsn > Lsn::ZERO && guard.page_lsn() != image_lsn;
            let read = if is_stale { read.and(Err(PageFault::Stale)) } else { read };
            (pool.options.apply_page_log)(self.page, guard.bytes_mut(), read, log)
        });
        let Some((rec_lsn, applied)) = returned else {
            if read.is_err() {
                // It has become free meanwhile, and nobody will look at it.
                let _ =
                    (pool.options.apply_page_log)(self.page, guard.bytes_mut(), read, &PageLog::default());
            }
            return;
        };
        pool.mark_returned(index, rec_lsn);
        if let Err(fault) = applied {
            // It is lost now, and that has to be written.
            guard.note_change(|log| log.begins_with_image = true);
            pool.behind.give_up(CorruptPage { page: self.page, fault });
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        self.finished = true;
        let mut shard = self.pool.loads.shard(self.page).lock();
        shard.remove(&self.page);
        if !matches!(outcome, Outcome::Loaded(_)) {
            let replaced = self.pool.table.replace(self.page, Word::Loading, Word::Disk);
            assert!(replaced, "a loading page's word is its loader's");
        }
        drop(shard);
        let mut state = self.load.state.lock();
        if let Outcome::Loaded(index) = outcome {
            self.pool.frame(index).pins.fetch_add(state.members, Ordering::AcqRel);
        }
        state.outcome = Some(outcome);
        drop(state);
        self.load.done.set();
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        if !self.finished {
            self.finish(Outcome::Abandoned);
        }
    }
}
