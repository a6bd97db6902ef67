//! The SQL in a program: statements and expressions, run by what the program keeps of them (`kept`).
//!
//! Invariant: a statement of a procedure is a statement of its own, with its own transaction where autocommit is on; one of
//! a function or trigger is undone alone and ends nothing.
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;

use bumpalo::Bump;
use datum::{ColumnType, SqlError, Value, error_code};
use executor::CollectRows;
use instance::{KeptPiece, PiecePlan, PieceRows, count};
use parser::Piece;
use plan::{Plan, PlanKind};

use super::context::Strictness;
use super::kept::{parameter, parameters_of, read_piece, types_of, values_of};
use super::run::Run;
use super::store::{Taking, is_variable};
use crate::program::value_use::Test;
use crate::program::value_use::ValueUse;
use crate::session::Session;
use crate::statement::{
    Done, PLAN_ATTEMPTS_MAX, Request, Shield, first_value, keeps_conditions, lone_expression,
};
use session_state::sink::{ResultSink, StatusFlags, StatusInfo};

type Rows = (Vec<Vec<Value>>, Vec<ColumnType>);

impl Session {
    /// Runs SET or DO of what needs no table and no waiting; `None` for anything else.
    pub(super) fn run_at_hand(&mut self, run: &Run, piece: usize) -> Option<Result<(), SqlError>> {
        let kept = self.kept_piece(run, piece)?;
        let plan = kept.plan()?;
        if !matches!(plan.rows, PieceRows::Assigned(_) | PieceRows::Dropped) {
            return None;
        }
        lone_expression(&plan.prepared.plan)?;
        self.start_inner(false);
        let is_strict = self.is_assigned_strictly();
        let value = self.piece_at_hand(run, plan, is_strict)?;
        self.count_program_statement();
        Some(value.and_then(|value| self.give_value(&plan.rows, value)))
    }

    /// What RETURN gives, if it needs no table and no waiting.
    pub(super) fn returned_at_hand(
        &mut self,
        run: &Run,
        piece: usize,
    ) -> Option<Result<(Value, ColumnType), SqlError>> {
        let kept = self.kept_piece(run, piece)?;
        self.piece_at_hand(run, kept.plan()?, self.settings.sql_mode.is_strict())
    }

    /// The value of an expression that needs no table and no waiting: without an execution.
    pub(super) fn piece_at_hand(
        &mut self,
        run: &Run,
        plan: &PiecePlan,
        is_strict: bool,
    ) -> Option<Result<(Value, ColumnType), SqlError>> {
        let expression = lone_expression(&plan.prepared.plan)?;
        let used = plan.used.iter().enumerate();
        let parameters = used.map(|(index, slot)| parameter(run, plan, index, *slot));
        self.evaluate_alone(expression, plan.is_of_numbers, is_strict, parameters)
    }

    /// Runs a statement of the program; its rows go to the client.
    pub(super) async fn run_piece(
        &mut self,
        run: &Run,
        piece: usize,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        self.count_program_statement();
        let depth = self.begin_inner();
        let result = self.run_statement_piece(run, piece, shield, sink).await;
        let done = self.end_inner(depth, result, shield).await?;
        // GET DIAGNOSTICS tells the count and leaves it.
        if !self.reads_conditions || !matches!(done, Done::Ok(_)) {
            self.note_counts(&done);
        }
        if let Done::Made(rows) = &done {
            rows.write(sink, &self.settings);
        }
        if let Done::Made(_) | Done::Rows { .. } = done {
            let status = self.status_flags().with(StatusFlags::MORE_RESULTS);
            // Warnings are counted at the end of the call.
            sink.end_rows(&StatusInfo { status, warnings: 0, changes: Vec::new() });
        }
        if sink.needs_flush() && sink.flush().await.is_err() {
            return Err(error_code::ER_QUERY_INTERRUPTED.plain());
        }
        Ok(())
    }

    /// A statement inside begins: of its own, or as a part of the one that called the program.
    fn begin_inner(&mut self) -> Option<usize> {
        if self.programs.is_inside_statement() {
            let depth = self.statements.depth();
            self.statements.enter();
            return Some(depth);
        }
        self.statements.begin();
        None
    }

    async fn end_inner<T>(
        &mut self,
        depth: Option<usize>,
        result: Result<T, SqlError>,
        shield: &Shield,
    ) -> Result<T, SqlError> {
        let result = match result {
            Ok(done) => Ok(done),
            Err(error) => {
                shield.raise();
                let error = self.undo_statement(error).await;
                shield.lower();
                Err(error)
            }
        };
        match depth {
            Some(depth) => self.statements.leave_to(depth),
            None => self.statement_passage = None,
        }
        result
    }

    fn note_counts(&self, done: &Done) {
        let rows = match done {
            Done::Ok(effects) => effects.affected_rows as i64,
            Done::Rows { found } => {
                self.shared.found_rows.store(*found, Relaxed);
                -1
            }
            _ => -1,
        };
        self.shared.row_count.store(rows, Relaxed);
    }

    /// What every statement of a program starts with.
    pub(super) fn start_inner(&mut self, keeps_conditions: bool) {
        self.reads_conditions = keeps_conditions;
        if !keeps_conditions {
            let (kept_max, keeps_notes) = (self.settings.max_error_count, self.settings.keeps_notes);
            self.shared.diagnostics.lock().start(kept_max, keeps_notes);
        }
    }

    async fn run_statement_piece(
        &mut self,
        run: &Run,
        piece: usize,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if let Some(kept) = self.kept_piece(run, piece) {
            self.start_inner(false);
            match self.run_kept(run, &kept, shield, sink).await {
                Some(Err(_)) if self.is_outdated(&kept) => {}
                Some(result) => return result,
                None => {}
            }
        }
        let arena = Bump::new();
        let (parsed, used) = read_piece(&run.shared, piece, &arena)?;
        let Piece::Statement(statement) = parsed else {
            return Err(error_code::ER_INTERNAL_ERROR.with(&[&"an expression in the place of a statement"]));
        };
        self.start_inner(keeps_conditions(&statement.kind));
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let Some(kept) = self.make_piece(run, piece, &statement, &used, &arena)? else { break };
            match self.run_kept(run, &kept, shield, sink).await {
                None => break,
                Some(Err(_)) if self.is_outdated(&kept) => {}
                Some(result) => return result,
            }
        }
        if self.statements.plan_is_stale() {
            return Err(error_code::ER_TABLE_DEF_CHANGED.plain());
        }
        let parameters = values_of(run, &used);
        let types = types_of(run, &used);
        let request = Request {
            statement: &statement,
            text: run.shared.program.piece_text(piece),
            parameters: &parameters,
            parameter_types: &types,
            locals: &used,
        };
        Box::pin(self.dispatch(request, None, shield, sink)).await
    }

    /// The plan was refused before it did anything, and is to be made anew. What a call has run is not asked.
    fn is_outdated(&self, kept: &KeptPiece) -> bool {
        matches!(kept, KeptPiece::Plan(_)) && self.statements.plan_is_stale()
    }

    /// `None`: the statement has to be read to be run.
    async fn run_kept(
        &mut self,
        run: &Run,
        kept: &KeptPiece,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Option<Result<Done, SqlError>> {
        match kept {
            KeptPiece::Plan(plan) => Some(self.run_piece_plan(run, plan, shield, sink).await),
            KeptPiece::Call(call) => self.call_kept(run, call, shield, sink).await,
            KeptPiece::Execute(execute) => {
                count(&self.process.counters.com_execute_sql);
                Some(self.execute_named(&execute.name, &execute.using, shield, sink).await)
            }
        }
    }

    async fn run_piece_plan(
        &mut self,
        run: &Run,
        plan: &PiecePlan,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let mut parameters = parameters_of(run, plan);
        match &plan.rows {
            PieceRows::Given => pin!(self.run_plan(&plan.prepared, &mut parameters, shield, sink)).await,
            rows => self.run_assigning(&plan.prepared, rows, parameters, shield).await,
        }
    }

    /// The rows of a cursor's query.
    pub(super) async fn query_piece(
        &mut self,
        run: &Run,
        piece: usize,
        shield: &Shield,
    ) -> Result<Rows, SqlError> {
        let depth = self.begin_inner();
        self.start_inner(false);
        let result = self.query_piece_here(run, piece, shield).await;
        self.end_inner(depth, result, shield).await
    }

    async fn query_piece_here(&mut self, run: &Run, piece: usize, shield: &Shield) -> Result<Rows, SqlError> {
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let kept = match self.kept_piece(run, piece) {
                Some(kept) if !self.statements.plan_is_stale() => kept,
                _ => self.plan_piece(run, piece, None)?,
            };
            let plan = plan_of(&kept)?;
            let mut rows = CollectRows::default();
            let is_strict = self.is_assigned_strictly();
            let result = self.collect(&plan.prepared, parameters_of(run, plan), is_strict, &mut rows).await;
            if let Err(error) = result {
                if self.statements.plan_is_stale() {
                    continue;
                }
                return Err(error);
            }
            self.end_statement_transaction(shield).await?;
            return Ok((rows.rows, column_types(&plan.prepared.plan)));
        }
        Err(error_code::ER_TABLE_DEF_CHANGED.plain())
    }

    /// Whether a condition is true, or equal to a slot.
    pub(super) async fn evaluate_truth(
        &mut self,
        run: &mut Run,
        piece: usize,
        equals: Option<usize>,
        shield: &Shield,
    ) -> Result<bool, SqlError> {
        let test = ValueUse::Test(Test { equals });
        let (value, _) = self.evaluate_piece(run, piece, test, None, shield).await?;
        Ok(value == Value::Int(1))
    }

    /// The value of an expression of the program. What does not fit the `slot` that it is for ends the statement, and undoes
    /// what functions in it have done.
    pub(super) async fn evaluate_piece(
        &mut self,
        run: &mut Run,
        piece: usize,
        value_use: ValueUse,
        slot: Option<usize>,
        shield: &Shield,
    ) -> Result<(Value, ColumnType), SqlError> {
        let test = match value_use {
            ValueUse::Test(test) => Some(test),
            _ => None,
        };
        let mut kept = match self.kept_piece(run, piece) {
            Some(kept) => kept,
            None => self.plan_piece(run, piece, test)?,
        };
        let mut plan = plan_of(&kept)?;
        // The value is assigned, or the statement around the program keeps its values.
        let is_kept = value_use == ValueUse::Assigned || self.programs.strictness() > Strictness::None;
        let is_strict = is_kept && self.settings.sql_mode.is_strict();
        if let Some(value) = self.piece_at_hand(run, plan, is_strict) {
            return value.and_then(|value| self.kept_in(run, slot, value, is_variable(plan)));
        }
        let depth = self.begin_inner();
        let mut result = Err(error_code::ER_TABLE_DEF_CHANGED.plain());
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let mut rows = CollectRows::default();
            let parameters = parameters_of(run, plan);
            let collected = self.collect(&plan.prepared, parameters, is_strict, &mut rows).await;
            if collected.is_err() && self.statements.plan_is_stale() {
                kept = self.plan_piece(run, piece, test)?;
                plan = plan_of(&kept)?;
                continue;
            }
            result = collected.map(|()| rows);
            break;
        }
        let result =
            result.and_then(|rows| self.kept_in(run, slot, first_value(rows, &plan.prepared.plan), false));
        let result = match result {
            Ok(value) => self.end_statement_transaction(shield).await.map(|()| value),
            Err(error) => Err(error),
        };
        self.end_inner(depth, result, shield).await
    }

    /// Gives the value to a slot, if it is for one.
    fn kept_in(
        &mut self,
        run: &mut Run,
        slot: Option<usize>,
        (value, from): (Value, ColumnType),
        is_copy: bool,
    ) -> Result<(Value, ColumnType), SqlError> {
        let Some(slot) = slot else { return Ok((value, from)) };
        let taking = Taking { is_strict: self.settings.sql_mode.is_strict(), is_copy };
        self.take(run, slot, (value, &from), taking)?;
        Ok((Value::Null, from))
    }
}

fn column_types(plan: &Plan) -> Vec<ColumnType> {
    match &plan.kind {
        PlanKind::Query(query) => query.columns.iter().map(|column| column.column_type.clone()).collect(),
        _ => Vec::new(),
    }
}

fn plan_of(kept: &KeptPiece) -> Result<&PiecePlan, SqlError> {
    match kept {
        KeptPiece::Plan(plan) => Ok(plan),
        _ => Err(error_code::ER_INTERNAL_ERROR.with(&[&"a statement in the place of an expression"])),
    }
}
