//! The retry loop around synchronous page code, and the slots that keep many such loops from starving.
//!
//! Progress: a loop that waits for a frame holds no pin, or it holds one of the few descent slots and at most
//! `PINS_MAX` pins; so the other frames become free as their loops run. The pages that a descent has missed
//! several times stay pinned until it is through, so it cannot lose them again for ever.

use crate::guard::PagePin;
use crate::pool::BufferPool;
use crate::{BufferError, Stop};
use env::sync::{Mutex, WaitQueue};
use pagestore::PageId;

/// With this many stops a loop starts to keep its pins: no tree of ordinary size has more levels to miss.
const STOPS_BEFORE_PINNING: usize = 3;
/// More pages than one operation needs at once.
const PINS_MAX: usize = 16;

impl BufferPool {
    /// Calls `op` until it does not stop any more. `op` holds no latch when it returns and starts from the
    /// beginning when it is called again. When every page is in memory nothing is allocated and nothing waits.
    pub async fn run<T>(&self, mut op: impl FnMut() -> Result<T, Stop>) -> Result<T, BufferError> {
        let mut pin = PagePin::nothing();
        let mut stops = 0;
        let mut late = None;
        loop {
            let stop = match self.attempt(&mut op, &mut late) {
                Ok(value) => return Ok(value),
                Err(stop) => stop,
            };
            stops += 1;
            drop(pin);
            if stops > STOPS_BEFORE_PINNING {
                return self.run_pinned(op, stop, late).await;
            }
            pin = self.resolve(stop).await?;
        }
    }

    async fn run_pinned<T>(
        &self,
        mut op: impl FnMut() -> Result<T, Stop>,
        mut stop: Stop,
        mut late: Option<PageId>,
    ) -> Result<T, BufferError> {
        let _slot = self.descents.take().await;
        let mut pins = Vec::with_capacity(PINS_MAX);
        loop {
            // Waiting for the log or the disk can take long; pages must not be kept from others meanwhile.
            if pins.len() == PINS_MAX || matches!(stop, Stop::LogFull { .. } | Stop::Extend(_)) {
                pins.clear();
            }
            let pin = self.resolve(stop).await?;
            if pin.holds_page() {
                pins.push(pin);
            }
            match self.attempt(&mut op, &mut late) {
                Ok(value) => return Ok(value),
                Err(next) => stop = next,
            }
        }
    }

    /// Calls `op`, and before it what applies the late changes that it has met: `late` is the page that has them.
    fn attempt<T>(
        &self,
        op: &mut impl FnMut() -> Result<T, Stop>,
        late: &mut Option<PageId>,
    ) -> Result<T, Stop> {
        loop {
            if let Some(page) = *late {
                (self.options.apply_late)(self, page)?;
                *late = None;
            }
            match op() {
                Err(Stop::Late(page)) => *late = Some(page),
                ended => return ended,
            }
        }
    }
}

/// A counted number of permissions, first come first served.
pub(crate) struct Slots {
    /// Counts down when a permission is taken; below 0 after the number was lowered.
    free: Mutex<isize>,
    count: Mutex<usize>,
    queue: WaitQueue,
}

pub(crate) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        assert!(count > 0);
        Self { free: Mutex::new(count as isize), count: Mutex::new(count), queue: WaitQueue::new() }
    }

    /// Those who have a permission too many keep it until they give it back.
    pub(crate) fn set_count(&self, count: usize) {
        assert!(count > 0);
        let mut before = self.count.lock();
        *self.free.lock() += count as isize - *before as isize;
        *before = count;
        drop(before);
        self.queue.wake_all();
    }

    pub(crate) fn try_take(&self) -> Option<Slot<'_>> {
        let mut free = self.free.lock();
        if *free <= 0 {
            return None;
        }
        *free -= 1;
        Some(Slot(self))
    }

    /// Takes a permission that outlives the borrow; `give_unguarded` gives it back.
    pub(crate) fn take_unguarded(&self) -> bool {
        self.try_take().map(std::mem::forget).is_some()
    }

    pub(crate) fn give_unguarded(&self) {
        drop(Slot(self));
    }

    pub(crate) async fn take(&self) -> Slot<'_> {
        loop {
            if let Some(slot) = self.try_take() {
                return slot;
            }
            let waiter = self.queue.register();
            if let Some(slot) = self.try_take() {
                return slot;
            }
            waiter.await;
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.queue.wake_one();
    }
}
