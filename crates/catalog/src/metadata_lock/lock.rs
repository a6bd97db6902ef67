//! One metadata lock: who holds it, who waits for it, and who of them goes before whom.
//!
//! Invariant: no two owners hold it in modes that conflict. Called by `queue`.

use super::name::{LockMode, LockName, LockOwner};
use foldhash::HashMap;
use std::collections::VecDeque;
use std::task::Waker;
use std::time::Instant;

#[derive(Default)]
pub(super) struct Lock {
    pub(super) holders: Vec<Holder>,
    pub(super) queue: VecDeque<Waiter>,
    /// Those who wait for others to end, and are in nobody's way.
    pub(super) drains: Vec<DrainWaiter>,
    /// How many holders there have been.
    pub(super) granted: u64,
}

/// Waits for holders that are there already.
pub(super) struct DrainWaiter {
    pub(super) owner: LockOwner,
    pub(super) mode: LockMode,
    /// The last of them.
    pub(super) newest: u64,
    pub(super) waker: Option<Waker>,
}

pub(super) struct Holder {
    pub(super) owner: LockOwner,
    pub(super) mode: LockMode,
    /// How many guards hold it.
    pub(super) count: u32,
    /// Which of the lock's holders it is, and since when.
    number: u64,
    pub(super) since: Instant,
}

/// Whom a request lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Nobody who comes later.
    Firm,
    /// Those who hold the lock.
    Polite,
    /// Everybody.
    Aside,
}

pub(super) struct Waiter {
    pub(super) ticket: u64,
    pub(super) owner: LockOwner,
    pub(super) mode: LockMode,
    pub(super) manner: Manner,
    /// It would wait for ever: somebody who has the lock and waits for a definition that waits for him.
    pub(super) is_refused: bool,
    pub(super) waker: Option<Waker>,
}

pub(super) fn conflict(left: LockMode, right: LockMode) -> bool {
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

impl Lock {
    /// What holds between two calls: as far as it can be seen at a glance.
    pub(super) fn check(&self) {
        let alone = self.holders.iter().find(|holder| holder.mode == LockMode::Exclusive);
        debug_assert!(
            alone.is_none_or(|alone| self.holders.iter().all(|holder| holder.owner == alone.owner)),
            "who changes the definition has it alone"
        );
        debug_assert!(self.holders.iter().all(|holder| holder.count > 0), "a holder has a guard");
    }
    /// Nothing is left of it: its place may be another lock's.
    pub(super) fn is_empty(&self) -> bool {
        self.is_idle() && self.drains.is_empty()
    }
    /// Nobody needs it.
    pub(super) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    /// Those of the holders up to `newest` that are in the way of this mode.
    pub(super) fn drained(&self, owner: LockOwner, mode: LockMode, newest: u64) -> Vec<LockOwner> {
        let others = self.holders.iter().filter(|holder| holder.owner != owner && holder.number <= newest);
        others.filter(|holder| conflict(holder.mode, mode)).map(|holder| holder.owner).collect()
    }

    pub(super) fn is_upgrading(&self, owner: LockOwner) -> bool {
        self.holders.iter().any(|holder| holder.owner == owner && holder.mode == LockMode::Upgradable)
    }

    /// Whether somebody in the queue stands in front of a new request.
    pub(super) fn goes_before(&self, waiter: &Waiter, owner: LockOwner, mode: LockMode) -> bool {
        let passes = |holder: &Holder| {
            holder.owner == owner
                && (waiter.manner == Manner::Polite
                    || holder.mode >= mode
                    || holder.mode == LockMode::Upgradable)
        };
        waiter.manner != Manner::Aside && conflict(waiter.mode, mode) && !self.holders.iter().any(passes)
    }

    /// Grants to everybody whom no holder and nobody in front stops, as `try_grant` would.
    pub(super) fn grant_waiting(&mut self, waiting: &mut HashMap<LockOwner, LockName>) {
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
            let awaited = waiting.remove(&waiter.owner);
            debug_assert!(awaited.is_some(), "who is in a queue is known to wait");
            if let Some(waker) = waiter.waker {
                waker.wake();
            }
        }
    }

    pub(super) fn held_against(&self, owner: LockOwner, mode: LockMode) -> bool {
        self.holders.iter().any(|holder| holder.owner != owner && conflict(holder.mode, mode))
    }

    pub(super) fn hold(&mut self, owner: LockOwner, mode: LockMode) {
        match self.holders.iter_mut().find(|holder| holder.owner == owner && holder.mode == mode) {
            Some(holder) => holder.count += 1,
            None => {
                self.granted += 1;
                let (number, since) = (self.granted, Instant::now());
                self.holders.push(Holder { owner, mode, count: 1, number, since });
            }
        }
    }
}
