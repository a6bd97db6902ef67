//! How far the binary log is certain: a small file that is replaced as a whole.
//!
//! | bytes | field |
//! |---|---|
//! | 4 + 4 | `EKBR`, length of the rest but the checksum; `EKBQ` has no name, `EKBP` one LSN for both as well |
//! | 8 + 8 | number of the current file, its certain length |
//! | 8 | LSN: commits at or before it are in the files |
//! | 8 | LSN: the engine's log behind it has what follows; before the other one where a later commit's events begin |
//! | 8 | place of the last transaction in the file |
//! | 8 + n | executed transactions: length, set |
//! | 8 + n | purged transactions: length, set |
//! | rest | what the files are called before their number |
//! | 4 | CRC-32 of all before |
//!
//! Invariant: the binary log's file is synced up to the length before the note is, and the engine's log is kept from the second LSN on.
use crate::SourceError;
use binlog::GtidSet;
use env::{Env, IoBuf, OpenOptions};

/// The file's name, in the data directory.
pub const POSITION_FILE: &str = "binlog.position";
const NEW_FILE: &str = "binlog.position.new";
const MAGIC: [u8; 4] = *b"EKBR";
const MAGIC_WITHOUT_NAME: [u8; 4] = *b"EKBQ";
const MAGIC_OF_ONE_LSN: [u8; 4] = *b"EKBP";

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Position {
    /// What the files are called before their number; empty in old notes.
    pub base: String,
    /// The current file.
    pub file: u64,
    /// Its certain length.
    pub length: u64,
    /// Commits at or before it are in the files.
    pub lsn: u64,
    /// The engine's log is needed from here on; 0 if the binary log is complete.
    pub log_from: u64,
    /// The last transaction's place in the file.
    pub sequence_number: u64,
    /// All transactions of the binary log, those that were purged included.
    pub executed: GtidSet,
    /// Those whose files are gone.
    pub purged: GtidSet,
}

impl Position {
    fn encode(&self) -> Vec<u8> {
        let (mut executed, mut rest) = (Vec::new(), Vec::new());
        self.executed.encode(&mut executed);
        let length = executed.len() as u64;
        for number in [self.file, self.length, self.lsn, self.log_from, self.sequence_number, length] {
            rest.extend_from_slice(&number.to_le_bytes());
        }
        rest.extend_from_slice(&executed);
        let mut purged = Vec::new();
        self.purged.encode(&mut purged);
        rest.extend_from_slice(&(purged.len() as u64).to_le_bytes());
        rest.extend_from_slice(&purged);
        rest.extend_from_slice(self.base.as_bytes());
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(rest.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&rest);
        let crc = binlog::crc32(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Position> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let has_one_lsn = *magic == MAGIC_OF_ONE_LSN;
        let has_name = *magic == MAGIC;
        if !has_one_lsn && !has_name && *magic != MAGIC_WITHOUT_NAME {
            return None;
        }
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (mut rest, behind) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let stored = u32::from_le_bytes(*behind.first_chunk::<4>()?);
        if binlog::crc32(&bytes[..8 + rest.len()]) != stored {
            return None;
        }
        let mut next = || {
            let (bytes, behind) = rest.split_first_chunk::<8>()?;
            rest = behind;
            Some(u64::from_le_bytes(*bytes))
        };
        let (file, length, lsn) = (next()?, next()?, next()?);
        let log_from = if has_one_lsn { lsn } else { next()? };
        let (sequence_number, executed_bytes) = (next()?, next()?);
        let (executed, rest) = rest.split_at_checked(usize::try_from(executed_bytes).ok()?)?;
        let (purged, base) = match has_name {
            true => {
                let (length, rest) = rest.split_first_chunk::<8>()?;
                rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?
            }
            false => (rest, &[][..]),
        };
        let base = std::str::from_utf8(base).ok()?.to_owned();
        let (executed, purged) = (GtidSet::decode(executed).ok()?, GtidSet::decode(purged).ok()?);
        Some(Position { base, file, length, lsn, log_from, sequence_number, executed, purged })
    }
}

/// The note; `None` if there has been no binary log.
pub async fn load_position(env: &Env) -> Result<Option<Position>, SourceError> {
    let file = match env.disk.open(POSITION_FILE, OpenOptions::existing()).await {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let length = file.len().await? as usize;
    let (buffer, result) = file.read_at(0, IoBuf::zeroed(length)).await;
    result?;
    let damaged = || SourceError::Damaged(format!("{POSITION_FILE} is damaged"));
    Position::decode(buffer.as_slice()).ok_or_else(damaged).map(Some)
}

/// Replaces the note durably.
pub async fn store_position(env: &Env, position: &Position) -> Result<(), SourceError> {
    Ok(env::replace_file(&*env.disk, "", POSITION_FILE, NEW_FILE, &position.encode()).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back_and_damage_is_noticed() {
        let executed = GtidSet::parse("494816f8-eab3-11f1-b506-02fc00000001:1-9").unwrap();
        let position = Position {
            base: "b".into(),
            file: 3,
            length: 4711,
            lsn: 99,
            sequence_number: 7,
            executed,
            ..Position::default()
        };
        let bytes = position.encode();
        assert_eq!(Position::decode(&bytes), Some(position));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert_eq!(Position::decode(&changed), None, "byte {at}");
            assert_eq!(Position::decode(&bytes[..at]), None);
        }
    }

    /// What earlier versions have written: no name and no length of the purged ones, then one LSN less.
    #[test]
    fn older_notes_are_read() {
        let position = Position { file: 3, length: 4711, lsn: 99, log_from: 99, ..Position::default() };
        let older = |magic: [u8; 4], leaves_out: &[std::ops::Range<usize>]| {
            let mut bytes = position.encode();
            bytes[..4].copy_from_slice(&magic);
            leaves_out.iter().for_each(|range| drop(bytes.drain(range.clone())));
            let length = (bytes.len() - 12) as u32;
            bytes[4..8].copy_from_slice(&length.to_le_bytes());
            let end = bytes.len() - 4;
            let crc = binlog::crc32(&bytes[..end]);
            bytes[end..].copy_from_slice(&crc.to_le_bytes());
            bytes
        };
        let (second_lsn, executed) = (8 + 8 * 3, 8 + 8 * 6);
        // An empty set is a count of 8 bytes.
        let purged_length = executed + 8..executed + 16;
        let without_name = older(MAGIC_WITHOUT_NAME, std::slice::from_ref(&purged_length));
        assert_eq!(Position::decode(&without_name), Some(position.clone()));
        let with_one_lsn = older(MAGIC_OF_ONE_LSN, &[purged_length, second_lsn..second_lsn + 8]);
        assert_eq!(Position::decode(&with_one_lsn), Some(position));
    }
}
