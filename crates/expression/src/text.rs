//! The text of an expression in error messages, close to what MySQL prints: '(`d`.`t`.`a` + 2)'.
use std::fmt::{self, Display};

use datum::{SqlError, Value, error_code};

use crate::context::EvalContext;
use crate::expr::{Expr, ExprKind};

/// An expression with the values that its parameters show as, if any: a `?` stays one.
#[derive(Clone, Copy)]
struct Shown<'e> {
    expr: &'e Expr,
    parameters: &'e [Value],
}

impl Display for Expr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown { expr: self, parameters: &[] }.fmt(formatter)
    }
}

/// Error 1690 says where a value is out of range; evaluation leaves that open, because only here the whole node is
/// known. The innermost node fills it in.
#[cold]
pub(crate) fn name_place(error: SqlError, node: &Expr, context: &EvalContext) -> SqlError {
    if !error.is(&error_code::ER_DATA_OUT_OF_RANGE) {
        return error;
    }
    let Some(kind) = error.message.strip_suffix(" value is out of range in ''") else { return error };
    let parameters: &[Value] = if context.shows_parameters { context.parameters() } else { &[] };
    error_code::ER_DATA_OUT_OF_RANGE.with(&[&kind, &Shown { expr: node, parameters }])
}

/// Warning 6527 about a moment that an expression cannot give.
#[cold]
pub(crate) fn out_of_range(kind: &str, node: &Expr, context: &EvalContext) -> SqlError {
    let parameters: &[Value] = if context.shows_parameters { context.parameters() } else { &[] };
    error_code::ER_WARN_DATETIME_OUT_OF_RANGE.with(&[&kind, &Shown { expr: node, parameters }])
}

impl Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |expr| Shown { expr, parameters: self.parameters };
        match &self.expr.kind {
            ExprKind::Literal(value) => write_value(self.expr, value, formatter),
            ExprKind::Parameter(index) => match self.parameters.get(*index) {
                Some(value) => write_value(self.expr, value, formatter),
                None => formatter.write_str(self.expr.ty.name.as_deref().unwrap_or("?")),
            },
            ExprKind::Column(index) => match &self.expr.ty.name {
                Some(name) => formatter.write_str(name),
                None => write!(formatter, "column {}", index + 1),
            },
            ExprKind::Slot(_) => formatter.write_str(self.expr.ty.name.as_deref().unwrap_or("(select ...)")),
            ExprKind::UserVariable(name) => write!(formatter, "(@`{name}`)"),
            ExprKind::SetUserVariable(name, value) => write!(formatter, "(@{name}:={})", show(value)),
            ExprKind::And(operands) => self.write_joined(operands, " and ", formatter),
            ExprKind::Or(operands) => self.write_joined(operands, " or ", formatter),
            ExprKind::Xor(left, right) => write!(formatter, "({} xor {})", show(left), show(right)),
            ExprKind::Not(operand) => write!(formatter, "(not {})", show(operand)),
            ExprKind::TruthTest(test, operand) => write!(formatter, "({} {})", show(operand), test.text()),
            ExprKind::Compare(operator, _, left, right) => {
                write!(formatter, "({} {} {})", show(left), operator.symbol(), show(right))
            }
            ExprKind::InRows(list) => {
                self.write_joined(&list.operands, ",", formatter)?;
                formatter.write_str(" in (")?;
                for (number, row) in list.rows.iter().enumerate() {
                    formatter.write_str(if number > 0 { "," } else { "" })?;
                    self.write_joined(row.iter().map(|(_, member)| member), ",", formatter)?;
                }
                formatter.write_str(")")
            }
            ExprKind::In { negated, operand, list, .. } => {
                write!(formatter, "({} {}in ", show(operand), if *negated { "not " } else { "" })?;
                self.write_joined(list.iter().map(|(_, member)| member), ",", formatter)?;
                formatter.write_str(")")
            }
            ExprKind::Between { negated, operand, low, high, .. } => {
                let not = if *negated { "not " } else { "" };
                write!(formatter, "({} {not}between {} and {})", show(operand), show(low), show(high))
            }
            ExprKind::Like { negated, operand, pattern, .. } => {
                let not = if *negated { "not " } else { "" };
                write!(formatter, "({} {not}like {})", show(operand), show(pattern))
            }
            ExprKind::Arithmetic(operator, left, right) => {
                write!(formatter, "({} {} {})", show(left), operator.symbol(), show(right))
            }
            ExprKind::Negate(operand) => write!(formatter, "-({})", show(operand)),
            ExprKind::Bit(operator, left, right) => {
                write!(formatter, "({} {} {})", show(left), operator.symbol(), show(right))
            }
            ExprKind::BitNot(operand) => write!(formatter, "~({})", show(operand)),
            ExprKind::Case { operand, whens, otherwise } => {
                self.write_case(operand.as_deref(), whens, otherwise.as_deref(), formatter)
            }
            ExprKind::CaseOperand => formatter.write_str("case operand"),
            ExprKind::Branch(own) => show(own).fmt(formatter),
            ExprKind::Cast(operand) => match self.expr.ty.name.as_deref() {
                Some(target) => write!(formatter, "cast({} as {target})", show(operand)),
                None => show(operand).fmt(formatter),
            },
            ExprKind::Fit(operand) | ExprKind::Relabel(operand) => show(operand).fmt(formatter),
            ExprKind::DateAdd { date, amount, unit, subtract } => {
                let sign = if *subtract { '-' } else { '+' };
                let unit = unit.name().to_lowercase();
                write!(formatter, "({} {sign} interval {} {unit})", show(date), show(amount))
            }
            ExprKind::Call(function, arguments) if function.name == crate::call::document_order::NAME => {
                show(&arguments[0]).fmt(formatter)
            }
            ExprKind::Call(function, arguments) => {
                formatter.write_str(function.name)?;
                self.write_joined(arguments, ",", formatter)
            }
        }
    }
}

impl<'e> Shown<'e> {
    fn write_joined(
        &self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        separator: &str,
        formatter: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        formatter.write_str("(")?;
        for (index, expr) in exprs.into_iter().enumerate() {
            if index > 0 {
                formatter.write_str(separator)?;
            }
            Shown { expr, parameters: self.parameters }.fmt(formatter)?;
        }
        formatter.write_str(")")
    }

    fn write_case(
        &self,
        operand: Option<&Expr>,
        whens: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        formatter: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let show = |expr| Shown { expr, parameters: self.parameters };
        formatter.write_str("(case")?;
        if let Some(operand) = operand {
            write!(formatter, " {}", show(operand))?;
        }
        for (condition, result) in whens {
            let shown = match (operand, &condition.kind) {
                (Some(_), ExprKind::Compare(_, _, _, value)) => value,
                _ => condition,
            };
            write!(formatter, " when {} then {}", show(shown), show(result))?;
        }
        match otherwise {
            Some(otherwise) => write!(formatter, " else {} end)", show(otherwise)),
            None => formatter.write_str(" end)"),
        }
    }
}

fn write_value(expr: &Expr, value: &Value, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Value::Null => formatter.write_str("NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
            let text = value.to_text(&expr.ty.column);
            match text.strip_prefix(b"-") {
                // No literal has a sign: it is written before one.
                Some(digits) => write!(formatter, "-({})", String::from_utf8_lossy(digits)),
                None => formatter.write_str(&String::from_utf8_lossy(&text)),
            }
        }
        other => write!(formatter, "'{}'", datum::shown(&other.to_text(&expr.ty.column))),
    }
}
