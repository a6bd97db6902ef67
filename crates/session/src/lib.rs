//! From statement text to rows or an error: session state, the life of a statement, queries, transactions, programs.
//!
//! The connection gives a [`Session`] the commands it decodes and a [`ResultSink`] that encodes the outcome.
//! Families of statements that stand in crates above come through `families`, and see a session through `reach`.
#![forbid(unsafe_code)]

mod admission;
mod applying;
mod commands;
mod families;
mod own_session;
mod privileges;
mod program;
mod reach;
mod replication;
mod session;
mod statement;

pub use applying::Applying;
pub use families::{Families, FamilyFuture};
pub use privileges::{Privileges, changes_accounts, column_privileges, listed};
pub use program::{program_kind, shared_of};
pub use replication::stream_error;
pub use session::{ConnectionLimits, Session, StatementId};
pub use session_state::command_counters::counter_of_plan;
pub use session_state::connection_info::{ClientCapabilities, ConnectionInfo, TlsInfo};
pub use session_state::guard::within;
pub use session_state::numbered::NumberedList;
pub use session_state::replication_waits::settle_applied;
pub use session_state::result::{
    MadeColumn, MadeRows, conversions, convert, display_length, optional_text, shape_of,
};
pub use session_state::shared_state::SharedState;
pub use session_state::sink::{
    ClientGone, FlushFuture, OkInfo, PieceFuture, ResultSink, StateChange, StatusFlags, StatusInfo,
};
pub use session_state::transaction_control::transaction_error;
pub use statement::{
    CursorKind, Done, Effects, LockSteps, Named, Occasion, PLAN_ATTEMPTS_MAX, PreparedInfo, Profile,
    Profiles, Request, Shield, TableRowMaker, check_account_length, is_account_statement, is_schema_change,
    log_error, not_a_view, parse_error, syntax_error_at,
};
