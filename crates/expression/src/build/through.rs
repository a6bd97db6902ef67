//! Choices of values of several kinds (CASE, IF, COALESCE, GREATEST) where another kind than their common one is wanted.
//!
//! Their common type may be a text that numbers and moments become. Invariant: who wants a number of such a choice gets
//! the chosen value's own, not what its text begins with, as `ABS(IF(a, d, 'x'))` is 20240131 for a date `d`. Callers:
//! conversions, arithmetic and comparisons.
use datum::{ColumnType, SqlError, TypeKind};

use super::BindContext;
use crate::call::is_choice_of_moments;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};

/// What a branch is before it becomes its choice's text.
fn own(branch: &Expr) -> Option<&Expr> {
    match &branch.kind {
        ExprKind::Branch(own) => Some(own),
        // The text may be in another character set, too.
        ExprKind::Cast(inner) | ExprKind::Relabel(inner) if branch.ty.column.kind.is_string() => {
            match &inner.kind {
                ExprKind::Branch(own) => Some(own),
                _ => None,
            }
        }
        _ => None,
    }
}

fn into_own(branch: Expr) -> Expr {
    match own(&branch) {
        Some(own) => own.clone(),
        None => branch,
    }
}

fn is_other(branch: &Expr) -> bool {
    own(branch).is_some() || branch.ty.column.is_hex_literal() || is_mixed(branch)
}

/// Whether the expression is chosen from values of which some are of another kind. COALESCE is none of them: it gives
/// what its type says.
pub(crate) fn is_mixed(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Case { whens, otherwise, .. } => {
            whens.iter().map(|(_, result)| result).chain(otherwise.as_deref()).any(is_other)
        }
        ExprKind::Call(function, arguments) => {
            matches!(function.name, "greatest" | "least")
                && expr.ty.column.kind.is_string()
                && arguments.iter().any(is_other)
        }
        _ => false,
    }
}

/// Whether the expression is a text, or a document by its text, that is read as a number without a word.
pub(crate) fn is_silent(expr: &Expr) -> bool {
    let kind = &expr.ty.column.kind;
    match &expr.kind {
        ExprKind::Call(function, _) => match function.name {
            "coalesce" | "ifnull" => kind.is_string() || *kind == TypeKind::Json,
            "any_value" => *kind == TypeKind::Json,
            _ => false,
        },
        _ => false,
    }
}

/// Whether a choice is a text whatever it was chosen from: one as long as a TEXT, or a CHAR.
fn is_plain_text(column: &ColumnType) -> bool {
    column.kind.is_large_object() || column.kind == TypeKind::Char
}

/// The type of the number that a choice of several kinds of moments is: each is its own number.
pub(crate) fn number_of_moments(expr: &Expr) -> Option<ColumnType> {
    const DIGITS: u8 = 14;
    let is_choice = matches!(expr.kind, ExprKind::Case { .. }) && is_mixed(expr);
    match expr.ty.column.kind {
        TypeKind::DateTime { fsp: 0 } if is_choice => {
            Some(ColumnType { length: u32::from(DIGITS) + 1, ..ColumnType::bigint() })
        }
        TypeKind::DateTime { fsp } if is_choice => Some(ColumnType::decimal(DIGITS + fsp, fsp)),
        _ => None,
    }
}

/// The exact number that a branch is before it is one of the choice's DECIMALs.
fn into_exact(branch: Expr) -> Expr {
    match branch.kind {
        ExprKind::Relabel(own) if own.ty.column.kind.is_numeric() => *own,
        kind => Expr { kind, ty: branch.ty },
    }
}

impl BindContext {
    /// The whole number that a choice of DECIMALs gives: the one that is chosen is made one by itself. Anything else as it
    /// is.
    pub(crate) fn as_whole(
        &self,
        expr: Expr,
        whole: impl Fn(Expr) -> Result<Expr, SqlError>,
    ) -> Result<Expr, SqlError> {
        let Expr { kind: ExprKind::Case { operand, whens, otherwise }, ty } = expr else { return Ok(expr) };
        if !matches!(ty.column.kind, TypeKind::Decimal { .. }) {
            return Ok(Expr { kind: ExprKind::Case { operand, whens, otherwise }, ty });
        }
        let mut column = ColumnType::bigint();
        let mut convert = |branch: Expr| -> Result<Expr, SqlError> {
            let branch = whole(into_exact(branch))?;
            column = branch.ty.column.clone();
            Ok(branch)
        };
        let whens = whens.into_iter().map(|(when, result)| Ok((when, convert(result)?)));
        let whens = whens.collect::<Result<_, SqlError>>()?;
        let otherwise = otherwise.map(|result| convert(*result).map(Box::new)).transpose()?;
        let ty = ExprType::new(ColumnType { nullable: ty.column.nullable, ..column }, Coercibility::Numeric);
        Ok(Expr { kind: ExprKind::Case { operand, whens, otherwise }, ty })
    }

    /// The number that a mixed choice gives; anything else as it is.
    pub(crate) fn as_number(&self, expr: Expr, target: ColumnType) -> Result<Expr, SqlError> {
        if is_silent(&expr) {
            return Ok(self.converted(expr, target));
        }
        match number_of_moments(&expr) {
            Some(number) => self.convert_chosen(expr, number),
            None if expr.ty.column.kind.is_string() && is_mixed(&expr) => self.convert_chosen(expr, target),
            None => Ok(expr),
        }
    }

    /// The conversion of a mixed choice, which is one of what is chosen.
    pub(super) fn convert_chosen(&self, expr: Expr, target: ColumnType) -> Result<Expr, SqlError> {
        let Expr { kind, ty } = expr;
        let coercibility =
            if target.kind.is_string() { Coercibility::Implicit } else { Coercibility::Numeric };
        let number = |kind| {
            let column = ColumnType { nullable: ty.column.nullable, ..target.clone() };
            Expr { kind, ty: ExprType::new(column, coercibility) }
        };
        let is_real = matches!(target.kind, TypeKind::Double { .. } | TypeKind::Decimal { .. });
        let convert = |branch: Expr| self.convert(into_own(branch), target.clone());
        match kind {
            ExprKind::Case { operand, whens, otherwise } => {
                let whens = whens.into_iter().map(|(when, result)| Ok((when, convert(result)?)));
                let whens = whens.collect::<Result<_, SqlError>>()?;
                let otherwise = otherwise.map(|result| convert(*result).map(Box::new)).transpose()?;
                Ok(number(ExprKind::Case { operand, whens, otherwise }))
            }
            ExprKind::Call(function, arguments) if matches!(function.name, "greatest" | "least") => {
                let is_large = is_plain_text(&ty.column);
                let moment = is_choice_of_moments(&arguments).filter(|_| !is_large);
                let has_time = arguments
                    .iter()
                    .filter_map(own)
                    .any(|own| own.ty.column.kind.is_temporal() || own.ty.column.kind == TypeKind::Year);
                // A moment is read of the text, which shows no zero moment.
                let is_read =
                    target.kind.has_date() && moment.as_ref().is_some_and(|kind| *kind != TypeKind::Date);
                if let Some(kind) = moment.filter(|_| !is_read) {
                    // A date is its number already, because what stands for no date is none.
                    let column = match kind {
                        TypeKind::Date => ColumnType::bigint(),
                        kind => ColumnType::new(kind),
                    };
                    let column = ColumnType { nullable: ty.column.nullable, ..column };
                    let ty = ExprType::new(column, Coercibility::Numeric);
                    if target.kind.is_integer() && ty.column.kind.is_temporal() {
                        // The fraction of a second is cut, not rounded.
                        let moment = Expr { kind: ExprKind::Call(function, arguments), ty };
                        let number = self.converted(moment, ColumnType::decimal(20, 6));
                        let whole = self.call("truncate", vec![number, Expr::int(0)])?;
                        return Ok(self.converted(whole, target));
                    }
                    return Ok(self.converted(Expr { kind: ExprKind::Call(function, arguments), ty }, target));
                }
                // Times and years are compared as numbers with numbers, others as texts.
                if is_large || !has_time || !(is_real || target.kind.is_integer()) {
                    return Ok(self.converted(Expr { kind: ExprKind::Call(function, arguments), ty }, target));
                }
                if is_real {
                    let arguments = arguments.into_iter().map(convert).collect::<Result<_, SqlError>>()?;
                    return Ok(number(ExprKind::Call(function, arguments)));
                }
                // Among whole numbers the greatest of 64 bits are negative ones.
                let whole = |argument: Expr| self.cast(into_own(argument), ColumnType::bigint());
                let arguments = arguments.into_iter().map(whole).collect::<Result<_, SqlError>>()?;
                let column = ColumnType { nullable: ty.column.nullable, ..ColumnType::bigint() };
                let ty = ExprType::new(column, Coercibility::Numeric);
                Ok(self.converted(Expr { kind: ExprKind::Call(function, arguments), ty }, target))
            }
            kind => Ok(self.converted(Expr { kind, ty }, target)),
        }
    }
}
