//! Evaluation of bound expressions.
use std::borrow::Cow;

use datum::{SqlError, Value};

use crate::context::EvalContext;
use crate::expr::{Expr, ExprKind};

impl Expr {
    /// The value as a result column shows it: exact numbers are rounded to the type's scale.
    pub fn eval(&self, row: &[Value], context: &EvalContext) -> Result<Value, SqlError> {
        Ok(self.eval_ref(row, context)?.into_owned())
    }

    /// The value without copying it when it is a column, literal, parameter or slot.
    pub fn eval_ref<'v>(
        &'v self,
        row: &'v [Value],
        context: &'v EvalContext,
    ) -> Result<Cow<'v, Value>, SqlError> {
        match &self.kind {
            ExprKind::Literal(value) => Ok(Cow::Borrowed(value)),
            ExprKind::Column(index) => Ok(Cow::Borrowed(&row[*index])),
            ExprKind::Parameter(index) => Ok(Cow::Borrowed(&context.parameters[*index])),
            ExprKind::Slot(index) => Ok(Cow::Borrowed(&context.slots[*index])),
            _ => Err(datum::error_code::ER_NOT_SUPPORTED_YET.with(&[&"expression"])),
        }
    }

    /// Three-valued truth: `None` is UNKNOWN. WHERE keeps rows with `Some(true)`.
    pub fn eval_bool(&self, row: &[Value], context: &EvalContext) -> Result<Option<bool>, SqlError> {
        let value = self.eval_ref(row, context)?;
        Ok(match &*value {
            Value::Null => None,
            Value::Int(number) => Some(*number != 0),
            _ => Some(true),
        })
    }
}
