//! From statement text to rows or an error: session state, variables, transactions, SHOW and the plan cache.
//!
//! The connection gives a [`Session`] the commands it decodes and a [`ResultSink`] that encodes the outcome.
#![forbid(unsafe_code)]

mod connection_info;
mod kill;
mod process_list;
mod server;
mod session;
mod sink;
mod variables;
mod definition;
mod diagnostics;
mod result;
mod settings;
mod shared_state;
mod transaction_control;

pub use connection_info::{ClientCapabilities, ConnectionId, ConnectionInfo, TlsInfo};
pub use kill::{KillKind, KillSwitch};
pub use process_list::{Activity, ProcessEntry, ProcessList};
pub use server::{Server, ServerConfig, SleepFuture, Timer};
pub use session::{ConnectionLimits, CursorKind, PreparedInfo, Session, StatementId};
pub use sink::{
    ClientGone, ColumnMeta, ColumnTypeCode, FlushFuture, OkInfo, ResultShape, ResultSink, StateChange,
    StatusFlags, StatusInfo,
};
