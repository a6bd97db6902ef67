//! The lock of all tables (FLUSH TABLES WITH READ LOCK): two gates through which changes and commits pass.
//!
//! A statement that changes anything passes the first gate and is inside until it ends; the commit of a transaction
//! passes the second. Who closes a gate waits until nobody is inside. As long as no gate is closed or being closed,
//! passing is one addition to a counter; otherwise it is a metadata lock like any other, so that newcomers queue
//! behind whoever closes and deadlocks are found.
//!
//! Invariant: whoever was counted in is counted out, and `closers` counts all `ClosedGate`s and those on their way.
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use crate::gate::CLOSER;
use crate::gate::Gate;
use crate::metadata_lock::{Acquire, LockDeadlock, LockGuard, LockMode, LockName, LockOwner, MetadataLocks};

/// Lets its holder be inside a gate.
pub struct Passage {
    _inside: Inside,
}

enum Inside {
    Counted(Arc<MetadataLocks>, Gate),
    Locked { _guard: LockGuard },
}

impl Drop for Inside {
    fn drop(&mut self) {
        if let Inside::Counted(locks, gate) = self {
            locks.gate(*gate).leave();
        }
    }
}

impl From<LockGuard> for Passage {
    fn from(guard: LockGuard) -> Passage {
        Passage { _inside: Inside::Locked { _guard: guard } }
    }
}

/// Keeps a gate closed for all but its owner.
pub struct ClosedGate {
    _closing: Closing,
    _guard: LockGuard,
}

struct Closing {
    locks: Arc<MetadataLocks>,
    gate: Gate,
}

impl Closing {
    fn new(locks: Arc<MetadataLocks>, gate: Gate) -> Closing {
        locks.gate(gate).state.fetch_add(CLOSER, Ordering::SeqCst);
        Closing { locks, gate }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        let before = self.locks.gate(self.gate).state.fetch_sub(CLOSER, Ordering::SeqCst);
        debug_assert!(before >= CLOSER, "a closer counts until it lets go");
    }
}

/// Shows observers that the owner waits; dropped with the wait.
struct ShownWait<'a> {
    locks: &'a MetadataLocks,
    owner: LockOwner,
}

impl Drop for ShownWait<'_> {
    fn drop(&mut self) {
        self.locks.show_wait(self.owner, None);
    }
}

impl MetadataLocks {
    /// Passes a gate that nobody closes; otherwise ask with `pass_behind`.
    pub fn try_pass(self: &Arc<Self>, gate: Gate) -> Option<Passage> {
        self.gate(gate).try_enter().then(|| Passage { _inside: Inside::Counted(self.clone(), gate) })
    }

    /// Waits behind whoever closes the gate.
    pub fn pass_behind(self: &Arc<Self>, owner: LockOwner, gate: Gate) -> Acquire {
        self.acquire(owner, LockName::Gate(gate), LockMode::SharedWrite)
    }

    /// Closes a gate for all others and waits until they are out. Several may have it closed.
    pub async fn close(self: Arc<Self>, owner: LockOwner, gate: Gate) -> Result<ClosedGate, LockDeadlock> {
        let closing = Closing::new(self.clone(), gate);
        let guard = self.acquire(owner, LockName::Gate(gate), LockMode::NoWrite).await?;
        if !self.gate(gate).is_empty() {
            self.show_wait(owner, Some(LockName::Gate(gate)));
            let _shown = ShownWait { locks: &self, owner };
            poll_fn(|context| {
                self.gate(gate).closers.lock().push(context.waker().clone());
                if self.gate(gate).is_empty() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
        debug_assert!(self.gate(gate).is_empty(), "nobody is inside of a closed gate");
        Ok(ClosedGate { _closing: closing, _guard: guard })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn closing_waits_for_those_inside_and_newcomers_wait_for_it() {
        let locks = Arc::new(MetadataLocks::default());
        let inside = locks.try_pass(Gate::Changes).expect("nobody closes");
        let mut closing = pin!(locks.clone().close(LockOwner(1), Gate::Changes));
        assert!(poll(closing.as_mut()).is_none());
        assert_eq!(locks.awaited(LockOwner(1)), Some(LockName::Gate(Gate::Changes)));
        assert!(locks.try_pass(Gate::Changes).is_none());
        let mut newcomer = pin!(locks.pass_behind(LockOwner(2), Gate::Changes));
        assert!(poll(newcomer.as_mut()).is_none());
        drop(inside);
        let closed = poll(closing.as_mut()).expect("nobody is inside").expect("no deadlock");
        assert_eq!(locks.awaited(LockOwner(1)), None);
        assert!(poll(newcomer.as_mut()).is_none());
        drop(closed);
        let passage = Passage::from(poll(newcomer.as_mut()).expect("open").expect("no deadlock"));
        let counted = locks.try_pass(Gate::Changes).expect("open");
        let mut again = pin!(locks.clone().close(LockOwner(1), Gate::Changes));
        assert!(poll(again.as_mut()).is_none());
        drop(counted);
        assert!(poll(again.as_mut()).is_none(), "one inside has a metadata lock");
        drop(passage);
        assert!(poll(again.as_mut()).is_some());
    }

    #[test]
    fn an_abandoned_close_opens_the_gate() {
        let locks = Arc::new(MetadataLocks::default());
        let inside = locks.try_pass(Gate::Commits).expect("nobody closes");
        {
            let mut closing = pin!(locks.clone().close(LockOwner(1), Gate::Commits));
            assert!(poll(closing.as_mut()).is_none());
        }
        assert!(locks.try_pass(Gate::Commits).is_some());
        assert_eq!(locks.awaited(LockOwner(1)), None);
        drop(inside);
    }
}
