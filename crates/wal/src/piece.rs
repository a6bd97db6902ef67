//! Pieces of the log: a few whole chunks as they lie in their segment, for whoever keeps log elsewhere or makes a log of it.
//!
//! Invariant: a `LogPiece` is valid: each chunk has its place, its checksum and the right one before it, and all lie in one
//! segment. What a piece says of its continuation (`follows`) is what the reader of recovery demands too. Nothing here is
//! written. Made by `files`; the archive of the log stores them and makes them again.

use crate::format::{BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, END_OF_SEGMENT};
use crate::group::{GROUP_HEADER_BYTES, group_checksum};
use crate::reader::LogGroup;
use crate::{Lsn, decode_records};

/// What a chunk has to know of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogThread {
    /// Which log.
    pub log_id: u64,
    /// Which of its openings.
    pub epoch: u64,
}

/// Whole chunks that lie one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPiece {
    start: u64,
    bytes: Vec<u8>,
}

impl LogPiece {
    /// The piece that these bytes are when they lie at `start`; `None` if they are none.
    pub fn from_bytes(start: u64, bytes: Vec<u8>) -> Option<LogPiece> {
        let whole = Self::whole_chunks(start, &bytes);
        (whole > 0 && whole == bytes.len()).then_some(LogPiece { start, bytes })
    }

    /// The whole and valid chunks that begin with the first byte.
    pub(crate) fn front_of(start: u64, mut bytes: Vec<u8>) -> Option<LogPiece> {
        bytes.truncate(Self::whole_chunks(start, &bytes));
        (!bytes.is_empty()).then_some(LogPiece { start, bytes })
    }

    fn whole_chunks(start: u64, bytes: &[u8]) -> usize {
        let mut offset = 0;
        let mut before: Option<ChunkHeader> = None;
        while let Some(header) = bytes.get(offset..).and_then(ChunkHeader::read) {
            let end = offset + header.padded() as usize;
            let is_ours = header.start == Lsn(start + offset as u64)
                && bytes.get(offset..end).is_some_and(|chunk| header.verify(chunk));
            let follows = before.is_none_or(|before| {
                before.log_id == header.log_id
                    && header.follows(before.epoch)
                    && before.flags & END_OF_SEGMENT == 0
            });
            if !is_ours || !follows {
                break;
            }
            before = Some(header);
            offset = end;
        }
        offset
    }

    /// Where it lies: a block border.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Its bytes, as `from_bytes` takes them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the chunk behind it begins.
    pub fn next(&self, segment_bytes: u64) -> u64 {
        let end = self.start + self.bytes.len() as u64;
        if self.last().flags & END_OF_SEGMENT != 0 { end.next_multiple_of(segment_bytes) } else { end }
    }

    /// The end of its last group.
    pub fn end(&self) -> Lsn {
        self.last().end()
    }

    /// What its continuation has to follow.
    pub fn thread(&self) -> LogThread {
        let last = self.last();
        LogThread { log_id: last.log_id, epoch: last.epoch }
    }

    /// Whether it is the continuation of what ended so.
    pub fn follows(&self, before: LogThread) -> bool {
        let first = self.chunks().next().expect("a piece has a chunk").0;
        first.log_id == before.log_id && first.follows(before.epoch)
    }

    /// Whether the segment ends with it.
    pub fn ends_segment(&self) -> bool {
        self.last().flags & END_OF_SEGMENT != 0
    }

    fn last(&self) -> ChunkHeader {
        self.chunks().last().expect("a piece has a chunk").0
    }

    fn chunks(&self) -> impl Iterator<Item = (ChunkHeader, &[u8])> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let header = ChunkHeader::read(rest)?;
            let (chunk, behind) = rest.split_at_checked(header.padded() as usize)?;
            rest = behind;
            Some((header, chunk))
        })
    }

    /// Its groups in order. What is no group inside of a valid chunk ends them.
    pub fn groups(&self) -> impl Iterator<Item = LogGroup<'_>> {
        self.chunks().flat_map(|(header, chunk)| groups_of(header, chunk))
    }

    /// The chunks that begin at or behind a place.
    pub fn from_place(self, place: u64) -> Option<LogPiece> {
        if place <= self.start {
            return Some(self);
        }
        let mut start = self.start;
        for (header, _) in self.chunks() {
            if start >= place {
                break;
            }
            start += header.padded();
        }
        let bytes = self.bytes[(start - self.start) as usize..].to_vec();
        (start >= place && !bytes.is_empty()).then_some(LogPiece { start, bytes })
    }

    /// What is left when the log ends behind the last group that does not reach beyond `end`; `None` if that is nothing.
    pub fn cut(&self, end: Lsn) -> Option<LogPiece> {
        let mut bytes = Vec::new();
        for (header, chunk) in self.chunks() {
            if header.end() <= end {
                bytes.extend_from_slice(chunk);
                continue;
            }
            let last = groups_of(header, chunk).map(|group| group.end).take_while(|last| *last <= end).last();
            if let Some(last) = last {
                let used = (last.0 - header.start.0) as u32;
                let shorter = ChunkHeader { used, flags: 0, ..header };
                let at = bytes.len();
                bytes.extend_from_slice(&chunk[..used as usize]);
                bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
                shorter.seal(&mut bytes[at..]);
            }
            break;
        }
        debug_assert!(bytes.len().is_multiple_of(BLOCK_BYTES), "a piece consists of blocks");
        (!bytes.is_empty()).then_some(LogPiece { start: self.start, bytes })
    }
}

fn groups_of(header: ChunkHeader, chunk: &[u8]) -> impl Iterator<Item = LogGroup<'_>> {
    let mut place = CHUNK_HEADER_BYTES;
    std::iter::from_fn(move || {
        let rest = chunk.get(place..header.used as usize)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (stored, rest) = rest.split_first_chunk::<4>()?;
        let records = rest.get(..u32::from_le_bytes(*length) as usize)?;
        let start = header.start.advance(place as u64);
        let is_whole = group_checksum(crc_fast::crc32_iscsi(records), start) == u32::from_le_bytes(*stored)
            && decode_records(records).all(|record| record.is_ok());
        place += GROUP_HEADER_BYTES + records.len();
        is_whole.then(|| LogGroup::new(start, header.start.advance(place as u64), records))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WalGroup;

    /// Three chunks with `counts` groups each.
    fn piece(counts: [usize; 3]) -> (LogPiece, Vec<u64>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for count in counts {
            let start = Lsn(8192 + bytes.len() as u64);
            let mut chunk = vec![0; CHUNK_HEADER_BYTES];
            for number in 0..count {
                let mut group = WalGroup::new();
                group.push(9, number as u64, &vec![number as u8; 700]);
                let place = chunk.len();
                chunk.resize(place + group.encoded_len(), 0);
                let checksum = crc_fast::crc32_iscsi(group.record_bytes());
                group.write_at(start.advance(place as u64), checksum, &mut chunk[place..]);
                ends.push(start.0 + chunk.len() as u64);
            }
            let used = chunk.len() as u32;
            chunk.resize(chunk.len().next_multiple_of(BLOCK_BYTES), 0);
            let header = ChunkHeader {
                log_id: 3,
                start,
                epoch: 5,
                previous_epoch: 0,
                durable: Lsn(64),
                used,
                flags: 0,
            };
            header.seal(&mut chunk);
            bytes.extend_from_slice(&chunk);
        }
        (LogPiece::from_bytes(8192, bytes).expect("valid chunks"), ends)
    }

    #[test]
    fn a_piece_is_cut_between_any_two_groups() {
        let (whole, ends) = piece([3, 9, 1]);
        assert_eq!(whole.groups().map(|group| group.end.0).collect::<Vec<_>>(), ends);
        for (index, end) in ends.iter().enumerate() {
            for beyond in [0, 1, 100] {
                let cut = whole.cut(Lsn(end + beyond)).expect("something is left");
                assert_eq!(cut.end(), Lsn(*end));
                assert_eq!(cut.groups().count(), index + 1);
                assert_eq!(LogPiece::from_bytes(8192, cut.bytes().to_vec()), Some(cut));
            }
        }
        assert_eq!(whole.cut(Lsn(ends[0] - 1)), None);
    }

    #[test]
    fn a_piece_begins_at_any_chunk_and_every_flipped_bit_is_noticed() {
        let (whole, _) = piece([3, 9, 1]);
        let second = whole.clone().from_place(8193).expect("two chunks are left");
        assert_eq!((second.start(), second.groups().count()), (12288, 10));
        assert_eq!(whole.clone().from_place(whole.next(1 << 20)), None);
        let used = |at: usize| {
            whole.chunks().any(|(header, _)| {
                let start = (header.start.0 - 8192) as usize;
                (start..start + header.used as usize).contains(&at)
            })
        };
        for at in (0..whole.bytes().len()).filter(|at| used(*at)).step_by(7) {
            let mut damaged = whole.bytes().to_vec();
            damaged[at] ^= 16;
            assert_eq!(LogPiece::from_bytes(8192, damaged), None, "byte {at}");
        }
    }
}
