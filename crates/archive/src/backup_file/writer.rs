//! Writing a backup file: records in, frames out.
//!
//! Invariant: each frame leaves whole, in order. Without the last record the file counts as truncated. Used by `evenkeel backup`.

use super::seal::{BackupKey, Seal};
use std::io::{self, Write};

const STORED_AS_IT_IS: u8 = 0;
const STORED_BY_ZSTD: u8 = 1;

/// A backup file that is written.
pub struct BackupWriter<W> {
    output: W,
    seal: Seal,
    /// The level of zstd; `None`: nothing is compressed.
    level: Option<i32>,
    number: u64,
    written: u64,
    is_over: bool,
}

impl<W: Write> BackupWriter<W> {
    /// Writes the head.
    pub fn begin(mut output: W, level: Option<i32>, key: Option<&BackupKey>) -> io::Result<BackupWriter<W>> {
        let seal = Seal::new(key).ok_or_else(|| io::Error::other("no random numbers"))?;
        output.write_all(seal.head())?;
        let written = seal.head().len() as u64;
        Ok(BackupWriter { output, seal, level, number: 0, written, is_over: false })
    }

    /// Adds a record of the engine.
    pub fn add(&mut self, record: &[u8], is_last: bool) -> io::Result<()> {
        let packed = self.level.and_then(|level| zstd::bulk::compress(record, level).ok());
        let (codec, mut stored) = match packed.filter(|packed| packed.len() < record.len()) {
            Some(packed) => (STORED_BY_ZSTD, packed),
            None => (STORED_AS_IT_IS, record.to_vec()),
        };
        let too_long = |_| io::Error::other("a record is too long");
        let mut header = Vec::with_capacity(super::seal::FRAME_HEADER_BYTES);
        header.extend_from_slice(&u32::try_from(record.len()).map_err(too_long)?.to_le_bytes());
        header.extend_from_slice(&u32::try_from(stored.len()).map_err(too_long)?.to_le_bytes());
        header.extend_from_slice(&[codec, u8::from(is_last), 0, 0]);
        debug_assert_eq!(header.len(), super::seal::FRAME_HEADER_BYTES, "headers have one length");
        debug_assert!(stored.len() <= record.len(), "what is stored is no longer than its record");
        debug_assert!(!self.is_over, "nothing follows the last record");
        self.is_over = is_last;
        let closed = self.seal.close(&header, self.number, &mut stored);
        closed.ok_or_else(|| io::Error::other("a frame cannot be encrypted"))?;
        self.output.write_all(&header)?;
        self.output.write_all(&stored)?;
        self.number += 1;
        self.written += (header.len() + stored.len()) as u64;
        Ok(())
    }

    /// How long the file is.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Hands the output back, with nothing left in between.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}
