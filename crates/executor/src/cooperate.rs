//! Lets other connections of the same thread run during long statements.
//!
//! Data in memory never makes a statement wait, so without this a scan or a change of a large table would hold its thread to the
//! end. What it does between two pauses is about what all other connections of the thread do in a turn, so a large statement
//! gets its share and no more.
use crate::context::Interrupt;
use datum::SqlError;
use env::yield_now;
use schema::LocalFuture;

/// Rows between two pauses: about a quarter of a millisecond of work.
const ROWS_BETWEEN_PAUSES: usize = 512;
/// A row that is changed counts for as many that are read.
const ROWS_PER_CHANGE: usize = 16;

#[derive(Debug, Default)]
pub struct Pace {
    rows: usize,
}

impl Pace {
    /// Counts rows that are read; gives the thread away once in a while.
    pub async fn count(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows >= ROWS_BETWEEN_PAUSES {
            self.rows = 0;
            yield_now().await;
        }
    }

    /// Counts a row that is changed.
    pub async fn count_change(&mut self) {
        self.count(ROWS_PER_CHANGE).await;
    }
}

/// The pauses of a sort or a merge, in which a killed statement ends.
pub struct Pauses<'a> {
    pub pace: &'a mut Pace,
    pub interrupt: &'a Interrupt,
}

impl rowstore::Pause for Pauses<'_> {
    fn pause<'a>(&'a mut self, rows: usize) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async move {
            self.interrupt.check()?;
            self.pace.count(rows).await;
            Ok(())
        })
    }
}
