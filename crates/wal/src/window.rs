//! `Window`: a part of one segment in memory, addressed by stream position. What follows is being read while the caller
//! works on what is there.

use crate::WalError;
use crate::format::{BLOCK_BYTES, ChunkHeader, segment_path};
use env::{Completion, Env, File, IoBuf, OpenOptions, yield_now};
use std::sync::Arc;

/// One read. The window itself is as long as the chunks are.
const READ_BYTES: u64 = 1 << 20;

pub(crate) struct Window {
    env: Env,
    directory: String,
    segment_bytes: u64,
    file: Option<(u64, Option<Arc<dyn File>>)>,
    start: u64,
    bytes: Vec<u8>,
    /// The read of what follows, with its position.
    ahead: Option<(u64, Completion)>,
    /// To read into again.
    buffer: Option<IoBuf>,
    /// Nothing is read from here on.
    limit: u64,
}

impl Window {
    pub(crate) fn new(env: Env, directory: &str, segment_bytes: u64) -> Self {
        let directory = directory.into();
        Self {
            env,
            directory,
            segment_bytes,
            file: None,
            start: 0,
            bytes: Vec::new(),
            ahead: None,
            buffer: None,
            limit: u64::MAX,
        }
    }

    pub(crate) fn end_at(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Reads nothing any more: what follows may be written from now on.
    pub(crate) async fn finish(&mut self) {
        if let Some((_, reading)) = self.ahead.take() {
            // Nobody wants to know what it has brought.
            drop(reading.await);
        }
    }

    /// Whether the file for `position` was found by the last read.
    pub(crate) fn has_segment(&self, position: u64) -> bool {
        matches!(&self.file, Some((number, Some(_))) if *number == position / self.segment_bytes)
    }

    /// Bytes that `header` or `chunk` has loaded.
    pub(crate) fn slice(&self, from: u64, to: u64) -> &[u8] {
        debug_assert!(
            self.start <= from && from <= to && to <= self.end(),
            "only what is loaded is looked at"
        );
        &self.bytes[(from - self.start) as usize..(to - self.start) as usize]
    }

    /// What looks like a header at `position`, unverified.
    pub(crate) async fn header(&mut self, position: u64) -> Result<Option<ChunkHeader>, WalError> {
        if !self.load(position, BLOCK_BYTES as u64).await? {
            return Ok(None);
        }
        let header = ChunkHeader::read(self.slice(position, position + BLOCK_BYTES as u64));
        Ok(header.filter(|header| header.start.0 == position))
    }

    /// The valid chunk at `position`, whose bytes are then loaded; None when there is none.
    pub(crate) async fn chunk(&mut self, position: u64) -> Result<Option<ChunkHeader>, WalError> {
        debug_assert!(position.is_multiple_of(BLOCK_BYTES as u64), "chunks begin on block borders");
        let Some(header) = self.header(position).await? else { return Ok(None) };
        let segment_end = (position / self.segment_bytes + 1) * self.segment_bytes;
        if position + header.padded() > segment_end || !self.load(position, header.padded()).await? {
            return Ok(None);
        }
        let valid = header.verify(self.slice(position, position + header.padded()));
        Ok(valid.then_some(header))
    }

    /// The same, read anew.
    pub(crate) async fn chunk_again(&mut self, position: u64) -> Result<Option<ChunkHeader>, WalError> {
        self.finish().await;
        self.bytes.clear();
        self.chunk(position).await
    }

    /// Makes `length` bytes at `position` available; false when the segment's file is missing or too short.
    async fn load(&mut self, position: u64, length: u64) -> Result<bool, WalError> {
        let loaded = self.start..=self.end();
        if loaded.contains(&position) && position + length <= self.end() {
            return Ok(true);
        }
        let number = position / self.segment_bytes;
        let goes_on = loaded.contains(&position) && self.start / self.segment_bytes == number;
        let Some(file) = self.open(number).await? else { return Ok(false) };
        match goes_on {
            true => drop(self.bytes.drain(..(position - self.start) as usize)),
            false => self.bytes.clear(),
        }
        self.start = position;
        let read_end = ((number + 1) * self.segment_bytes).min(self.limit);
        while self.end() < read_end && self.end() < position + length {
            let reading = match self.ahead.take() {
                Some((at, reading)) if at == self.end() => reading,
                _ => self.begin_read(&*file, self.end(), read_end),
            };
            let (buffer, result) = reading.await;
            match result {
                Ok(()) => self.bytes.extend_from_slice(buffer.as_slice()),
                Err(error) if error.is_end_of_file() => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            self.buffer = Some(buffer);
        }
        if self.end() < read_end {
            self.ahead = Some((self.end(), self.begin_read(&*file, self.end(), read_end)));
            // An operation begins when its task pauses.
            yield_now().await;
        }
        Ok(position + length <= self.end())
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn begin_read(&mut self, file: &dyn File, position: u64, read_end: u64) -> Completion {
        debug_assert!(position < read_end, "a read brings something");
        debug_assert!(position.is_multiple_of(BLOCK_BYTES as u64), "reads begin on block borders");
        let wanted = READ_BYTES.min(read_end - position) as usize;
        let mut buffer = self.buffer.take().unwrap_or_else(|| IoBuf::zeroed(READ_BYTES as usize));
        buffer.set_len(wanted);
        file.read_at(position % self.segment_bytes, buffer)
    }

    async fn open(&mut self, number: u64) -> Result<Option<Arc<dyn File>>, WalError> {
        if let Some((open, file)) = &self.file
            && *open == number
        {
            return Ok(file.clone());
        }
        let path = segment_path(&self.directory, number);
        let file = match self.env.disk.open(&path, OpenOptions::existing().direct()).await {
            Ok(file) => Some(file),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        self.file = Some((number, file.clone()));
        Ok(file)
    }
}
