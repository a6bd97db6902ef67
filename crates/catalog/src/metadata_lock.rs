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
//!
//! Deadlocks: an owner waits for at most one lock. Before it waits, the graph "waits for the holders and the
//! waiters in front" is searched; if it leads back to the owner, the request fails with `Deadlock` (MySQL chooses
//! the statement before the DDL as its victim, and so does this: DDL asks in name order while holding nothing).
//! All state is under one mutex: the hot path is one lookup and a counter, and searches see one moment. A lock keeps its place
//! while somebody needs it, so a guard goes there without a lookup. One that nobody needs any more stays for the next
//! statement on the same table, unless there are many such.
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use foldhash::HashMap;
use parking_lot::Mutex;
use schema::ProgramKind;

use crate::global_lock::{Gate, GateState};

/// What is locked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockName {
    /// Shared by everything that happens inside the database, exclusive for its own creation, change and drop.
    Database(Arc<str>),
    Table(Arc<str>, Arc<str>),
    /// Part of the lock of all tables: see `global_lock`.
    Gate(Gate),
    /// All accounts: whoever changes some has them alone until the change is durable or taken back.
    Accounts,
    /// A stored program: kind, database, name as it is looked up.
    Program(ProgramKind, Arc<str>, Arc<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// Reads the table's rows or only its definition.
    Shared,
    /// Is about to change the definition: others read and write, but nobody else changes it. The owner passes everybody who waits
    /// when he asks for more.
    Upgradable,
    /// Changes the table's rows.
    SharedWrite,
    /// Reads rows that nobody may change: LOCK TABLES .. READ.
    NoWrite,
    /// Changes the definition, or LOCK TABLES .. WRITE.
    Exclusive,
}

/// Who locks: one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockOwner(pub u64);

/// Waiting would never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockDeadlock;

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

/// So many locks may wait for their next use.
const IDLE_LOCKS_MAX: usize = 1024;

#[derive(Default)]
struct LockTable {
    places: HashMap<LockName, usize>,
    /// By place.
    locks: Vec<Lock>,
    /// Places without a lock.
    free: Vec<usize>,
    /// How many locks nobody holds or waits for.
    idle: usize,
    /// The lock that an owner waits for.
    waiting: HashMap<LockOwner, LockName>,
    next_ticket: u64,
}

#[derive(Default)]
struct Lock {
    holders: Vec<Holder>,
    queue: VecDeque<Waiter>,
}

struct Holder {
    owner: LockOwner,
    mode: LockMode,
    /// How many guards hold it.
    count: u32,
}

/// Whom a request lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Nobody who comes later.
    Firm,
    /// Those who hold the lock.
    Polite,
    /// Everybody.
    Aside,
}

struct Waiter {
    ticket: u64,
    owner: LockOwner,
    mode: LockMode,
    manner: Manner,
    /// It would wait for ever: somebody who has the lock and waits for a definition that waits for him.
    is_refused: bool,
    waker: Option<Waker>,
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

    fn ask(self: &Arc<Self>, owner: LockOwner, name: LockName, mode: LockMode, manner: Manner) -> Acquire {
        Acquire { locks: self.clone(), owner, name, mode, manner, ticket: None }
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
        match awaited {
            Some(name) => waiting.insert(owner, name),
            None => waiting.remove(&owner),
        };
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
}

impl Future for Acquire {
    type Output = Result<LockGuard, LockDeadlock>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
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
        }
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.locks.table.lock().forget(&self.name, ticket, self.owner, self.mode);
        }
    }
}

fn conflict(left: LockMode, right: LockMode) -> bool {
    use LockMode::{Exclusive, NoWrite, SharedWrite, Upgradable};
    matches!(
        (left, right),
        (Exclusive, _)
            | (_, Exclusive)
            | (NoWrite, SharedWrite)
            | (SharedWrite, NoWrite)
            | (Upgradable, Upgradable)
    )
}

impl LockTable {
    /// The place of the lock, if it is granted.
    fn try_grant(&mut self, owner: LockOwner, name: &LockName, mode: LockMode) -> Option<usize> {
        let Some(&place) = self.places.get(name) else {
            let place = self.add(name);
            self.locks[place].hold(owner, mode);
            return Some(place);
        };
        let lock = &mut self.locks[place];
        if lock.is_idle() {
            self.idle -= 1;
        }
        let is_behind = lock.queue.iter().any(|waiter| lock.goes_before(waiter, owner, mode));
        if is_behind || lock.held_against(owner, mode) {
            return None;
        }
        lock.hold(owner, mode);
        Some(place)
    }

    fn add(&mut self, name: &LockName) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.locks.push(Lock::default());
            self.locks.len() - 1
        });
        self.places.insert(name.clone(), place);
        place
    }

    fn lock(&self, name: &LockName) -> Option<&Lock> {
        self.places.get(name).map(|place| &self.locks[*place])
    }

    fn enqueue(&mut self, name: &LockName, waiter: Waiter) -> u64 {
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        self.waiting.insert(waiter.owner, name.clone());
        let place = *self.places.get(name).expect("a lock that was refused exists");
        let lock = &mut self.locks[place];
        let waiter = Waiter { ticket, ..waiter };
        match lock.is_upgrading(waiter.owner) {
            true => lock.queue.push_front(waiter),
            false => lock.queue.push_back(waiter),
        }
        ticket
    }

    /// The place of the lock when the ticket has left the queue: `grant_waiting` made its owner a holder.
    fn poll_ticket(
        &mut self,
        name: &LockName,
        ticket: u64,
        waker: &Waker,
    ) -> Result<Option<usize>, LockDeadlock> {
        let place = *self.places.get(name).expect("a queued or granted lock exists");
        match self.locks[place].queue.iter_mut().find(|waiter| waiter.ticket == ticket) {
            Some(waiter) if waiter.is_refused => Err(LockDeadlock),
            Some(waiter) => {
                waiter.waker = Some(waker.clone());
                Ok(None)
            }
            None => Ok(Some(place)),
        }
    }

    /// As in MySQL it is the statement that gives way to the definition: those who have the lock and wait for more of it get the
    /// error. False when there are none.
    fn refuse_others(&mut self, owner: LockOwner, name: &LockName) -> bool {
        let Some(place) = self.places.get(name) else { return false };
        let Lock { holders, queue } = &mut self.locks[*place];
        let mut refused = false;
        for waiter in queue.iter_mut().filter(|waiter| waiter.owner != owner) {
            if holders.iter().any(|holder| holder.owner == waiter.owner) {
                waiter.is_refused = true;
                refused = true;
                if let Some(waker) = waiter.waker.take() {
                    waker.wake();
                }
            }
        }
        refused
    }

    /// A request that is given up: still queued, or granted in the meantime.
    fn forget(&mut self, name: &LockName, ticket: u64, owner: LockOwner, mode: LockMode) {
        let place = *self.places.get(name).expect("a queued or granted lock exists");
        match self.locks[place].queue.iter().position(|waiter| waiter.ticket == ticket) {
            Some(position) => {
                self.waiting.remove(&owner);
                self.leave(name, place, |lock| drop(lock.queue.remove(position)));
            }
            None => self.release(name, place, owner, mode),
        }
    }

    fn release(&mut self, name: &LockName, place: usize, owner: LockOwner, mode: LockMode) {
        self.leave(name, place, |lock| {
            let position =
                lock.holders.iter().position(|holder| holder.owner == owner && holder.mode == mode);
            let position = position.expect("a guard's owner holds the lock");
            lock.holders[position].count -= 1;
            if lock.holders[position].count == 0 {
                lock.holders.swap_remove(position);
            }
        });
    }

    /// Takes somebody from a lock or its queue, as `leave` does, and lets the next ones in.
    fn leave(&mut self, name: &LockName, place: usize, leave: impl FnOnce(&mut Lock)) {
        let lock = &mut self.locks[place];
        leave(lock);
        lock.grant_waiting(&mut self.waiting);
        if !lock.is_idle() {
            return;
        }
        if self.idle < IDLE_LOCKS_MAX {
            self.idle += 1;
        } else {
            self.places.remove(name);
            self.free.push(place);
        }
    }

    fn pass(&mut self, name: &LockName, place: usize, mode: LockMode, from: LockOwner, to: LockOwner) {
        self.locks[place].hold(to, mode);
        self.release(name, place, from, mode);
    }

    fn would_deadlock(&self, owner: LockOwner, name: &LockName, mode: LockMode) -> bool {
        let mut to_visit = self.blockers(owner, name, mode, None);
        let mut visited = Vec::new();
        while let Some(blocker) = to_visit.pop() {
            if blocker == owner {
                return true;
            }
            if visited.contains(&blocker) {
                continue;
            }
            visited.push(blocker);
            if let Some(awaited) = self.waiting.get(&blocker)
                && let Some(lock) = self.lock(awaited)
                && let Some(waiter) = lock.queue.iter().find(|waiter| waiter.owner == blocker)
            {
                to_visit.extend(self.blockers(blocker, awaited, waiter.mode, Some(waiter.ticket)));
            }
        }
        false
    }

    /// Who must go before this request can be granted.
    fn blockers(
        &self,
        owner: LockOwner,
        name: &LockName,
        mode: LockMode,
        before: Option<u64>,
    ) -> Vec<LockOwner> {
        let Some(lock) = self.lock(name) else { return Vec::new() };
        let holders = lock
            .holders
            .iter()
            .filter(|holder| holder.owner != owner && conflict(holder.mode, mode))
            .map(|holder| holder.owner);
        let in_front = lock
            .queue
            .iter()
            .take_while(|waiter| before.is_none_or(|ticket| waiter.ticket != ticket))
            .filter(|waiter| waiter.owner != owner && lock.goes_before(waiter, owner, mode))
            .map(|waiter| waiter.owner);
        holders.chain(in_front).collect()
    }
}

impl Lock {
    /// Nobody needs it.
    fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    fn is_upgrading(&self, owner: LockOwner) -> bool {
        self.holders.iter().any(|holder| holder.owner == owner && holder.mode == LockMode::Upgradable)
    }

    /// Whether somebody in the queue stands in front of a new request.
    fn goes_before(&self, waiter: &Waiter, owner: LockOwner, mode: LockMode) -> bool {
        let passes = |holder: &Holder| {
            holder.owner == owner
                && (waiter.manner == Manner::Polite
                    || holder.mode >= mode
                    || holder.mode == LockMode::Upgradable)
        };
        waiter.manner != Manner::Aside && conflict(waiter.mode, mode) && !self.holders.iter().any(passes)
    }

    /// Grants to everybody whom no holder and nobody in front stops, as `try_grant` would.
    fn grant_waiting(&mut self, waiting: &mut HashMap<LockOwner, LockName>) {
        let mut position = 0;
        // Each mode once.
        let mut modes_in_front: Vec<LockMode> = Vec::new();
        while let Some(&Waiter { owner, mode, manner, .. }) = self.queue.get(position) {
            let is_behind = modes_in_front.iter().any(|in_front| conflict(*in_front, mode));
            if is_behind || self.held_against(owner, mode) {
                if manner == Manner::Aside {
                    position += 1;
                    continue;
                }
                if mode == LockMode::Exclusive {
                    // Nobody behind it goes on.
                    return;
                }
                if !modes_in_front.contains(&mode) {
                    modes_in_front.push(mode);
                }
                position += 1;
                continue;
            }
            let waiter = self.queue.remove(position).expect("it was just seen");
            self.hold(waiter.owner, waiter.mode);
            waiting.remove(&waiter.owner);
            if let Some(waker) = waiter.waker {
                waker.wake();
            }
        }
    }

    fn held_against(&self, owner: LockOwner, mode: LockMode) -> bool {
        self.holders.iter().any(|holder| holder.owner != owner && conflict(holder.mode, mode))
    }

    fn hold(&mut self, owner: LockOwner, mode: LockMode) {
        match self.holders.iter_mut().find(|holder| holder.owner == owner && holder.mode == mode) {
            Some(holder) => holder.count += 1,
            None => self.holders.push(Holder { owner, mode, count: 1 }),
        }
    }
}

#[cfg(test)]
mod tests;
