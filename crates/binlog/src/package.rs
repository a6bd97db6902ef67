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
//! | rest | events; or number, bytes and count (8 each) of those that are a file |
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
const IN_FILE: u8 = 16;
/// Between the flags and the identifier.
const FIXED_BYTES: usize = 4 + 4 + 8 + 8 + 4 + 4;

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

impl GtidChoice {
    fn read(flags: u8, reader: &mut Reader<'_>) -> Result<GtidChoice, BinlogError> {
        Ok(match flags & (HAS_GTID | ANONYMOUS) {
            0 => GtidChoice::Automatic,
            HAS_GTID => {
                GtidChoice::Given(Gtid { source: ServerUuid(reader.array()?), number: reader.u64()? })
            }
            _ => GtidChoice::Anonymous,
        })
    }

    /// The identifier on the server `source`, which has executed these transactions.
    pub fn resolve(self, source: ServerUuid, executed: &GtidSet) -> Option<Gtid> {
        match self {
            GtidChoice::Anonymous => None,
            GtidChoice::Given(gtid) => Some(gtid),
            GtidChoice::Automatic => Some(Gtid { source, number: executed.next_number(source) }),
        }
    }
}

/// Events that are a file of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOfEvents {
    /// What names the file.
    pub number: u64,
    /// Its length.
    pub bytes: u64,
    /// How many events it has.
    pub count: u64,
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
    /// The events are there instead, in the same form.
    pub file: Option<FileOfEvents>,
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
    /// Where in the file the bytes go to which it is appended.
    pub position: u64,
    /// The file's.
    pub checksum: Checksum,
    /// For the XID event.
    pub xid: u64,
}

impl Place<'_> {
    /// The position behind an event of this length without its checksum, which is appended next.
    fn behind(&self, event_bytes: usize, out: &[u8]) -> u32 {
        (self.position + (out.len() + event_bytes + self.checksum.len()) as u64) as u32
    }
}

impl CommitPackage {
    /// Appends the bytes for the log.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let gtid = match self.gtid {
            GtidChoice::Anonymous => ANONYMOUS,
            GtidChoice::Automatic => 0,
            GtidChoice::Given(_) => HAS_GTID,
        };
        debug_assert!(self.file.is_none() || self.events.is_empty(), "events are here or in a file");
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.push(VERSION);
        let [statements, xid, file] = [
            (self.has_statements, STATEMENTS),
            (self.ends_in_xid, ENDS_IN_XID),
            (self.file.is_some(), IN_FILE),
        ]
        .map(|(set, bit)| flag(set, bit));
        out.push(gtid | statements | xid | file | flag(self.keys.is_some(), HAS_KEYS));
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
        match &self.file {
            Some(file) => {
                for number in [file.number, file.bytes, file.count] {
                    out.extend_from_slice(&number.to_le_bytes());
                }
            }
            None => out.extend_from_slice(&self.events),
        }
    }

    /// Which identifier the transaction gets, from what `encode` wrote or a first piece of it.
    pub fn choice_of(bytes: &[u8]) -> Result<GtidChoice, BinlogError> {
        let mut reader = Reader(bytes);
        reader.u8()?;
        let flags = reader.u8()?;
        reader.take(FIXED_BYTES)?;
        GtidChoice::read(flags, &mut reader)
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
        let gtid = GtidChoice::read(flags, &mut reader)?;
        let keys = match flags & HAS_KEYS {
            0 => None,
            _ => Some((0..reader.u32()?).map(|_| reader.u64()).collect::<Result<Vec<u64>, _>>()?),
        };
        let file = match flags & IN_FILE {
            0 => None,
            _ => Some(FileOfEvents { number: reader.u64()?, bytes: reader.u64()?, count: reader.u64()? }),
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
            file,
        })
    }

    /// Appends the transaction as its file has it; answers its identifier. For events that are here.
    pub fn write(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Option<Gtid>, BinlogError> {
        debug_assert!(self.file.is_none(), "the events are here");
        let mut count = 0;
        for raw in Events::of_piece(&self.events, Checksum::None) {
            raw?;
            count += 1;
        }
        let gtid = self.write_begin((self.events.len() as u64, count), place, out);
        self.write_piece(&self.events, place, out)?;
        self.write_end(place, out);
        Ok(gtid)
    }

    /// Appends what is before the events, of which there are so many bytes and so many; answers the transaction's identifier.
    pub fn write_begin(
        &self,
        (bytes, count): (u64, u64),
        place: &Place<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Gtid> {
        let gtid = self.gtid.resolve(place.source, place.executed);
        let checksum_bytes = place.checksum.len() as u64;
        let xid_bytes = if self.ends_in_xid { (HEADER_BYTES + 8) as u64 + checksum_bytes } else { 0 };
        self.write_gtid(gtid, bytes + count * checksum_bytes + xid_bytes, place, out);
        gtid
    }

    /// Appends the whole events of a piece; answers how many bytes of it they are.
    pub fn write_piece(
        &self,
        piece: &[u8],
        place: &Place<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, BinlogError> {
        let mut events = Events::of_piece(piece, Checksum::None);
        for raw in events.by_ref() {
            let raw = raw?;
            let next_position = place.behind(HEADER_BYTES + raw.body.len(), out);
            write_event(&EventHeader { next_position, ..raw.header }, raw.body, place.checksum, out);
        }
        Ok(events.position())
    }

    /// Appends what is behind the events.
    pub fn write_end(&self, place: &Place<'_>, out: &mut Vec<u8>) {
        if self.ends_in_xid {
            let next_position = place.behind(HEADER_BYTES + 8, out);
            let header = self.header(Event::Xid(0).event_type(), next_position);
            write_event(&header, &place.xid.to_le_bytes(), place.checksum, out);
        }
    }

    fn write_gtid(&self, gtid: Option<Gtid>, behind: u64, place: &Place<'_>, out: &mut Vec<u8>) {
        debug_assert!(
            place.sequence_number > place.last_committed,
            "a transaction waits for earlier ones alone"
        );
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
        let next_position = place.behind(HEADER_BYTES + body.len(), out);
        let header = self.header(Event::Gtid(event).event_type(), next_position);
        write_event(&header, &body, place.checksum, out);
    }

    fn header(&self, event_type: u8, next_position: u32) -> EventHeader {
        let (timestamp, server_id) = (self.timestamp, self.server_id);
        EventHeader { timestamp, event_type, server_id, length: 0, next_position, flags: 0 }
    }
}
