//! Bringing a page into memory: one read for all who wait, and a pin for each of them.
//!
//! Invariants: a page's word is `Loading` exactly while its `Load` is in the map. A read that has begun is waited for,
//! if need be by a task of its own when whoever began it is dropped: otherwise the page could be loaded again,
//! changed and written while the first read is still under way.

use crate::frame::{FrameIndex, Place};
use crate::free_frame::FreeFrame;
use crate::guard::PagePin;
use crate::page_table::Word;
use crate::pool::BufferPool;
use crate::publish::Image;
use crate::run::Slots;
use crate::stats::bump;
use crate::{BufferError, Stop};
use env::sync::{Event, Mutex};
use env::{BoxFuture, yield_now};
use foldhash::fast::FixedState;
use pagestore::{PageFault, PageId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
                env::begin_wait(env::WaitCause::PageRead, || None);
                self.bring_run_of(page);
                let loaded = self.load(page).await;
                let took_us = self.counters.read_waits.end(&*self.env.clock, since_us);
                env::note_wait(env::WaitCause::PageRead, took_us);
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
            None => {
                debug_assert!(state.members > 0, "each member is counted");
                state.members -= 1;
            }
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

/// The one that reads the page.
pub(crate) struct Loader {
    pub(crate) pool: Arc<BufferPool>,
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
        if self.page.0 >= pool.store.page_count()
            && (pool.behind.has(self.page) || pool.page_logs.is_absent(self.page))
        {
            // A crash took the growth of the store and left the log, or the file was cut short. The page will be written.
            pool.store.extend(self.page.0 + 1).await?;
        }
        if pool.behind.begins_with_image(self.page) {
            return self.publish(frame, Image::OnDisk(Err(PageFault::Absent)));
        }
        let (lent, bytes) = frame.lend(self.pool.clone());
        let (bytes, result) = pool.store.read(self.page, bytes).await;
        let mut frame = lent.take_back(bytes);
        bump(&pool.counters.pages_read);
        match result.map_err(BufferError::from) {
            Ok(()) => self.publish(frame, Image::OnDisk(Ok(()))),
            Err(BufferError::Corrupt(corrupt)) => match pool.repair(corrupt).await? {
                Some(image) => {
                    frame.bytes_mut().copy_from_slice(&image);
                    self.publish(frame, Image::OnDisk(Ok(())))
                }
                None => self.publish(frame, Image::OnDisk(Err(corrupt.fault))),
            },
            Err(error) => Err(error),
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        self.finished = true;
        let mut shard = self.pool.loads.shard(self.page).lock();
        debug_assert!(shard.contains_key(&self.page), "a load is known until it ends");
        shard.remove(&self.page);
        if !matches!(outcome, Outcome::Loaded(_)) {
            let replaced = self.pool.table.replace(self.page, Word::Loading, Word::Disk);
            assert!(replaced, "a loading page's word is its loader's");
        }
        drop(shard);
        let mut state = self.load.state.lock();
        if let Outcome::Loaded(index) = outcome {
            debug_assert!(self.pool.frame(index).holds(self.page), "a loaded page is in its frame");
            debug_assert!(
                self.pool.frame(index).pins.load(Ordering::Relaxed) > 0,
                "the loader keeps its page"
            );
            self.pool.frame(index).pins.fetch_add(state.members, Ordering::AcqRel);
        }
        debug_assert!(state.outcome.is_none(), "a load ends once");
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
