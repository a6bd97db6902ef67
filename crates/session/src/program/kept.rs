//! What a piece of SQL becomes, once for all who run the program: its plan, or what its statement needs to be run without being
//! read again.
//!
//! Invariant: what is kept depends on nothing but what `kept_piece` compares before it is used: the session's mode, the names
//! of tables and functions, the types of the user variables that are read.
use std::sync::Arc;

use bumpalo::Bump;
use datum::{ColumnType, SqlError, Value, error_code};
use instance::{
    CallArgument, CallInput, CallPiece, ExecutePiece, IntoTarget, KeptPiece, PiecePlan, PieceRows,
    PreparedPlan, SharedProgram,
};
use parser::ast::{
    BinaryOperator, Expr, ExprKind, Ident, Into, IsTest, LoadColumn, ObjectName, ParameterIndex,
    ParameterMode, Query, SetStatement, SetValue, Statement, StatementKind, VariableAssignment,
    VariableTarget,
};
use parser::{Piece, parse_piece};
use planner::Literals;
use schema::ProgramKind;

use super::piece::lone_expression;
use super::run::Run;
use crate::session::Session;
use crate::statement::{Request, parse_error};

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
    ) -> Result<Option<Arc<KeptPiece>>, SqlError> {
        match statement.kind {
            StatementKind::Query(query) if query.into.is_some() => {
                let Some(targets) = into_targets(query) else { return Ok(None) };
                let plain = Query { into: None, ..*query };
                let statement = Statement { kind: StatementKind::Query(&plain), ..*statement };
                let prepared = self.plan_statement_piece(run, piece, &statement, used)?;
                Ok(Some(kept(run, piece, prepared, used, PieceRows::Into(targets))))
            }
            StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_) => {
                let prepared = self.plan_statement_piece(run, piece, statement, used)?;
                Ok(Some(kept(run, piece, prepared, used, PieceRows::Given)))
            }
            StatementKind::Set(SetStatement {
                assignments:
                    [
                        VariableAssignment::Variable {
                            target: VariableTarget::User(name),
                            value: SetValue::Expr(value),
                        },
                    ],
                for_statement: None,
            }) => {
                let prepared = self.plan_values(run, std::slice::from_ref(value), used)?;
                let rows = PieceRows::Assigned(name.name.to_lowercase());
                Ok(Some(kept(run, piece, prepared, used, rows)))
            }
            StatementKind::Do(expressions) => {
                let prepared = self.plan_values(run, expressions, used)?;
                Ok(Some(kept(run, piece, prepared, used, PieceRows::Dropped)))
            }
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
                (_, ExprKind::Local(index)) => Some(IntoTarget::Slot(used[index.0 as usize])),
                _ => return Ok(None),
            };
            let input = match (mode, argument.kind) {
                (ParameterMode::Out, _) => None,
                (_, ExprKind::Local(index)) => Some(CallInput::Slot(used[index.0 as usize])),
                _ => {
                    let prepared = self.plan_values(run, std::slice::from_ref(argument), used)?;
                    let is_simple = lone_expression(&prepared.plan).is_some();
                    if !is_simple || !run.shared.keeps(&prepared.plan, used) {
                        return Ok(None);
                    }
                    let plan =
                        PiecePlan { prepared: Arc::new(prepared), used: used.into(), rows: PieceRows::Given };
                    Some(CallInput::Value(plan))
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
        let expr = match test {
            None => expr,
            Some(test) => tested(expr, test, &mut used, &arena),
        };
        let prepared = self.plan_values(run, std::slice::from_ref(&expr), &used)?;
        Ok(kept(run, piece, prepared, &used, PieceRows::Given))
    }
}

/// What a condition asks of its expression: that it is true, or that it equals a slot.
#[derive(Clone, Copy)]
pub(super) struct Test {
    pub equals: Option<usize>,
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
    let plan = KeptPiece::Plan(PiecePlan { prepared: Arc::new(prepared), used: used.into(), rows });
    if keeps { keep(run, piece, plan) } else { Arc::new(plan) }
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

pub(super) fn types_of(run: &Run, slots: &[usize]) -> Vec<ColumnType> {
    slots.iter().map(|slot| run.types[*slot].clone()).collect()
}

/// The targets of a query whose INTO names variables.
fn into_targets(query: &Query<'_>) -> Option<Box<[IntoTarget]>> {
    let Some(Into::Variables(targets)) = query.into else { return None };
    let target = |target: &LoadColumn<'_>| match target {
        LoadColumn::Local(slot) => Some(IntoTarget::Slot(*slot as usize)),
        LoadColumn::UserVariable(name) => Some(IntoTarget::UserVariable(name.name.to_lowercase())),
        LoadColumn::Column(_) => None,
    };
    targets.iter().map(target).collect()
}
