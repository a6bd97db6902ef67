//! Texts that fill columns, and INSERTs of many rows.
//!
//! Invariant: a batch stays far below every server's default max_allowed_packet. Used by the loads of all workloads.

use client::{Value, put_literal};

use crate::random::Random;
use crate::{Batch, Chunk};

/// Bytes of SQL after which a batch is closed.
const BATCH_BYTES: usize = 256 * 1024;
/// Rows of a chunk: enough that a worker is not asked often, few enough that workers end together.
const CHUNK_ROWS: u64 = 20_000;

/// `groups` of eleven digits with dashes between, as sysbench fills its columns.
pub fn digit_groups(random: &mut Random, groups: usize) -> String {
    let mut text = String::with_capacity(groups * 12);
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        let mut number = random.below(100_000_000_000);
        let mut digits = [b'0'; 11];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        text.extend(digits.iter().map(|&digit| char::from(digit)));
    }
    text
}

/// The rows `1..=rows` of `tables` tables, in pieces.
pub fn pieces(tables: u64, rows: u64) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for table in 1..=tables {
        let mut first = 1;
        while first <= rows {
            let last = (first + CHUNK_ROWS - 1).min(rows);
            chunks.push(Chunk { table: table as usize, first, last });
            first = last + 1;
        }
    }
    chunks
}

/// Gathers rows into INSERTs.
pub struct Inserts<Rows> {
    head: String,
    rows: Rows,
}

impl<Rows> Inserts<Rows> {
    /// `head` is `INSERT INTO t (..) VALUES`; each call of `rows` appends one row's values in parentheses
    /// and answers whether there was one.
    pub fn new(head: String, rows: Rows) -> Self {
        Self { head, rows }
    }
}

impl<Rows: FnMut(&mut Row<'_>) -> bool> Iterator for Inserts<Rows> {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let mut sql = self.head.clone().into_bytes();
        let mut rows = 0;
        while sql.len() < BATCH_BYTES {
            let begin = sql.len();
            sql.push(if rows == 0 { b' ' } else { b',' });
            sql.push(b'(');
            let mut row = Row { sql: &mut sql, is_first: true };
            if !(self.rows)(&mut row) {
                sql.truncate(begin);
                break;
            }
            sql.push(b')');
            rows += 1;
        }
        (rows > 0).then_some(Batch { sql, rows })
    }
}

/// A row of an INSERT under construction.
pub struct Row<'a> {
    sql: &'a mut Vec<u8>,
    is_first: bool,
}

impl Row<'_> {
    pub fn put<'v>(&mut self, value: impl Into<Value<'v>>) -> &mut Self {
        if !std::mem::replace(&mut self.is_first, false) {
            self.sql.push(b',');
        }
        put_literal(self.sql, &value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_gather_into_batches() {
        let mut left = 3_000;
        let batches: Vec<Batch> = Inserts::new("INSERT INTO t VALUES".into(), |row: &mut Row<'_>| {
            if left == 0 {
                return false;
            }
            left -= 1;
            row.put(left).put("x".repeat(120).as_str());
            true
        })
        .collect();
        assert_eq!(batches.iter().map(|batch| batch.rows).sum::<u64>(), 3_000);
        assert!(batches.len() > 1);
        assert!(batches[0].sql.starts_with(b"INSERT INTO t VALUES (2999,'xxx"));
        assert!(batches.iter().all(|batch| batch.sql.ends_with(b")")));
    }

    #[test]
    fn pieces_cover_every_row_once() {
        let rows: u64 = pieces(2, 50_001).iter().map(|chunk| chunk.last - chunk.first + 1).sum();
        assert_eq!(rows, 100_002);
        assert!(pieces(3, 0).is_empty());
    }
}
