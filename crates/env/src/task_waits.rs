//! What the running task has waited for, by cause: noted where a wait ends, taken by whoever runs the task.
//!
//! A wait ends in a poll of the task that waited, on the thread that polls it; so notes on a thread belong to the task
//! that is being polled there, until it is taken. `session` takes them after each poll of a statement.
use std::cell::Cell;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitCause {
    PageRead,
    FreeFrame,
    /// Until the log is durable.
    LogFlush,
    LogSpace,
    RowLock,
    /// For old versions to be merged.
    Versions,
    /// A lock of a definition.
    MetadataLock,
}

/// In the order of their numbers.
pub const WAIT_CAUSES: [WaitCause; 7] = [
    WaitCause::PageRead,
    WaitCause::FreeFrame,
    WaitCause::LogFlush,
    WaitCause::LogSpace,
    WaitCause::RowLock,
    WaitCause::Versions,
    WaitCause::MetadataLock,
];

/// How often and how long, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskWaits {
    counts: [u64; WAIT_CAUSES.len()],
    times_us: [u64; WAIT_CAUSES.len()],
}

const NONE: TaskWaits = TaskWaits { counts: [0; WAIT_CAUSES.len()], times_us: [0; WAIT_CAUSES.len()] };

thread_local! {
    static IS_NOTED: Cell<bool> = const { Cell::new(false) };
    static NOTED: Cell<TaskWaits> = const { Cell::new(NONE) };
}

impl TaskWaits {
    pub fn count(&self, cause: WaitCause) -> u64 {
        self.counts[cause as usize]
    }

    pub fn time_us(&self, cause: WaitCause) -> u64 {
        self.times_us[cause as usize]
    }

    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// The same of these causes alone.
    pub fn only(&self, keeps: impl Fn(WaitCause) -> bool) -> TaskWaits {
        let mut kept = *self;
        for cause in WAIT_CAUSES.into_iter().filter(|cause| !keeps(*cause)) {
            (kept.counts[cause as usize], kept.times_us[cause as usize]) = (0, 0);
        }
        kept
    }

    fn note(&mut self, cause: WaitCause, time_us: u64) {
        self.counts[cause as usize] += 1;
        self.times_us[cause as usize] += time_us;
    }

    pub fn add(&mut self, other: &TaskWaits) {
        self.counts.iter_mut().zip(other.counts).for_each(|(all, one)| *all += one);
        self.times_us.iter_mut().zip(other.times_us).for_each(|(all, one)| *all += one);
    }

    /// What was noted on this thread since it was last taken.
    pub fn noted() -> TaskWaits {
        if IS_NOTED.get() { NOTED.get() } else { NONE }
    }

    /// What was noted on this thread since the last call.
    #[inline]
    pub fn take() -> Option<TaskWaits> {
        IS_NOTED.replace(false).then(|| NOTED.replace(NONE))
    }

    /// Notes again what was taken from this thread: the poll that it belongs to goes on.
    pub(crate) fn give_back(self) {
        NOTED.set(self);
        IS_NOTED.set(true);
    }
}

/// The running task has waited; gives the time back.
pub fn note_wait(cause: WaitCause, time_us: u64) -> u64 {
    crate::watched_waits::end(cause, time_us);
    let mut waits = NOTED.get();
    waits.note(cause, time_us);
    NOTED.set(waits);
    IS_NOTED.set(true);
    time_us
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_taken_once() {
        assert_eq!(TaskWaits::take(), None);
        assert_eq!(note_wait(WaitCause::RowLock, 5), 5);
        note_wait(WaitCause::RowLock, 2);
        let waits = TaskWaits::take().expect("something was noted");
        assert_eq!((waits.count(WaitCause::RowLock), waits.time_us(WaitCause::RowLock)), (2, 7));
        assert_eq!(waits.count(WaitCause::PageRead), 0);
        assert_eq!(TaskWaits::take(), None);
    }
}
