//! What a commit says in our own log: its events without position and checksum, and what the file needs besides.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | 1, the version |
//! | 1 | flags |
//! | 4 | seconds since 1970 for the events that the file adds |
//! | 4 | server id |
//! | 8 + 8 | micros since 1970 of the commit, here and at the first source |
//! | 4 + 4 | version of this server and of the first source |
//! | 16 + 8 | the transaction's identifier, if it was given one |
//! | 4 + 8 n | hashes of the keys of its rows, if they are known |
//! | rest | events |
//!
//! Invariant: the file's bytes follow from packages in their order and from nothing else, so they can be made again.
use crate::BinlogError;
use crate::bytes::Reader;
use crate::event::Event;
use crate::events::Events;
use crate::gtid::{Gtid, GtidSet, ServerUuid};
use crate::gtid_event::{GtidEvent, MAY_HAVE_STATEMENTS};
use crate::header::{Checksum, EventHeader, HEADER_BYTES, write_event};

const VERSION: u8 = 1;
const HAS_GTID: u8 = 1;
const ANONYMOUS: u8 = 2;
const STATEMENTS: u8 = 4;
const ENDS_IN_XID: u8 = 8;
const HAS_KEYS: u8 = 32;

/// Which identifier a transaction gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GtidChoice {
    /// None: ANONYMOUS_GTID.
    Anonymous,
    /// The next free one of this server.
    Automatic,
    /// The one that `gtid_next` gave.
    Given(Gtid),
}

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPackage {
    /// The transaction's identifier.
    pub gtid: GtidChoice,
    /// It may contain more than row events.
    pub has_statements: bool,
    /// An XID event ends it.
    pub ends_in_xid: bool,
    /// For the headers of GTID and XID.
    pub timestamp: u32,
    /// The same.
    pub server_id: u32,
    /// The commit here.
    pub immediate_commit_us: u64,
    /// The commit at the first source.
    pub original_commit_us: u64,
    /// The version of this server.
    pub immediate_version: u32,
    /// The version of the first source.
    pub original_version: u32,
    /// Hashes of the keys of the rows that it changed; `None` where it depends on all that is before it.
    pub keys: Option<Vec<u64>>,
    /// Events as `write_event` makes them with `Checksum::None`.
    pub events: Vec<u8>,
}

/// Where a package goes.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The server's own, for automatic identifiers.
    pub source: ServerUuid,
    /// What the binary log contains already.
    pub executed: &'a GtidSet,
    /// The transaction's place in its file, from 1.
    pub sequence_number: u64,
    /// The place of the last one in the same file that has to be applied before.
    pub last_committed: u64,
    /// Where in the file it begins.
    pub position: u64,
    /// The file's.
    pub checksum: Checksum,
    /// For the XID event.
    pub xid: u64,
}

impl CommitPackage {
    /// Appends the bytes for the log.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let gtid = match self.gtid {
            GtidChoice::Anonymous => ANONYMOUS,
            GtidChoice::Automatic => 0,
            GtidChoice::Given(_) => HAS_GTID,
        };
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.push(VERSION);
        let statements = flag(self.has_statements, STATEMENTS);
        out.push(
            gtid | statements | flag(self.ends_in_xid, ENDS_IN_XID) | flag(self.keys.is_some(), HAS_KEYS),
        );
        out.extend_from_slice(&self.timestamp.to_le_bytes());
        out.extend_from_slice(&self.server_id.to_le_bytes());
        out.extend_from_slice(&self.immediate_commit_us.to_le_bytes());
        out.extend_from_slice(&self.original_commit_us.to_le_bytes());
        out.extend_from_slice(&self.immediate_version.to_le_bytes());
        out.extend_from_slice(&self.original_version.to_le_bytes());
        if let GtidChoice::Given(gtid) = self.gtid {
            out.extend_from_slice(&gtid.source.0);
            out.extend_from_slice(&gtid.number.to_le_bytes());
        }
        if let Some(keys) = &self.keys {
            out.extend_from_slice(&(keys.len() as u32).to_le_bytes());
            keys.iter().for_each(|key| out.extend_from_slice(&key.to_le_bytes()));
        }
        out.extend_from_slice(&self.events);
    }

    /// Reads what `encode` wrote.
    pub fn decode(bytes: &[u8]) -> Result<CommitPackage, BinlogError> {
        let mut reader = Reader(bytes);
        if reader.u8()? != VERSION {
            return Err(BinlogError::Unsupported("a commit of another version"));
        }
        let flags = reader.u8()?;
        let (timestamp, server_id) = (reader.u32()?, reader.u32()?);
        let (immediate_commit_us, original_commit_us) = (reader.u64()?, reader.u64()?);
        let (immediate_version, original_version) = (reader.u32()?, reader.u32()?);
        let gtid = match flags & (HAS_GTID | ANONYMOUS) {
            0 => GtidChoice::Automatic,
            HAS_GTID => {
                GtidChoice::Given(Gtid { source: ServerUuid(reader.array()?), number: reader.u64()? })
            }
            _ => GtidChoice::Anonymous,
        };
        let keys = match flags & HAS_KEYS {
            0 => None,
            _ => Some((0..reader.u32()?).map(|_| reader.u64()).collect::<Result<Vec<u64>, _>>()?),
        };
        Ok(CommitPackage {
            gtid,
            has_statements: flags & STATEMENTS != 0,
            ends_in_xid: flags & ENDS_IN_XID != 0,
            timestamp,
            server_id,
            immediate_commit_us,
            original_commit_us,
            immediate_version,
            original_version,
            keys,
            events: reader.rest().to_vec(),
        })
    }

    /// Appends the transaction as its file has it; answers its identifier.
    pub fn write(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Option<Gtid>, BinlogError> {
        let gtid = match self.gtid {
            GtidChoice::Anonymous => None,
            GtidChoice::Given(gtid) => Some(gtid),
            GtidChoice::Automatic => {
                Some(Gtid { source: place.source, number: place.executed.next_number(place.source) })
            }
        };
        let mut length = self.events.len();
        for raw in Events::of_piece(&self.events, Checksum::None) {
            raw?;
            length += place.checksum.len();
        }
        if self.ends_in_xid {
            length += HEADER_BYTES + 8 + place.checksum.len();
        }
        let start = out.len();
        self.write_gtid(gtid, length as u64, place, out);
        let next = |out: &Vec<u8>, event_bytes: usize| {
            (place.position + (out.len() - start + event_bytes + place.checksum.len()) as u64) as u32
        };
        for raw in Events::of_piece(&self.events, Checksum::None) {
            let raw = raw?;
            let next_position = next(out, HEADER_BYTES + raw.body.len());
            write_event(&EventHeader { next_position, ..raw.header }, raw.body, place.checksum, out);
        }
        if self.ends_in_xid {
            let next_position = next(out, HEADER_BYTES + 8);
            let header = self.header(Event::Xid(0).event_type(), next_position);
            write_event(&header, &place.xid.to_le_bytes(), place.checksum, out);
        }
        Ok(gtid)
    }

    fn write_gtid(&self, gtid: Option<Gtid>, behind: u64, place: &Place<'_>, out: &mut Vec<u8>) {
        let mut event = GtidEvent {
            flags: if self.has_statements { MAY_HAVE_STATEMENTS } else { 0 },
            gtid,
            last_committed: place.last_committed,
            sequence_number: place.sequence_number,
            immediate_commit_us: self.immediate_commit_us,
            original_commit_us: self.original_commit_us,
            transaction_length: behind,
            immediate_version: self.immediate_version,
            original_version: self.original_version,
            commit_group_ticket: None,
        };
        // The length includes this event, whose own length depends on it: by two bytes at most.
        let mut body = Vec::new();
        loop {
            body.clear();
            event.encode(&mut body);
            let length = behind + (HEADER_BYTES + body.len() + place.checksum.len()) as u64;
            if event.transaction_length == length {
                break;
            }
            event.transaction_length = length;
        }
        let own = (HEADER_BYTES + body.len() + place.checksum.len()) as u64;
        let header = self.header(Event::Gtid(event).event_type(), (place.position + own) as u32);
        write_event(&header, &body, place.checksum, out);
    }

    fn header(&self, event_type: u8, next_position: u32) -> EventHeader {
        let (timestamp, server_id) = (self.timestamp, self.server_id);
        EventHeader { timestamp, event_type, server_id, length: 0, next_position, flags: 0 }
    }
}
