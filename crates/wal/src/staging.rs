//! The bytes of the log that are in memory: the chunk that groups are appended to, and sealed ones to write.
//!
//! Invariant: chunks cover the stream without a gap from the oldest sealed one to `end`, in the places that the
//! reader will look at. The caller (`log`) has made sure that the segments and the memory exist.

use crate::format::{BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, END_OF_SEGMENT, align_up, segment_before};
use crate::group::{GROUP_HEADER_BYTES, group_checksum};
use crate::{GroupLsns, Lsn, WalGroup};
use env::IoBuf;
use std::collections::VecDeque;

/// Long enough that a header per chunk costs nothing, short enough that an idle log holds little memory.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks kept for reuse; allocating aligned memory per flush would show in profiles.
const IDLE_BUFFERS_MAX: usize = 4;

/// A piece of the log on its way to disk.
pub(crate) struct Chunk {
    pub(crate) start: Lsn,
    used: usize,
    flags: u16,
    buffer: IoBuf,
}

pub(crate) struct Staging {
    segment_bytes: u64,
    chunk_bytes: usize,
    open: Option<Chunk>,
    sealed: VecDeque<Chunk>,
    /// Where the next chunk starts when none is open; a multiple of the block size.
    position: u64,
    end: Lsn,
    /// Memory of all chunks that were not given back by `release`.
    memory_bytes: usize,
    idle: Vec<IoBuf>,
}

impl Chunk {
    fn end(&self) -> u64 {
        align_up(self.start.0 + self.used as u64)
    }

    /// Writes the header and returns the bytes for the disk.
    pub(crate) fn into_disk_bytes(mut self, log_id: u64, epoch: u64, durable: Lsn) -> IoBuf {
        let padded = align_up(self.used as u64) as usize;
        let bytes = &mut self.buffer.as_mut_slice()[..padded];
        // Reused memory holds an older chunk; its bytes must not look like part of this one.
        bytes[self.used..].fill(0);
        let header = ChunkHeader {
            log_id,
            start: self.start,
            epoch,
            previous_epoch: 0,
            durable,
            used: self.used as u32,
            flags: self.flags,
        };
        header.seal(bytes);
        self.buffer.set_len(padded);
        self.buffer
    }
}

impl Staging {
    /// Continues the stream at `position`; `end` is the LSN of the last group before it.
    pub(crate) fn new(segment_bytes: u64, position: u64, end: Lsn) -> Self {
        assert!(position.is_multiple_of(BLOCK_BYTES as u64) && end.0 <= position);
        Self {
            segment_bytes,
            chunk_bytes: CHUNK_BYTES.min(segment_bytes as usize / 4).next_multiple_of(BLOCK_BYTES),
            open: None,
            sealed: VecDeque::new(),
            position,
            end,
            memory_bytes: 0,
            idle: Vec::new(),
        }
    }

    /// Where the last group ends.
    pub(crate) fn end(&self) -> Lsn {
        self.end
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The next block border behind everything that was appended.
    pub(crate) fn border(&self) -> u64 {
        self.open.as_ref().map_or(self.position, Chunk::end)
    }

    /// The segment that is being filled.
    pub(crate) fn segment(&self) -> u64 {
        segment_before(Lsn(self.border()), self.segment_bytes)
    }

    /// Bytes between `border` and the end of the segment.
    pub(crate) fn rest(&self) -> u64 {
        (self.segment() + 1) * self.segment_bytes - self.border()
    }

    pub(crate) fn append(&mut self, group: &WalGroup, checksum: u32) -> GroupLsns {
        let length = group.encoded_len();
        let fits = self.open.as_ref().is_some_and(|chunk| chunk.used + length <= chunk.buffer.capacity());
        if !fits {
            self.open_chunk(CHUNK_HEADER_BYTES + length);
        }
        let chunk = self.open.as_mut().expect("opened above");
        let start = chunk.start.advance(chunk.used as u64);
        let place = &mut chunk.buffer.as_mut_slice()[chunk.used..chunk.used + length];
        let (header, records) = place.split_at_mut(GROUP_HEADER_BYTES);
        header[..4].copy_from_slice(&(records.len() as u32).to_le_bytes());
        header[4..].copy_from_slice(&group_checksum(checksum, start).to_le_bytes());
        records.copy_from_slice(group.record_bytes());
        chunk.used += length;
        let end = start.advance(length as u64);
        assert!(end > self.end, "the log only grows");
        self.end = end;
        GroupLsns { start, end }
    }

    /// Seals what is open and hands out everything that is to be written.
    pub(crate) fn take(&mut self) -> impl ExactSizeIterator<Item = Chunk> {
        self.seal();
        self.sealed.drain(..)
    }

    /// Takes back the memory of a chunk that was written.
    pub(crate) fn release(&mut self, mut buffer: IoBuf) {
        let capacity = buffer.capacity();
        self.memory_bytes -= capacity;
        if capacity == self.chunk_bytes && self.idle.len() < IDLE_BUFFERS_MAX {
            buffer.set_len(capacity);
            self.idle.push(buffer);
        }
    }

    fn seal(&mut self) {
        if let Some(chunk) = self.open.take() {
            self.position = chunk.end();
            self.sealed.push_back(chunk);
        }
    }

    fn open_chunk(&mut self, used: usize) {
        self.seal();
        let needed = align_up(used as u64);
        if needed > self.rest() {
            self.end_segment();
        }
        // A border belongs to the segment before it, where nothing is left; a chunk there opens the next one.
        let rest = if self.rest() == 0 { self.segment_bytes } else { self.rest() };
        assert!(needed <= rest, "a chunk of {needed} bytes does not fit into a segment");
        let capacity = rest.min(needed.max(self.chunk_bytes as u64)) as usize;
        let chunk = self.new_chunk(capacity, 0);
        self.open = Some(chunk);
    }

    /// Tells the reader to go on in the next segment.
    fn end_segment(&mut self) {
        if self.rest() == 0 {
            return;
        }
        match self.sealed.back_mut() {
            Some(last) => last.flags |= END_OF_SEGMENT,
            None => {
                let filler = self.new_chunk(BLOCK_BYTES, END_OF_SEGMENT);
                self.sealed.push_back(filler);
            }
        }
        self.position = (self.segment() + 1) * self.segment_bytes;
    }

    fn new_chunk(&mut self, capacity: usize, flags: u16) -> Chunk {
        let reused = if capacity == self.chunk_bytes { self.idle.pop() } else { None };
        let buffer = reused.unwrap_or_else(|| IoBuf::zeroed(capacity));
        self.memory_bytes += capacity;
        Chunk { start: Lsn(self.position), used: CHUNK_HEADER_BYTES, flags, buffer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(staging: &mut Staging, payload: usize) -> GroupLsns {
        let mut group = WalGroup::new();
        group.push(1, 1, &vec![0; payload]);
        staging.append(&group, 0)
    }

    #[test]
    fn a_flush_starts_a_new_block_and_a_segment_border_is_never_crossed() {
        let segment = 16 * BLOCK_BYTES as u64;
        let mut staging = Staging::new(segment, 0, Lsn(0));
        let first = append(&mut staging, 100);
        assert_eq!(first.start, Lsn(64));
        assert_eq!(append(&mut staging, 100).start, first.end);
        assert_eq!(staging.take().len(), 1);
        assert_eq!(append(&mut staging, 100).start, Lsn(4096 + 64));
        let mut last = Lsn(0);
        for _ in 0..40 {
            let lsns = append(&mut staging, 5000);
            assert!(lsns.start >= last);
            assert_eq!(lsns.start.0 / segment, (lsns.end.0 - 1) / segment);
            last = lsns.end;
        }
        let mut position = 4096;
        for chunk in staging.take() {
            assert_eq!(chunk.start.0, position);
            let ends = chunk.flags & END_OF_SEGMENT != 0;
            position = if ends { chunk.end().next_multiple_of(segment) } else { chunk.end() };
        }
        assert_eq!(position, staging.border());
    }

    #[test]
    fn an_empty_segment_rest_gets_a_filler() {
        let segment = 16 * BLOCK_BYTES as u64;
        let mut staging = Staging::new(segment, segment - BLOCK_BYTES as u64, Lsn(1));
        assert_eq!(append(&mut staging, 5000).start, Lsn(segment + 64));
        let chunks: Vec<Chunk> = staging.take().collect();
        assert_eq!(chunks.len(), 2);
        assert_eq!((chunks[0].used, chunks[0].flags), (CHUNK_HEADER_BYTES, END_OF_SEGMENT));
    }

    #[test]
    fn a_full_segment_needs_no_filler() {
        let segment = 16 * BLOCK_BYTES as u64;
        let mut staging = Staging::new(segment, segment, Lsn(1));
        assert_eq!((staging.segment(), staging.rest()), (0, 0));
        assert_eq!(append(&mut staging, 100).start, Lsn(segment + 64));
        assert_eq!(staging.segment(), 1);
        assert_eq!(staging.take().len(), 1);
    }
}
