//! The temporary file of one operator: blocks that its streams take and give back.
//!
//! Invariant: a block belongs to one stream or to none, and one that an operation may still be under way on is never
//! given to another stream.
use crate::failure::spill_error;
use datum::SqlError;
use env::{Completion, IoBuf, TemporaryFile, TemporarySpace};
use parking_lot::Mutex;
use std::sync::Arc;

/// What is written and read at once: large enough that seeks do not count, small enough for a buffer for each of many
/// partitions.
pub const BLOCK_BYTES: usize = 64 << 10;

pub struct SpillFile {
    file: TemporaryFile,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    count: u64,
    free: Vec<u64>,
}

impl SpillFile {
    pub async fn create(space: &Arc<TemporarySpace>) -> Result<Arc<SpillFile>, SqlError> {
        let file = space.create().await.map_err(spill_error)?;
        Ok(Arc::new(SpillFile { file, blocks: Mutex::default() }))
    }

    pub(crate) fn take_block(&self) -> Result<u64, SqlError> {
        let mut blocks = self.blocks.lock();
        if let Some(block) = blocks.free.pop() {
            return Ok(block);
        }
        self.file.reserve(BLOCK_BYTES as u64).map_err(spill_error)?;
        blocks.count += 1;
        Ok(blocks.count - 1)
    }

    pub(crate) fn give_block(&self, block: u64) {
        let mut blocks = self.blocks.lock();
        debug_assert!(block < blocks.count, "a block that is given back was taken");
        debug_assert!((blocks.free.len() as u64) < blocks.count, "no more blocks are free than there are");
        debug_assert!(blocks.free.last() != Some(&block), "a block is given back once");
        blocks.free.push(block);
    }

    pub(crate) fn write(&self, block: u64, buffer: IoBuf) -> Completion {
        assert!((1..=BLOCK_BYTES).contains(&buffer.len()), "a block is not longer than its place");
        self.file.write_at(block * BLOCK_BYTES as u64, buffer)
    }

    pub(crate) fn read(&self, block: u64, length: usize) -> Completion {
        debug_assert!((1..=BLOCK_BYTES).contains(&length), "a block is not longer than its place");
        self.file.read_at(block * BLOCK_BYTES as u64, IoBuf::for_overwriting(length))
    }
}
