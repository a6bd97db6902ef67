//! Statements: from their text to the answer, a file for each step and a folder for each family.
//!
//! `run` takes a text apart and ends each statement in the sink; `dispatch` sends it to its family. `query` plans and runs
//! queries and changes; the other folders are families that the session carries out itself. Most families stand in crates above
//! (`families`).
mod assigning;
mod dispatch;
mod guard;
mod handler;
mod logs;
mod named;
mod nested;
mod prepared;
mod query;
mod run;
mod settings;
mod tables;
mod transaction;

pub(crate) use assigning::{Planned, first_value, lone_expression, planned_of};
pub use dispatch::{is_account_statement, is_schema_change};
pub use guard::Shield;
pub(crate) use guard::within;
pub(crate) use handler::OpenHandlers;
pub use logs::binary_log::log_error;
pub(crate) use logs::binary_log::{BeginEvent, DefinitionText};
pub(crate) use logs::gtid_next::{IdentifierUse, NextIdentifier};
pub(crate) use logs::observe::{KeptDigest, Observation};
pub use logs::profile::{Profile, Profiles};
pub use named::NamedStatement;
pub(crate) use nested::Statements;
pub use prepared::{PreparedInfo, PreparedStatement};
pub use query::catalog_view::Named;
pub(crate) use query::catalog_view::written_type;
pub use query::cursor::CursorKind;
pub(crate) use query::fill::FilledTable;
pub(crate) use query::optimizer_trace::Traces;
pub use query::planned::PLAN_ATTEMPTS_MAX;
pub(crate) use run::{StatementWork, keeps_conditions};
pub use run::{parse_error, syntax_error_at};
pub use tables::changes::{check_account_length, not_a_view};
pub use tables::row_copy::TableRowMaker;
pub(crate) use tables::temporary::TemporaryTables;
pub(crate) use transaction::global_lock::GlobalReadLock;
pub(crate) use transaction::lock_tables::TableLocks;
pub use transaction::locks::LockSteps;

use std::borrow::Cow;

use datum::Value;
use parser::ast;

use crate::result::MadeRows;

/// How a statement ended well.
#[derive(Debug)]
pub enum Done {
    Ok(Effects),
    /// Columns and rows are with the sink already; the end of the result set is not.
    Rows {
        found: u64,
    },
    /// A cursor was opened; columns are with the sink.
    Cursor,
    /// A result set that is still to be written.
    Made(MadeRows),
}

/// The numbers of an OK packet.
#[derive(Debug, Default)]
pub struct Effects {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub info: Cow<'static, str>,
}

impl Done {
    pub fn ok() -> Done {
        Done::Ok(Effects::default())
    }

    pub fn affected(affected_rows: u64) -> Done {
        Done::Ok(Effects { affected_rows, ..Effects::default() })
    }
}

/// A statement on its way: tree, text and the values of its parameters.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub statement: &'a ast::Statement<'a>,
    /// The text that spans of the tree point into.
    pub text: &'a [u8],
    pub parameters: &'a [Value],
    pub parameter_types: &'a [datum::ColumnType],
    /// Inside a stored program: the slot of each parameter.
    pub locals: &'a [usize],
}
