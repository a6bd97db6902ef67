//! What the archive has: one line for each file that is finished, in a small text that is replaced as a whole.
//!
//! Invariant: a file that is named is complete and durable, and had these bytes. A file that is not named yet is the one that was
//! being written; its own frames tell how far it is good. The last line has the checksum of those before. Used by `folder`.

use crate::ArchiveError;
use env::{Disk, IoBuf, OpenOptions};
use wal::LogThread;

pub(crate) const MANIFEST: &str = "manifest";
const NEW_MANIFEST: &str = "manifest.new";
const TITLE: &str = "evenkeel log archive 1";

/// A finished file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedFile {
    /// Where its first piece lies in the log.
    pub first: u64,
    /// Where the piece behind its last one lies.
    pub next: u64,
    /// The end of its last group.
    pub end_lsn: u64,
    /// What its continuation has to follow.
    pub(crate) thread: LogThread,
    /// The oldest and the newest time of a commit in it, in microseconds since 1970; 0 if it says none.
    pub first_us: u64,
    /// See `first_us`.
    pub last_us: u64,
    /// Its length.
    pub bytes: u64,
    /// The crc32c of the whole file.
    pub(crate) crc: u32,
}

impl ArchivedFile {
    /// What it is called.
    pub fn name(&self) -> String {
        file_name(self.first)
    }

    fn line(&self) -> String {
        let ArchivedFile { first, next, end_lsn, thread, first_us, last_us, bytes, crc } = self;
        let LogThread { log_id, epoch } = thread;
        format!("{first} {next} {end_lsn} {log_id} {epoch} {first_us} {last_us} {bytes} {crc}\n")
    }

    fn parse(line: &str) -> Option<ArchivedFile> {
        let numbers: Vec<u64> = line.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [first, next, end_lsn, log_id, epoch, first_us, last_us, bytes, crc] = numbers[..] else {
            return None;
        };
        let (thread, crc) = (LogThread { log_id, epoch }, u32::try_from(crc).ok()?);
        Some(ArchivedFile { first, next, end_lsn, thread, first_us, last_us, bytes, crc })
    }
}

pub(crate) fn file_name(first: u64) -> String {
    format!("{first:016x}.log")
}

/// The place in the name of a file of the archive.
pub(crate) fn place_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

fn encode(files: &[ArchivedFile]) -> String {
    let mut text = format!("{TITLE}\n");
    files.iter().for_each(|file| text.push_str(&file.line()));
    let crc = crc_fast::crc32_iscsi(text.as_bytes());
    text.push_str(&format!("checksum {crc}\n"));
    debug_assert!(decode(&text).as_deref() == Some(files), "a list is written as it is read");
    text
}

fn decode(text: &str) -> Option<Vec<ArchivedFile>> {
    let at = text.rfind("checksum ")?;
    let (body, checksum) = text.split_at_checked(at)?;
    let stored: u32 = checksum.strip_prefix("checksum ")?.strip_suffix('\n')?.parse().ok()?;
    if crc_fast::crc32_iscsi(body.as_bytes()) != stored {
        return None;
    }
    let mut lines = body.lines();
    (lines.next() == Some(TITLE)).then_some(())?;
    lines.map(ArchivedFile::parse).collect()
}

/// The files; `None` if there has been no archive here.
pub(crate) async fn load(disk: &dyn Disk) -> Result<Option<Vec<ArchivedFile>>, ArchiveError> {
    let file = match disk.open(MANIFEST, OpenOptions::existing()).await {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let length = file.len().await? as usize;
    let (buffer, result) = file.read_at(0, IoBuf::zeroed(length)).await;
    result?;
    let text = std::str::from_utf8(buffer.as_slice()).ok();
    let damaged = || ArchiveError::Damaged(format!("the archive's {MANIFEST} is damaged"));
    text.and_then(decode).ok_or_else(damaged).map(Some)
}

/// Replaces the list durably.
pub(crate) async fn store(disk: &dyn Disk, files: &[ArchivedFile]) -> Result<(), ArchiveError> {
    Ok(env::replace_file(disk, "", MANIFEST, NEW_MANIFEST, encode(files).as_bytes()).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_and_damage_is_noticed() {
        let file = |first: u64| ArchivedFile {
            first,
            next: first + 8192,
            end_lsn: first + 8000,
            thread: LogThread { log_id: u64::MAX, epoch: 7 },
            first_us: 1,
            last_us: 2,
            bytes: 900,
            crc: u32::MAX,
        };
        let files = vec![file(0), file(8192)];
        let text = encode(&files);
        assert_eq!(decode(&text), Some(files));
        assert_eq!(decode(&encode(&[])), Some(Vec::new()));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert_eq!(std::str::from_utf8(&bytes).ok().and_then(decode), None, "byte {at}");
            assert_eq!(decode(&text[..at]), None, "cut at {at}");
        }
        assert_eq!(place_of(&file_name(8192)), Some(8192));
        assert_eq!(place_of("manifest"), None);
    }
}
