//! All events as one type: body to event and back.
//!
//! Invariant: `decode` of what `encode` wrote is the same event. What is unknown and marked as ignorable is `Ignored`.
use crate::BinlogError;
use crate::bytes::{Reader, put_packed_bytes, text};
use crate::format_description::FormatDescription;
use crate::gtid::GtidSet;
use crate::gtid_event::GtidEvent;
use crate::header::{RawEvent, event_type, header_flag};
use crate::map_column::TableMap;
use crate::mariadb::{self, MariaDbGtid};
use crate::payload::unpack_transaction;
use crate::query::Query;
use crate::rows::{Rows, RowsKind};
use crate::xa::XaPrepare;

/// An event without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// How the others are framed.
    FormatDescription(FormatDescription),
    /// What all files before this one contain.
    PreviousGtids(GtidSet),
    /// A transaction begins; see there for ANONYMOUS_GTID.
    Gtid(GtidEvent),
    /// A transaction of MariaDB begins; read only.
    MariaDbGtid(MariaDbGtid),
    /// A statement.
    Query(Query),
    /// What the next row events are about.
    TableMap(TableMap),
    /// Changes of rows.
    Rows(Rows),
    /// A transaction is committed.
    Xid(u64),
    /// A transaction is prepared.
    XaPrepare(XaPrepare),
    /// The stream goes on in another file.
    Rotate {
        /// From this byte on.
        position: u64,
        /// Of this file.
        file: String,
    },
    /// The server stopped.
    Stop,
    /// Nothing has happened: this is where the source is.
    Heartbeat {
        /// The file.
        file: String,
        /// The byte in it.
        position: u64,
    },
    /// The statement that the next row events come from.
    RowsQuery(Vec<u8>),
    /// The events of a transaction, unpacked: to be taken apart with [`crate::Events::unpacked`].
    TransactionPayload(Vec<u8>),
    /// Of an unknown type, with the mark that it may be passed over.
    Ignored(u8),
}

const HEARTBEAT_END: u8 = 0;
const HEARTBEAT_FILE: u8 = 1;
const HEARTBEAT_POSITION: u8 = 2;

impl Event {
    /// The number of the event's type. Heartbeats are of version 2.
    pub fn event_type(&self) -> u8 {
        match self {
            Event::FormatDescription(_) => event_type::FORMAT_DESCRIPTION,
            Event::PreviousGtids(_) => event_type::PREVIOUS_GTIDS,
            Event::Gtid(GtidEvent { gtid: None, .. }) => event_type::ANONYMOUS_GTID,
            Event::Gtid(_) => event_type::GTID,
            Event::MariaDbGtid(_) => event_type::MARIADB_GTID,
            Event::Query(_) => event_type::QUERY,
            Event::TableMap(_) => event_type::TABLE_MAP,
            Event::Rows(rows) => rows.header.kind.event_type(),
            Event::Xid(_) => event_type::XID,
            Event::XaPrepare(_) => event_type::XA_PREPARE,
            Event::Rotate { .. } => event_type::ROTATE,
            Event::Stop => event_type::STOP,
            Event::Heartbeat { .. } => event_type::HEARTBEAT_V2,
            Event::RowsQuery(_) => event_type::ROWS_QUERY,
            Event::TransactionPayload(_) => event_type::TRANSACTION_PAYLOAD,
            Event::Ignored(number) => *number,
        }
    }

    /// Appends the event's body. A payload is written by [`crate::pack_transaction`] alone, because that can fail; here,
    /// for what was ignored, and for what MariaDB alone has, nothing is.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Event::FormatDescription(description) => description.encode(out),
            Event::PreviousGtids(set) => set.encode(out),
            Event::Gtid(gtid) => gtid.encode(out),
            Event::Query(query) => query.encode(out),
            Event::TableMap(map) => map.encode(out),
            Event::Rows(rows) => rows.encode(out),
            Event::Xid(xid) => out.extend_from_slice(&xid.to_le_bytes()),
            Event::XaPrepare(prepare) => prepare.encode(out),
            Event::Rotate { position, file } => {
                out.extend_from_slice(&position.to_le_bytes());
                out.extend_from_slice(file.as_bytes());
            }
            Event::Heartbeat { file, position } => {
                out.push(HEARTBEAT_FILE);
                put_packed_bytes(file.as_bytes(), out);
                let mut packed = Vec::new();
                crate::bytes::put_packed(*position, &mut packed);
                out.push(HEARTBEAT_POSITION);
                put_packed_bytes(&packed, out);
                out.push(HEARTBEAT_END);
            }
            Event::RowsQuery(sql) => {
                // A length that nobody reads, because one byte is too short for it.
                out.push(0);
                out.extend_from_slice(sql);
            }
            Event::Stop | Event::TransactionPayload(_) | Event::Ignored(_) | Event::MariaDbGtid(_) => {}
        }
    }

    /// Reads an event.
    pub fn decode(raw: &RawEvent<'_>) -> Result<Event, BinlogError> {
        let body = raw.body;
        Ok(match raw.header.event_type {
            event_type::FORMAT_DESCRIPTION => Event::FormatDescription(FormatDescription::decode(body)?),
            event_type::PREVIOUS_GTIDS => Event::PreviousGtids(GtidSet::decode(body)?),
            event_type::GTID => Event::Gtid(GtidEvent::decode(false, body)?),
            event_type::ANONYMOUS_GTID => Event::Gtid(GtidEvent::decode(true, body)?),
            event_type::QUERY => Event::Query(Query::decode(body)?),
            event_type::TABLE_MAP => Event::TableMap(TableMap::decode(body)?),
            event_type::WRITE_ROWS => Event::Rows(Rows::decode(RowsKind::Write, body)?),
            event_type::UPDATE_ROWS => Event::Rows(Rows::decode(RowsKind::Update, body)?),
            event_type::DELETE_ROWS => Event::Rows(Rows::decode(RowsKind::Delete, body)?),
            event_type::WRITE_ROWS_V1 => Event::Rows(Rows::decode_v1(RowsKind::Write, body)?),
            event_type::UPDATE_ROWS_V1 => Event::Rows(Rows::decode_v1(RowsKind::Update, body)?),
            event_type::DELETE_ROWS_V1 => Event::Rows(Rows::decode_v1(RowsKind::Delete, body)?),
            event_type::INTVAR | event_type::RAND | event_type::USER_VAR => {
                return Err(BinlogError::Unsupported("statements with variables (binlog_format is not ROW)"));
            }
            event_type::XID => Event::Xid(Reader(body).u64()?),
            event_type::XA_PREPARE => Event::XaPrepare(XaPrepare::decode(body)?),
            event_type::ROTATE => {
                let mut reader = Reader(body);
                Event::Rotate { position: reader.u64()?, file: text(reader.rest())? }
            }
            event_type::STOP => Event::Stop,
            event_type::HEARTBEAT => {
                Event::Heartbeat { file: text(body)?, position: u64::from(raw.header.next_position) }
            }
            event_type::HEARTBEAT_V2 => decode_heartbeat(body)?,
            event_type::ROWS_QUERY => {
                let mut reader = Reader(body);
                reader.u8()?;
                Event::RowsQuery(reader.rest().to_vec())
            }
            event_type::TRANSACTION_PAYLOAD => Event::TransactionPayload(unpack_transaction(body)?),
            event_type::PARTIAL_UPDATE_ROWS => {
                return Err(BinlogError::Unsupported("partial updates of JSON columns"));
            }
            event_type::GTID_TAGGED => {
                return Err(BinlogError::Unsupported("transaction identifiers with tags"));
            }
            number if raw.header.flags & header_flag::IGNORABLE != 0 => Event::Ignored(number),
            number => match mariadb::decode(number, body)? {
                Some(event) => event,
                None => return Err(BinlogError::Unsupported("an event of an old or an unknown type")),
            },
        })
    }
}

fn decode_heartbeat(body: &[u8]) -> Result<Event, BinlogError> {
    let mut reader = Reader(body);
    let (mut file, mut position) = (String::new(), 0);
    while !reader.is_empty() {
        let field = reader.u8()?;
        if field == HEARTBEAT_END {
            break;
        }
        let value = reader.packed_bytes()?;
        match field {
            HEARTBEAT_FILE => file = text(value)?,
            HEARTBEAT_POSITION => position = Reader(value).packed()?,
            _ => {}
        }
    }
    Ok(Event::Heartbeat { file, position })
}
