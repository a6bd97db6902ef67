//! The bytes of the log that are in memory: the chunk that groups are appended to, and sealed ones to write.
//!
//! Groups go into the open chunk past this, through the ring alone (`admission`). Here chunks are opened and sealed, under
//! the lock of the log's state.
//!
//! Invariant: chunks cover the stream without a gap from the oldest sealed one to `end`, in the places that the
//! reader will look at. The caller (`admission`) has made sure that the segments exist for all of an open chunk's memory,
//! so nobody who appends to it has to ask.

use crate::format::{BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, END_OF_SEGMENT, align_up, segment_before};
use crate::space::cost;
use crate::{GroupLsns, Lsn, WalGroup};
use env::{AppendRing, ClosedPiece, IoBuf};
use std::collections::VecDeque;
use std::sync::Arc;

/// Long enough that a header per chunk costs nothing, short enough that an idle log holds little memory.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks kept for reuse; allocating aligned memory per flush would show in profiles.
const IDLE_BUFFERS_MAX: usize = 4;

/// A piece of the log on its way to disk.
pub(crate) struct Chunk {
    pub(crate) start: Lsn,
    used: usize,
    flags: u16,
    bytes: Bytes,
}

enum Bytes {
    /// Some of its groups may be being copied.
    Closed(ClosedPiece),
    Complete(IoBuf),
}

impl Bytes {
    fn complete(self) -> IoBuf {
        match self {
            Bytes::Closed(piece) => piece.take(),
            Bytes::Complete(buffer) => buffer,
        }
    }
}

struct Open {
    start: u64,
    /// The border behind all that its memory can hold.
    border_max: u64,
}

pub(crate) struct Staging {
    segment_bytes: u64,
    chunk_bytes: usize,
    ring: Arc<AppendRing>,
    open: Option<Open>,
    sealed: VecDeque<Chunk>,
    /// Where the next chunk starts when none is open; a multiple of the block size.
    position: u64,
    /// Memory of all chunks that were not given back by `release`.
    memory_bytes: usize,
    idle: Vec<IoBuf>,
}

impl Chunk {
    #[cfg(test)]
    fn end(&self) -> u64 {
        align_up(self.start.0 + self.used as u64)
    }

    /// Waits for those who are still copying their groups; they do nothing else.
    pub(crate) fn complete(self) -> Chunk {
        Chunk { bytes: Bytes::Complete(self.bytes.complete()), ..self }
    }

    /// Writes the header and returns the bytes for the disk.
    pub(crate) fn into_disk_bytes(self, log_id: u64, epoch: u64, durable: Lsn) -> IoBuf {
        let mut buffer = self.bytes.complete();
        assert!(durable <= self.start, "what is durable lies before what is to be written");
        let padded = align_up(self.used as u64) as usize;
        let bytes = &mut buffer.as_mut_slice()[..padded];
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
        buffer.set_len(padded);
        buffer
    }
}

impl Staging {
    /// Continues the stream at `position`; `end` is the LSN of the last group before it.
    pub(crate) fn new(segment_bytes: u64, position: u64, end: Lsn) -> Self {
        assert!(position.is_multiple_of(BLOCK_BYTES as u64) && end.0 <= position);
        Self {
            segment_bytes,
            chunk_bytes: CHUNK_BYTES.min(segment_bytes as usize / 4).next_multiple_of(BLOCK_BYTES),
            ring: AppendRing::new(end.0),
            open: None,
            sealed: VecDeque::new(),
            position,
            memory_bytes: 0,
            idle: Vec::new(),
        }
    }

    /// What appenders use without the lock.
    pub(crate) fn ring(&self) -> &Arc<AppendRing> {
        &self.ring
    }

    /// What a chunk takes when there is enough of everything.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes as u64
    }

    /// Where the last group ends. It grows at any time while a chunk is open.
    pub(crate) fn end(&self) -> Lsn {
        Lsn(self.ring.end())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The block border behind everything that can be appended without a new chunk. Between openings it only goes back,
    /// when the open chunk is sealed before it is full.
    pub(crate) fn border_max(&self) -> u64 {
        self.open.as_ref().map_or(self.position, |open| open.border_max)
    }

    /// The next block border behind everything that was appended, where `border_max` would be now if the open chunk was
    /// sealed.
    pub(crate) fn border(&self) -> u64 {
        debug_assert!(self.position.is_multiple_of(BLOCK_BYTES as u64), "chunks begin on block borders");
        self.open.as_ref().map_or(self.position, |_| align_up(self.ring.end()))
    }

    /// The segment that is being filled. A chunk never crosses its end, so both borders lie in it.
    pub(crate) fn segment(&self) -> u64 {
        self.segment_of(self.border_max())
    }

    /// Bytes between a border and the end of its segment.
    pub(crate) fn rest_behind(&self, border: u64) -> u64 {
        (self.segment_of(border) + 1) * self.segment_bytes - border
    }

    fn segment_of(&self, border: u64) -> u64 {
        segment_before(Lsn(border), self.segment_bytes)
    }

    /// Opens a chunk with this group in front. It has room for others up to `wanted` bytes, as far as the segment goes.
    pub(crate) fn open(&mut self, group: &WalGroup, checksum: u32, wanted: u64) -> GroupLsns {
        self.seal();
        let length = group.encoded_len();
        let needed = cost(length);
        if needed > self.rest_behind(self.position) {
            self.end_segment();
        }
        // A border belongs to the segment before it, where nothing is left; a chunk there opens the next one.
        let rest = match self.rest_behind(self.position) {
            0 => self.segment_bytes,
            rest => rest,
        };
        assert!(needed <= rest, "a chunk of {needed} bytes does not fit into a segment");
        let capacity = rest.min(needed.max(wanted - wanted % BLOCK_BYTES as u64));
        let buffer = self.new_buffer(capacity as usize);
        if self.ring.is_full() {
            self.sealed = std::mem::take(&mut self.sealed).into_iter().map(Chunk::complete).collect();
            // The flusher is taking the others, for which it needs no lock.
            self.ring.wait_for_slot();
        }
        let write = |start, place: &mut [u8]| group.write_at(Lsn(start), checksum, place);
        let start = Lsn(self.ring.open(buffer, self.position, CHUNK_HEADER_BYTES, length, write));
        self.open = Some(Open { start: self.position, border_max: self.position + capacity });
        debug_assert!(start.0 > self.position, "a group lies behind its chunk's header");
        debug_assert_eq!(
            self.segment(),
            self.segment_of(self.position + 1),
            "a chunk never crosses a segment"
        );
        GroupLsns { start, end: start.advance(length as u64) }
    }

    /// From now on nothing can be appended without opening a chunk.
    pub(crate) fn seal(&mut self) {
        let Some(open) = self.open.take() else { return };
        let piece = self.ring.close().expect("what is open here is open in the ring");
        let used = piece.used();
        debug_assert!(used > CHUNK_HEADER_BYTES, "a chunk is opened for a group");
        debug_assert!(
            self.sealed.back().is_none_or(|last| last.start.0 < open.start),
            "chunks are sealed in order"
        );
        self.position = align_up(open.start + used as u64);
        assert!(self.position <= open.border_max);
        self.sealed.push_back(Chunk { start: Lsn(open.start), used, flags: 0, bytes: Bytes::Closed(piece) });
    }

    /// Seals what is open and hands out everything that is to be written.
    pub(crate) fn take(&mut self) -> impl ExactSizeIterator<Item = Chunk> {
        self.seal();
        self.sealed.drain(..)
    }

    /// Takes back the memory of a chunk that was written.
    pub(crate) fn release(&mut self, mut buffer: IoBuf) {
        let capacity = buffer.capacity();
        debug_assert!(self.memory_bytes >= capacity, "memory is given back once");
        self.memory_bytes -= capacity;
        if capacity == self.chunk_bytes && self.idle.len() < IDLE_BUFFERS_MAX {
            buffer.set_len(capacity);
            self.idle.push(buffer);
        }
    }

    /// Tells the reader to go on in the next segment.
    fn end_segment(&mut self) {
        if self.rest_behind(self.position) == 0 {
            return;
        }
        match self.sealed.back_mut() {
            Some(last) => last.flags |= END_OF_SEGMENT,
            None => {
                let (start, bytes) = (Lsn(self.position), Bytes::Complete(self.new_buffer(BLOCK_BYTES)));
                let filler = Chunk { start, used: CHUNK_HEADER_BYTES, flags: END_OF_SEGMENT, bytes };
                self.sealed.push_back(filler);
            }
        }
        self.position = (self.segment_of(self.position) + 1) * self.segment_bytes;
        debug_assert_eq!(self.rest_behind(self.position), 0, "nothing is left of a segment that was ended");
    }

    fn new_buffer(&mut self, capacity: usize) -> IoBuf {
        debug_assert!(
            capacity > 0 && capacity.is_multiple_of(BLOCK_BYTES),
            "a chunk's memory is whole blocks"
        );
        self.memory_bytes += capacity;
        let reused = if capacity == self.chunk_bytes { self.idle.pop() } else { None };
        reused.unwrap_or_else(|| IoBuf::zeroed(capacity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append_with(staging: &mut Staging, payload: usize, wanted: u64) -> GroupLsns {
        let mut group = WalGroup::new();
        group.push(1, 1, &vec![0; payload]);
        let length = group.encoded_len();
        let write = |start, place: &mut [u8]| group.write_at(Lsn(start), 0, place);
        match staging.ring().append(length, write) {
            Some(start) => GroupLsns { start: Lsn(start), end: Lsn(start).advance(length as u64) },
            None => staging.open(&group, 0, wanted),
        }
    }

    fn append(staging: &mut Staging, payload: usize) -> GroupLsns {
        append_with(staging, payload, staging.chunk_bytes())
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
        assert_eq!((staging.segment(), staging.rest_behind(staging.border())), (0, 0));
        assert_eq!(append(&mut staging, 100).start, Lsn(segment + 64));
        assert_eq!(staging.segment(), 1);
        assert_eq!(staging.take().len(), 1);
    }

    #[test]
    fn an_open_chunk_counts_in_full_until_it_is_sealed() {
        let block = BLOCK_BYTES as u64;
        let mut staging = Staging::new(16 * block, 0, Lsn(0));
        assert_eq!(append(&mut staging, 100).start, Lsn(64));
        assert_eq!((staging.border(), staging.border_max()), (block, 4 * block));
        staging.seal();
        assert_eq!((staging.border(), staging.border_max()), (block, block));
        // As much as there is room for, and always as much as the group needs.
        append_with(&mut staging, 100, 3 * block - 1);
        assert_eq!((staging.border(), staging.border_max()), (2 * block, 3 * block));
        append_with(&mut staging, 9000, 0);
        assert_eq!((staging.border(), staging.border_max()), (5 * block, 5 * block));
        assert_eq!(staging.memory_bytes() as u64, (4 + 2 + 3) * block);
    }

    #[test]
    fn more_chunks_are_sealed_than_the_ring_holds() {
        let mut staging = Staging::new(64 * BLOCK_BYTES as u64, 0, Lsn(0));
        for _ in 0..40 {
            append(&mut staging, 100);
            staging.seal();
        }
        let taken: Vec<Chunk> = staging.take().map(Chunk::complete).collect();
        assert_eq!(taken.len(), 40);
        for (number, chunk) in taken.into_iter().enumerate() {
            assert_eq!(chunk.start, Lsn((number * BLOCK_BYTES) as u64));
            staging.release(chunk.into_disk_bytes(1, 1, Lsn(0)));
        }
        assert_eq!(staging.memory_bytes(), 0);
    }
}
