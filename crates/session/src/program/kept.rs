//! What a piece of SQL becomes, once for all who run the program: its plan, or what its statement needs to be run without being
//! read again.
//!
//! Invariant: what is kept depends on nothing but what `kept_piece` compares before it is used: the session's mode, the names
//! of tables and functions, the types of the user variables that are read.
use std::sync::Arc;

use binder::Literals;
use bumpalo::Bump;
use datum::{ColumnType, SqlError, Value, error_code};
use instance::{
    CallArgument, CallInput, CallPiece, ExecutePiece, IntoTarget, KeptPiece, PiecePlan, PieceRows,
    PreparedPlan, SharedProgram,
};
use parser::ast::{
    BinaryOperator, Expr, ExprKind, Ident, IsTest, Local, ObjectName, ParameterIndex, ParameterMode,
    Statement, StatementKind,
};
use parser::{Piece, parse_piece};
use schema::ProgramKind;

use super::run::Run;
use crate::program::value_use::Test;
use crate::session::Session;
use crate::statement::{Planned, Request, lone_expression, parse_error, planned_of};

impl Session {
    /// What the program keeps for a piece, if it may be used now.
    pub(super) fn kept_piece(&self, run: &Run, piece: usize) -> Option<Arc<KeptPiece>> {
        let kept = run.shared.kept(piece)?;
        let is_right = match &*kept {
            KeptPiece::Plan(plan) => self.may_run(run, plan),
            KeptPiece::Call(call) => call.arguments.iter().all(|argument| match &argument.input {
                Some(CallInput::Value(plan)) => self.may_run(run, plan),
                _ => true,
            }),
            KeptPiece::Execute(_) => true,
        };
        is_right.then_some(kept)
    }

    fn may_run(&self, run: &Run, plan: &PiecePlan) -> bool {
        let prepared = &plan.prepared;
        self.is_current(prepared)
            && (prepared.plan.checks.is_empty() || self.suits(&prepared.plan, &values_of(run, &plan.used)))
    }

    /// Makes of a statement what is kept of it; `None` for one that is read each time.
    pub(super) fn make_piece(
        &self,
        run: &Run,
        piece: usize,
        statement: &Statement<'_>,
        used: &[usize],
        arena: &Bump,
    ) -> Result<Option<Arc<KeptPiece>>, SqlError> {
        if let Some((planned, rows)) = planned_of(statement, arena) {
            let prepared = match planned {
                Planned::Statement(statement) => self.plan_statement_piece(run, piece, &statement, used)?,
                Planned::Values(values) => self.plan_values(run, values, used)?,
            };
            return Ok(Some(kept(run, piece, prepared, used, rows)));
        }
        match statement.kind {
            StatementKind::Call { procedure, arguments } => {
                let call = self.call_piece(run, procedure, arguments, used)?;
                Ok(call.map(|call| keep(run, piece, KeptPiece::Call(call))))
            }
            StatementKind::Execute { name, using } => {
                let lower = |variable: &Ident<'_>| variable.name.to_lowercase();
                let using = using.iter().map(lower).collect();
                let execute = ExecutePiece { name: name.name.to_owned(), using };
                Ok(Some(keep(run, piece, KeptPiece::Execute(execute))))
            }
            _ => Ok(None),
        }
    }

    fn plan_statement_piece(
        &self,
        run: &Run,
        piece: usize,
        statement: &Statement<'_>,
        used: &[usize],
    ) -> Result<PreparedPlan, SqlError> {
        self.prepare_request(Request {
            statement,
            text: run.shared.program.piece_text(piece),
            parameters: &values_of(run, used),
            parameter_types: &types_of(run, used),
            locals: used,
        })
    }

    fn plan_values(
        &self,
        run: &Run,
        expressions: &[Expr<'_>],
        used: &[usize],
    ) -> Result<PreparedPlan, SqlError> {
        let types = types_of(run, used);
        let context = self.planner_context(Literals::Inline, &types);
        self.prepare_plan(planner::plan_expressions(expressions, self, &context)?)
    }

    /// `None` where an argument needs more than an evaluation, or is wrong.
    fn call_piece(
        &self,
        run: &Run,
        procedure: ObjectName<'_>,
        arguments: &[Expr<'_>],
        used: &[usize],
    ) -> Result<Option<CallPiece>, SqlError> {
        let (database, name) = self.program_name(procedure)?;
        let live = self.instance.catalog().program(ProgramKind::Procedure, &database, &name);
        let Some(live) = live else { return Ok(None) };
        let called = self.shared_program(&live)?;
        let modes = &called.program.parameters;
        if modes.len() != arguments.len() {
            return Ok(None);
        }
        let mut kept = Vec::with_capacity(modes.len());
        for (argument, mode) in arguments.iter().zip(modes) {
            let output = match (mode, argument.kind) {
                (ParameterMode::In, _) => None,
                (_, ExprKind::UserVariable(name)) => Some(IntoTarget::UserVariable(name.name.to_lowercase())),
                (_, ExprKind::Local(local)) => Some(IntoTarget::Slot(used[local.index.0 as usize])),
                _ => return Ok(None),
            };
            let input = match (mode, argument.kind) {
                (ParameterMode::Out, _) => None,
                (_, ExprKind::Local(local)) => Some(CallInput::Slot(used[local.index.0 as usize])),
                _ => {
                    let prepared = self.plan_values(run, std::slice::from_ref(argument), used)?;
                    let is_simple = lone_expression(&prepared.plan).is_some();
                    if !is_simple || !run.shared.keeps(&prepared.plan, used) {
                        return Ok(None);
                    }
                    Some(CallInput::Value(piece_plan(prepared, used, PieceRows::Given)))
                }
            };
            kept.push(CallArgument { input, output });
        }
        let lock = [Session::called_lock(&database, &name)];
        Ok(Some(CallPiece { procedure: live.id, database, name, lock, arguments: kept.into() }))
    }

    /// Plans a query, or an expression or what `test` asks of it, and keeps the plan where it can be kept.
    pub(super) fn plan_piece(
        &self,
        run: &Run,
        piece: usize,
        test: Option<Test>,
    ) -> Result<Arc<KeptPiece>, SqlError> {
        let arena = Bump::new();
        let (parsed, mut used) = read_piece(&run.shared, piece, &arena)?;
        let expr = match parsed {
            Piece::Statement(statement) => {
                let prepared = self.plan_statement_piece(run, piece, &statement, &used)?;
                return Ok(kept(run, piece, prepared, &used, PieceRows::Given));
            }
            Piece::Expression(expr) => expr,
        };
        let Some(test) = test else {
            let prepared = self.plan_values(run, std::slice::from_ref(&expr), &used)?;
            return Ok(kept(run, piece, prepared, &used, PieceRows::Given));
        };
        let is_beside_number = self.is_text_beside_number(run, test, &expr, &used)?;
        let expr = tested(expr, test, &mut used, &arena);
        if !is_beside_number {
            let prepared = self.plan_values(run, std::slice::from_ref(&expr), &used)?;
            return Ok(kept(run, piece, prepared, &used, PieceRows::Given));
        }
        let read_as_number = used.iter().position(|slot| test.equals == Some(*slot));
        let mut types = types_of(run, &used);
        read_as_number.into_iter().for_each(|index| types[index] = ColumnType::double());
        let context = self.planner_context(Literals::Inline, &types);
        let plan = planner::plan_expressions(std::slice::from_ref(&expr), self, &context)?;
        let plan = piece_plan(self.prepare_plan(plan)?, &used, PieceRows::Given);
        Ok(Arc::new(KeptPiece::Plan(PiecePlan { read_as_number, ..plan })))
    }

    /// Whether the operand of a CASE is a text, and what it is compared with a number.
    fn is_text_beside_number(
        &self,
        run: &Run,
        test: Test,
        expr: &Expr<'_>,
        used: &[usize],
    ) -> Result<bool, SqlError> {
        if !test.equals.is_some_and(|slot| run.type_of(slot).kind.is_string()) {
            return Ok(false);
        }
        let alone = self.plan_values(run, std::slice::from_ref(expr), used)?;
        let plan::PlanKind::Query(query) = &alone.plan.kind else { return Ok(false) };
        Ok(query.columns.first().is_some_and(|column| column.column_type.kind.is_numeric()))
    }
}

fn tested<'a>(expr: Expr<'a>, test: Test, used: &mut Vec<usize>, arena: &'a Bump) -> Expr<'a> {
    let span = expr.span;
    let mut operand = expr;
    if let Some(slot) = test.equals {
        let index = used.iter().position(|known| *known == slot).unwrap_or_else(|| {
            used.push(slot);
            used.len() - 1
        });
        let local = Local { index: ParameterIndex(index as u32), shown: "?" };
        let local = Expr { kind: ExprKind::Local(local), span, height: 1 };
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

/// Keeps the plan where it can be kept.
fn kept(
    run: &Run,
    piece: usize,
    mut prepared: PreparedPlan,
    used: &[usize],
    rows: PieceRows,
) -> Arc<KeptPiece> {
    // What is wrong with the text is told where the text is given.
    prepared.plan.conditions.retain(|condition| !condition.error.is(&error_code::ER_WARN_DEPRECATED_SYNTAX));
    let keeps = run.shared.keeps(&prepared.plan, used);
    let plan = KeptPiece::Plan(piece_plan(prepared, used, rows));
    if keeps { keep(run, piece, plan) } else { Arc::new(plan) }
}

fn piece_plan(prepared: PreparedPlan, used: &[usize], rows: PieceRows) -> PiecePlan {
    let is_of_numbers = lone_expression(&prepared.plan).is_some_and(expression::Expr::is_of_numbers);
    let prepared = Arc::new(prepared);
    PiecePlan { prepared, used: used.into(), rows, is_of_numbers, read_as_number: None }
}

fn keep(run: &Run, piece: usize, kept: KeptPiece) -> Arc<KeptPiece> {
    let kept = Arc::new(kept);
    run.shared.keep(piece, kept.clone());
    kept
}

/// Reads a piece again; with it the slots of its parameters.
pub(super) fn read_piece<'a>(
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

pub(super) fn values_of(run: &Run, slots: &[usize]) -> Vec<Value> {
    slots.iter().map(|slot| run.values[*slot].clone()).collect()
}

/// What the plan of a piece is run with.
pub(super) fn parameters_of(run: &Run, plan: &PiecePlan) -> Vec<Value> {
    plan.used.iter().enumerate().map(|(index, slot)| parameter(run, plan, index, *slot)).collect()
}

pub(super) fn parameter(run: &Run, plan: &PiecePlan, index: usize, slot: usize) -> Value {
    let value = run.values[slot].clone();
    match plan.read_as_number == Some(index) {
        true => value.to_f64(run.type_of(slot), &mut datum::no_warning).map_or(Value::Null, Value::Double),
        false => value,
    }
}

pub(super) fn types_of(run: &Run, slots: &[usize]) -> Vec<ColumnType> {
    slots.iter().map(|slot| run.type_of(*slot).clone()).collect()
}
