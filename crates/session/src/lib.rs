//! From statement text to rows or an error: session state, variables, transactions, SHOW and the plan cache.
//!
//! The connection gives a [`Session`] the commands it decodes and a [`ResultSink`] that encodes the outcome.
#![forbid(unsafe_code)]

mod connection_info;
mod counters;
mod diagnostics;
mod engine_settings;
mod kill;
mod log_tables;
mod plan_cache;
mod privileges;
mod process_list;
mod result;
mod server;
mod session;
mod session_tables;
mod shared_state;
mod show;
mod sink;
mod statement;
mod status;
mod transaction_control;
mod user_locks;
mod virtual_tables;
mod wait_tables;
mod xa;

pub use connection_info::{ClientCapabilities, ConnectionId, ConnectionInfo, TlsInfo};
pub use kill::{KillKind, KillSwitch};
pub use process_list::{Activity, ProcessEntry, ProcessList};
pub use server::{Server, ServerConfig, SleepFuture, Timer};
pub use session::{ConnectionLimits, Session, StatementId};
pub use sink::{
    ClientGone, ColumnMeta, ColumnTypeCode, FlushFuture, OkInfo, ResultShape, ResultSink, StateChange,
    StatusFlags, StatusInfo,
};
pub use statement::{CursorKind, PreparedInfo};
pub use status::Gauges;
