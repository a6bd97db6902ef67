//! More stack for polls that nest: programs call programs, and each call is polled inside of its caller's poll.
//!
//! Invariant: what is polled here has at least `ROOM` bytes of stack below it when it begins, on the stack it is called on or on one of
//! its own, which it keeps until it ends: it may be left in the middle there like anywhere else. Used by the session around each call of a program.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::stack::{BorrowedStack, Stack};
use super::{Inner, current};

/// What the deepest statement needs.
const ROOM: usize = 12 << 20;
/// Stacks that a thread keeps for the next that need one.
const KEPT_MAX: usize = 2;

thread_local! {
    static KEPT: RefCell<Vec<Stack>> = const { RefCell::new(Vec::new()) };
    /// Where the stack ends that runs outside of coroutines; 0 when it is not known.
    static OUTER_LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// Where the stack ends that the caller runs on.
fn with_limit<R>(of: impl FnOnce(&Cell<usize>) -> R) -> R {
    match current() {
        Some(Inner { limit, .. }) => of(limit),
        None => OUTER_LIMIT.with(of),
    }
}

fn has_room() -> bool {
    let here = 0u8;
    let limit = with_limit(Cell::get);
    // Where nothing is known there may be little.
    limit != 0 && std::ptr::from_ref(&here).addr().saturating_sub(limit) >= ROOM
}

/// A future that is polled with room for the deepest statement; `None` when the system has no memory for another stack.
pub fn roomy<F: Future>(future: Pin<Box<F>>) -> Roomy<F> {
    Roomy { future, stack: None, has_begun: false }
}

pub struct Roomy<F> {
    future: Pin<Box<F>>,
    stack: Option<Stack>,
    has_begun: bool,
}

impl<F: Future> Future for Roomy<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let this = &mut *self;
        if !this.has_begun {
            this.has_begun = true;
            if !has_room() {
                this.stack = KEPT.with_borrow_mut(Vec::pop).or_else(Stack::new);
                if this.stack.is_none() {
                    return Poll::Ready(None);
                }
            }
        }
        let Some(stack) = &this.stack else { return this.future.as_mut().poll(context).map(Some) };
        let limit = stack.usable_from();
        // Its end is put back by whoever took it away, also when a poll unwinds.
        debug_assert!(limit > 0, "it is known where this stack ends");
        let outer = Restored(with_limit(|cell| cell.replace(limit)));
        let polled =
            corosensei::on_stack(BorrowedStack(stack), || this.future.as_mut().poll(context).map(Some));
        drop(outer);
        polled
    }
}

impl<F> Drop for Roomy<F> {
    fn drop(&mut self) {
        let Some(stack) = self.stack.take() else { return };
        // At the end of the thread nobody needs it any more.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < KEPT_MAX {
                kept.push(stack);
            }
        });
    }
}

struct Restored(usize);

impl Drop for Restored {
    fn drop(&mut self) {
        with_limit(|limit| limit.set(self.0));
    }
}
