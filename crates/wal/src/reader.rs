//! `WalReader`: reads groups in order from a checkpoint to the end of the log, for recovery.
//!
//! It tells two kinds of end apart. A *torn tail* is what a crash leaves: the first chunk that is not valid, with
//! nothing durable behind it; reading ends there. *Damage* is an invalid chunk that had been durable once: either
//! the caller knows a durable LSN behind it (from a checkpoint or a page), or a valid chunk further on carries
//! one. Cutting the log there would lose acknowledged commits, so it is an error with file and offset.

use crate::format::{
    BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, END_OF_SEGMENT, segment_before, segment_path,
};
use crate::group::{GROUP_HEADER_BYTES, group_checksum};
use crate::segments::list_segments;
use crate::window::Window;
use crate::{Lsn, Record, WalError, decode_records};
use env::{Env, OpenOptions};

/// Where the log ends, as `Wal::resume` needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTail {
    /// Where the next chunk goes.
    pub(crate) position: u64,
    /// The end of the last valid chunk's groups.
    pub(crate) end: Lsn,
    pub(crate) epoch: u64,
    pub(crate) log_id: u64,
    pub(crate) segment_bytes: u64,
    /// Where reading began.
    pub(crate) from: Lsn,
    /// Everything before this was durable once, whatever a failed sync may have lost since.
    pub(crate) durable: Lsn,
}

impl LogTail {
    /// Everything before this was read.
    pub fn end_lsn(&self) -> Lsn {
        self.end
    }

    /// How many bytes of the segment belong to the log, if some of them may never have been durable.
    pub(crate) fn kept_in_doubt(&self, segment: u64) -> Option<u64> {
        let start = segment * self.segment_bytes;
        let kept = self.position.saturating_sub(start).min(self.segment_bytes);
        (kept > 0 && self.durable < self.end && self.durable.0 < start + kept).then_some(kept)
    }
}

pub struct WalReader {
    env: Env,
    directory: String,
    known_durable: Lsn,
    window: Window,
    tail: LogTail,
    /// The chunk being read: where the next group starts and where the groups end.
    next: Lsn,
    /// Whether the last chunk said that its segment ends with it.
    segment_ended: bool,
    /// False until the first chunk was accepted, whose epoch is taken as it is.
    started: bool,
    finished: bool,
    /// The first segment that is still there.
    oldest_segment: u64,
    /// Where reading ends, whatever follows.
    until: Option<Lsn>,
}

/// A valid group.
#[derive(Debug, Clone, Copy)]
pub struct LogGroup<'a> {
    pub start: Lsn,
    pub end: Lsn,
    bytes: &'a [u8],
}

impl<'a> LogGroup<'a> {
    /// The records have been decoded once.
    pub(crate) fn new(start: Lsn, end: Lsn, bytes: &'a [u8]) -> LogGroup<'a> {
        debug_assert!(start < end, "a group has bytes");
        LogGroup { start, end, bytes }
    }

    /// The records, each with its LSN.
    pub fn records(&self) -> impl Iterator<Item = (Lsn, Record<'a>)> + use<'a> {
        let first = self.start.advance(GROUP_HEADER_BYTES as u64);
        decode_records(self.bytes).map(move |record| {
            let record = record.expect("the reader has decoded the group once");
            (first.advance(record.end as u64), record)
        })
    }
}

impl WalReader {
    /// Starts at the segment that `from` needs. `from` is the start of a group (or `Lsn::ZERO`), durable when it
    /// was noted down; `known_durable` is the highest LSN known to have been durable, or `Lsn::ZERO`.
    pub async fn open(env: &Env, directory: &str, from: Lsn, known_durable: Lsn) -> Result<Self, WalError> {
        let missing = || WalError::Missing { directory: directory.into() };
        let numbers = list_segments(&*env.disk, directory).await?.ok_or_else(missing)?;
        let oldest_segment = *numbers.first().ok_or_else(missing)?;
        let segment_bytes = segment_size(env, directory, &numbers).await?;
        let number = segment_before(from, segment_bytes);
        let position = number * segment_bytes;
        let known_durable = known_durable.max(from);
        let (end, durable) = (Lsn(position), known_durable);
        let tail = LogTail { position, end, epoch: 0, log_id: 0, segment_bytes, from, durable };
        let window = Window::new(env.clone(), directory, segment_bytes);
        Ok(Self {
            env: env.clone(),
            directory: directory.into(),
            known_durable,
            window,
            tail,
            next: Lsn(position),
            segment_ended: false,
            oldest_segment,
            started: false,
            finished: false,
            until: None,
        })
    }

    /// For a log in use: reads nothing behind `end`, where it ended when an earlier reader had come to its end.
    pub fn until(mut self, end: Lsn) -> Self {
        debug_assert!(!self.started, "where to end is said before reading");
        self.until = Some(end);
        self.window.end_at(end.0.next_multiple_of(BLOCK_BYTES as u64));
        self
    }

    /// Where the oldest segment begins that is there. Not 0 when the log has been used so much that its beginning was
    /// given up, or when a first start was cut off and the name of its first segment is lost.
    pub fn begin(&self) -> Lsn {
        Lsn(self.oldest_segment * self.tail.segment_bytes)
    }

    /// The next group that ends behind `from`, or None at the end of the log.
    pub async fn next_group(&mut self) -> Result<Option<LogGroup<'_>>, WalError> {
        loop {
            self.finished |= self.until.is_some_and(|end| self.next >= end);
            if !self.finished && self.next < self.tail.end {
                let (start, end) = self.check_group()?;
                debug_assert!(start < end && end <= self.tail.end, "a group lies in its chunk");
                self.next = end;
                if end < self.tail.from {
                    continue;
                }
                let bytes = self.window.slice(start.0 + GROUP_HEADER_BYTES as u64, end.0);
                return Ok(Some(LogGroup { start, end, bytes }));
            }
            if self.finished || !self.next_chunk().await? {
                self.finished = true;
                self.window.finish().await;
                return Ok(None);
            }
        }
    }

    /// The end of the log, to continue it.
    ///
    /// # Panics
    /// If `next_group` has not returned None.
    pub fn into_tail(self) -> LogTail {
        assert!(self.finished, "the end of the log has not been reached");
        self.tail
    }

    /// Checks the group at `next`, inside the valid chunk.
    fn check_group(&self) -> Result<(Lsn, Lsn), WalError> {
        let bytes = self.window.slice(self.next.0, self.tail.end.0);
        let damaged = || self.damaged(self.next, "a group inside a valid chunk is not valid");
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (stored, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let records = rest.get(..u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
        let checksum = group_checksum(crc_fast::crc32_iscsi(records), self.next);
        let whole = decode_records(records).all(|record| record.is_ok());
        if checksum != u32::from_le_bytes(*stored) || !whole {
            return Err(damaged());
        }
        Ok((self.next, self.next.advance((GROUP_HEADER_BYTES + records.len()) as u64)))
    }

    /// Goes to the next chunk; false when there is none.
    async fn next_chunk(&mut self) -> Result<bool, WalError> {
        if self.segment_ended {
            self.tail.position = self.tail.position.next_multiple_of(self.tail.segment_bytes);
        }
        let position = self.tail.position;
        let mut found = self.window.chunk(position).await?;
        if !found.as_ref().is_some_and(|header| self.accepts(header)) {
            // What is wrong may have happened on the way; nothing may be cut for that.
            found = self.window.chunk_again(position).await?;
        }
        let header = match found {
            Some(header) if self.accepts(&header) => header,
            None if self.segment_ended && !self.window.has_segment(position) => {
                return Err(self.damaged(Lsn(position), "the segment is missing"));
            }
            _ => {
                self.require_torn_tail().await?;
                return Ok(false);
            }
        };
        self.started = true;
        debug_assert_eq!(header.start.0, position, "a chunk is accepted in its own place");
        self.next = header.start.advance(CHUNK_HEADER_BYTES as u64);
        self.segment_ended = header.flags & END_OF_SEGMENT != 0;
        self.tail.position = position + header.padded();
        debug_assert!(
            self.tail.position / self.tail.segment_bytes <= position / self.tail.segment_bytes + 1,
            "a chunk lies in one segment"
        );
        self.tail.end = header.end();
        self.tail.epoch = header.epoch;
        self.tail.log_id = header.log_id;
        self.tail.durable = self.tail.durable.max(header.durable);
        Ok(true)
    }

    fn accepts(&self, header: &ChunkHeader) -> bool {
        !self.started || header.log_id == self.tail.log_id && header.follows(self.tail.epoch)
    }

    /// The chunk at the tail is not valid: makes sure that it never was durable.
    async fn require_torn_tail(&mut self) -> Result<(), WalError> {
        let invalid = Lsn(self.tail.position);
        if self.tail.end < self.known_durable || !self.started {
            return Err(self.damaged(invalid, "a chunk that was durable is not valid"));
        }
        let mut witness_window = Window::new(self.env.clone(), &self.directory, self.tail.segment_bytes);
        let mut position = self.tail.position + BLOCK_BYTES as u64;
        let last = (self.tail.position / self.tail.segment_bytes + 2) * self.tail.segment_bytes;
        while position < last {
            let header = witness_window.header(position).await?;
            let ours =
                header.filter(|header| header.log_id == self.tail.log_id && header.durable > self.tail.end);
            if ours.is_some() && witness_window.chunk(position).await?.is_some() {
                return Err(self.damaged(invalid, "later log proves that this chunk was durable"));
            }
            position += BLOCK_BYTES as u64;
        }
        Ok(())
    }

    fn damaged(&self, lsn: Lsn, reason: &'static str) -> WalError {
        let file = segment_path(&self.directory, lsn.0 / self.tail.segment_bytes);
        WalError::Damaged { file, offset: lsn.0 % self.tail.segment_bytes, lsn, reason }
    }
}

/// The size that all segments have: a file gets a segment's name only when it is complete.
async fn segment_size(env: &Env, directory: &str, numbers: &[u64]) -> Result<u64, WalError> {
    let mut sizes = Vec::with_capacity(numbers.len());
    for number in numbers {
        let path = segment_path(directory, *number);
        match env.disk.open(&path, OpenOptions::existing().direct()).await {
            Ok(file) => sizes.push((*number, file.len().await?)),
            // A log that is running renames its oldest segments.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let largest = sizes.iter().map(|(_, size)| *size).max();
    let largest = largest.ok_or_else(|| WalError::Missing { directory: directory.into() })?;
    let is_odd = |size: u64| size != largest || size == 0 || !size.is_multiple_of(BLOCK_BYTES as u64);
    match sizes.into_iter().find(|(_, size)| is_odd(*size)) {
        Some((number, size)) => Err(wrong_size(directory, number, size, largest)),
        None => Ok(largest),
    }
}

/// A segment's file ends early.
pub(crate) fn wrong_size(directory: &str, number: u64, size: u64, segment_bytes: u64) -> WalError {
    WalError::Damaged {
        file: segment_path(directory, number),
        offset: size,
        lsn: Lsn(number.saturating_mul(segment_bytes)),
        reason: "the file does not have the size of a segment",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WalGroup;
    use env::sim::{SeededRandom, SimOptions, World};
    use env::{Disk, IoBuf, Random};

    const SEGMENT_BYTES: usize = 64 << 10;

    /// Writes a segment that starts with a chunk around `groups` and reads it to the end.
    fn read_chunk(groups: &[u8]) -> Result<usize, WalError> {
        let mut segment = vec![0; SEGMENT_BYTES];
        segment[CHUNK_HEADER_BYTES..CHUNK_HEADER_BYTES + groups.len()].copy_from_slice(groups);
        let used = (CHUNK_HEADER_BYTES + groups.len()) as u32;
        let (start, durable) = (Lsn::ZERO, Lsn::ZERO);
        let header = ChunkHeader { log_id: 1, start, epoch: 2, previous_epoch: 0, durable, used, flags: 0 };
        header.seal(&mut segment);
        let world = World::new(1, SimOptions::default());
        let env = world.env();
        let read = async {
            write_segment(&*env.disk, &segment).await;
            let mut reader = WalReader::open(&env, "wal", Lsn::ZERO, Lsn::ZERO).await?;
            let mut count = 0;
            while let Some(group) = reader.next_group().await? {
                count += group.records().count();
            }
            Ok(count)
        };
        world.block_on(read).unwrap()
    }

    async fn write_segment(disk: &dyn Disk, segment: &[u8]) {
        disk.create_dir("wal").await.unwrap();
        let file = disk.open(&segment_path("wal", 0), OpenOptions::create().direct()).await.unwrap();
        let (_, result) = file.write_at(0, IoBuf::copy_of(segment)).await;
        result.unwrap();
    }

    fn encoded(group: &WalGroup, start: Lsn) -> Vec<u8> {
        let checksum = group_checksum(crc_fast::crc32_iscsi(group.record_bytes()), start);
        let length = (group.record_bytes().len() as u32).to_le_bytes();
        [&length[..], &checksum.to_le_bytes(), group.record_bytes()].concat()
    }

    #[test]
    fn a_chunk_of_valid_groups_is_read() {
        let mut group = WalGroup::new();
        group.push(1, 1, b"one");
        group.push(2, 1, b"two");
        let first = encoded(&group, Lsn(64));
        let second = encoded(&group, Lsn(64 + first.len() as u64));
        assert_eq!(read_chunk(&[first.clone(), second].concat()), Ok(4));
        // The same bytes in another place are not the same group.
        assert!(matches!(read_chunk(&[first.clone(), first].concat()), Err(WalError::Damaged { .. })));
    }

    #[test]
    fn any_bytes_under_a_right_chunk_checksum_are_damage_and_no_panic() {
        let random = SeededRandom::new(1);
        let mut group = WalGroup::new();
        group.push(1, 1, &[3; 100]);
        let valid = encoded(&group, Lsn(64));
        for round in 0..300 {
            let mut bytes = valid.clone();
            if round % 3 == 0 {
                random.fill(&mut bytes);
            } else {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
                bytes.truncate(bytes.len() - random.below(3) * random.below(20));
            }
            let read = read_chunk(&bytes);
            assert!(matches!(read, Err(WalError::Damaged { .. })), "{read:?}");
        }
    }

    #[test]
    fn any_bytes_as_a_segment_are_no_panic() {
        let random = SeededRandom::new(2);
        for _ in 0..100 {
            let mut segment = vec![0; SEGMENT_BYTES];
            let (start, durable, used) = (Lsn::ZERO, Lsn(random.below(200_000) as u64), random.u64() as u32);
            let header =
                ChunkHeader { log_id: 1, start, epoch: 2, previous_epoch: 0, durable, used: 64, flags: 1 };
            header.seal(&mut segment);
            random.fill(&mut segment[4096..]);
            // A header that lies about its size.
            let mut lie = vec![0; BLOCK_BYTES];
            ChunkHeader { start: Lsn(4096), ..header }.seal(&mut lie);
            lie[48..52].copy_from_slice(&used.to_le_bytes());
            segment[4096..8192].copy_from_slice(&lie);
            let world = World::new(1, SimOptions::default());
            let env = world.env();
            let read = async {
                write_segment(&*env.disk, &segment).await;
                let mut reader = WalReader::open(&env, "wal", Lsn::ZERO, Lsn::ZERO).await?;
                reader.next_group().await.map(|group| group.is_some())
            };
            let read = world.block_on(read).unwrap();
            assert!(matches!(read, Ok(false) | Err(WalError::Damaged { .. })), "{read:?}");
        }
    }
}
