//! The SQL in a program: statements and expressions, with their plans kept by the program.
//!
//! Invariant: a statement of a procedure is a statement of its own, with its own transaction where autocommit is on; one of
//! a function or trigger is undone alone and ends nothing.
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bumpalo::Bump;
use datum::{ColumnType, SqlError, Value, error_code};
use executor::CollectRows;
use expression::{EvalContext, SessionServices};
use instance::{IntoTarget, PiecePlan, PreparedPlan, SharedProgram};
use parser::ast::{
    BinaryOperator, Expr, ExprKind, Into, IsTest, LoadColumn, ParameterIndex, Query, Statement, StatementKind,
};
use parser::{Piece, parse_piece};
use plan::{NodeKind, Plan, PlanKind};
use planner::Literals;

use super::run::Run;
use crate::session::Session;
use crate::sink::{ResultSink, StatusFlags, StatusInfo};
use crate::statement::{Done, PLAN_ATTEMPTS_MAX, Request, Shield, keeps_conditions, parse_error};

type Rows = (Vec<Vec<Value>>, Vec<ColumnType>);

impl Session {
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
            let count = self.shared.diagnostics.lock().warning_count();
            let warnings = if self.reads_conditions { 0 } else { count };
            sink.end_rows(&StatusInfo { status, warnings, changes: Vec::new() });
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
        if let Some(plan) = self.kept_piece(run, piece) {
            self.start_inner(false);
            let result = self.run_piece_plan(run, &plan, shield, sink).await;
            if result.is_ok() || !self.statements.plan_is_stale() {
                return result;
            }
        }
        let arena = Bump::new();
        let (parsed, used) = read_piece(&run.shared, piece, &arena)?;
        let Piece::Statement(statement) = parsed else {
            return Err(error_code::ER_INTERNAL_ERROR.with(&[&"an expression in the place of a statement"]));
        };
        self.start_inner(keeps_conditions(&statement.kind));
        let parameters = values_of(run, &used);
        let types: Vec<ColumnType> = used.iter().map(|slot| run.types[*slot].clone()).collect();
        let text = run.shared.program.piece_text(piece);
        let targets = into_targets(&statement);
        let (plain, kind);
        let planned = match (statement.kind, &targets) {
            (StatementKind::Query(query), Some(_)) => {
                plain = Query { into: None, ..*query };
                kind = Statement { kind: StatementKind::Query(&plain), ..statement };
                Some(&kind)
            }
            (StatementKind::Query(query), None) if query.into.is_none() => Some(&statement),
            (StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_), _) => {
                Some(&statement)
            }
            _ => None,
        };
        let request = Request {
            statement: planned.unwrap_or(&statement),
            text,
            parameters: &parameters,
            parameter_types: &types,
            locals: &used,
        };
        if planned.is_none() {
            return Box::pin(self.dispatch(request, None, shield, sink)).await;
        }
        let targets: Arc<[IntoTarget]> = targets.unwrap_or_default().into();
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let prepared = Arc::new(self.prepare_request(request)?);
            let plan = PiecePlan { prepared, used: used.as_slice().into(), targets: targets.clone() };
            if run.shared.keeps(&plan.prepared.plan, &used) {
                run.shared.keep_plan(piece, plan.clone());
            }
            let result = self.run_piece_plan(run, &plan, shield, sink).await;
            if result.is_ok() || !self.statements.plan_is_stale() {
                return result;
            }
        }
        Err(error_code::ER_TABLE_DEF_CHANGED.plain())
    }

    /// The plan that the program keeps for a piece, if it may run now.
    fn kept_piece(&self, run: &Run, piece: usize) -> Option<PiecePlan> {
        let plan = run.shared.plan(piece)?;
        let is_right = self.is_current(&plan.prepared) && {
            let parameters = values_of(run, &plan.used);
            self.suits(&plan.prepared.plan, &parameters)
        };
        is_right.then_some(plan)
    }

    async fn run_piece_plan(
        &mut self,
        run: &Run,
        plan: &PiecePlan,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let mut parameters = values_of(run, &plan.used);
        if !plan.targets.is_empty() {
            return self.run_into(plan, parameters, shield).await;
        }
        pin!(self.run_plan(&plan.prepared, &mut parameters, shield, sink)).await
    }

    /// SELECT .. INTO: the values of the only row.
    async fn run_into(
        &mut self,
        plan: &PiecePlan,
        parameters: Vec<Value>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let PlanKind::Query(query) = &plan.prepared.plan.kind else {
            return Err(error_code::ER_INTERNAL_ERROR.with(&[&"INTO of no query"]));
        };
        if query.columns.len() != plan.targets.len() {
            return Err(error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain());
        }
        let mut rows = CollectRows::default();
        // What goes to variables of the program is assigned; conditions on rows of tables are not.
        let is_assigned = plan.targets.iter().any(|target| matches!(target, IntoTarget::Slot(_)))
            && plan.prepared.plan.tables.is_empty();
        let is_strict = is_assigned && self.settings.sql_mode.is_strict();
        self.collect(&plan.prepared, parameters, is_strict, &mut rows).await?;
        self.end_statement_transaction(shield).await?;
        if rows.rows.len() > 1 {
            return Err(error_code::ER_TOO_MANY_ROWS.plain());
        }
        let Some(row) = rows.rows.pop() else {
            self.shared.warning(error_code::ER_SP_FETCH_NO_DATA.plain());
            return Ok(Done::ok());
        };
        for ((target, value), column) in plan.targets.iter().zip(row).zip(&query.columns) {
            let column_type = column.column_type.clone();
            match target {
                IntoTarget::Slot(slot) => self.programs.assigned.push((*slot, value, column_type)),
                IntoTarget::UserVariable(name) => self.shared.set_user_variable(name, value, column_type)?,
            }
        }
        Ok(Done::affected(1))
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
            let plan = match self.kept_piece(run, piece) {
                Some(plan) if !self.statements.plan_is_stale() => plan,
                _ => self.plan_piece(run, piece, None)?,
            };
            let mut rows = CollectRows::default();
            let result = self.collect(&plan.prepared, values_of(run, &plan.used), false, &mut rows).await;
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

    async fn collect(
        &mut self,
        prepared: &PreparedPlan,
        parameters: Vec<Value>,
        is_strict: bool,
        rows: &mut CollectRows,
    ) -> Result<(), SqlError> {
        self.enter_plan(prepared).await?;
        match is_strict {
            true => pin!(self.execute_source(&prepared.plan, parameters, rows)).await?,
            false => pin!(self.execute_plan(&prepared.plan, parameters, rows)).await?,
        };
        Ok(())
    }

    /// Plans a query or an expression of the program, and keeps the plan where it can be kept. `equals` compares an
    /// expression with a slot; without, `is_truth` asks whether it is true.
    fn plan_piece(&self, run: &Run, piece: usize, test: Option<Test>) -> Result<PiecePlan, SqlError> {
        let arena = Bump::new();
        let (parsed, mut used) = read_piece(&run.shared, piece, &arena)?;
        let expr = match parsed {
            Piece::Statement(statement) => {
                let types: Vec<ColumnType> = used.iter().map(|slot| run.types[*slot].clone()).collect();
                let parameters = values_of(run, &used);
                let request = Request {
                    statement: &statement,
                    text: run.shared.program.piece_text(piece),
                    parameters: &parameters,
                    parameter_types: &types,
                    locals: &used,
                };
                let prepared = Arc::new(self.prepare_request(request)?);
                return Ok(kept(run, piece, prepared, used));
            }
            Piece::Expression(expr) => expr,
        };
        let expr = match test {
            None => expr,
            Some(test) => tested(expr, test, &mut used, &arena),
        };
        let types: Vec<ColumnType> = used.iter().map(|slot| run.types[*slot].clone()).collect();
        let context = self.planner_context(Literals::Inline, &types);
        let plan = planner::plan_expressions(std::slice::from_ref(&expr), self, &context)?;
        let prepared = Arc::new(self.prepare_plan(plan)?);
        Ok(kept(run, piece, prepared, used))
    }

    /// Whether a condition is true, or equal to a slot.
    pub(super) async fn evaluate_truth(
        &mut self,
        run: &Run,
        piece: usize,
        equals: Option<usize>,
        shield: &Shield,
    ) -> Result<bool, SqlError> {
        let test = Test { equals };
        let (value, _) = self.evaluate_piece(run, piece, Some(test), shield).await?;
        Ok(value == Value::Int(1))
    }

    /// The value of an expression of the program.
    pub(super) async fn evaluate_piece(
        &mut self,
        run: &Run,
        piece: usize,
        test: Option<Test>,
        shield: &Shield,
    ) -> Result<(Value, ColumnType), SqlError> {
        let mut plan = match self.kept_piece(run, piece) {
            Some(plan) => plan,
            None => self.plan_piece(run, piece, test)?,
        };
        // The value is assigned, or the statement around the program keeps its values.
        let is_kept = test.is_none() || self.programs.is_inside_strict();
        let is_strict = is_kept && self.settings.sql_mode.is_strict();
        let parameters = values_of(run, &plan.used);
        if let Some(value) = self.value_at_hand(&plan.prepared.plan, parameters, is_strict) {
            return value;
        }
        let depth = self.begin_inner();
        let mut result = Err(error_code::ER_TABLE_DEF_CHANGED.plain());
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let mut rows = CollectRows::default();
            let parameters = values_of(run, &plan.used);
            let collected = self.collect(&plan.prepared, parameters, is_strict, &mut rows).await;
            if collected.is_err() && self.statements.plan_is_stale() {
                plan = self.plan_piece(run, piece, test)?;
                continue;
            }
            result = collected.map(|()| rows);
            break;
        }
        let result = match result {
            Ok(rows) => self.end_statement_transaction(shield).await.map(|()| rows),
            Err(error) => Err(error),
        };
        let mut rows = self.end_inner(depth, result, shield).await?;
        let row = rows.rows.pop().unwrap_or_default();
        let column_type = column_types(&plan.prepared.plan).into_iter().next();
        let value = row.into_iter().next().unwrap_or(Value::Null);
        Ok((value, column_type.unwrap_or(ColumnType::new(datum::TypeKind::Null))))
    }

    /// The value of an expression that needs no table and no waiting: without an execution.
    fn value_at_hand(
        &mut self,
        plan: &Plan,
        parameters: Vec<Value>,
        is_strict: bool,
    ) -> Option<Result<(Value, ColumnType), SqlError>> {
        let is_simple = plan.tables.is_empty()
            && plan.slot_count == 0
            && plan.functions.is_empty()
            && plan.readings.is_empty()
            && plan.conditions.is_empty();
        let PlanKind::Query(query) = &plan.kind else { return None };
        let NodeKind::Project { input, expressions } = &query.root.kind else { return None };
        let [expression] = expressions.as_slice() else { return None };
        if !is_simple || !matches!(input.kind, NodeKind::Dual) {
            return None;
        }
        let mut eval = EvalContext::new(self.statement_settings(), self.shared.clone());
        eval.parameters = parameters;
        eval.is_strict_change = is_strict;
        match expression.eval(&[], &eval) {
            Ok(value) => Some(Ok((value, expression.ty.column.clone()))),
            Err(_) if eval.deferred.take_request().is_some() => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// What a condition asks of its expression: that it is true, or that it equals a slot.
#[derive(Clone, Copy)]
pub(super) struct Test {
    equals: Option<usize>,
}

fn tested<'a>(expr: Expr<'a>, test: Test, used: &mut Vec<usize>, arena: &'a Bump) -> Expr<'a> {
    let span = expr.span;
    let mut operand = expr;
    if let Some(slot) = test.equals {
        let index = used.iter().position(|known| *known == slot).unwrap_or_else(|| {
            used.push(slot);
            used.len() - 1
        });
        let local = Expr { kind: ExprKind::Local(ParameterIndex(index as u32)), span, height: 1 };
        operand = Expr {
            kind: ExprKind::Binary {
                operator: BinaryOperator::Equal,
                left: arena.alloc(local),
                right: arena.alloc(expr),
            },
            span,
            height: expr.height + 1,
        };
    }
    let kind = ExprKind::Is { negated: false, operand: arena.alloc(operand), test: IsTest::True };
    Expr { kind, span, height: operand.height + 1 }
}

fn kept(run: &Run, piece: usize, prepared: Arc<PreparedPlan>, used: Vec<usize>) -> PiecePlan {
    let keeps = run.shared.keeps(&prepared.plan, &used);
    let plan = PiecePlan { prepared, used: used.into(), targets: Arc::default() };
    if keeps {
        run.shared.keep_plan(piece, plan.clone());
    }
    plan
}

/// Reads a piece again; with it the slots of its parameters.
fn read_piece<'a>(
    shared: &'a SharedProgram,
    piece: usize,
    arena: &'a Bump,
) -> Result<(Piece<'a>, Vec<usize>), SqlError> {
    let program = &shared.program;
    let names = program.piece_names(piece, arena);
    let kind = program.pieces[piece].kind;
    let parsed = parse_piece(program.piece_text(piece), program.mode, kind, names, arena);
    let parsed = parsed.map_err(|error| parse_error(&error))?;
    Ok((parsed.piece, parsed.used.iter().map(|slot| *slot as usize).collect()))
}

fn values_of(run: &Run, slots: &[usize]) -> Vec<Value> {
    slots.iter().map(|slot| run.values[*slot].clone()).collect()
}

/// The targets of a query whose INTO names variables.
fn into_targets(statement: &Statement<'_>) -> Option<Vec<IntoTarget>> {
    let StatementKind::Query(query) = statement.kind else { return None };
    let Some(Into::Variables(targets)) = query.into else { return None };
    let target = |target: &LoadColumn<'_>| match target {
        LoadColumn::Local(slot) => Some(IntoTarget::Slot(*slot as usize)),
        LoadColumn::UserVariable(name) => Some(IntoTarget::UserVariable(name.name.to_lowercase())),
        LoadColumn::Column(_) => None,
    };
    targets.iter().map(target).collect()
}

fn column_types(plan: &Plan) -> Vec<ColumnType> {
    match &plan.kind {
        PlanKind::Query(query) => query.columns.iter().map(|column| column.column_type.clone()).collect(),
        _ => Vec::new(),
    }
}
