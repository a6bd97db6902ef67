//! Statements: from their text to the answer, a file for each step and a folder for each family.
//!
//! `run` takes a text apart and ends each statement in the sink; `dispatch` sends it to its family. `query` plans and runs
//! queries and changes; the other folders are families that the session carries out itself. Most families stand in crates above
//! (`families`).
mod assigning;
mod dispatch;
mod handlers_closed;
mod logs;
mod named;
mod nested;
mod prepared;
mod prepared_plan;
mod query;
mod run;
mod settings;
mod tables;
mod transaction;
mod work;

pub use crate::statement::query::kept_rows::CursorKind;
pub(crate) use assigning::{Planned, first_value, lone_expression, planned_of};
pub use dispatch::{is_account_statement, is_schema_change};
pub(crate) use logs::binary_log::{BeginEvent, DefinitionText};
pub(crate) use logs::gtid_next::{IdentifierUse, NextIdentifier};
pub(crate) use logs::observe::{KeptDigest, Observation};
pub use logs::profile::{Profile, Profiles};
pub use named::NamedStatement;
pub(crate) use nested::Statements;
pub use prepared::{PreparedInfo, PreparedStatement};
pub use query::catalog_view::Named;
pub(crate) use query::dive::ColdRanges;
pub(crate) use query::fill::FilledTable;
pub use query::optimizer_trace::Occasion;
pub(crate) use query::optimizer_trace::Traces;
pub use query::planned::PLAN_ATTEMPTS_MAX;
pub(crate) use run::keeps_conditions;
pub use run::{parse_error, syntax_error_at};
pub use session_state::guard::Shield;
pub(crate) use session_state::open_handlers::OpenHandlers;
pub use session_state::outcome::{Done, Effects, Request};
pub use session_state::replication_waits::log_error;
pub use tables::changes::{check_account_length, not_a_view};
pub use tables::row_copy::TableRowMaker;
pub(crate) use tables::temporary::TemporaryTables;
pub(crate) use transaction::global_lock::GlobalReadLock;
pub(crate) use transaction::lock_tables::TableLocks;
pub use transaction::locks::LockSteps;
pub(crate) use work::StatementWork;
