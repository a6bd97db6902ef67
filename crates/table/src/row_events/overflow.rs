//! The notes of a large transaction that memory has no room for: blocks of a temporary file.
//!
//! Invariant: the blocks are in the order of the notes, and all are before what is in memory. A rollback to a savepoint
//! drops whole blocks at once; the one that it goes into is read again before another block is added.
use super::notes::Notes;
use binlog::Query;
use engine::EngineError;
use env::{IoBuf, IoError, TemporaryFile, TemporarySpace};
use std::sync::Arc;

/// See the head of this file.
pub(super) struct Overflow {
    file: TemporaryFile,
    blocks: Vec<Block>,
    /// In all of them.
    image_bytes: u64,
    /// Room in the file that was asked for.
    reserved: u64,
    /// What statements of blocks name.
    begins: Vec<Arc<Query>>,
    /// The last block's notes behind this savepoint were undone.
    undone_to: Option<u64>,
}

#[derive(Clone, Copy)]
struct Block {
    start: u64,
    length: usize,
    image_bytes: u64,
    /// The savepoints of the first and of the last note.
    first: u64,
    last: u64,
}

fn failed(error: IoError) -> EngineError {
    if error.is_no_space() { EngineError::DiskFull } else { EngineError::Io { what: error.to_string() } }
}

impl Overflow {
    pub async fn create(space: &Arc<TemporarySpace>) -> Result<Overflow, EngineError> {
        let file = space.create().await.map_err(failed)?;
        Ok(Overflow {
            file,
            blocks: Vec::new(),
            image_bytes: 0,
            reserved: 0,
            begins: Vec::new(),
            undone_to: None,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Of all blocks, with what was undone in the last one.
    pub fn image_bytes(&self) -> u64 {
        self.image_bytes
    }

    /// Adds what follows; afterwards `notes` has only the statement that goes on. After an error nothing has happened.
    pub async fn push(&mut self, notes: &mut Notes) -> Result<(), EngineError> {
        let (Some(first), Some(last)) = (notes.notes.first(), notes.notes.last()) else { return Ok(()) };
        let (first, last) = (first.savepoint, last.savepoint);
        debug_assert!(first <= last, "notes are in the order of their savepoints");
        debug_assert!(self.undone_to.is_none(), "a block is settled before the next follows");
        debug_assert!(
            self.blocks.last().is_none_or(|block| block.last <= first),
            "blocks are in the order of their savepoints"
        );
        let bytes = notes.encode(&mut self.begins);
        let start = self.blocks.last().map_or(0, |block| block.start + block.length as u64);
        let end = start + bytes.len() as u64;
        if end > self.reserved {
            self.file.reserve(end - self.reserved).map_err(failed)?;
            self.reserved = end;
        }
        self.file.write_at(start, IoBuf::copy_of(&bytes)).await.1.map_err(failed)?;
        let image_bytes = notes.images.len() as u64;
        self.image_bytes += image_bytes;
        debug_assert!(start + bytes.len() as u64 <= self.reserved, "room was asked for before it is written");
        self.blocks.push(Block { start, length: bytes.len(), image_bytes, first, last });
        notes.take();
        Ok(())
    }

    /// Forgets what was noted behind a savepoint.
    pub fn undo_to(&mut self, savepoint: u64) {
        let kept = self.blocks.partition_point(|block| block.first <= savepoint);
        if kept < self.blocks.len() {
            self.image_bytes -= self.blocks.drain(kept..).map(|block| block.image_bytes).sum::<u64>();
            self.undone_to = None;
        }
        if self.blocks.last().is_some_and(|block| block.last > savepoint) {
            self.undone_to = Some(self.undone_to.map_or(savepoint, |before| before.min(savepoint)));
        }
    }

    /// Puts what is left of a block, a part of which was undone, before the notes in memory.
    pub async fn settle(&mut self, notes: &mut Notes) -> Result<(), EngineError> {
        let Some(savepoint) = self.undone_to else { return Ok(()) };
        debug_assert!(!self.blocks.is_empty(), "what was undone in part is there");
        let mut left = self.load(self.blocks.len() - 1).await?;
        left.undo_to(savepoint);
        left.append(std::mem::take(notes));
        *notes = left;
        self.image_bytes -= self.blocks.pop().map_or(0, |block| block.image_bytes);
        self.undone_to = None;
        Ok(())
    }

    /// Reads a block.
    pub async fn load(&self, place: usize) -> Result<Notes, EngineError> {
        let block = self.blocks[place];
        let (buffer, result) = self.file.read_at(block.start, IoBuf::for_overwriting(block.length)).await;
        result.map_err(failed)?;
        let damaged = || EngineError::Corrupt { what: "a temporary file of row events".into() };
        Notes::decode(buffer.as_slice(), &self.begins).ok_or_else(damaged)
    }
}
