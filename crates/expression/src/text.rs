//! The text of an expression in error messages, close to what MySQL prints: '(1 + 2)'.
//!
//! Bound expressions know columns by their place in the row only, so columns are shown by number.
use std::fmt;

use datum::Value;

use crate::expr::{Expr, ExprKind};

impl fmt::Display for Expr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(value) => write_literal(self, value, formatter),
            ExprKind::Parameter(_) => formatter.write_str("?"),
            ExprKind::Column(index) => write!(formatter, "column {}", index + 1),
            ExprKind::Slot(_) => formatter.write_str("(select ...)"),
            ExprKind::UserVariable(name) => write!(formatter, "@{name}"),
            ExprKind::SetUserVariable(name, value) => write!(formatter, "(@{name}:={value})"),
            ExprKind::And(operands) => write_joined(operands, " and ", formatter),
            ExprKind::Or(operands) => write_joined(operands, " or ", formatter),
            ExprKind::Xor(left, right) => write!(formatter, "({left} xor {right})"),
            ExprKind::Not(operand) => write!(formatter, "(not {operand})"),
            ExprKind::TruthTest(test, operand) => write!(formatter, "({operand} {})", test.text()),
            ExprKind::Compare(operator, _, left, right) => {
                write!(formatter, "({left} {} {right})", operator.symbol())
            }
            ExprKind::In { negated, operand, list } => {
                write!(formatter, "({operand} {}in ", if *negated { "not " } else { "" })?;
                write_joined(list.iter().map(|(_, member)| member), ",", formatter)?;
                formatter.write_str(")")
            }
            ExprKind::Between { negated, operand, low, high, .. } => {
                let not = if *negated { "not " } else { "" };
                write!(formatter, "({operand} {not}between {low} and {high})")
            }
            ExprKind::Like { negated, operand, pattern, .. } => {
                write!(formatter, "({operand} {}like {pattern})", if *negated { "not " } else { "" })
            }
            ExprKind::Arithmetic(operator, left, right) => {
                write!(formatter, "({left} {} {right})", operator.symbol())
            }
            ExprKind::Negate(operand) => write!(formatter, "-({operand})"),
            ExprKind::Bit(operator, left, right) => {
                write!(formatter, "({left} {} {right})", operator.symbol())
            }
            ExprKind::BitNot(operand) => write!(formatter, "~({operand})"),
            ExprKind::Case { whens, otherwise } => {
                formatter.write_str("(case")?;
                for (condition, result) in whens {
                    write!(formatter, " when {condition} then {result}")?;
                }
                match otherwise {
                    Some(otherwise) => write!(formatter, " else {otherwise} end)"),
                    None => formatter.write_str(" end)"),
                }
            }
            ExprKind::Cast(operand) | ExprKind::Relabel(operand) => write!(formatter, "{operand}"),
            ExprKind::DateAdd { date, amount, unit, subtract } => {
                let sign = if *subtract { '-' } else { '+' };
                write!(formatter, "({date} {sign} interval {amount} {})", unit.name().to_lowercase())
            }
            ExprKind::Call(function, arguments) => {
                formatter.write_str(function.name)?;
                write_joined(arguments, ",", formatter)
            }
        }
    }
}

fn write_literal(expr: &Expr, value: &Value, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Value::Null => formatter.write_str("NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
            formatter.write_str(&String::from_utf8_lossy(&value.to_text(&expr.ty.column)))
        }
        other => write!(formatter, "'{}'", datum::shown(&other.to_text(&expr.ty.column))),
    }
}

fn write_joined<'e>(
    exprs: impl IntoIterator<Item = &'e Expr>,
    separator: &str,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    formatter.write_str("(")?;
    for (index, expr) in exprs.into_iter().enumerate() {
        if index > 0 {
            formatter.write_str(separator)?;
        }
        write!(formatter, "{expr}")?;
    }
    formatter.write_str(")")
}
