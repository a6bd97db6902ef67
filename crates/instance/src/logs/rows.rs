//! The last records of logs as rows: of `mysql.general_log` and `mysql.slow_log` while `log_output` has TABLE, and of
//! `performance_schema.error_log`.
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

/// A message of the error log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRow {
    pub unix_us: i64,
    /// 1 to 4: System, Error, Warning, Note, as the members of `error_log.PRIO` are numbered.
    pub priority: u16,
    pub message: String,
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

impl RowBytes for ErrorRow {
    fn bytes(&self) -> usize {
        self.message.len()
    }
}

#[derive(Debug)]
pub struct Ring<Row>(Mutex<Kept<Row>>);

#[derive(Debug)]
struct Kept<Row> {
    rows: VecDeque<Row>,
    bytes: usize,
    /// Rows that made room.
    expired: u64,
}

/// How much a ring holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingFigures {
    pub rows: u64,
    pub bytes: u64,
    pub expired: u64,
}

impl<Row> Ring<Row> {
    pub const fn new() -> Ring<Row> {
        Ring(Mutex::new(Kept { rows: VecDeque::new(), bytes: 0, expired: 0 }))
    }
}

impl<Row> Default for Ring<Row> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<Row: Clone + RowBytes> Ring<Row> {
    pub fn push(&self, row: Row) {
        let mut ring = self.0.lock();
        ring.bytes += row.bytes();
        ring.rows.push_back(row);
        while ring.rows.len() > ROWS_MAX || ring.bytes > BYTES_MAX {
            let Some(oldest) = ring.rows.pop_front() else { break };
            ring.bytes -= oldest.bytes();
            ring.expired += 1;
        }
    }

    pub fn rows(&self) -> Vec<Row> {
        self.0.lock().rows.iter().cloned().collect()
    }

    pub fn figures(&self) -> RingFigures {
        let ring = self.0.lock();
        RingFigures { rows: ring.rows.len() as u64, bytes: ring.bytes as u64, expired: ring.expired }
    }

    pub fn clear(&self) {
        let mut ring = self.0.lock();
        ring.rows.clear();
        ring.bytes = 0;
    }
}
