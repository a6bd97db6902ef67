//! Prepared statements of the binary protocol: prepare and execute.
//!
//! A plan depends on the kinds of the parameters, so one made for the kinds of one execution serves the next ones
//! with the same kinds, in whatever session: a session holds references to shared texts and plans, no copies. The
//! text is parsed again only when no session has a current plan of it.
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use bumpalo::Bump;
use datum::{ColumnType, SqlError, Value, error_code};
use env::sync::Place;
use expression::ReadParameter;
use parser::ast::{self, RoutineKind, StatementKind};
use parser::parse;
use plan::OutputColumn;

use super::assigning::planned_of;
use super::prepared_plan::class_of;
use super::run::parse_error;
use super::work::{ParsedStatement, SavedPlan};
use super::{Done, Request};
use crate::session::{Session, StatementId};
use crate::statement::logs::binary_log::names_identifiers;
use crate::statement::query::kept_rows::{Cursor, CursorKind};
use crate::statement::query::planned::PLAN_ATTEMPTS_MAX;
use crate::statement::settings::hinted_settings::setting_hints;
use instance::{ColumnMeta, ParameterClass, PreparedSight, ResultShape, StatementText, TypedPlan, count};
use session_state::result::column_meta;
use session_state::sink::ResultSink;

/// What the client learns from COM_STMT_PREPARE.
#[derive(Clone, Debug)]
pub struct PreparedInfo {
    pub id: StatementId,
    pub parameters: Vec<ColumnMeta>,
    /// The columns of the result; none for a statement without one.
    pub columns: Option<Arc<ResultShape>>,
    pub warnings: u16,
}

pub struct PreparedStatement {
    /// The plan of the last execution, before that the one whose columns PREPARE told; shared with all sessions
    /// that run the same text. `None` for statements that have no plan.
    plan: Option<Arc<TypedPlan>>,
    pub(super) cursor: Option<Box<Cursor>>,
    /// Its text, and what others may look at.
    pub(super) sight: Arc<PreparedSight>,
    _place: Place,
}

impl PreparedStatement {
    pub(super) fn parameter_count(&self) -> usize {
        self.sight.text.parameter_count
    }

    /// It is run by a plan, under the settings of the session.
    pub(super) fn has_plan_alone(&self) -> bool {
        self.plan.is_some() && self.sight.text.hints.is_empty()
    }

    pub fn close_cursor(&mut self) {
        self.cursor = None;
    }
}

impl Session {
    /// COM_STMT_PREPARE.
    pub async fn prepare(&mut self, sql: &[u8]) -> Result<PreparedInfo, SqlError> {
        count(&self.process.counters.com_stmt_prepare);
        self.log_command("Prepare", sql);
        self.process.kill.clear_query();
        self.start_statement(false);
        // Prepared is no statement of its own in the summaries; its executions are.
        self.forget_observation();
        let text = self.to_utf8(sql);
        let statement = self.prepare_text(&text);
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
        statement.sight.set_number(id.0);
        let parameters = (0..statement.parameter_count()).map(|index| self.parameter_meta(&statement, index));
        let info = PreparedInfo {
            id,
            parameters: parameters.collect(),
            columns: statement.plan.as_ref().and_then(|plan| plan.shape()),
            warnings: self.shared.diagnostics.lock().warning_count(),
        };
        self.prepared.insert(id.0, Some(statement));
        Ok(info)
    }

    /// Preparing outside of a transaction leaves no lock behind.
    fn transaction_locks_after_prepare(&mut self) {
        if self.transaction.current.is_none() {
            self.transaction.locks.clear();
        }
    }

    pub(super) fn prepare_text(&self, text: &[u8]) -> Result<PreparedStatement, SqlError> {
        let began = Instant::now();
        let maximum = self.instance.globals.by_name("max_prepared_stmt_count").as_unsigned();
        let full = || error_code::ER_MAX_PREPARED_STMT_COUNT_REACHED.with(&[&maximum]);
        let place = self.instance.prepared_places.take(maximum).ok_or_else(full)?;
        let key = self.text_key(text, &[]);
        let kept = self.instance.plan_cache.get_prepared(&key);
        if let Some(plan) = kept.filter(|plan| self.means_the_same(&plan.prepared)) {
            self.require_plan(&plan.prepared.plan)?;
            let text = plan.text.clone();
            self.tell_of_syntax(&plan);
            return Ok(self.keep_prepared(text, Some(plan), place, began));
        }
        let arena = Bump::new();
        let options = self.parse_options(true);
        let parsed = parse(text, options, &arena).map_err(|error| parse_error(&error))?;
        check_preparable(&parsed.statement.kind)?;
        if parsed.parameter_count as usize > usize::from(u16::MAX) {
            return Err(error_code::ER_PS_MANY_PARAM.plain());
        }
        let kept_text = Arc::new(StatementText {
            bytes: text.into(),
            parameter_count: parsed.parameter_count as usize,
            is_query: matches!(parsed.statement.kind, StatementKind::Query(_)),
            names_identifiers: names_identifiers(text),
            hints: setting_hints(&parsed.statement, options.mode.ansi_quotes).into(),
        });
        let mut plan = None;
        if let Some(planned) = planned_of(&parsed.statement, &arena) {
            let request = Request {
                statement: &parsed.statement,
                text,
                parameters: &[],
                parameter_types: &[],
                locals: &[],
            };
            plan = Some(self.plan_for(planned, request, &kept_text, key)?);
        }
        plan.iter().for_each(|plan| self.tell_of_syntax(plan));
        Ok(self.keep_prepared(kept_text, plan, place, began))
    }

    /// The statement, in the list that others can look at.
    fn keep_prepared(
        &self,
        text: Arc<StatementText>,
        plan: Option<Arc<TypedPlan>>,
        place: Place,
        began: Instant,
    ) -> PreparedStatement {
        let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let sight = Arc::new(PreparedSight::new(text, took_ns, self.observed.count + 1));
        self.shared.prepared.add(&sight);
        PreparedStatement { plan, cursor: None, sight, _place: place }
    }

    fn tell_of_syntax(&self, plan: &TypedPlan) {
        plan.told.iter().for_each(|condition| self.shared.diagnostics.lock().add(condition.clone()));
    }

    fn parameter_meta(&self, statement: &PreparedStatement, index: usize) -> ColumnMeta {
        let inferred = statement
            .plan
            .as_ref()
            .and_then(|plan| plan.prepared.plan.parameter_types.get(index).cloned().flatten());
        let column_type = inferred.unwrap_or_else(|| self.parameter_type(ParameterClass::Text));
        column_meta(&OutputColumn::computed("?", column_type), &self.settings)
    }

    /// How many parameters a prepared statement has; none if there is no such statement.
    pub fn parameter_count(&self, id: StatementId) -> Option<usize> {
        self.prepared.get(id.0)?.as_ref().map(PreparedStatement::parameter_count)
    }

    /// COM_STMT_EXECUTE, long data already joined into `parameters`.
    pub async fn execute(
        &mut self,
        id: StatementId,
        mut parameters: Vec<Value>,
        cursor: CursorKind,
        sink: &mut dyn ResultSink,
    ) {
        count(&self.process.counters.com_stmt_execute);
        let began = self.begin_command();
        self.process.kill.clear_query();
        self.start_statement(false);
        let Some(mut statement) = self.prepared.get_mut(id.0).and_then(Option::take) else {
            let error = error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&id.0, &"mysqld_stmt_execute"]);
            let result = Err(error);
            self.end_observation(b"", &result);
            return self.finish(result, false, sink).await;
        };
        statement.cursor = None;
        self.observed.prepared = Some(statement.sight.clone());
        let shown =
            self.logs_values().then(|| self.text_with_values(&statement.sight.text.bytes, &parameters));
        let shown = shown.map(std::borrow::Cow::into_owned);
        if let Some(shown) = &shown {
            self.log_command("Execute", shown);
        }
        self.show_activity("Execute", Some(&statement.sight.text.bytes), began);
        if statement.sight.text.names_identifiers {
            self.refresh_identifiers().await;
        }
        let opens = cursor == CursorKind::ReadOnly && statement.sight.text.is_query;
        let result = match opens {
            true => Box::pin(self.open_cursor(&mut statement, &mut parameters, sink)).await,
            // Pinned where it is made: awaiting it by value would copy kilobytes of state.
            false => pin!(self.run_prepared(&mut statement, &mut parameters, sink)).await,
        };
        self.end_observation(shown.as_deref().unwrap_or(&statement.sight.text.bytes), &result);
        if let Some(place) = self.prepared.get_mut(id.0) {
            *place = Some(statement);
        }
        self.finish(result, false, sink).await;
        self.show_rest();
    }

    /// Runs a prepared statement, with the variables that its hints set.
    pub(super) async fn run_prepared(
        &mut self,
        statement: &mut PreparedStatement,
        parameters: &mut Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if statement.sight.text.hints.is_empty() {
            return pin!(self.run_prepared_plan(statement, parameters, sink)).await;
        }
        let text = statement.sight.text.clone();
        let before = self.enter_hints(&text.hints);
        let result = Box::pin(self.run_prepared_plan(statement, parameters, sink)).await;
        self.leave_hints(before);
        result
    }

    /// The same, with its kept plan if that is still right. Takes the parameters.
    async fn run_prepared_plan(
        &mut self,
        statement: &mut PreparedStatement,
        parameters: &mut Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if parameters.len() != statement.parameter_count() {
            return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"EXECUTE"]));
        }
        if statement.plan.is_some() {
            for attempt in 0..PLAN_ATTEMPTS_MAX {
                parameters.truncate(statement.parameter_count());
                let mut plan = self.current_plan(statement, parameters, attempt > 0)?;
                if self.read_cold_ranges().await {
                    // What was made without knowing is not asked whether it suits.
                    plan = self.current_plan(statement, parameters, attempt > 0)?;
                }
                ReadParameter::extend(&plan.prepared.plan.readings, parameters);
                let text = &statement.sight.text;
                let traced = (attempt == 0 && self.settings.optimizer_trace).then_some(text.as_ref());
                let (prepared, rows) = (plan.prepared.clone(), &plan.rows);
                let work = SavedPlan { prepared, rows, traced, parameters: &mut *parameters };
                let result = self.run_guarded_statement(text.is_query, work, sink).await;
                if result.is_ok() || !self.statements.plan_is_stale() {
                    return result;
                }
            }
            return Err(error_code::ER_TABLE_DEF_CHANGED.plain());
        }
        // Boxed: it parses and runs what is no query, which takes kilobytes that the others need not carry.
        Box::pin(self.run_unplanned(&statement.sight.text, parameters, sink)).await
    }

    /// The statement's own plan, if it is right for these parameters.
    pub(super) fn kept_plan(
        &self,
        statement: &PreparedStatement,
        parameters: &[Value],
    ) -> Option<Arc<TypedPlan>> {
        let plan = statement.plan.as_ref()?;
        let is_right = plan.prepared.plan.shareable
            && plan.classes.iter().copied().eq(parameters.iter().map(class_of))
            && self.is_current(&plan.prepared)
            && self.suits_markers(&plan.prepared.plan, parameters);
        is_right.then(|| plan.clone())
    }

    /// The plan for these parameters: the statement's own, another session's or a new one. `kept_is_stale` says
    /// that the kept one was refused: its tables are those it was made for, but what it guessed of them is known now.
    pub(super) fn current_plan(
        &self,
        statement: &mut PreparedStatement,
        parameters: &[Value],
        kept_is_stale: bool,
    ) -> Result<Arc<TypedPlan>, SqlError> {
        if let Some(plan) = self.kept_plan(statement, parameters).filter(|_| !kept_is_stale) {
            return Ok(plan);
        }
        let text = &statement.sight.text;
        let classes: Vec<ParameterClass> = parameters.iter().map(class_of).collect();
        let key = self.text_key(&text.bytes, &classes);
        let cache = &self.instance.plan_cache;
        let suits = |plan: &Arc<TypedPlan>| {
            !kept_is_stale
                && self.means_the_same(&plan.prepared)
                && self.suits_markers(&plan.prepared.plan, parameters)
        };
        let newest = cache.get_prepared(&key).filter(suits);
        let kept = newest.or_else(|| cache.other_prepared(&key).into_iter().find(suits));
        let plan = match kept {
            Some(plan) => plan,
            None => {
                let arena = Bump::new();
                let parsed = parse(&text.bytes, self.parse_options(true), &arena)
                    .map_err(|error| parse_error(&error))?;
                let types: Vec<ColumnType> =
                    classes.iter().map(|class| self.parameter_type(*class)).collect();
                let request = Request {
                    statement: &parsed.statement,
                    text: &text.bytes,
                    parameters,
                    parameter_types: &types,
                    locals: &[],
                };
                let planned = planned_of(&parsed.statement, &arena);
                let planned = planned.ok_or_else(|| error_code::ER_TABLE_DEF_CHANGED.plain())?;
                self.plan_for(planned, request, text, key)?
            }
        };
        statement.plan = Some(plan.clone());
        Ok(plan)
    }

    async fn run_unplanned(
        &mut self,
        text: &StatementText,
        parameters: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let arena = Bump::new();
        let parsed =
            parse(&text.bytes, self.parse_options(true), &arena).map_err(|error| parse_error(&error))?;
        let types: Vec<ColumnType> =
            parameters.iter().map(|value| self.parameter_type(class_of(value))).collect();
        let request = Request {
            statement: &parsed.statement,
            text: &text.bytes,
            parameters,
            parameter_types: &types,
            locals: &[],
        };
        let work = ParsedStatement { request, digest: None };
        self.run_guarded_statement(text.is_query, work, sink).await
    }
}

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
        | PurgeBinaryLogs(_)
        | Xa(_)
        | Signal(_)
        | GetDiagnostics(_)
        | AlterRoutine(_)
        | AlterDatabase(_)
        | Help(_)
        | Show(
            ast::Show::Warnings(_) | ast::Show::Errors(_) | ast::Show::CountWarnings | ast::Show::CountErrors,
        )
        | LockInstance
        | UnlockInstance
        | CloneLocal(_)
        | RestoreTable(_)
        | Shutdown
        | Restart => Err(error_code::ER_UNSUPPORTED_PS.plain()),
        Explain(explain) if matches!(explain.target, ast::ExplainTarget::Connection(_)) => {
            Err(error_code::ER_UNSUPPORTED_PS.plain())
        }
        CreateProgram(create) if create.kind != RoutineKind::Event => {
            Err(error_code::ER_UNSUPPORTED_PS.plain())
        }
        DropStored(dropped) if dropped.kind != RoutineKind::Event => {
            Err(error_code::ER_UNSUPPORTED_PS.plain())
        }
        _ => Ok(()),
    }
}
