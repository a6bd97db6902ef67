//! `WaitQueue`: tasks that wait for a condition which somebody else changes.
//!
//! Protocol against lost wake-ups: register, then test the condition, then await. A wake that comes between
//! registering and awaiting is kept by the registration.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::task::{Context, Poll, Waker};

/// First come, first served.
#[derive(Default)]
pub struct WaitQueue {
    /// A leaf lock.
    slots: Mutex<VecDeque<Arc<Slot>>>,
    /// The number of slots; lets `wake_*` return without locking when nobody waits.
    waiting: AtomicUsize,
}

struct Slot {
    state: Mutex<SlotState>,
}

struct SlotState {
    woken: bool,
    waker: Option<Waker>,
}

/// A place in the queue; resolves when it is woken. Dropping it gives the place up, and if it had been woken
/// by `wake_one` without noticing, the next in the queue is woken instead.
pub struct Waiter<'a> {
    queue: &'a WaitQueue,
    slot: Arc<Slot>,
    finished: bool,
}

impl WaitQueue {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a place in the queue, at once.
    pub fn register(&self) -> Waiter<'_> {
        let slot = Arc::new(Slot { state: Mutex::new(SlotState { woken: false, waker: None }) });
        let mut slots = self.slots.lock();
        slots.push_back(slot.clone());
        self.waiting.store(slots.len(), Ordering::SeqCst);
        drop(slots);
        // Pairs with the fence in `is_empty`: a waker that misses this registration has changed the condition
        // before the registered task tests it.
        fence(Ordering::SeqCst);
        Waiter { queue: self, slot, finished: false }
    }

    /// Wakes the first waiter; false when nobody waits.
    pub fn wake_one(&self) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut slots = self.slots.lock();
        let first = slots.pop_front();
        self.waiting.store(slots.len(), Ordering::SeqCst);
        drop(slots);
        match first {
            Some(slot) => {
                slot.wake();
                true
            }
            None => false,
        }
    }

    pub fn wake_all(&self) {
        if self.is_empty() {
            return;
        }
        let mut slots = self.slots.lock();
        let all = std::mem::take(&mut *slots);
        self.waiting.store(0, Ordering::SeqCst);
        drop(slots);
        for slot in all {
            slot.wake();
        }
    }

    pub fn is_empty(&self) -> bool {
        // Orders the caller's change of the condition before this load (see `register`).
        fence(Ordering::SeqCst);
        self.waiting.load(Ordering::SeqCst) == 0
    }
}

impl Slot {
    fn wake(&self) {
        let mut state = self.state.lock();
        debug_assert!(!state.woken, "a waiter is woken once");
        state.woken = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for Waiter<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.slot.state.lock();
        if !state.woken {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        self.finished = true;
        Poll::Ready(())
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let mut slots = self.queue.slots.lock();
        let place = slots.iter().position(|slot| Arc::ptr_eq(slot, &self.slot));
        if let Some(place) = place {
            debug_assert!(!self.slot.state.lock().woken, "who is in the queue has not been woken");
            slots.remove(place);
            self.queue.waiting.store(slots.len(), Ordering::SeqCst);
            return;
        }
        drop(slots);
        // It was woken but never ran: pass the wake-up on, else a `wake_one` would be lost.
        self.queue.wake_one();
    }
}
