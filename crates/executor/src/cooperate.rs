//! Lets other connections of the same thread run during long scans.
//!
//! Data in memory never makes a read wait, so without this a scan of a large table would hold its thread to the end.
use env::yield_now;

/// Rows between two pauses: about a millisecond of work.
const ROWS_BETWEEN_PAUSES: usize = 2048;

#[derive(Debug, Default)]
pub struct Pace {
    rows: usize,
}

impl Pace {
    /// Counts rows; gives the thread away once in a while.
    pub async fn count(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows >= ROWS_BETWEEN_PAUSES {
            self.rows = 0;
            yield_now().await;
        }
    }
}
