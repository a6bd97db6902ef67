//! `log_output = TABLE`: the last records as rows of `mysql.general_log` and `mysql.slow_log`.
//!
//! Invariant: a ring in memory. The tables of a log that is also a table would be written by every statement and read by
//! few; a server that fails would have to recover them. They begin empty at a start, which the documentation says.
use std::collections::VecDeque;

use parking_lot::Mutex;

/// Older rows make room.
const ROWS_MAX: usize = 10_000;
/// How much text all rows of a table may have.
const BYTES_MAX: usize = 32 << 20;

#[derive(Clone, Debug)]
pub struct GeneralRow {
    pub unix_us: i64,
    pub user_host: String,
    pub thread: u64,
    pub command: &'static str,
    pub argument: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct SlowRow {
    /// When the statement ended, as MySQL has it.
    pub unix_us: i64,
    pub user_host: String,
    pub query_us: u64,
    pub lock_us: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub database: String,
    pub last_insert_id: u64,
    pub text: Vec<u8>,
    pub thread: u64,
}

pub trait RowBytes {
    fn bytes(&self) -> usize;
}

impl RowBytes for GeneralRow {
    fn bytes(&self) -> usize {
        self.user_host.len() + self.argument.len()
    }
}

impl RowBytes for SlowRow {
    fn bytes(&self) -> usize {
        self.user_host.len() + self.text.len()
    }
}

#[derive(Debug)]
pub struct Ring<Row>(Mutex<(VecDeque<Row>, usize)>);

impl<Row> Default for Ring<Row> {
    fn default() -> Self {
        Ring(Mutex::new((VecDeque::new(), 0)))
    }
}

impl<Row: Clone + RowBytes> Ring<Row> {
    pub fn push(&self, row: Row) {
        let mut ring = self.0.lock();
        let (rows, bytes) = &mut *ring;
        *bytes += row.bytes();
        rows.push_back(row);
        while rows.len() > ROWS_MAX || *bytes > BYTES_MAX {
            let Some(oldest) = rows.pop_front() else { break };
            *bytes -= oldest.bytes();
        }
    }

    pub fn rows(&self) -> Vec<Row> {
        self.0.lock().0.iter().cloned().collect()
    }

    pub fn clear(&self) {
        *self.0.lock() = (VecDeque::new(), 0);
    }
}
