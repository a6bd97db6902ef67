//! Cursors of prepared statements: a query whose rows wait for COM_STMT_FETCH.
//!
//! Invariant: rows are kept as the client gets them, in no more memory than other statements have, which counts for the session until they are fetched; a cursor ends with its last row, its statement's next
//! execution, or its statement. Called by `prepared` and, for COM_STMT_FETCH, by the connection.
use std::sync::Arc;

use datum::{SqlError, Value, error_code};
use executor::{MemoryBudget, SessionMemory, row_bytes};

use super::Done;
use super::planned::STATEMENT_MEMORY_BYTES;
use super::prepared::PreparedStatement;
use crate::session::{Session, StatementId};
use crate::sink::{ClientGone, FlushFuture, OkInfo, ResultSink, StatusFlags, StatusInfo};
use instance::{ResultShape, count};

/// What COM_STMT_EXECUTE asks of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorKind {
    /// Send all rows.
    #[default]
    None,
    /// Keep the rows for COM_STMT_FETCH.
    ReadOnly,
}

/// Rows of an open cursor that the client has not fetched.
pub struct Cursor {
    rows: std::vec::IntoIter<Vec<Value>>,
    memory: MemoryBudget,
}

impl Session {
    /// Runs the query now and keeps its rows; the client fetches them as it likes.
    pub(super) async fn open_cursor(
        &mut self,
        statement: &mut PreparedStatement,
        parameters: &mut Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let mut kept = KeptRows::new(self.shared.memory.clone());
        let done = self.run_prepared(statement, parameters, &mut kept).await;
        if let Some(error) = kept.refused {
            return Err(error);
        }
        let done = done?;
        let Done::Rows { .. } = done else { return Ok(done) };
        if let Some(shape) = &kept.shape {
            sink.columns(shape);
        }
        statement.cursor = Some(Box::new(Cursor { rows: kept.rows.into_iter(), memory: kept.memory }));
        Ok(Done::Cursor)
    }

    /// COM_STMT_FETCH: up to `row_count` further rows of the cursor: `row`s and `end_rows`, no `columns`.
    pub async fn fetch(&mut self, id: StatementId, row_count: u32, sink: &mut dyn ResultSink) {
        count(&self.process.counters.com_stmt_fetch);
        let status = self.status_flags();
        let error = match self.prepared.get_mut(&id).and_then(Option::as_mut) {
            None => error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_fetch"]),
            Some(statement) => match &mut statement.cursor {
                None => ER_STMT_HAS_NO_OPEN_CURSOR.with(&[&id.0]),
                Some(cursor) => {
                    for row in cursor.rows.by_ref().take(row_count as usize) {
                        sink.row(&row);
                        cursor.memory.give_back(row_bytes(&row));
                        if sink.needs_flush() && sink.flush().await.is_err() {
                            return;
                        }
                    }
                    let is_last = cursor.rows.len() == 0;
                    if is_last {
                        statement.cursor = None;
                    }
                    let status = status
                        .with_if(is_last, StatusFlags::LAST_ROW_SENT)
                        .with_if(!is_last, StatusFlags::CURSOR_EXISTS);
                    return sink.end_rows(&StatusInfo { status, ..StatusInfo::default() });
                }
            },
        };
        sink.error(&error);
    }
}

const ER_STMT_HAS_NO_OPEN_CURSOR: datum::ErrorCode =
    datum::ErrorCode::new(1421, "HY000", "The statement (%d) has no open cursor.");

/// The rows of a cursor, already converted for the client.
struct KeptRows {
    shape: Option<Arc<ResultShape>>,
    rows: Vec<Vec<Value>>,
    memory: MemoryBudget,
    /// Set when the rows take too much; they are gone then.
    refused: Option<SqlError>,
}

impl KeptRows {
    fn new(session: Arc<SessionMemory>) -> KeptRows {
        let memory = MemoryBudget::new(STATEMENT_MEMORY_BYTES, session);
        KeptRows { shape: None, rows: Vec::new(), memory, refused: None }
    }
}

impl ResultSink for KeptRows {
    fn columns(&mut self, shape: &Arc<ResultShape>) {
        self.shape = Some(shape.clone());
    }

    fn row(&mut self, values: &[Value]) {
        if self.refused.is_some() {
            return;
        }
        let row = values.to_vec();
        match self.memory.take(row_bytes(&row)) {
            Ok(()) => self.rows.push(row),
            Err(error) => {
                self.refused = Some(error);
                self.rows = Vec::new();
            }
        }
    }

    fn end_rows(&mut self, _: &StatusInfo) {}

    fn cursor_opened(&mut self, _: &StatusInfo) {}

    fn ok(&mut self, _: &OkInfo) {}

    fn error(&mut self, _: &SqlError) {}

    fn needs_flush(&self) -> bool {
        self.refused.is_some()
    }

    /// Asked for only when rows are refused, and then ends the statement.
    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Err(ClientGone) })
    }
}
