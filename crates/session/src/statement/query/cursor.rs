//! Cursors of prepared statements: a query whose rows wait for COM_STMT_FETCH.
//!
//! Invariant: rows are kept as the client gets them, in memory up to `tmp_table_size`, which counts for the session until the cursor
//! ends, the rest in a temporary file; a cursor ends with its last row, its statement's next execution, or its statement. Called by `prepared` and, for COM_STMT_FETCH, by the connection.
use std::sync::Arc;

use datum::{SqlError, Value, error_code};
use env::TemporarySpace;
use executor::{MemoryBudget, RowStore, row_bytes};

use crate::session::{Session, StatementId};
use crate::statement::Done;
use crate::statement::prepared::PreparedStatement;
use crate::statement::query::kept_rows::Cursor;
use crate::statement::query::planned::STATEMENT_MEMORY_BYTES;
use instance::{ResultShape, count};
use session_state::sink::{ClientGone, FlushFuture, OkInfo, ResultSink, StatusFlags, StatusInfo};

impl Session {
    /// Runs the query now and keeps its rows; the client fetches them as it likes.
    pub(in crate::statement) async fn open_cursor(
        &mut self,
        statement: &mut PreparedStatement,
        parameters: &mut Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let mut kept = KeptRows::new(self);
        let done = self.run_prepared(statement, parameters, &mut kept).await;
        let is_kept = kept.store_pending().await;
        if let Some(error) = kept.refused {
            return Err(error);
        }
        let done = done?;
        is_kept?;
        let Done::Rows { .. } = done else { return Ok(done) };
        if let Some(shape) = &kept.shape {
            sink.columns(shape);
        }
        if kept.rows.finish_writing().await? > 0 {
            count(&self.process.counters.created_tmp_disk_tables);
        }
        let reader = kept.rows.reader();
        statement.cursor = Some(Box::new(Cursor { rows: kept.rows, reader, _memory: kept.memory }));
        Ok(Done::Cursor)
    }

    /// COM_STMT_FETCH: up to `row_count` further rows of the cursor: `row`s and `end_rows`, no `columns`.
    pub async fn fetch(&mut self, id: StatementId, row_count: u32, sink: &mut dyn ResultSink) {
        count(&self.process.counters.com_stmt_fetch);
        let status = self.status_flags();
        let error = match self.prepared.get_mut(id.0).and_then(Option::as_mut) {
            None => error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_fetch"]),
            Some(statement) => match &mut statement.cursor {
                None => ER_STMT_HAS_NO_OPEN_CURSOR.with(&[&id.0]),
                Some(cursor) => {
                    let mut left = row_count as usize;
                    while left > 0 && !cursor.reader.is_at_end(&cursor.rows) {
                        let rows = match cursor.reader.rows(&cursor.rows, left).await {
                            Ok(rows) => rows,
                            Err(error) => return sink.error(&error),
                        };
                        left -= rows.len();
                        for row in rows.iter() {
                            sink.row(row);
                            if sink.needs_flush() && sink.flush().await.is_err() {
                                return;
                            }
                        }
                    }
                    let is_last = cursor.reader.is_at_end(&cursor.rows);
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

/// What waits for its way into the store, which may lead to disk.
const PENDING_BYTES_MAX: usize = 64 << 10;

/// The rows of a cursor, already converted for the client.
struct KeptRows {
    shape: Option<Arc<ResultShape>>,
    rows: RowStore,
    pending: Vec<Vec<Value>>,
    pending_bytes: usize,
    share: usize,
    memory: MemoryBudget,
    space: Arc<TemporarySpace>,
    /// Why rows could not be kept.
    refused: Option<SqlError>,
}

impl KeptRows {
    fn new(session: &Session) -> KeptRows {
        KeptRows {
            shape: None,
            rows: RowStore::new(0),
            pending: Vec::new(),
            pending_bytes: 0,
            share: session.memory_shares().rows_bytes,
            memory: MemoryBudget::new(STATEMENT_MEMORY_BYTES, session.shared.memory.clone()),
            space: session.instance.temporary().clone(),
            refused: None,
        }
    }

    async fn store_pending(&mut self) -> Result<(), SqlError> {
        self.pending_bytes = 0;
        for row in std::mem::take(&mut self.pending) {
            self.rows.push_within(&row, self.share, &mut self.memory, &self.space).await?;
        }
        Ok(())
    }
}

impl ResultSink for KeptRows {
    fn columns(&mut self, shape: &Arc<ResultShape>) {
        self.shape = Some(shape.clone());
    }

    fn row(&mut self, values: &[Value]) {
        if self.rows.is_empty() && self.pending.is_empty() {
            self.rows = RowStore::new(values.len());
        }
        self.pending_bytes += row_bytes(values);
        self.pending.push(values.to_vec());
    }

    fn end_rows(&mut self, _: &StatusInfo) {}

    fn cursor_opened(&mut self, _: &StatusInfo) {}

    fn ok(&mut self, _: &OkInfo) {}

    fn error(&mut self, _: &SqlError) {}

    fn needs_flush(&self) -> bool {
        self.pending_bytes > PENDING_BYTES_MAX
    }

    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async {
            let stored = self.store_pending().await;
            stored.map_err(|error| {
                self.refused = Some(error);
                ClientGone
            })
        })
    }
}
