//! Records of a change stream that wait for their round, in the order of their rows' keys, beyond memory.
//!
//! Invariant: a record that was put in comes out of the next round, once. Memory is bounded as a sort's is; the same row may come
//! several times.
use datum::SqlError;
use engine::EntryBatch;
use env::TemporarySpace;
use rowstore::{KeyOrder, Sorter};
use std::sync::Arc;
use table::ChangedRow;

use super::{BATCH_ROWS, Turns};

/// Memory for the records of one round.
const BACKLOG_BYTES: usize = 4 << 20;

pub struct Backlog {
    space: Arc<TemporarySpace>,
    sorter: Sorter,
}

fn sorter(space: &Arc<TemporarySpace>) -> Sorter {
    Sorter::new(space, KeyOrder::Bytes, BACKLOG_BYTES, usize::MAX)
}

impl Backlog {
    pub fn new(space: &Arc<TemporarySpace>) -> Backlog {
        Backlog { space: space.clone(), sorter: sorter(space) }
    }

    /// Puts in what a stream gave.
    pub async fn put(&mut self, records: &EntryBatch) -> Result<(), SqlError> {
        for (key, rest) in records.iter() {
            self.put_one(key, rest).await?;
        }
        Ok(())
    }

    pub async fn put_one(&mut self, key: &[u8], rest: &[u8]) -> Result<(), SqlError> {
        if self.sorter.push(key, rest) {
            self.sorter.spill(&mut Turns).await?;
        }
        Ok(())
    }

    /// Begins a round: the records that are there, and an empty backlog for those that come.
    pub async fn begin_round(&mut self) -> Result<Round, SqlError> {
        let mut sorter = std::mem::replace(&mut self.sorter, sorter(&self.space));
        sorter.finish(&mut Turns).await?;
        Ok(Round { sorter })
    }
}

/// The records of a round.
pub struct Round {
    sorter: Sorter,
}

impl Round {
    /// The next records, in the form in which they were put in; empty behind the last.
    pub async fn next(&mut self) -> Result<EntryBatch, SqlError> {
        let mut records = EntryBatch::default();
        while records.len() < BATCH_ROWS && self.sorter.next().await? {
            records.push(self.sorter.key(), self.sorter.row());
        }
        Ok(records)
    }
}

/// A record, which the stream has written.
pub fn decode(key: &[u8], rest: &[u8]) -> Result<ChangedRow, SqlError> {
    ChangedRow::decode(key, rest).ok_or_else(rowstore::damaged)
}
