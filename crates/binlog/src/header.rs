//! The common header of events, their numbers, and the checksum behind them.
//!
//! | bytes | field |
//! |---|---|
//! | 4 | seconds since 1970 |
//! | 1 | type |
//! | 4 | server id |
//! | 4 | length of header, body and checksum |
//! | 4 | where the next event begins in the file |
//! | 2 | flags |
//!
//! Invariant: what `write_event` makes, `split_event` gives back.
use crate::BinlogError;
use crate::bytes::Reader;

/// Every binary log file begins with these.
pub const MAGIC: [u8; 4] = *b"\xfebin";
/// The length of the common header.
pub const HEADER_BYTES: usize = 19;
/// The length of a CRC-32 behind an event.
pub const CHECKSUM_BYTES: usize = 4;

/// Numbers of events that this crate reads and writes.
pub mod event_type {
    #![allow(missing_docs)]
    pub const QUERY: u8 = 2;
    pub const STOP: u8 = 3;
    pub const ROTATE: u8 = 4;
    pub const INTVAR: u8 = 5;
    pub const RAND: u8 = 13;
    pub const USER_VAR: u8 = 14;
    pub const FORMAT_DESCRIPTION: u8 = 15;
    pub const XID: u8 = 16;
    pub const TABLE_MAP: u8 = 19;
    pub const WRITE_ROWS_V1: u8 = 23;
    pub const UPDATE_ROWS_V1: u8 = 24;
    pub const DELETE_ROWS_V1: u8 = 25;
    pub const HEARTBEAT: u8 = 27;
    pub const ROWS_QUERY: u8 = 29;
    pub const WRITE_ROWS: u8 = 30;
    pub const UPDATE_ROWS: u8 = 31;
    pub const DELETE_ROWS: u8 = 32;
    pub const GTID: u8 = 33;
    pub const ANONYMOUS_GTID: u8 = 34;
    pub const PREVIOUS_GTIDS: u8 = 35;
    pub const XA_PREPARE: u8 = 38;
    pub const PARTIAL_UPDATE_ROWS: u8 = 39;
    pub const TRANSACTION_PAYLOAD: u8 = 40;
    pub const HEARTBEAT_V2: u8 = 41;
    pub const GTID_TAGGED: u8 = 42;
    pub const MARIADB_ANNOTATE_ROWS: u8 = 160;
    pub const MARIADB_BINLOG_CHECKPOINT: u8 = 161;
    pub const MARIADB_GTID: u8 = 162;
    pub const MARIADB_GTID_LIST: u8 = 163;
    pub const MARIADB_START_ENCRYPTION: u8 = 164;
    /// From this one to the next: each is another event, compressed.
    pub const MARIADB_FIRST_COMPRESSED: u8 = 165;
    pub const MARIADB_LAST_COMPRESSED: u8 = 171;
}

/// Flags of the common header.
pub mod header_flag {
    /// The file was not closed; only in its format description.
    pub const IN_USE: u16 = 1;
    /// A statement that uses temporary tables of its session.
    pub const THREAD_SPECIFIC: u16 = 4;
    /// The statement needs no `USE`.
    pub const SUPPRESS_USE: u16 = 8;
    /// Made up by the source for this connection: it is in no file.
    pub const ARTIFICIAL: u16 = 0x20;
    /// Who does not know the event may go on without it.
    pub const IGNORABLE: u16 = 0x80;
}

/// Whether events end in a CRC-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// `binlog_checksum = NONE`.
    None,
    /// `binlog_checksum = CRC32`.
    Crc32,
}

impl Checksum {
    /// The bytes behind an event.
    pub fn len(self) -> usize {
        if self == Checksum::Crc32 { CHECKSUM_BYTES } else { 0 }
    }

    /// True without a checksum.
    pub fn is_empty(self) -> bool {
        self == Checksum::None
    }
}

/// The common header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventHeader {
    /// Seconds since 1970.
    pub timestamp: u32,
    /// See [`event_type`].
    pub event_type: u8,
    /// Of the server on which the change was made first.
    pub server_id: u32,
    /// Of header, body and checksum; set by `write_event`.
    pub length: u32,
    /// Where the next event begins in the file, 0 for events that are in none. Only its low 32 bits.
    pub next_position: u32,
    /// See [`header_flag`].
    pub flags: u16,
}

/// An event whose checksum was right; the body is without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent<'a> {
    /// The common header.
    pub header: EventHeader,
    /// What follows, up to the checksum.
    pub body: &'a [u8],
}

impl EventHeader {
    /// The header at the start of the bytes; `None` while there are too few.
    pub fn read(bytes: &[u8]) -> Option<EventHeader> {
        let mut reader = Reader(bytes.get(..HEADER_BYTES)?);
        Some(EventHeader {
            timestamp: reader.u32().ok()?,
            event_type: reader.u8().ok()?,
            server_id: reader.u32().ok()?,
            length: reader.u32().ok()?,
            next_position: reader.u32().ok()?,
            flags: reader.u16().ok()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        debug_assert!(self.length as usize >= HEADER_BYTES, "an event is no shorter than its header");
        out.extend_from_slice(&self.timestamp.to_le_bytes());
        out.push(self.event_type);
        out.extend_from_slice(&self.server_id.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.next_position.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
    }
}

/// The checksum that events end in.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Appends a whole event; the header's length is made here.
pub fn write_event(header: &EventHeader, body: &[u8], checksum: Checksum, out: &mut Vec<u8>) {
    let start = out.len();
    let length = u32::try_from(HEADER_BYTES + body.len() + checksum.len());
    let length = length.expect("an event is below 4 GiB");
    EventHeader { length, ..*header }.write(out);
    out.extend_from_slice(body);
    if checksum == Checksum::Crc32 {
        let crc = crc32fast::hash(&out[start..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }
    debug_assert_eq!(out.len() - start, length as usize, "an event has the length that its header says");
}

/// The event at the start of the bytes; its length says where the next one is. A format description has a CRC-32
/// whatever the file's other events have, so it is checked here by what its own body says.
pub fn split_event(bytes: &[u8], checksum: Checksum) -> Result<RawEvent<'_>, BinlogError> {
    let header = EventHeader::read(bytes).ok_or(BinlogError::Truncated)?;
    let whole = bytes.get(..header.length as usize).ok_or(BinlogError::Truncated)?;
    let checksum = match header.event_type {
        event_type::FORMAT_DESCRIPTION => Checksum::Crc32,
        _ => checksum,
    };
    let end = whole.len().checked_sub(checksum.len()).ok_or(BinlogError::Invalid("length"))?;
    let body = whole.get(HEADER_BYTES..end).ok_or(BinlogError::Invalid("length"))?;
    if checksum == Checksum::Crc32 {
        let stored = u32::from_le_bytes(whole[end..].try_into().expect("four bytes were cut off"));
        if crc32fast::hash(&whole[..end]) != stored && !is_in_use(&header, whole, stored) {
            return Err(BinlogError::Checksum);
        }
    }
    Ok(RawEvent { header, body })
}

/// A file that is open has the flag in its format description, whose checksum is made without it.
fn is_in_use(header: &EventHeader, whole: &[u8], stored: u32) -> bool {
    let marked =
        header.event_type == event_type::FORMAT_DESCRIPTION && header.flags & header_flag::IN_USE != 0;
    marked && {
        let mut closed = whole[..whole.len() - CHECKSUM_BYTES].to_vec();
        closed[HEADER_BYTES - 2] &= !(header_flag::IN_USE as u8);
        crc32fast::hash(&closed) == stored
    }
}
