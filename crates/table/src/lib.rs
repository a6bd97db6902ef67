//! Rows of a table in the engine: row codec, primary and secondary index maintenance, scans.
//!
//! Invariant: after each change that returns `Done`, every row has exactly one entry in each index of its table, made
//! from the row's current values; after an error the caller rolls back to its savepoint.
//! The executor reads and changes rows through it, the catalog builds indexes with it.
#![forbid(unsafe_code)]

mod attached_stream;
mod changed_row;
mod resolver;

mod handle;
mod once;
mod ready;

mod change;
mod change_stream;
mod duplicate;
mod foreign_key;

mod auto_increment;
mod counters;
mod lacking;
mod layout;

mod key_codec;
mod key_text;
mod storage_kind;

mod row_events;
mod row_shape;

mod column_sample;
mod histogram;
mod statistics;
mod survey;
mod write_set;

mod entries;
mod error;

pub use crate::row_events::images::RowImages;
pub use attached_stream::AttachedStream;
pub use auto_increment::{AutoIncrement, last_until};
pub use change::ChangeOutcome;
pub use change_stream::{ChangeStream, ChangedRow};
pub use entries::EntryKey;
pub use error::{damaged, engine_error, table_error};
pub use foreign_key::{ChildLink, ForeignKeyWalk, ParentLink, Relations};
pub use handle::TableHandle;
pub use histogram::{
    GivenBucket, Histogram, HistogramOrder, ValueCounts, histogram_moment, histogram_part, histogram_type,
};
pub use key_codec::{DecodeError, KeyPart};
pub use lacking::{ColumnBinder, ColumnMaker, RowError};
pub use layout::{IndexLayout, Projection, TableLayout};
pub use ready::ReadyTable;
pub use resolver::{RowCompleter, TableResolver};
pub use row_events::{
    EventSettings, RowEvents, StatementEvents, TextEvent, follow_key, note_loaded, row_events,
};
pub use statistics::{IndexStatistics, Renewal, Statistics, StatisticsCell, StoredBytes};
pub use storage_kind::StorageKind;
pub use survey::Extent;
