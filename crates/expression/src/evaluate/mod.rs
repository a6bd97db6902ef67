//! Evaluation of bound expressions.
//!
//! Invariant: no evaluation panics for any row of the types the expression was bound with; what MySQL calls a
//! warning goes to the session, what it calls an error ends the statement. Callers: every executor operator.
use std::borrow::Cow;
use std::cell::Cell;

use datum::{ColumnType, Decimal, SqlError, TypeKind, Value, error_code};

use crate::context::EvalContext;
use crate::expr::{Expr, ExprKind};
use crate::function::{Arguments, Function};
use crate::text::name_place;

mod arithmetic;
mod cast;
mod cast_moment;
mod comparison;
mod interval;
mod logic;

#[cfg(test)]
mod recorded_tests;

pub use cast_moment::date_of;
pub use comparison::moment_context;
pub use interval::{difference_in, part_of};

/// The value under another type: integers become exact numbers of the same value where the type is DECIMAL.
fn relabelled(value: Cow<'_, Value>, column: &ColumnType) -> Value {
    match (&*value, &column.kind) {
        (Value::Int(number), TypeKind::Decimal { .. }) => Value::Decimal(Decimal::from_i64(*number)),
        (Value::UInt(number), TypeKind::Decimal { .. }) => Value::Decimal(Decimal::from_u64(*number)),
        _ => value.into_owned(),
    }
}

/// What a call costs at least; functions count what long texts cost.
const TICKS_PER_CALL: usize = 32;

impl Expr {
    /// Its value is computed from numbers alone, so that it does not depend on the time of its statement.
    pub fn is_of_numbers(&self) -> bool {
        let kind = &self.ty.column.kind;
        if !kind.is_integer()
            && !matches!(kind, TypeKind::Decimal { .. } | TypeKind::Double { .. } | TypeKind::Null)
        {
            return false;
        }
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Parameter(_) => true,
            ExprKind::And(operands) | ExprKind::Or(operands) => operands.iter().all(Expr::is_of_numbers),
            ExprKind::Xor(left, right)
            | ExprKind::Compare(_, _, left, right)
            | ExprKind::Arithmetic(_, left, right) => left.is_of_numbers() && right.is_of_numbers(),
            ExprKind::Not(operand)
            | ExprKind::TruthTest(_, operand)
            | ExprKind::Negate(operand)
            | ExprKind::Cast(operand) => operand.is_of_numbers(),
            _ => false,
        }
    }

    /// The value, owned. In a strict data change, what elsewhere is a warning about it is the error.
    pub fn eval(&self, row: &[Value], context: &EvalContext) -> Result<Value, SqlError> {
        let value = self.eval_ref(row, context)?.into_owned();
        match context.take_refusal() {
            Some(refusal) => Err(refusal),
            None => Ok(value),
        }
    }

    /// The value without copying it when it is a column, literal, parameter or slot.
    #[inline]
    pub fn eval_ref<'v>(
        &'v self,
        row: &'v [Value],
        context: &'v EvalContext,
    ) -> Result<Cow<'v, Value>, SqlError> {
        match &self.kind {
            ExprKind::Column(index) => Ok(Cow::Borrowed(&row[*index])),
            ExprKind::Literal(value) => Ok(Cow::Borrowed(value)),
            ExprKind::Parameter(index) => match context.parameters().get(*index) {
                Some(value) => Ok(Cow::Borrowed(value)),
                None => Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"EXECUTE"])),
            },
            ExprKind::Slot(index) => Ok(Cow::Borrowed(&context.slots[*index])),
            _ => self.compute(row, context).map(Cow::Owned),
        }
    }

    /// The value of an expression that only refers to one; such operands skip the way through `Cow`.
    #[inline]
    pub(crate) fn direct<'v>(&'v self, row: &'v [Value], context: &'v EvalContext) -> Option<&'v Value> {
        match &self.kind {
            ExprKind::Column(index) => row.get(*index),
            ExprKind::Literal(value) => Some(value),
            ExprKind::Parameter(index) => context.parameters().get(*index),
            ExprKind::Slot(index) => context.slots.get(*index),
            _ => None,
        }
    }

    /// Apart from `compute`, so that its frame stays small: nested expressions recurse through it.
    fn call(
        &self,
        function: &Function,
        exprs: &[Expr],
        row: &[Value],
        context: &EvalContext,
    ) -> Result<Value, SqlError> {
        env::tick(TICKS_PER_CALL);
        let arguments = Arguments { exprs, row, context, ty: &self.ty, overflowed: Cell::new(false) };
        match (function.evaluate)(&arguments) {
            Ok(Value::Json(text)) if !arguments.fits_packet(function.name, text.len() as u64) => {
                Ok(Value::Null)
            }
            Ok(Value::Null) if arguments.overflowed.get() && !self.ty.column.nullable => {
                Ok(self.ty.column.implicit_default())
            }
            Ok(value) => Ok(value),
            Err(_) if context.deferred.is_due() && arguments.is_null_before_calls(function) => {
                Ok(Value::Null)
            }
            Err(error) => Err(name_place(error, self, context)),
        }
    }

    fn compute(&self, row: &[Value], context: &EvalContext) -> Result<Value, SqlError> {
        Ok(match &self.kind {
            ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Xor(..)
            | ExprKind::Not(_)
            | ExprKind::TruthTest(..)
            | ExprKind::Compare(..)
            | ExprKind::In { .. }
            | ExprKind::InRows(_)
            | ExprKind::Between { .. }
            | ExprKind::Like { .. } => match self.eval_bool(row, context)? {
                Some(truth) => Value::boolean(truth),
                None => Value::Null,
            },
            ExprKind::Arithmetic(operator, left, right) => {
                arithmetic::arithmetic(self, *operator, left, right, row, context)?
            }
            ExprKind::Negate(operand) => arithmetic::negate(self, operand, row, context)?,
            ExprKind::Case { operand, whens, otherwise } => {
                let chosen = match operand {
                    Some(operand) => choose_by(operand, whens, row, context)?,
                    None => choose(whens, row, context)?,
                };
                match chosen.or(otherwise.as_deref()) {
                    Some(result) => result.eval(row, context)?,
                    None => Value::Null,
                }
            }
            ExprKind::CaseOperand => context.case_operands.newest(),
            ExprKind::Cast(operand) | ExprKind::Branch(operand) => cast::cast(self, operand, row, context)?,
            ExprKind::Relabel(operand) => relabelled(operand.eval_ref(row, context)?, &self.ty.column),
            ExprKind::Call(function, exprs) => self.call(function, exprs, row, context)?,
            ExprKind::UserVariable(name) => match context.session.user_variable(name) {
                Some((value, _)) => value,
                None => Value::Null,
            },
            ExprKind::SetUserVariable(name, value) => {
                let column = value.ty.column.clone();
                let value = value.eval(row, context)?;
                context.session.set_user_variable(name, value.clone(), column)?;
                value
            }
            ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::Column(_) | ExprKind::Slot(_) => {
                self.eval(row, context)?
            }
            _ => self.compute_apart(row, context)?,
        })
    }

    /// What is rarely nested, apart from `compute` for the sake of its frame.
    #[inline(never)]
    fn compute_apart(&self, row: &[Value], context: &EvalContext) -> Result<Value, SqlError> {
        match &self.kind {
            ExprKind::Fit(operand) => cast::fit_text(self, operand, row, context),
            ExprKind::Bit(operator, left, right) => {
                arithmetic::bit(self, *operator, left, right, row, context)
            }
            ExprKind::BitNot(operand) => arithmetic::bit_not(self, operand, row, context),
            ExprKind::DateAdd { date, amount, unit, subtract } => {
                interval::date_add(self, (date, amount), *unit, *subtract, row, context)
            }
            _ => unreachable!("`compute` has the other kinds"),
        }
    }
}

/// The result of the first condition that is true.
fn choose<'e>(
    whens: &'e [(Expr, Expr)],
    row: &[Value],
    context: &EvalContext,
) -> Result<Option<&'e Expr>, SqlError> {
    for (condition, result) in whens {
        if condition.eval_bool(row, context)? == Some(true) {
            return Ok(Some(result));
        }
    }
    Ok(None)
}

/// The same for conditions that speak of an operand.
fn choose_by<'e>(
    operand: &Expr,
    whens: &'e [(Expr, Expr)],
    row: &[Value],
    context: &EvalContext,
) -> Result<Option<&'e Expr>, SqlError> {
    let _kept = context.case_operands.keep(operand.eval(row, context)?);
    choose(whens, row, context)
}
