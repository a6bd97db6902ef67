//! Reading a backup file: records in the order in which they were written, each of them checked.
//!
//! Invariant: any bytes are records or an error that names the file and the place. Used by `chain` and `check`, and by whoever makes an
//! increment of the file.

use super::seal::{BackupKey, FRAME_HEADER_BYTES, HEAD_BYTES, HeadFault, MAGIC, Seal};
use crate::ArchiveError;
use engine::{BackupHead, BackupRecord};
use std::io::{ErrorKind, Read};

/// No record is longer: a chunk of log has 64 MB at most.
const RECORD_BYTES_MAX: usize = 65 << 20;

/// A backup file that is read.
pub struct BackupReader<R> {
    input: R,
    name: String,
    seal: Seal,
    head: BackupHead,
    number: u64,
    /// Where the next frame begins.
    at: u64,
    is_over: bool,
}

impl<R: Read> BackupReader<R> {
    /// Reads as far as it takes to know what it is. `name`: what people know it by.
    pub fn open(mut input: R, name: &str, key: Option<&BackupKey>) -> Result<BackupReader<R>, ArchiveError> {
        let bytes = read(&mut input, HEAD_BYTES, name)?;
        let seal = Seal::of_head(&bytes, key).map_err(|fault| match fault {
            HeadFault::NoBackup => ArchiveError::Unfit(format!("{name} is no backup file")),
            HeadFault::Damaged => ArchiveError::Damaged(format!("{name} is damaged at byte 0, in its head")),
            HeadFault::NeedsKey => {
                ArchiveError::Unfit(format!("{name} is encrypted: give its key with --key-file"))
            }
            HeadFault::WrongKey => {
                ArchiveError::Unfit(format!("{name} is encrypted with another key than that of the key file"))
            }
            HeadFault::HasNoKey => ArchiveError::Unfit(format!(
                "{name} is not encrypted, so nothing says who has written it: leave --key-file out to use it"
            )),
        })?;
        let none = BackupHead {
            id: 0,
            base: 0,
            point: engine::ChangePoint { map: 0, number: 0 },
            log_id: 0,
            page_size_bytes: 0,
            segment_bytes: 0,
            from_lsn: 0,
            begun_us: 0,
            pages_total: 0,
            is_partial: false,
        };
        let at = bytes.len() as u64;
        let mut reader =
            BackupReader { input, name: name.into(), seal, head: none, number: 0, at, is_over: false };
        match reader.next_record()? {
            Some(BackupRecord::Head(head)) => reader.head = head,
            _ => return Err(reader.damaged(HEAD_BYTES as u64)),
        }
        Ok(reader)
    }

    /// What it is.
    pub fn head(&self) -> &BackupHead {
        &self.head
    }

    /// What people know it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How much of it has been read.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The next record; `None` behind the last.
    pub fn next_record(&mut self) -> Result<Option<BackupRecord>, ArchiveError> {
        if self.is_over {
            return Ok(None);
        }
        let header = read(&mut self.input, FRAME_HEADER_BYTES, &self.name)?;
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let cut = |this: &Self, at: u64| {
            ArchiveError::Damaged(format!("{} is truncated: it ends at byte {at}, before its end", this.name))
        };
        if header.len() < FRAME_HEADER_BYTES {
            return Err(cut(self, self.at + header.len() as u64));
        }
        let (record_bytes, stored_bytes) = (number(0) as usize, number(4) as usize);
        if record_bytes > RECORD_BYTES_MAX || stored_bytes > record_bytes {
            return Err(self.damaged(self.at));
        }
        let whole = stored_bytes + self.seal.ending_bytes();
        let mut bytes = read(&mut self.input, whole, &self.name)?;
        if bytes.len() < whole {
            return Err(cut(self, self.at + (header.len() + bytes.len()) as u64));
        }
        let opened = self.seal.open(&header, self.number, &mut bytes);
        let record = opened.and_then(|()| match header[8] {
            0 => Some(bytes),
            1 => zstd::bulk::decompress(&bytes, record_bytes).ok(),
            _ => None,
        });
        let record = record.filter(|record| record.len() == record_bytes);
        let record = record.and_then(|record| BackupRecord::decode(&record));
        let record = record.ok_or_else(|| self.damaged(self.at))?;
        self.is_over = header[9] == 1;
        // The end is the last one, and only it.
        if self.is_over != matches!(record, BackupRecord::End(_)) {
            return Err(self.damaged(self.at));
        }
        self.at += (header.len() + whole) as u64;
        self.number += 1;
        Ok(Some(record))
    }

    pub(crate) fn damaged(&self, at: u64) -> ArchiveError {
        ArchiveError::Damaged(format!("{} is damaged at byte {at}, in part {}", self.name, self.number))
    }
}

/// Whether it begins as a backup file does, with or without a key. What cannot be read may be one.
pub fn is_backup_file(input: Option<impl Read>) -> bool {
    let Some(mut input) = input else { return true };
    read(&mut input, MAGIC.len(), "").is_ok_and(|bytes| bytes == MAGIC)
}

/// So many bytes, or those up to the end.
fn read(input: &mut impl Read, length: usize, name: &str) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = vec![0; length];
    let mut have = 0;
    while have < length {
        match input.read(&mut bytes[have..]) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(ArchiveError::Io(format!("cannot read {name}: {error}"))),
        }
    }
    bytes.truncate(have);
    Ok(bytes)
}
