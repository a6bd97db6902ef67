//! How far a change of a table is, for those who watch it.
//!
//! Invariant: the figures only tell; nothing depends on them. Work is counted in rows: each is read once, and once written for
//! each tree. Written by builds, read by the process list and the stages of `performance_schema`.
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use parking_lot::Mutex;

/// What is being done, in the order of the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Waits until those who write to the table have ended.
    Begin,
    /// Reads rows and sorts the entries of new indexes.
    Read,
    /// Writes new trees.
    Insert,
    /// Takes up what has changed meanwhile.
    Apply,
    /// Puts the new definition in the place of the old.
    End,
    /// RESTORE TABLE: reads a backup and the log behind it, in bytes.
    Restore,
    /// RESTORE TABLE: inserts the rows.
    Refill,
}

const STAGES: [Stage; 7] =
    [Stage::Begin, Stage::Read, Stage::Insert, Stage::Apply, Stage::End, Stage::Restore, Stage::Refill];

impl Stage {
    /// The event of `performance_schema`.
    pub fn event(self) -> &'static str {
        match self {
            Stage::Begin | Stage::End => "stage/innodb/alter table (end)",
            Stage::Read => "stage/innodb/alter table (read PK and internal sort)",
            Stage::Insert => "stage/innodb/alter table (insert)",
            Stage::Apply => "stage/innodb/alter table (log apply index)",
            Stage::Restore => "stage/evenkeel/restore table (read backup)",
            Stage::Refill => "stage/evenkeel/restore table (insert)",
        }
    }

    /// What the process list says.
    pub fn text(self) -> &'static str {
        match self {
            Stage::Restore => "reading backup",
            Stage::Refill => "restoring table",
            _ => "altering table",
        }
    }
}

/// A stage that a change has come to, with what was done by then.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    pub stage: Stage,
    pub at: Instant,
    pub done: u64,
    pub estimated: u64,
}

/// The stages that a change has come to and nobody has taken yet.
#[derive(Debug, Default)]
pub struct StageLog(Mutex<Vec<Entered>>);

/// Rounds come to the same stages again and again; more than these are not told.
const ENTERED_MAX: usize = 256;

impl StageLog {
    fn add(&self, entered: Entered) {
        let mut log = self.0.lock();
        if log.len() < ENTERED_MAX && log.last().is_none_or(|last| last.stage != entered.stage) {
            log.push(entered);
        }
    }

    pub fn take(&self) -> Vec<Entered> {
        std::mem::take(&mut self.0.lock())
    }
}

#[derive(Debug, Default)]
pub struct Progress {
    /// In `STAGES`.
    stage: AtomicU8,
    done: AtomicU64,
    estimated: AtomicU64,
    log: Arc<StageLog>,
}

/// The figures of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub stage: Stage,
    pub done: u64,
    pub estimated: u64,
}

impl Progress {
    pub fn enter(&self, stage: Stage) {
        debug_assert_eq!(STAGES[stage as usize], stage, "the stages are listed in their order");
        self.stage.store(stage as u8, Relaxed);
        let share = self.share();
        self.log.add(Entered { stage, at: Instant::now(), done: share.done, estimated: share.estimated });
    }

    /// Outlives the figures: what has ended is told by the end of the statement.
    pub fn log(&self) -> &Arc<StageLog> {
        &self.log
    }

    /// So much there is to do.
    pub fn expect(&self, work: u64) {
        self.estimated.store(work, Relaxed);
    }

    pub fn add(&self, work: u64) {
        self.done.fetch_add(work, Relaxed);
    }

    pub fn share(&self) -> Share {
        let done = self.done.load(Relaxed);
        let stage = STAGES[usize::from(self.stage.load(Relaxed)).min(STAGES.len() - 1)];
        Share { stage, done, estimated: self.estimated.load(Relaxed).max(done) }
    }
}

impl Share {
    /// Of a hundred.
    pub fn percent(&self) -> u64 {
        self.done.saturating_mul(100).checked_div(self.estimated).unwrap_or(0)
    }

    /// The time that is left if the rest goes as fast as what is done, which took `elapsed_us`.
    pub fn left_us(&self, elapsed_us: u64) -> Option<u64> {
        debug_assert!(self.done <= self.estimated, "what is done was to be done");
        let left = u128::from(self.estimated - self.done);
        let left = (u128::from(elapsed_us) * left).checked_div(u128::from(self.done))?;
        u64::try_from(left).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_the_time_that_is_left() {
        let progress = Progress::default();
        assert_eq!(progress.share(), Share { stage: Stage::Begin, done: 0, estimated: 0 });
        assert_eq!((progress.share().percent(), progress.share().left_us(5)), (0, None));
        progress.expect(400);
        progress.add(100);
        progress.enter(Stage::Insert);
        let share = progress.share();
        assert_eq!((share.stage, share.percent(), share.left_us(1000)), (Stage::Insert, 25, Some(3000)));
        progress.add(500);
        assert_eq!((progress.share().percent(), progress.share().left_us(1000)), (100, Some(0)));
    }
}
