//! Commits that wait for others than this server's disk: with semi-synchronous replication, until replicas have them.
//!
//! Invariant: a commit is held from the moment that it is in the log, under the commit mutex, and commits are released in the order
//! of the log; so no snapshot sees one that is hidden before it is released. While nothing is held, who commits and who takes a
//! snapshot read one number. Callers: `events` holds, `commit` and `visible_lsn` ask, crate `source` releases.

use crate::engine::Engine;
use env::sync::WaitQueue;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a held commit waits with; the values of `rpl_semi_sync_source_wait_point`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldPoint {
    /// AFTER_SYNC: nobody sees it before it is released.
    BeforeSeen,
    /// AFTER_COMMIT: others see it, and its own session is answered when it is released.
    BeforeAnswer,
}

/// See the head of this file.
pub(crate) struct HeldCommits {
    held: Mutex<Held>,
    /// No commit at or before it is held.
    free_to: AtomicU64,
    /// Held commits are hidden from snapshots, too.
    hides: AtomicBool,
    released: WaitQueue,
}

#[derive(Default)]
struct Held {
    holds_new: bool,
    /// Rising.
    lsns: VecDeque<u64>,
}

impl HeldCommits {
    pub fn new() -> HeldCommits {
        HeldCommits {
            held: Mutex::default(),
            free_to: AtomicU64::new(u64::MAX),
            hides: AtomicBool::new(false),
            released: WaitQueue::new(),
        }
    }

    /// A commit with events is in the log; called under the commit mutex, before it can be seen.
    pub fn arrived(&self, lsn: u64) {
        let mut held = self.held.lock();
        if held.holds_new {
            debug_assert!(
                held.lsns.back().is_none_or(|last| *last < lsn),
                "commits arrive in the order of the log"
            );
            debug_assert!(lsn > 0, "a commit ends somewhere in the log");
            held.lsns.push_back(lsn);
            if held.lsns.len() == 1 {
                self.free_to.store(lsn - 1, Ordering::Release);
            }
        }
    }

    /// What snapshots may see. Asked after the newest commit was read, so that one which is held is not missed.
    pub fn visible_to(&self) -> u64 {
        if self.hides.load(Ordering::Acquire) { self.free_to.load(Ordering::Acquire) } else { u64::MAX }
    }

    /// Whether what was committed up to there need not be waited for.
    pub fn lets_pass(&self, lsn: u64) -> bool {
        self.free_to.load(Ordering::Acquire) >= lsn
    }

    /// Waits until no commit up to there is held.
    pub async fn passed(&self, lsn: u64) {
        while !self.lets_pass(lsn) {
            let released = self.released.register();
            if self.lets_pass(lsn) {
                return;
            }
            released.await;
        }
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        let mut held = self.held.lock();
        change(&mut held);
        debug_assert!(held.lsns.iter().is_sorted(), "they rise");
        debug_assert!(held.lsns.is_empty() || held.holds_new, "what is held was to be held");
        self.free_to.store(held.lsns.front().map_or(u64::MAX, |first| first - 1), Ordering::Release);
        drop(held);
        self.released.wake_all();
    }

    /// Holds nothing any more.
    pub fn release_all(&self) {
        self.change(|held| *held = Held::default());
    }
}

impl Engine {
    /// Commits with events are held from now on.
    pub fn hold_commits(&self, point: HoldPoint) {
        let hides = point == HoldPoint::BeforeSeen;
        let _commits_wait = self.versions.history.lock();
        if self.held_commits.hides.load(Ordering::Acquire) != hides {
            // What somebody has seen cannot be hidden any more.
            self.held_commits.release_all();
            self.held_commits.hides.store(hides, Ordering::Release);
        }
        self.held_commits.held.lock().holds_new = true;
    }

    /// Lets all commits up to this LSN pass.
    pub fn release_commits(&self, lsn: u64) {
        self.held_commits.change(|held| {
            let count = held.lsns.partition_point(|one| *one <= lsn);
            held.lsns.drain(..count);
        });
    }

    /// Lets all commits pass, also those to come.
    pub fn stop_holding_commits(&self) {
        self.held_commits.release_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_pass_in_the_order_of_the_log() {
        let commits = HeldCommits::new();
        commits.arrived(10);
        assert!(commits.lets_pass(10), "nothing is held yet");
        commits.hides.store(true, Ordering::Relaxed);
        commits.held.lock().holds_new = true;
        commits.arrived(20);
        commits.arrived(30);
        assert!(commits.lets_pass(19) && !commits.lets_pass(20) && commits.visible_to() == 19);
        commits.change(|held| {
            held.lsns.pop_front();
        });
        assert!(commits.lets_pass(20) && !commits.lets_pass(30) && commits.visible_to() == 29);
        commits.release_all();
        commits.arrived(40);
        assert!(commits.lets_pass(40) && commits.visible_to() == u64::MAX);
    }
}
