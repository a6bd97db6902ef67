//! The queues of metadata locks: who holds each, who waits for it, in which order they are let in, and who would wait for ever.
//!
//! Invariant: a lock keeps its place while somebody needs it. Called by `metadata_lock`, under its mutex.
use std::task::Waker;
use std::time::Duration;

use foldhash::{HashMap, HashSet};

use super::lock::{DrainWaiter, Lock, Waiter, conflict};
use super::name::{LockDeadlock, LockMode, LockName, LockOwner};

/// So many locks may wait for their next use.
pub(super) const IDLE_LOCKS_MAX: usize = 1024;

#[derive(Default)]
pub(super) struct LockTable {
    pub(super) places: HashMap<LockName, usize>,
    /// By place.
    pub(super) locks: Vec<Lock>,
    /// Places without a lock.
    free: Vec<usize>,
    /// How many locks nobody holds or waits for.
    pub(super) idle: usize,
    /// The lock that an owner waits for.
    pub(super) waiting: HashMap<LockOwner, LockName>,
    next_ticket: u64,
}

impl LockTable {
    /// The place of the lock, if it is granted.
    pub(super) fn try_grant(&mut self, owner: LockOwner, name: &LockName, mode: LockMode) -> Option<usize> {
        let Some(&place) = self.places.get(name) else {
            let place = self.add(name);
            self.locks[place].hold(owner, mode);
            return Some(place);
        };
        let lock = &mut self.locks[place];
        if lock.is_idle() {
            debug_assert!(self.idle > 0, "locks that nobody needs are counted");
            self.idle -= 1;
        }
        let is_behind = lock.queue.iter().any(|waiter| lock.goes_before(waiter, owner, mode));
        if is_behind || lock.held_against(owner, mode) {
            return None;
        }
        lock.hold(owner, mode);
        lock.check();
        Some(place)
    }

    fn add(&mut self, name: &LockName) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.locks.push(Lock::default());
            self.locks.len() - 1
        });
        debug_assert!(self.locks[place].is_empty(), "a free place has no lock");
        let before = self.places.insert(name.clone(), place);
        debug_assert!(before.is_none(), "a lock has one place");
        place
    }

    fn lock(&self, name: &LockName) -> Option<&Lock> {
        self.places.get(name).map(|place| &self.locks[*place])
    }

    pub(super) fn enqueue(&mut self, name: &LockName, waiter: Waiter) -> u64 {
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        let before = self.waiting.insert(waiter.owner, name.clone());
        debug_assert!(before.is_none(), "an owner waits for at most one lock");
        let place = *self.places.get(name).expect("a lock that was refused exists");
        let waiter = Waiter { ticket, ..waiter };
        let position = self.position_for(name, &self.locks[place], waiter.owner, waiter.mode);
        debug_assert!(position <= self.locks[place].queue.len(), "it is a place in the queue");
        self.locks[place].queue.insert(position, waiter);
        ticket
    }

    /// Who changes the definition goes before the statements that wait already, as in MySQL: programs that exchange tables behind
    /// LOCK TABLES .. WRITE rely on it that RENAME TABLE comes first at UNLOCK TABLES. Behind them only where one of them would then
    /// wait for itself.
    fn position_for(&self, name: &LockName, lock: &Lock, owner: LockOwner, mode: LockMode) -> usize {
        if lock.is_upgrading(owner) {
            return 0;
        }
        let end = lock.queue.len();
        let is_statement = |waiter: &Waiter| waiter.mode != LockMode::Exclusive;
        let Some(first) = lock.queue.iter().position(is_statement).filter(|_| mode == LockMode::Exclusive)
        else {
            return end;
        };
        let awaited = self.awaited(self.blockers(owner, name, mode, Some(lock.queue[first].ticket)));
        match lock.queue.range(first..).any(|passed| awaited.contains(&passed.owner)) {
            true => end,
            false => first,
        }
    }

    /// The place of the lock when the ticket has left the queue: `grant_waiting` made its owner a holder.
    pub(super) fn poll_ticket(
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
    pub(super) fn refuse_others(&mut self, owner: LockOwner, name: &LockName) -> bool {
        let Some(place) = self.places.get(name) else { return false };
        let Lock { holders, queue, .. } = &mut self.locks[*place];
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
    pub(super) fn forget(&mut self, name: &LockName, ticket: u64, owner: LockOwner, mode: LockMode) {
        let place = *self.places.get(name).expect("a queued or granted lock exists");
        match self.locks[place].queue.iter().position(|waiter| waiter.ticket == ticket) {
            Some(position) => {
                self.waiting.remove(&owner);
                self.leave(name, place, |lock| drop(lock.queue.remove(position)));
            }
            None => self.release(name, place, owner, mode),
        }
    }

    pub(super) fn release(&mut self, name: &LockName, place: usize, owner: LockOwner, mode: LockMode) {
        self.leave(name, place, |lock| {
            let position =
                lock.holders.iter().position(|holder| holder.owner == owner && holder.mode == mode);
            let position = position.expect("a guard's owner holds the lock");
            debug_assert!(lock.holders[position].count > 0, "a guard is counted until it is dropped");
            lock.holders[position].count -= 1;
            if lock.holders[position].count == 0 {
                lock.holders.swap_remove(position);
            }
        });
    }

    /// Takes somebody from a lock or its queue, as `leave` does, and lets the next ones in.
    fn leave(&mut self, name: &LockName, place: usize, leave: impl FnOnce(&mut Lock)) {
        debug_assert_eq!(self.places.get(name), Some(&place), "a lock keeps its place while it is needed");
        let lock = &mut self.locks[place];
        leave(lock);
        lock.grant_waiting(&mut self.waiting);
        lock.check();
        lock.drains.iter_mut().filter_map(|drain| drain.waker.take()).for_each(Waker::wake);
        if !lock.is_idle() {
            return;
        }
        if self.idle < IDLE_LOCKS_MAX {
            self.idle += 1;
            debug_assert!(self.idle <= self.places.len(), "they are among the locks");
        } else {
            // They have been told; the next lock in this place is not theirs.
            lock.drains.clear();
            self.places.remove(name);
            self.free.push(place);
        }
    }

    pub(super) fn pass(
        &mut self,
        name: &LockName,
        place: usize,
        mode: LockMode,
        from: LockOwner,
        to: LockOwner,
    ) {
        debug_assert!(!self.waiting.contains_key(&to), "the new owner waits for nothing");
        self.locks[place].hold(to, mode);
        self.release(name, place, from, mode);
    }

    pub(super) fn would_deadlock(&self, owner: LockOwner, name: &LockName, mode: LockMode) -> bool {
        self.awaited(self.blockers(owner, name, mode, None)).contains(&owner)
    }

    /// These and all that they wait for.
    fn awaited(&self, mut to_visit: Vec<LockOwner>) -> HashSet<LockOwner> {
        let mut visited = HashSet::default();
        while let Some(blocker) = to_visit.pop() {
            if !visited.insert(blocker) {
                continue;
            }
            let Some(awaited) = self.waiting.get(&blocker) else { continue };
            let Some(lock) = self.lock(awaited) else { continue };
            if let Some(waiter) = lock.queue.iter().find(|waiter| waiter.owner == blocker) {
                to_visit.extend(self.blockers(blocker, awaited, waiter.mode, Some(waiter.ticket)));
            } else if let Some(drain) = lock.drains.iter().find(|drain| drain.owner == blocker) {
                to_visit.extend(lock.drained(drain.owner, drain.mode, drain.newest));
            }
        }
        visited
    }

    /// The number of the newest holder; 0 if nobody has it.
    pub(super) fn newest(&self, name: &LockName) -> u64 {
        self.lock(name).map_or(0, |lock| lock.granted)
    }

    /// Whether those who are waited for have ended; if not, the waiter is told when it may be so.
    pub(super) fn poll_drain(&mut self, name: &LockName, waiter: DrainWaiter) -> Result<bool, LockDeadlock> {
        let owner = waiter.owner;
        let Some(&place) = self.places.get(name) else {
            self.waiting.remove(&owner);
            return Ok(true);
        };
        let left = self.locks[place].drained(owner, waiter.mode, waiter.newest);
        self.locks[place].drains.retain(|drain| drain.owner != owner);
        if left.is_empty() {
            self.waiting.remove(&owner);
            return Ok(true);
        }
        let is_first = self.waiting.insert(owner, name.clone()).is_none();
        self.locks[place].drains.push(waiter);
        if is_first && self.awaited(left).contains(&owner) && !self.refuse_others(owner, name) {
            return Err(LockDeadlock);
        }
        Ok(false)
    }

    pub(super) fn forget_drain(&mut self, name: &LockName, owner: LockOwner) {
        let Some(&place) = self.places.get(name) else { return };
        let drains = &mut self.locks[place].drains;
        let before = drains.len();
        drains.retain(|drain| drain.owner != owner);
        if drains.len() < before {
            self.waiting.remove(&owner);
        }
    }

    /// Whether one of those that a request would wait for has had the lock for so long that it is not to be expected to end soon.
    /// A request that would wait for ever is to be told so at once.
    pub(super) fn has_old_holder(
        &self,
        owner: LockOwner,
        name: &LockName,
        mode: LockMode,
        age: Duration,
    ) -> bool {
        let Some(lock) = self.lock(name) else { return false };
        let mut others =
            lock.holders.iter().filter(|holder| holder.owner != owner && conflict(holder.mode, mode));
        others.any(|holder| holder.since.elapsed() > age) && !self.would_deadlock(owner, name, mode)
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
