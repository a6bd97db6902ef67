//! GTID and ANONYMOUS_GTID: what a transaction in the binary log begins with.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | flags |
//! | 16 + 8 | source and number; zeros when anonymous |
//! | 1 | 2: the next two are there |
//! | 8 + 8 | last transaction that this one may depend on, its own place; both count from 1 in each file |
//! | 7 | micros of the commit here; if the top bit is set, 7 more of the commit at the first source |
//! | packed | length of the whole transaction, this event included |
//! | 4 | version of this server; if the top bit is set, 4 more of the first source's |
//! | 8 | place in the group of commits, from newer servers only |
//!
//! Invariant: older servers end after any row of this table; what is missing is 0, and is written again only if all is.
use crate::BinlogError;
use crate::bytes::{Reader, put_packed};
use crate::gtid::{Gtid, ServerUuid};

/// Set when a transaction may contain more than row events: data definition.
pub const MAY_HAVE_STATEMENTS: u8 = 1;

const LOGICAL_CLOCK: u8 = 2;
const TIME_BYTES: usize = 7;
const OTHER_TIME_FOLLOWS: u64 = 1 << 55;
const OTHER_VERSION_FOLLOWS: u32 = 1 << 31;

/// The event; without an identifier it is ANONYMOUS_GTID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GtidEvent {
    /// See [`MAY_HAVE_STATEMENTS`].
    pub flags: u8,
    /// The transaction's identifier.
    pub gtid: Option<Gtid>,
    /// The place of the last transaction in this file that has to be applied before.
    pub last_committed: u64,
    /// The place in this file, from 1.
    pub sequence_number: u64,
    /// Micros since 1970 of the commit on the server that wrote this.
    pub immediate_commit_us: u64,
    /// The same on the server where it was made first.
    pub original_commit_us: u64,
    /// The bytes of all its events.
    pub transaction_length: u64,
    /// The version of the server that wrote this, such as 90704.
    pub immediate_version: u32,
    /// The same of the server where it was made first.
    pub original_version: u32,
    /// See the table.
    pub commit_group_ticket: Option<u64>,
}

impl GtidEvent {
    /// The event's body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.gtid.is_none_or(|gtid| gtid.number > 0), "numbers of transactions begin with 1");
        out.push(self.flags);
        let (source, number) =
            self.gtid.map_or((ServerUuid::default(), 0), |gtid| (gtid.source, gtid.number));
        out.extend_from_slice(&source.0);
        out.extend_from_slice(&number.to_le_bytes());
        out.push(LOGICAL_CLOCK);
        out.extend_from_slice(&self.last_committed.to_le_bytes());
        out.extend_from_slice(&self.sequence_number.to_le_bytes());
        let time = |time: u64| time & (OTHER_TIME_FOLLOWS - 1);
        let (here, first) = (time(self.immediate_commit_us), time(self.original_commit_us));
        if here == first {
            out.extend_from_slice(&here.to_le_bytes()[..TIME_BYTES]);
        } else {
            out.extend_from_slice(&(here | OTHER_TIME_FOLLOWS).to_le_bytes()[..TIME_BYTES]);
            out.extend_from_slice(&first.to_le_bytes()[..TIME_BYTES]);
        }
        put_packed(self.transaction_length, out);
        if self.immediate_version == self.original_version {
            out.extend_from_slice(&self.immediate_version.to_le_bytes());
        } else {
            out.extend_from_slice(&(self.immediate_version | OTHER_VERSION_FOLLOWS).to_le_bytes());
            out.extend_from_slice(&self.original_version.to_le_bytes());
        }
        if let Some(ticket) = self.commit_group_ticket {
            out.extend_from_slice(&ticket.to_le_bytes());
        }
    }

    /// Reads an event's body.
    pub fn decode(is_anonymous: bool, body: &[u8]) -> Result<GtidEvent, BinlogError> {
        let mut reader = Reader(body);
        let mut event = GtidEvent { flags: reader.u8()?, ..GtidEvent::default() };
        let (source, number) = (ServerUuid(reader.array()?), reader.u64()?);
        if !is_anonymous {
            if number == 0 || number > crate::gtid::NUMBER_MAX {
                return Err(BinlogError::Invalid("number of a transaction"));
            }
            event.gtid = Some(Gtid { source, number });
        }
        if reader.is_empty() || reader.u8()? != LOGICAL_CLOCK {
            return Ok(event);
        }
        (event.last_committed, event.sequence_number) = (reader.u64()?, reader.u64()?);
        if reader.is_empty() {
            return Ok(event);
        }
        let here = reader.uint(TIME_BYTES)?;
        event.immediate_commit_us = here & (OTHER_TIME_FOLLOWS - 1);
        event.original_commit_us = match here & OTHER_TIME_FOLLOWS {
            0 => here,
            _ => reader.uint(TIME_BYTES)?,
        };
        if reader.is_empty() {
            return Ok(event);
        }
        event.transaction_length = reader.packed()?;
        if reader.is_empty() {
            return Ok(event);
        }
        let version = reader.u32()?;
        event.immediate_version = version & (OTHER_VERSION_FOLLOWS - 1);
        event.original_version = match version & OTHER_VERSION_FOLLOWS {
            0 => version,
            _ => reader.u32()?,
        };
        event.commit_group_ticket = if reader.is_empty() { None } else { Some(reader.u64()?) };
        Ok(event)
    }
}
