//! Records divided by the hash of their key, each part a stream of its own.
//!
//! Invariant: equal keys of one level are in the same part. A part that is still too large is divided again on the next
//! level, where the same keys hash otherwise.
use crate::file::SpillFile;
use crate::writer::{Stream, StreamWriter};
use datum::SqlError;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Parts of one division: each has a block in memory while it is written.
pub const PARTITION_COUNT: usize = 32;

/// The part of a key.
pub fn partition_of(key: &[u8], level: u32) -> usize {
    let hash = foldhash::fast::FixedState::with_seed(u64::from(level)).hash_one(key);
    (hash >> 32) as usize % PARTITION_COUNT
}

pub struct Partitions {
    file: Arc<SpillFile>,
    level: u32,
    writers: Vec<Option<StreamWriter>>,
}

impl Partitions {
    pub fn new(file: Arc<SpillFile>, level: u32) -> Partitions {
        Partitions { file, level, writers: (0..PARTITION_COUNT).map(|_| None).collect() }
    }

    pub fn level(&self) -> u32 {
        self.level
    }

    /// Whether the part of the key has records.
    pub fn has(&self, key: &[u8]) -> bool {
        self.writers[partition_of(key, self.level)].is_some()
    }

    /// Takes a record when there is room in memory; else `push` has to.
    #[inline]
    pub fn try_push(&mut self, key: &[u8], record: &[u8]) -> bool {
        match &mut self.writers[partition_of(key, self.level)] {
            Some(writer) => writer.try_push(record),
            None => false,
        }
    }

    pub async fn push(&mut self, key: &[u8], record: &[u8]) -> Result<(), SqlError> {
        self.push_to(partition_of(key, self.level), record).await
    }

    async fn push_to(&mut self, part: usize, record: &[u8]) -> Result<(), SqlError> {
        let writer = self.writers[part].get_or_insert_with(|| StreamWriter::new(self.file.clone()));
        writer.push(record).await
    }

    /// The parts by number; `None` has no records.
    pub async fn finish(self) -> Result<Vec<Option<Arc<Stream>>>, SqlError> {
        let mut parts = Vec::with_capacity(PARTITION_COUNT);
        for writer in self.writers {
            parts.push(match writer {
                Some(writer) => Some(writer.finish().await?),
                None => None,
            });
        }
        debug_assert_eq!(parts.len(), PARTITION_COUNT, "parts are told by their number");
        Ok(parts)
    }
}
