//! The segment files of a log as a place to take pieces from, and as a place to put pieces into.
//!
//! Invariant: what is read lies below the durable LSN of a log in use, or in a log that nobody uses, so nothing is read while
//! it changes. A log that was put together is complete: its segments are filled to their ends, and there is one behind a
//! segment that says it has ended. Used by whoever archives the log, and by restore.

use crate::format::{BLOCK_BYTES, ChunkHeader, align_up, segment_before, segment_path};
use crate::piece::LogPiece;
use crate::segments::{ZEROS_BYTES, list_segments};
use crate::{Lsn, Wal, WalError};
use env::{Disk, File, IoBuf, OpenOptions};
use std::sync::Arc;

/// Where the segment begins that a reader needs who goes on from `lsn`.
pub fn segment_start(lsn: Lsn, segment_bytes: u64) -> u64 {
    segment_before(lsn, segment_bytes) * segment_bytes
}

/// The files of a log, for reading.
pub struct LogFiles {
    disk: Arc<dyn Disk>,
    directory: String,
    segment_bytes: u64,
    open: Option<(u64, Arc<dyn File>)>,
}

impl Wal {
    /// Which log this is.
    pub fn log_id(&self) -> u64 {
        self.shared.log_id
    }

    /// The files of this log.
    pub fn files(&self) -> LogFiles {
        LogFiles {
            disk: self.shared.env.disk.clone(),
            directory: self.shared.options.directory.clone(),
            segment_bytes: self.shared.options.segment_bytes,
            open: None,
        }
    }
}

impl LogFiles {
    /// Those of a log that nobody uses; `None` if there are none.
    pub async fn of_directory(disk: Arc<dyn Disk>, directory: &str) -> Result<Option<LogFiles>, WalError> {
        let numbers = list_segments(&*disk, directory).await?.unwrap_or_default();
        let Some(first) = numbers.first() else { return Ok(None) };
        let file = disk.open(&segment_path(directory, *first), OpenOptions::existing().direct()).await?;
        let segment_bytes = file.len().await?;
        if segment_bytes == 0 || !segment_bytes.is_multiple_of(BLOCK_BYTES as u64) {
            return Ok(None);
        }
        Ok(Some(LogFiles { disk, directory: directory.into(), segment_bytes, open: Some((*first, file)) }))
    }

    /// The size of each segment.
    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Where the segment begins that a reader needs who goes on from `lsn`.
    pub fn place_before(&self, lsn: Lsn) -> u64 {
        segment_start(lsn, self.segment_bytes)
    }

    /// Where the oldest segment begins.
    pub async fn begin(&self) -> Result<u64, WalError> {
        let numbers = list_segments(&*self.disk, &self.directory).await?.unwrap_or_default();
        let first = numbers.first().ok_or_else(|| WalError::Missing { directory: self.directory.clone() })?;
        Ok(first * self.segment_bytes)
    }

    /// The chunks from `place` on that end before `end`, about `wanted` bytes, at least one chunk; `None` where no valid chunk
    /// is.
    pub async fn piece(&mut self, place: u64, end: Lsn, wanted: u64) -> Result<Option<LogPiece>, WalError> {
        let end = align_up(end.0).min((place / self.segment_bytes + 1) * self.segment_bytes);
        if place >= end {
            return Ok(None);
        }
        let bytes = self.read(place, wanted.clamp(BLOCK_BYTES as u64, end - place)).await?;
        let Some(header) = ChunkHeader::read(&bytes) else { return Ok(None) };
        let first = align_up(header.padded());
        if first > end - place {
            return Ok(None);
        }
        let bytes = if first > bytes.len() as u64 { self.read(place, first).await? } else { bytes };
        Ok(LogPiece::front_of(place, bytes))
    }

    async fn read(&mut self, place: u64, length: u64) -> Result<Vec<u8>, WalError> {
        debug_assert!(
            place % self.segment_bytes + length <= self.segment_bytes,
            "a read lies in one segment"
        );
        let number = place / self.segment_bytes;
        let file = match &self.open {
            Some((open, file)) if *open == number => file.clone(),
            _ => {
                let path = segment_path(&self.directory, number);
                let file = self.disk.open(&path, OpenOptions::existing().direct()).await?;
                self.open = Some((number, file.clone()));
                file
            }
        };
        let buffer = IoBuf::for_overwriting(length as usize);
        let (buffer, result) = file.read_at(place % self.segment_bytes, buffer).await;
        result?;
        Ok(buffer.as_slice().to_vec())
    }

    /// What is wrong at a place.
    pub fn damaged(&self, place: u64, reason: &'static str) -> WalError {
        let file = segment_path(&self.directory, place / self.segment_bytes);
        WalError::Damaged { file, offset: place % self.segment_bytes, lsn: Lsn(place), reason }
    }
}

/// A log that is put together from pieces, in a directory of its own.
pub struct LogBuilder {
    disk: Arc<dyn Disk>,
    directory: String,
    segment_bytes: u64,
    /// Up to here the present segment is written.
    place: u64,
    open: Option<Arc<dyn File>>,
    has_ended: bool,
}

impl LogBuilder {
    /// Begins with the segment that begins at `place`; makes the directory.
    pub async fn create(
        disk: Arc<dyn Disk>,
        directory: &str,
        segment_bytes: u64,
        place: u64,
    ) -> Result<LogBuilder, WalError> {
        assert!(place.is_multiple_of(segment_bytes), "a log begins with a segment");
        disk.create_dir(directory).await?;
        let directory = directory.into();
        Ok(LogBuilder { disk, directory, segment_bytes, place, open: None, has_ended: false })
    }

    /// Adds the piece that comes next.
    pub async fn add(&mut self, piece: &LogPiece) -> Result<(), WalError> {
        assert!(piece.start() >= self.place, "pieces come in order");
        while self.place < piece.start() {
            self.fill(piece.start()).await?;
        }
        self.write(IoBuf::copy_of(piece.bytes())).await?;
        self.has_ended = piece.ends_segment();
        Ok(())
    }

    /// Completes the last segment and makes all durable.
    pub async fn finish(mut self) -> Result<(), WalError> {
        if self.has_ended {
            // Its continuation is looked for in the next one.
            let begin = self.place.next_multiple_of(self.segment_bytes);
            while self.place < begin {
                self.fill(begin).await?;
            }
            self.fill(begin + self.segment_bytes).await?;
        }
        let end = self.place.next_multiple_of(self.segment_bytes);
        while self.place < end {
            self.fill(end).await?;
        }
        Ok(self.disk.sync_dir(&self.directory).await?)
    }

    /// Zeros, to the end of the segment at most.
    async fn fill(&mut self, end: u64) -> Result<(), WalError> {
        let end = end.min((self.place / self.segment_bytes + 1) * self.segment_bytes);
        debug_assert!(end > self.place, "filling goes on");
        self.write(IoBuf::zeroed((end - self.place).min(ZEROS_BYTES) as usize)).await
    }

    async fn write(&mut self, bytes: IoBuf) -> Result<(), WalError> {
        let file = match self.open.take() {
            Some(file) => file,
            None => {
                let path = segment_path(&self.directory, self.place / self.segment_bytes);
                self.disk.open(&path, OpenOptions::create().direct()).await?
            }
        };
        let length = bytes.len() as u64;
        let (_, result) = file.write_at(self.place % self.segment_bytes, bytes).await;
        result?;
        self.place += length;
        if self.place.is_multiple_of(self.segment_bytes) {
            file.sync_all().await?;
        } else {
            self.open = Some(file);
        }
        Ok(())
    }
}
