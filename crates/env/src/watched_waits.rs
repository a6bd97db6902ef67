//! Each wait of the running task by itself, for those who want to see more than sums.
//!
//! Who polls a task that is watched puts a list on the thread before, and takes it back behind; what begins or ends a wait in
//! that poll writes to it. A task that is not watched pays one look at an empty place of its thread for each wait. Filled
//! where waits begin and end, read by `session_state` behind each poll of a statement.
use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::task_waits::{WaitCause, note_wait};

/// More waits than these in one poll are not told apart; the oldest are.
const ENDED_MAX: usize = 256;

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitObject {
    /// By its number.
    Tree(u64),
    /// Schema, or nothing, and name.
    Named(Box<str>, Box<str>),
}

/// One wait that has ended.
#[derive(Clone, Debug)]
pub struct SingleWait {
    pub cause: WaitCause,
    pub began: Instant,
    pub ended: Instant,
    pub object: Option<WaitObject>,
}

/// One that goes on.
#[derive(Clone, Debug)]
pub struct RunningWait {
    pub cause: WaitCause,
    pub began: Instant,
    pub object: Option<WaitObject>,
}

/// The waits of a task that is watched.
#[derive(Debug, Default)]
pub struct WatchedWaits {
    pub ended: Vec<SingleWait>,
    pub running: Option<RunningWait>,
}

thread_local! {
    static WATCHED: Cell<Option<Box<WatchedWaits>>> = const { Cell::new(None) };
}

impl WatchedWaits {
    /// Puts a list on this thread and takes what was there.
    pub fn replace(list: Option<Box<WatchedWaits>>) -> Option<Box<WatchedWaits>> {
        WATCHED.replace(list)
    }
}

fn with_list(change: impl FnOnce(&mut WatchedWaits)) {
    if let Some(mut list) = WATCHED.take() {
        change(&mut list);
        WATCHED.set(Some(list));
    }
}

/// The running task begins to wait; `object` is asked only if somebody watches.
pub fn begin_wait(cause: WaitCause, object: impl FnOnce() -> Option<WaitObject>) {
    with_list(|list| list.running = Some(RunningWait { cause, began: Instant::now(), object: object() }));
}

/// It has waited so long, as `note_wait` is told.
pub(crate) fn end(cause: WaitCause, time_us: u64) {
    with_list(|list| {
        let ended = Instant::now();
        let begun = list.running.take_if(|running| running.cause == cause);
        let (began, object) = match begun {
            Some(RunningWait { began, object, .. }) => (began, object),
            None => (ended.checked_sub(Duration::from_micros(time_us)).unwrap_or(ended), None),
        };
        if list.ended.len() < ENDED_MAX {
            list.ended.push(SingleWait { cause, began, ended, object });
        }
    });
}

/// A wait that lasts until this is dropped, by the machine's clock.
#[derive(Debug)]
pub struct TimedWait {
    cause: WaitCause,
    since: Instant,
}

impl TimedWait {
    pub fn begin(cause: WaitCause, object: impl FnOnce() -> Option<WaitObject>) -> TimedWait {
        begin_wait(cause, object);
        TimedWait { cause, since: Instant::now() }
    }
}

impl Drop for TimedWait {
    fn drop(&mut self) {
        note_wait(self.cause, u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskWaits;

    #[test]
    fn waits_are_told_to_who_watches() {
        begin_wait(WaitCause::RowLock, || panic!("nobody watches"));
        note_wait(WaitCause::RowLock, 5);
        assert!(WatchedWaits::replace(Some(Box::default())).is_none());
        begin_wait(WaitCause::RowLock, || Some(WaitObject::Tree(7)));
        note_wait(WaitCause::PageRead, 3);
        let list = WatchedWaits::replace(None).expect("it is there");
        assert_eq!(list.running.as_ref().map(|wait| wait.cause), Some(WaitCause::RowLock));
        WatchedWaits::replace(Some(list));
        note_wait(WaitCause::RowLock, 9);
        let list = WatchedWaits::replace(None).expect("it is there");
        let told: Vec<_> = list.ended.iter().map(|wait| (wait.cause, wait.object.clone())).collect();
        let tree = Some(WaitObject::Tree(7));
        assert_eq!(told, [(WaitCause::PageRead, None), (WaitCause::RowLock, tree)]);
        assert!(list.running.is_none());
        TaskWaits::take();
    }

    #[test]
    fn a_wait_by_the_clock_ends_with_its_guard() {
        TaskWaits::take();
        drop(TimedWait::begin(WaitCause::MetadataLock, || None));
        let waits = TaskWaits::take().expect("it was noted");
        assert_eq!(waits.count(WaitCause::MetadataLock), 1);
    }
}
