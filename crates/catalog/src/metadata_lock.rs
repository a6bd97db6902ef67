//! Metadata locks: statements share a table's definition until their transaction ends, DDL owns it alone.
//!
//! Queue: a lock is granted when no other owner holds a conflicting mode and nobody who conflicts waits in
//! front; so a waiting ALTER is not overtaken for ever by new statements. An owner that already holds the lock
//! in this mode or a stronger one may pass the queue, otherwise a second statement of its transaction would wait
//! behind the ALTER that waits for it. Who has read a table and begins to change it does not pass: as in MySQL that
//! is a deadlock with the ALTER.
//!
//! Definitions ask in steps (`acquire_politely`): who has the lock already passes such a request. One that takes too long steps
//! aside for a while (`acquire_aside`): then everybody passes it, and it still has the lock as soon as nobody else needs it.
//! Who only has to outlast those who are there (`drain`) is in nobody's way.
//!
//! Deadlocks: an owner waits for at most one lock. Before it waits, the graph "waits for the holders and the
//! waiters in front" is searched; if it leads back to the owner, the request fails with `Deadlock` (MySQL chooses
//! the statement before the DDL as its victim, and so does this: DDL asks in name order while holding nothing).
//! All state is under one mutex: the hot path is one lookup and a counter, and searches see one moment. A lock keeps its place
//! while somebody needs it, so a guard goes there without a lookup. One that nobody needs any more stays for the next
//! statement on the same table, unless there are many such.
mod lock;
mod name;
mod queue;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use env::{TimedWait, WaitCause, WaitObject};
use parking_lot::Mutex;

use crate::gate::{Gate, GateState};
use lock::{DrainWaiter, Manner, Waiter};
use queue::LockTable;

pub use name::{LockDeadlock, LockMode, LockName, LockOwner};

/// A lock as observers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLock {
    pub name: LockName,
    pub owner: LockOwner,
    pub mode: LockMode,
    /// False while its owner waits for it.
    pub granted: bool,
}

#[derive(Default)]
pub struct MetadataLocks {
    /// A leaf lock; never held across a wait.
    table: Mutex<LockTable>,
    changes: GateState,
    commits: GateState,
    definitions: GateState,
}

/// A granted lock; dropping it releases it.
pub struct LockGuard {
    locks: Arc<MetadataLocks>,
    name: LockName,
    /// In `LockTable::locks`.
    place: usize,
    owner: LockOwner,
    mode: LockMode,
}

impl LockGuard {
    pub fn name(&self) -> &LockName {
        &self.name
    }

    pub fn mode(&self) -> LockMode {
        self.mode
    }

    /// Goes on for another owner, who waits for nothing. Who waits for the lock does not notice.
    pub fn pass_to(&mut self, owner: LockOwner) {
        self.locks.table.lock().pass(&self.name, self.place, self.mode, self.owner, owner);
        self.owner = owner;
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.locks.table.lock().release(&self.name, self.place, self.owner, self.mode);
    }
}

impl MetadataLocks {
    /// Asks for a lock. The future may be dropped (time limit, KILL): the request is then forgotten.
    pub fn acquire(self: &Arc<Self>, owner: LockOwner, name: LockName, mode: LockMode) -> Acquire {
        self.ask(owner, name, mode, Manner::Firm)
    }

    /// The same, letting those pass who have the lock: they are waited for anyway.
    pub fn acquire_politely(self: &Arc<Self>, owner: LockOwner, name: LockName, mode: LockMode) -> Acquire {
        self.ask(owner, name, mode, Manner::Polite)
    }

    /// The same, letting everybody pass.
    pub fn acquire_aside(self: &Arc<Self>, owner: LockOwner, name: LockName, mode: LockMode) -> Acquire {
        self.ask(owner, name, mode, Manner::Aside)
    }

    /// Waits until those have ended who have the lock now in a mode that conflicts with `mode`. Everybody else comes and goes, and
    /// nothing is taken.
    pub fn drain(self: &Arc<Self>, owner: LockOwner, name: LockName, mode: LockMode) -> Drain {
        let newest = self.table.lock().newest(&name);
        Drain { locks: self.clone(), owner, name, mode, newest, wait: None }
    }

    /// Whether somebody has had one of these for longer than `age` whom a request would wait for.
    pub fn have_old_holder(
        &self,
        owner: LockOwner,
        names: &[(LockName, LockMode)],
        age: std::time::Duration,
    ) -> bool {
        let table = self.table.lock();
        names.iter().any(|(name, mode)| table.has_old_holder(owner, name, *mode, age))
    }

    fn ask(self: &Arc<Self>, owner: LockOwner, name: LockName, mode: LockMode, manner: Manner) -> Acquire {
        Acquire { locks: self.clone(), owner, name, mode, manner, ticket: None, wait: None }
    }

    /// The lock if it is free now, without a request that could wait.
    pub fn try_acquire(
        self: &Arc<Self>,
        owner: LockOwner,
        name: &LockName,
        mode: LockMode,
    ) -> Option<LockGuard> {
        let place = self.table.lock().try_grant(owner, name, mode)?;
        Some(LockGuard { locks: self.clone(), name: name.clone(), place, owner, mode })
    }

    /// Every lock that is held or waited for.
    pub fn list(&self) -> Vec<ListedLock> {
        let table = self.table.lock();
        let mut listed = Vec::new();
        for (name, place) in &table.places {
            let lock = &table.locks[*place];
            let entry = |owner, mode, granted| ListedLock { name: name.clone(), owner, mode, granted };
            listed.extend(lock.holders.iter().map(|holder| entry(holder.owner, holder.mode, true)));
            listed.extend(lock.queue.iter().map(|waiter| entry(waiter.owner, waiter.mode, false)));
        }
        listed
    }

    pub(crate) fn gate(&self, gate: Gate) -> &GateState {
        match gate {
            Gate::Changes => &self.changes,
            Gate::Commits => &self.commits,
            Gate::Definitions => &self.definitions,
        }
    }

    /// For a wait that is not in a queue.
    pub(crate) fn show_wait(&self, owner: LockOwner, awaited: Option<LockName>) {
        let waiting = &mut self.table.lock().waiting;
        let begins = awaited.is_some();
        let before = match awaited {
            Some(name) => waiting.insert(owner, name),
            None => waiting.remove(&owner),
        };
        debug_assert!(before.is_none() == begins, "an owner waits for at most one lock, and ends that once");
    }

    /// What an owner waits for, if it does.
    pub fn awaited(&self, owner: LockOwner) -> Option<LockName> {
        self.table.lock().waiting.get(&owner).cloned()
    }
}

pub struct Acquire {
    locks: Arc<MetadataLocks>,
    owner: LockOwner,
    name: LockName,
    mode: LockMode,
    manner: Manner,
    /// Set while the request is in the queue.
    ticket: Option<u64>,
    /// The same for those who ask what statements wait for.
    wait: Option<TimedWait>,
}

impl Future for Acquire {
    type Output = Result<LockGuard, LockDeadlock>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        debug_assert!(this.ticket.is_some() == this.wait.is_some(), "who is in the queue is seen to wait");
        let mut table = this.locks.table.lock();
        let granted = match this.ticket {
            None => table.try_grant(this.owner, &this.name, this.mode),
            Some(ticket) => match table.poll_ticket(&this.name, ticket, context.waker()) {
                // Dropping the request takes it out of the queue.
                Err(LockDeadlock) => return Poll::Ready(Err(LockDeadlock)),
                Ok(granted) => granted,
            },
        };
        if let Some(place) = granted {
            this.ticket = None;
            this.wait = None;
            let (name, owner, mode) = (this.name.clone(), this.owner, this.mode);
            return Poll::Ready(Ok(LockGuard { locks: this.locks.clone(), name, place, owner, mode }));
        }
        if this.ticket.is_none() {
            if table.would_deadlock(this.owner, &this.name, this.mode)
                && !(this.manner != Manner::Firm && table.refuse_others(this.owner, &this.name))
            {
                return Poll::Ready(Err(LockDeadlock));
            }
            let waker = Some(context.waker().clone());
            let (owner, mode, manner) = (this.owner, this.mode, this.manner);
            this.ticket = Some(
                table
                    .enqueue(&this.name, Waiter { ticket: 0, owner, mode, manner, is_refused: false, waker }),
            );
            this.wait = Some(TimedWait::begin(WaitCause::MetadataLock, || wait_object(&this.name)));
        }
        Poll::Pending
    }
}

/// See `MetadataLocks::drain`. May be polled again after it was left waiting.
pub struct Drain {
    locks: Arc<MetadataLocks>,
    owner: LockOwner,
    name: LockName,
    mode: LockMode,
    newest: u64,
    wait: Option<TimedWait>,
}

impl Future for Drain {
    type Output = Result<(), LockDeadlock>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let waker = Some(context.waker().clone());
        let waiter = DrainWaiter { owner: this.owner, mode: this.mode, newest: this.newest, waker };
        match this.locks.table.lock().poll_drain(&this.name, waiter) {
            Ok(false) => {
                let begin = || TimedWait::begin(WaitCause::MetadataLock, || wait_object(&this.name));
                this.wait.get_or_insert_with(begin);
                Poll::Pending
            }
            ended => {
                this.wait = None;
                Poll::Ready(ended.map(drop))
            }
        }
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.locks.table.lock().forget_drain(&self.name, self.owner);
    }
}

/// What observers call it.
fn wait_object(name: &LockName) -> Option<WaitObject> {
    let named = |schema: &str, name: &str| Some(WaitObject::Named(schema.into(), name.into()));
    match name {
        LockName::Table(schema, table) => named(schema, table),
        LockName::Program(_, schema, name) => named(schema, name),
        LockName::Database(schema) => named(schema, ""),
        LockName::Gate(_) | LockName::Accounts => None,
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.locks.table.lock().forget(&self.name, ticket, self.owner, self.mode);
        }
    }
}

#[cfg(test)]
mod tests;
