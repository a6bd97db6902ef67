//! A walk over the operands of an expression, for those who look for something in it.
//!
//! Queries inside are not entered: whoever asks decides what a subquery means. Called by the checks of expressions in
//! table definitions.
use super::{Expr, ExprKind};

impl<'a> Expr<'a> {
    /// Calls `visit` for each direct operand.
    pub fn for_each_operand(&self, visit: &mut dyn FnMut(&Expr<'a>)) {
        match &self.kind {
            ExprKind::Null
            | ExprKind::Boolean(_)
            | ExprKind::Literal(_)
            | ExprKind::Temporal { .. }
            | ExprKind::Parameter(_)
            | ExprKind::Local(_)
            | ExprKind::Column(_)
            | ExprKind::UserVariable(_)
            | ExprKind::SystemVariable(_)
            | ExprKind::DefaultValue
            | ExprKind::DefaultOf(_)
            | ExprKind::ValuesOf(_)
            | ExprKind::Exists(_)
            | ExprKind::Subquery(_) => {}
            ExprKind::AssignVariable { value: operand, .. }
            | ExprKind::Unary { operand, .. }
            | ExprKind::InSubquery { operand, .. }
            | ExprKind::Is { operand, .. }
            | ExprKind::Cast { operand, .. }
            | ExprKind::ConvertUsing { operand, .. }
            | ExprKind::Collate { operand, .. }
            | ExprKind::Extract { operand, .. }
            | ExprKind::GetFormat { format: operand, .. } => visit(operand),
            ExprKind::Binary { left, right, .. } => {
                [left, right].into_iter().for_each(|operand| visit(operand))
            }
            ExprKind::Regexp { operand: left, pattern: right, .. }
            | ExprKind::TimestampAdd { amount: left, date: right, .. }
            | ExprKind::TimestampDiff { from: left, to: right, .. } => {
                visit(left);
                visit(right);
            }
            ExprKind::Logical { operands, .. } | ExprKind::Row(operands) => operands.iter().for_each(visit),
            ExprKind::Like { operand, pattern, escape, .. } => {
                visit(operand);
                visit(pattern);
                escape.iter().for_each(|escape| visit(escape));
            }
            ExprKind::Between { operand, low, high, .. } => {
                visit(operand);
                visit(low);
                visit(high);
            }
            ExprKind::InList { operand, list, .. } => {
                visit(operand);
                list.iter().for_each(visit);
            }
            _ => self.for_each_argument(visit),
        }
    }

    /// The operands of what stands behind a reference of its own.
    fn for_each_argument(&self, visit: &mut dyn FnMut(&Expr<'a>)) {
        match &self.kind {
            ExprKind::Quantified(quantified) => visit(quantified.left),
            ExprKind::Case(case) => {
                case.operand.iter().for_each(|operand| visit(operand));
                for branch in case.branches {
                    visit(&branch.when);
                    visit(&branch.then);
                }
                case.otherwise.iter().for_each(|otherwise| visit(otherwise));
            }
            ExprKind::JsonExtract(extract) => visit(&extract.column),
            ExprKind::DateArithmetic(arithmetic) => {
                visit(&arithmetic.date);
                visit(&arithmetic.amount);
            }
            ExprKind::Trim(trim) => {
                trim.remove.iter().for_each(&mut *visit);
                visit(&trim.operand);
            }
            ExprKind::Char(function) => function.arguments.iter().for_each(visit),
            ExprKind::WeightString(function) => visit(&function.operand),
            ExprKind::Match(full_text) => visit(&full_text.against),
            ExprKind::JsonValue(value) => visit(&value.document),
            ExprKind::Function(call) => call.arguments.iter().for_each(visit),
            ExprKind::Aggregate(aggregate) => aggregate.arguments.iter().for_each(visit),
            ExprKind::Window(call) => call.arguments.iter().for_each(visit),
            _ => {}
        }
    }
}
