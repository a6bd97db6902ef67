//! Statements: from their text to the answer, a file for each step or family.
//!
//! `run` takes a text apart and ends each statement in the sink; `dispatch` sends it to its family; `planned` plans
//! and runs queries and changes; the rest are families that the session carries out itself.
mod accounts;
mod administration;
mod alter_table;
mod backup_instance;
mod binary_log;
mod binary_log_files;
mod catalog_view;
mod check_constraint;
mod clone;
mod create_select;
mod create_table;
mod cursor;
mod default_value;
mod dispatch;
mod dive;
mod evaluate;
mod event_name;
mod explain;
mod fill;
mod global_lock;
mod gtid_next;
mod guard;
mod handler;
mod help;
mod hinted_settings;
mod histogram_data;
mod histograms;
mod import;
mod instance;
mod literals;
mod load_data;
mod load_format;
mod load_source;
mod load_xml;
mod lock_tables;
mod locks;
mod logging;
mod maintenance;
mod named;
mod nested;
mod observe;
mod online;
mod optimizer_trace;
mod outfile;
mod outfile_format;
mod plan_tables;
mod planned;
mod prepared;
mod profile;
mod purged;
mod reach;
mod replication;
mod row_copy;
mod run;
mod safe_updates;
mod schema_change;
mod set;
mod setup;
mod system_table;
mod temporary;
mod transactions;
mod views;
mod xa;

pub(crate) use binary_log::{BeginEvent, log_error};
pub(crate) use catalog_view::{Named, written_type};
pub use cursor::CursorKind;
pub(crate) use fill::FilledTable;
pub(crate) use global_lock::GlobalReadLock;
pub(crate) use gtid_next::{IdentifierUse, NextIdentifier};
pub use guard::Shield;
pub(crate) use guard::within;
pub(crate) use handler::OpenHandlers;
pub(crate) use lock_tables::TableLocks;
pub use named::NamedStatement;
pub(crate) use nested::Statements;
pub(crate) use observe::{KeptDigest, Observation};
pub(crate) use optimizer_trace::Traces;
pub(crate) use planned::PLAN_ATTEMPTS_MAX;
pub use prepared::{PreparedInfo, PreparedStatement};
pub(crate) use replication::ER_REPLICA_CHANNEL_DOES_NOT_EXIST;
pub(crate) use row_copy::TableRowMaker;
pub(crate) use run::{StatementWork, keeps_conditions, parse_error};
pub(crate) use temporary::TemporaryTables;
pub(crate) use views::{check_account_length, not_a_view};

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
