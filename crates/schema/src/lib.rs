//! Immutable descriptors of databases, tables, columns and indexes, and their stored form.
//!
//! Descriptors are shared by `Arc` and never change: DDL makes a new one. Columns and indexes are named by
//! position inside one descriptor, tables by `TableId`. No I/O happens here.
#![forbid(unsafe_code)]

mod check;
mod column;
mod column_text;
mod create_text;
mod database;
mod foreign_key;
mod identifier;
mod index;
mod program;
mod row_places;
mod stored;
mod table;
mod trigger_set;
mod type_text;
mod view;
mod virtual_table;

pub use check::CheckDef;
pub use column::{ColumnDef, ColumnDefault, Generation};
pub use column_text::{column_default, column_extra, column_key, escaped, part_column, part_expression};
pub use create_text::create_table_text;
pub use database::DatabaseDef;
pub use foreign_key::{ForeignKeyDef, MatchOption, ReferentialAction, generated_name, generated_number};
pub use identifier::{quote_identifier, quote_text};
pub use index::{IndexDef, IndexId, IndexKind, IndexPart};
pub use program::{EventDef, EventState, ProgramAccess, ProgramDef, ProgramKind, TriggerDef};
pub use row_places::{ROW_PLACES_MAX, RowPlaces};
pub use stored::StoredFormError;
pub use table::{ROW_FORMAT_CURRENT, TableDef, TableId};
pub use trigger_set::{TriggerEvent, TriggerSet};
pub use type_text::type_text;
pub use view::{ViewAlgorithm, ViewCheck, ViewDef};
pub use virtual_table::{LocalFuture, VirtualTable};
