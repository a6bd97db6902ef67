//! MySQL's binary log, version 4: events to bytes and back, sets of transaction identifiers, cells of rows.
//!
//! Pure functions: no I/O, and any bytes decode or end in a [`BinlogError`]. Files are written and sent by `source`; who
//! applies a stream takes it apart with [`Events`] (or [`split_event`]), [`Event::decode`] and [`Rows::changes`].
//!
//! ```
//! use binlog::{Checksum, Event, EventHeader, RawEvent, split_event, write_event};
//!
//! let event = Event::Xid(7);
//! let (mut body, mut bytes) = (Vec::new(), Vec::new());
//! event.encode(&mut body);
//! let header = EventHeader { event_type: event.event_type(), server_id: 1, ..EventHeader::default() };
//! write_event(&header, &body, Checksum::Crc32, &mut bytes);
//! let raw: RawEvent<'_> = split_event(&bytes, Checksum::Crc32)?;
//! assert_eq!(Event::decode(&raw)?, event);
//! # Ok::<(), binlog::BinlogError>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bytes;
mod cell;
mod database_filter;
mod decimal;
mod error;
mod event;
mod events;
mod format_description;
mod gtid;
mod gtid_event;
mod header;
mod identifier_state;
mod json;
mod map_column;
mod mariadb;
mod mariadb_position;
mod optional_fields;
mod package;
mod payload;
mod query;
mod rows;
mod table_map;
mod temporal;
#[cfg(test)]
mod tests;
pub mod type_code;
mod xa;

pub use cell::{WireType, put_cell};
pub use database_filter::DatabaseFilter;
pub use error::BinlogError;
pub use event::Event;
pub use events::{Events, fuzz_one};
pub use format_description::FormatDescription;
pub use gtid::{Gtid, GtidSet, NUMBER_MAX, ServerUuid};
pub use gtid_event::{GtidEvent, MAY_HAVE_STATEMENTS};
pub use header::{
    CHECKSUM_BYTES, Checksum, EventHeader, HEADER_BYTES, MAGIC, RawEvent, crc32, event_type, header_flag,
    split_event, write_event,
};
pub use identifier_state::IdentifierState;
pub use map_column::{MapColumn, RowMetadata, TableMap};
pub use mariadb::MariaDbGtid;
pub use mariadb_position::MariaDbPosition;
pub use package::{CommitPackage, FileOfEvents, GtidChoice, Place};
pub use payload::{pack_transaction, unpack_transaction};
pub use query::{Query, QuerySettings, query_option};
pub use rows::{Changes, RowChange, RowImage, Rows, RowsHeader, RowsKind, put_image, rows_flag};
pub use xa::XaPrepare;
