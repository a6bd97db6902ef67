//! From statement text to rows or an error: session state, variables, transactions, SHOW and the plan cache.
//!
//! The connection gives a [`Session`] the commands it decodes and a [`ResultSink`] that encodes the outcome.
#![forbid(unsafe_code)]

mod admission;
mod command_counters;
mod connection_info;
mod diagnostics;
mod privileges;
mod program;
mod replica;
mod replication;
mod replication_waits;
mod result;
mod session;
mod shared_state;
mod show;
mod sink;
mod statement;
mod transaction_control;
mod user_variable;
mod view_columns;
mod xa;

pub use connection_info::{ClientCapabilities, ConnectionInfo, TlsInfo};
pub use program::{EventRun, schedule_events};
pub use replica::apply_channel;
pub use replication::stream_error;
pub use session::{ConnectionLimits, Session, StatementId};
pub use sink::{
    ClientGone, FlushFuture, OkInfo, PieceFuture, ResultSink, StateChange, StatusFlags, StatusInfo,
};
pub use statement::{CursorKind, PreparedInfo};
