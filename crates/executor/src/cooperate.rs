//! Lets other connections of the same thread run during long scans.
//!
//! Data in memory never makes a read wait, so without this a scan of a large table would hold its thread to the end.
use std::future::poll_fn;
use std::task::Poll;

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
            yield_once().await;
        }
    }
}

async fn yield_once() {
    let mut is_second = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
