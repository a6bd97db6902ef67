//! Three-valued truth of conditions.
use std::cell::Cell;

use datum::{SqlError, TypeKind, Value};

use super::{choose, comparison};
use crate::context::EvalContext;
use crate::expr::{Expr, ExprKind};
use crate::function::Arguments;

impl Expr {
    /// Three-valued truth: `None` is UNKNOWN. WHERE keeps rows with `Some(true)`.
    #[inline]
    pub fn eval_bool(&self, row: &[Value], context: &EvalContext) -> Result<Option<bool>, SqlError> {
        let truth = self.truth(row, context)?;
        match context.take_refusal() {
            Some(refusal) => Err(refusal),
            None => Ok(truth),
        }
    }

    fn truth(&self, row: &[Value], context: &EvalContext) -> Result<Option<bool>, SqlError> {
        match &self.kind {
            ExprKind::Compare(operator, mode, left, right) => {
                comparison::compare(*operator, *mode, left, right, row, context)
            }
            ExprKind::And(operands) => {
                let mut unknown = false;
                for operand in operands {
                    match operand.truth(row, context)? {
                        Some(false) => return Ok(Some(false)),
                        Some(true) => {}
                        None => unknown = true,
                    }
                }
                Ok((!unknown).then_some(true))
            }
            ExprKind::Or(operands) => {
                let mut unknown = false;
                for operand in operands {
                    match operand.truth(row, context)? {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                Ok((!unknown).then_some(false))
            }
            ExprKind::Xor(left, right) => {
                let Some(left) = left.truth(row, context)? else { return Ok(None) };
                Ok(right.truth(row, context)?.map(|right| left != right))
            }
            ExprKind::Not(operand) => Ok(operand.truth(row, context)?.map(|truth| !truth)),
            ExprKind::TruthTest(test, operand) => {
                use crate::operator::TruthTest::{NotNull, Null};
                if matches!(test, Null | NotNull) {
                    let known = (!operand.eval_ref(row, context)?.is_null()).then_some(true);
                    return Ok(Some(test.answer(known)));
                }
                Ok(Some(test.answer(operand.truth(row, context)?)))
            }
            ExprKind::In { negated, operand, list, id } => {
                comparison::in_list(*negated, operand, (list, *id), row, context)
            }
            ExprKind::InRows(list) => comparison::in_rows(list, row, context),
            ExprKind::Between { negated, operand, low, high, mode } => {
                comparison::between(*negated, *mode, [operand, low, high], row, context)
            }
            ExprKind::Like { negated, operand, pattern, escape } => {
                comparison::like(*negated, [operand, pattern, escape], row, context)
            }
            ExprKind::Branch(own) => own.truth(row, context),
            // A text that they give is asked without a word, as in MySQL.
            ExprKind::Call(function, _) if matches!(function.name, "ifnull" | "coalesce") => {
                let value = self.eval_ref(row, context)?;
                Ok(value.to_truth(&self.ty.column, &mut datum::no_warning))
            }
            _ if crate::build::is_mixed(self) => self.truth_of_chosen(row, context),
            _ => {
                let value = self.eval_ref(row, context)?;
                Ok(value.to_truth(&self.ty.column, &mut |warning| context.warn(warning)))
            }
        }
    }

    /// The truth of the number that a document is.
    fn truth_of_number(&self, row: &[Value], context: &EvalContext) -> Result<Option<bool>, SqlError> {
        let value = self.eval_ref(row, context)?;
        let number = value.to_f64(&self.ty.column, &mut |warning| context.warn(warning));
        Ok(number.map(|number| number != 0.0))
    }

    /// The truth of what is chosen from values of several kinds.
    #[inline(never)]
    fn truth_of_chosen(&self, row: &[Value], context: &EvalContext) -> Result<Option<bool>, SqlError> {
        match &self.kind {
            ExprKind::Case { operand: None, whens, otherwise } => {
                match choose(whens, row, context)?.or(otherwise.as_deref()) {
                    Some(Expr { kind: ExprKind::Branch(own), .. })
                        if own.ty.column.kind == TypeKind::Json =>
                    {
                        own.truth_of_number(row, context)
                    }
                    Some(result) => result.truth(row, context),
                    None => Ok(None),
                }
            }
            ExprKind::Call(function, exprs) => {
                let arguments = Arguments { exprs, row, context, ty: &self.ty, overflowed: Cell::new(false) };
                if let Some(truth) = crate::call::extreme_truth(function.name, &arguments) {
                    return truth;
                }
                let value = self.eval_ref(row, context)?;
                Ok(value.to_truth(&self.ty.column, &mut |warning| context.warn(warning)))
            }
            _ => {
                let value = self.eval_ref(row, context)?;
                Ok(value.to_truth(&self.ty.column, &mut |warning| context.warn(warning)))
            }
        }
    }
}
