//! What a statement's outcome is written to: result sets, OK and errors, as they are produced.
//!
//! Invariant: every statement ends in exactly one of `end_rows`, `cursor_opened`, `ok` and `error`; `columns`
//! comes before the first `row`, and an `error` (or, in a program, `end_unfinished`) may still follow rows. Implemented by the connection (wire
//! packets), by tests, and by the session itself where it needs a statement's rows.
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use datum::{SqlError, Value};
use instance::ResultShape;

/// The protocol's status flags (`SERVER_STATUS_*`) that a session can set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusFlags(pub u16);

impl StatusFlags {
    pub const IN_TRANSACTION: StatusFlags = StatusFlags(0x0001);
    pub const AUTOCOMMIT: StatusFlags = StatusFlags(0x0002);
    pub const MORE_RESULTS: StatusFlags = StatusFlags(0x0008);
    pub const NO_GOOD_INDEX_USED: StatusFlags = StatusFlags(0x0010);
    pub const NO_INDEX_USED: StatusFlags = StatusFlags(0x0020);
    pub const CURSOR_EXISTS: StatusFlags = StatusFlags(0x0040);
    pub const LAST_ROW_SENT: StatusFlags = StatusFlags(0x0080);
    pub const NO_BACKSLASH_ESCAPES: StatusFlags = StatusFlags(0x0200);
    pub const METADATA_CHANGED: StatusFlags = StatusFlags(0x0400);
    pub const PS_OUT_PARAMS: StatusFlags = StatusFlags(0x1000);
    pub const IN_TRANSACTION_READ_ONLY: StatusFlags = StatusFlags(0x2000);
    pub const STATE_CHANGED: StatusFlags = StatusFlags(0x4000);

    pub fn contains(self, other: StatusFlags) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn with(self, other: StatusFlags) -> StatusFlags {
        StatusFlags(self.0 | other.0)
    }

    #[must_use]
    pub fn with_if(self, condition: bool, other: StatusFlags) -> StatusFlags {
        if condition { self.with(other) } else { self }
    }
}

/// One entry of session state tracking, sent when the client asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    SystemVariable {
        name: String,
        value: String,
    },
    Schema(String),
    /// `SESSION_TRACK_STATE_CHANGE`: something of the session's state changed.
    StateChanged,
}

/// The end of a result set.
#[derive(Clone, Debug, Default)]
pub struct StatusInfo {
    pub status: StatusFlags,
    pub warnings: u16,
    pub changes: Vec<StateChange>,
}

/// The success of a statement without a result set.
#[derive(Clone, Debug, Default)]
pub struct OkInfo {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: StatusFlags,
    pub warnings: u16,
    pub info: Cow<'static, str>,
    pub changes: Vec<StateChange>,
}

/// The client went away; the statement is given up and the session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientGone;

/// The next piece of a client's file; empty at its end.
pub type PieceFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, ClientGone>> + 'a>>;

pub type FlushFuture<'a> = Pin<Box<dyn Future<Output = Result<(), ClientGone>> + 'a>>;

/// Where a statement's outcome goes. Nothing here waits except `flush`, which is only called when
/// `needs_flush` says that enough has gathered: a small result costs one write and no boxed future.
pub trait ResultSink {
    /// A result set begins.
    fn columns(&mut self, shape: &std::sync::Arc<ResultShape>);
    /// One row, values in the order of `columns`. TIMESTAMP values have become DATETIME already, text is in the
    /// character set of the column's `collation_id`, ENUM and SET have become text.
    fn row(&mut self, values: &[Value]);
    fn end_rows(&mut self, status: &StatusInfo);
    /// A statement inside a program failed and the program goes on: a result set under way ends with its rows so far.
    /// Sinks that have no reader of the rows need not tell one result set from the next.
    fn end_unfinished(&mut self, _status: &StatusInfo) {}
    /// A cursor was opened instead of rows being sent: follows `columns`, ends the statement.
    fn cursor_opened(&mut self, status: &StatusInfo);
    fn ok(&mut self, ok: &OkInfo);
    fn error(&mut self, error: &SqlError);
    fn needs_flush(&self) -> bool;
    fn flush(&mut self) -> FlushFuture<'_>;

    /// Whether the client sends files of its own when it is asked.
    fn sends_files(&self) -> bool {
        false
    }
    /// Asks the client for a file. Then `next_piece` is called until the file's end.
    fn ask_for_file(&mut self, _path: &str) -> FlushFuture<'_> {
        Box::pin(async { Err(ClientGone) })
    }
    fn next_piece(&mut self) -> PieceFuture<'_> {
        Box::pin(async { Err(ClientGone) })
    }
}
