//! Prepared statements of the binary protocol: prepare, execute, fetch.
//!
//! The text is kept and parsed again when its plan is no longer current. Plans depend on the kinds of the
//! parameters, so a plan made for the types of one execution is kept for the next ones with the same types.
use std::pin::pin;
use std::sync::Arc;

use bumpalo::Bump;
use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use parser::ast::StatementKind;
use parser::parse;
use plan::OutputColumn;

use super::run::{ParsedStatement, SavedPlan, parse_error};
use super::{Done, Request};
use crate::counters::count;
use crate::plan_cache::PreparedPlan;
use crate::result::column_meta;
use crate::session::{Session, StatementId};
use crate::sink::{ColumnMeta, FlushFuture, OkInfo, ResultShape, ResultSink, StatusFlags, StatusInfo};

/// What the client learns from COM_STMT_PREPARE.
#[derive(Clone, Debug)]
pub struct PreparedInfo {
    pub id: StatementId,
    pub parameters: Vec<ColumnMeta>,
    /// The columns of the result; none for a statement without one.
    pub columns: Option<Arc<ResultShape>>,
    pub warnings: u16,
}

/// What COM_STMT_EXECUTE asks of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorKind {
    /// Send all rows.
    #[default]
    None,
    /// Keep the rows for COM_STMT_FETCH.
    ReadOnly,
}

pub struct PreparedStatement {
    text: Arc<[u8]>,
    pub(super) parameter_count: usize,
    is_query: bool,
    plan: Option<TypedPlan>,
    cursor: Option<Cursor>,
}

/// A plan and the parameter types it was made for.
struct TypedPlan {
    prepared: Arc<PreparedPlan>,
    types: Vec<ParameterClass>,
}

/// Rows of an open cursor that the client has not fetched.
struct Cursor {
    rows: std::vec::IntoIter<Vec<Value>>,
}

/// The kinds of parameter values that plans tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParameterClass {
    Null,
    Integer,
    Unsigned,
    Real,
    Decimal,
    Text,
    Date,
    Time,
    DateTime,
}

impl PreparedStatement {
    pub fn close_cursor(&mut self) {
        self.cursor = None;
    }
}

impl Session {
    /// COM_STMT_PREPARE.
    pub async fn prepare(&mut self, sql: &[u8]) -> Result<PreparedInfo, SqlError> {
        count(&self.counters.com_stmt_prepare);
        self.start_statement(false);
        let maximum = self.server.globals.by_name("max_prepared_stmt_count").as_unsigned();
        if self.prepared.len() as u64 >= maximum {
            return Err(error_code::ER_MAX_PREPARED_STMT_COUNT_REACHED.with(&[&maximum]));
        }
        let text = self.to_utf8(sql).into_owned();
        let statement = self.prepare_text(text.into());
        self.transaction_locks_after_prepare();
        let statement = match statement {
            Ok(statement) => statement,
            Err(error) => {
                self.shared.diagnostics.lock().add_error(&error);
                return Err(error);
            }
        };
        self.next_statement_id += 1;
        let id = StatementId(self.next_statement_id);
        let parameters = (0..statement.parameter_count).map(|index| self.parameter_meta(&statement, index));
        let info = PreparedInfo {
            id,
            parameters: parameters.collect(),
            columns: statement.plan.as_ref().and_then(|plan| plan.prepared.shape.clone()),
            warnings: self.shared.diagnostics.lock().warning_count(),
        };
        self.prepared.insert(id, statement);
        Ok(info)
    }

    /// Preparing outside of a transaction leaves no lock behind.
    fn transaction_locks_after_prepare(&mut self) {
        if self.transaction.current.is_none() {
            self.transaction.locks.clear();
        }
    }

    pub(super) fn prepare_text(&self, text: Arc<[u8]>) -> Result<PreparedStatement, SqlError> {
        let arena = Bump::new();
        let parsed = parse(&text, self.parse_options(true), &arena).map_err(|error| parse_error(&error))?;
        check_preparable(&parsed.statement.kind)?;
        let plan = match planner::is_plannable(&parsed.statement) {
            true => {
                let request = Request {
                    statement: &parsed.statement,
                    text: &text,
                    parameters: &[],
                    parameter_types: &[],
                };
                // INTO makes a query without a result; it is planned when it runs.
                match parsed.statement.kind {
                    StatementKind::Query(query) if query.into.is_some() => None,
                    _ => {
                        let prepared = Arc::new(self.prepare_request(request)?);
                        self.require_plan(&prepared.plan)?;
                        Some(TypedPlan { prepared, types: Vec::new() })
                    }
                }
            }
            false => None,
        };
        Ok(PreparedStatement {
            parameter_count: parsed.parameter_count as usize,
            is_query: matches!(parsed.statement.kind, StatementKind::Query(_)),
            plan,
            cursor: None,
            text: text.clone(),
        })
    }

    fn parameter_meta(&self, statement: &PreparedStatement, index: usize) -> ColumnMeta {
        let inferred = statement
            .plan
            .as_ref()
            .and_then(|plan| plan.prepared.plan.parameter_types.get(index).cloned().flatten());
        let column_type =
            inferred.unwrap_or_else(|| ColumnType::varchar(255, CollationId::UTF8MB4_0900_AI_CI));
        column_meta(&OutputColumn::computed("?", column_type), &self.settings)
    }

    /// How many parameters a prepared statement has; none if there is no such statement.
    pub fn parameter_count(&self, id: StatementId) -> Option<usize> {
        self.prepared.get(&id).map(|statement| statement.parameter_count)
    }

    /// COM_STMT_EXECUTE, long data already joined into `parameters`.
    pub async fn execute(
        &mut self,
        id: StatementId,
        parameters: &[Value],
        cursor: CursorKind,
        sink: &mut dyn ResultSink,
    ) {
        count(&self.counters.com_stmt_execute);
        self.start_statement(false);
        let Some(mut statement) = self.prepared.remove(&id) else {
            let error = error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_execute"]);
            return self.finish(Err(error), false, sink).await;
        };
        statement.cursor = None;
        let text = statement.text.clone();
        self.show_activity("Execute", Some(&text));
        let result = match cursor == CursorKind::ReadOnly && statement.is_query {
            // Pinned where they are made: awaiting them by value would copy kilobytes of state.
            true => pin!(self.open_cursor(&mut statement, parameters, sink)).await,
            false => pin!(self.run_prepared(&mut statement, parameters, sink)).await,
        };
        self.prepared.insert(id, statement);
        self.finish(result, false, sink).await;
        self.show_activity("Sleep", None);
    }

    /// Runs a prepared statement, with its kept plan if that is still right.
    pub(super) async fn run_prepared(
        &mut self,
        statement: &mut PreparedStatement,
        parameters: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if parameters.len() != statement.parameter_count {
            return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"EXECUTE"]));
        }
        let classes: Vec<ParameterClass> = parameters.iter().map(class_of).collect();
        if let Some(plan) = &statement.plan
            && plan.types == classes
            && self.is_current(&plan.prepared)
        {
            let work = SavedPlan { prepared: plan.prepared.clone(), parameters: parameters.to_vec() };
            let result = self.run_guarded_statement(statement.is_query, work, sink).await;
            if result.is_ok() || !self.plan_is_stale {
                return result;
            }
        }
        let text = statement.text.clone();
        let arena = std::mem::take(&mut self.arena);
        let result = self.replan_and_run(statement, &text, &arena, parameters, classes, sink).await;
        self.arena = arena;
        self.arena.reset();
        result
    }

    async fn replan_and_run(
        &mut self,
        statement: &mut PreparedStatement,
        text: &[u8],
        arena: &Bump,
        parameters: &[Value],
        classes: Vec<ParameterClass>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let parsed = parse(text, self.parse_options(true), arena).map_err(|error| parse_error(&error))?;
        let types: Vec<ColumnType> = parameters.iter().map(|value| self.parameter_type(value)).collect();
        let request = Request { statement: &parsed.statement, text, parameters, parameter_types: &types };
        if statement.plan.is_some() {
            let prepared = Arc::new(self.prepare_request(request)?);
            if prepared.plan.shareable {
                statement.plan = Some(TypedPlan { prepared: prepared.clone(), types: classes });
            }
            let work = SavedPlan { prepared, parameters: parameters.to_vec() };
            return self.run_guarded_statement(statement.is_query, work, sink).await;
        }
        let work = ParsedStatement { request, digest: None };
        self.run_guarded_statement(statement.is_query, work, sink).await
    }

    fn parameter_type(&self, value: &Value) -> ColumnType {
        match value {
            Value::Null => ColumnType::new(TypeKind::Null),
            Value::Int(_) => ColumnType::bigint(),
            Value::UInt(_) | Value::Bit(_) | Value::Year(_) | Value::Enum(_) | Value::Set(_) => {
                ColumnType::bigint_unsigned()
            }
            Value::Float(_) | Value::Double(_) => ColumnType::double(),
            Value::Decimal(_) => ColumnType::decimal(65, 30),
            Value::Bytes(bytes) => ColumnType::varchar(bytes.len() as u32, self.settings.literal_collation()),
            Value::Json(text) => ColumnType::varchar(text.len() as u32, CollationId::UTF8MB4_BIN),
            Value::Date(_) => ColumnType::new(TypeKind::Date),
            Value::Time(_) => ColumnType::new(TypeKind::Time { fsp: 6 }),
            Value::DateTime(_) | Value::Timestamp(_) => ColumnType::new(TypeKind::DateTime { fsp: 6 }),
        }
    }

    /// Runs the query now and keeps its rows; the client fetches them as it likes.
    async fn open_cursor(
        &mut self,
        statement: &mut PreparedStatement,
        parameters: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let mut kept = KeptRows::default();
        let done = self.run_prepared(statement, parameters, &mut kept).await?;
        let Done::Rows { .. } = done else { return Ok(done) };
        if let Some(shape) = &kept.shape {
            sink.columns(shape);
        }
        statement.cursor = Some(Cursor { rows: kept.rows.into_iter() });
        Ok(Done::Cursor)
    }

    /// COM_STMT_FETCH: up to `row_count` further rows of the cursor: `row`s and `end_rows`, no `columns`.
    pub async fn fetch(&mut self, id: StatementId, row_count: u32, sink: &mut dyn ResultSink) {
        let status = self.status_flags();
        let error = match self.prepared.get_mut(&id) {
            None => error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_fetch"]),
            Some(statement) => match &mut statement.cursor {
                None => ER_STMT_HAS_NO_OPEN_CURSOR.with(&[&id.0]),
                Some(cursor) => {
                    for row in cursor.rows.by_ref().take(row_count as usize) {
                        sink.row(&row);
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

/// MySQL refuses these in a prepared statement.
fn check_preparable(kind: &StatementKind<'_>) -> Result<(), SqlError> {
    use StatementKind::*;
    match kind {
        Empty => Err(error_code::ER_EMPTY_QUERY.plain()),
        Begin
        | StartTransaction(_)
        | Use(_)
        | LoadData(_)
        | Prepare { .. }
        | Execute { .. }
        | Deallocate(_)
        | LockTables(_)
        | UnlockTables
        | Savepoint(_)
        | RollbackToSavepoint(_)
        | ReleaseSavepoint(_)
        | Handler(_)
        | Xa(_) => Err(error_code::ER_UNSUPPORTED_PS.plain()),
        _ => Ok(()),
    }
}

fn class_of(value: &Value) -> ParameterClass {
    match value {
        Value::Null => ParameterClass::Null,
        Value::Int(_) => ParameterClass::Integer,
        Value::UInt(_) | Value::Bit(_) | Value::Year(_) | Value::Enum(_) | Value::Set(_) => {
            ParameterClass::Unsigned
        }
        Value::Float(_) | Value::Double(_) => ParameterClass::Real,
        Value::Decimal(_) => ParameterClass::Decimal,
        Value::Bytes(_) | Value::Json(_) => ParameterClass::Text,
        Value::Date(_) => ParameterClass::Date,
        Value::Time(_) => ParameterClass::Time,
        Value::DateTime(_) | Value::Timestamp(_) => ParameterClass::DateTime,
    }
}

/// The rows of a cursor, already converted for the client.
#[derive(Default)]
struct KeptRows {
    shape: Option<Arc<ResultShape>>,
    rows: Vec<Vec<Value>>,
}

impl ResultSink for KeptRows {
    fn columns(&mut self, shape: &Arc<ResultShape>) {
        self.shape = Some(shape.clone());
    }

    fn row(&mut self, values: &[Value]) {
        self.rows.push(values.to_vec());
    }

    fn end_rows(&mut self, _: &StatusInfo) {}

    fn cursor_opened(&mut self, _: &StatusInfo) {}

    fn ok(&mut self, _: &OkInfo) {}

    fn error(&mut self, _: &SqlError) {}

    fn needs_flush(&self) -> bool {
        false
    }

    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Ok(()) })
    }
}
