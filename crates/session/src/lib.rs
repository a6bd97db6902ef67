//! From statement text to rows or an error: session state, the life of a statement, queries, transactions, programs.
//!
//! The connection gives a [`Session`] the commands it decodes and a [`ResultSink`] that encodes the outcome.
//! Families of statements that stand in crates above come through `families`, and see a session through `reach`.
#![forbid(unsafe_code)]

mod admission;
mod applying;
mod command_counters;
mod connection_info;
mod diagnostics;
mod families;
mod own_session;
mod privileges;
mod program;
mod reach;
mod replication;
mod replication_waits;
mod result;
mod session;
mod shared_state;
mod sight;
mod sink;
mod statement;
mod transaction_control;
mod user_variable;
mod view_columns;
mod xa;

pub use applying::Applying;
pub use command_counters::counter_of_plan;
pub use connection_info::{ClientCapabilities, ConnectionInfo, TlsInfo};
pub use families::{Families, FamilyFuture};
pub use privileges::{Privileges, changes_accounts, column_privileges, listed};
pub use program::{EventRun, schedule_events};
pub use replication::stream_error;
pub use replication_waits::settle_applied;
pub use result::{MadeColumn, MadeRows, conversions, convert, display_length, optional_text, shape_of};
pub use session::{ConnectionLimits, Session, StatementId};
pub use shared_state::SharedState;
pub use sink::{
    ClientGone, FlushFuture, OkInfo, PieceFuture, ResultSink, StateChange, StatusFlags, StatusInfo,
};
pub use statement::{
    CursorKind, Done, Effects, LockSteps, Named, PLAN_ATTEMPTS_MAX, PreparedInfo, Profile, Profiles, Request,
    Shield, TableRowMaker, check_account_length, is_account_statement, is_schema_change, log_error,
    not_a_view, parse_error, syntax_error_at,
};
pub use transaction_control::transaction_error;
