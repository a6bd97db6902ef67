//! Conversions: CAST, CONVERT .. USING and COLLATE.
use collation::{Charset, CollationId};
use datum::{ColumnType, SqlError, SqlMode, TypeKind, error_code};

use super::merge::{bytes_max, shown_width};
use super::through::is_mixed;
use super::{BindContext, Wanted};
use crate::call::infer::text_column;
use crate::call::is_choice_of_moments;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};

impl BindContext {
    /// CAST(expr AS type). A text without a length, which `u32::MAX` says, is as long as its operand.
    pub fn cast(&self, mut operand: Expr, target: ColumnType) -> Result<Expr, SqlError> {
        self.marker_beside(&mut operand, &target);
        if target.kind.has_date() {
            self.become_zero_moment(&mut operand);
        }
        // A year that a function gives is a number.
        let is_made = matches!(operand.kind, ExprKind::Call(..)) && operand.ty.column.kind == TypeKind::Year;
        if is_made && target.kind.is_temporal() {
            operand = self.converted(operand, ColumnType::bigint());
        }
        if target.kind.is_integer() {
            let wanted = if target.unsigned { Wanted::Unsigned } else { Wanted::Integer };
            self.expect(&mut operand, wanted)?;
        }
        if target.kind.is_integer() && !target.unsigned {
            operand = self.as_whole(operand, |chosen| self.cast(chosen, target.clone()))?;
        }
        // CAST makes an integer of the text that is chosen.
        let is_chosen = match &operand.kind {
            ExprKind::Case { .. } => true,
            ExprKind::Call(function, arguments) => {
                matches!(function.name, "greatest" | "least") && is_choice_of_moments(arguments).is_none()
            }
            _ => false,
        };
        let is_text_choice = operand.ty.column.kind.is_string() && is_chosen;
        if target.kind.is_integer() && is_text_choice {
            return Ok(self.converted(operand, target));
        }
        if !target.kind.is_string() || target.kind.is_large_object() {
            return self.convert(operand, target);
        }
        let collation = target.collation;
        if target.length == u32::MAX {
            let is_binary = collation == CollationId::BINARY;
            let length =
                if is_binary { bytes_max(&operand.ty.column) } else { shown_width(&operand.ty.column) };
            return self.convert(operand, text_column(length, collation));
        }
        let column = match target.kind {
            TypeKind::Char | TypeKind::Binary => target,
            _ => text_column(u64::from(target.length), collation),
        };
        let converted = self.convert(operand, column)?;
        let ty = converted.ty.clone();
        Ok(Expr { kind: ExprKind::Fit(Box::new(converted)), ty })
    }

    /// The conversion of a value that changes its kind. A text keeps its length.
    pub fn convert(&self, operand: Expr, target: ColumnType) -> Result<Expr, SqlError> {
        // A time is read of the text of what is chosen among moments.
        if matches!(target.kind, TypeKind::Time { .. })
            && matches!(operand.kind, ExprKind::Call(..))
            && operand.ty.column.kind.is_string()
        {
            return Ok(self.converted(operand, target));
        }
        let is_apart = !(target.kind.is_string()
            && (operand.ty.column.kind.is_string() || operand.ty.column.kind.is_temporal()));
        if is_apart && target.kind != TypeKind::Json && is_mixed(&operand) {
            return self.convert_chosen(operand, target);
        }
        Ok(self.converted(operand, target))
    }

    /// The conversion of the value as it is.
    pub(super) fn converted(&self, operand: Expr, target: ColumnType) -> Expr {
        let numeric = !target.kind.is_string();
        // A conversion may fail into NULL only where text or numbers become moments, and bytes text.
        let may_fail = target.kind.is_temporal()
            || target.kind == TypeKind::Year
            || target.kind == TypeKind::Json
            || (target.is_text() && operand.ty.column.kind.is_string() && !operand.ty.column.is_text());
        let nullable = operand.ty.column.nullable || may_fail;
        let binds_as_number = numeric && target.kind != TypeKind::Json;
        let coercibility = if binds_as_number { Coercibility::Numeric } else { Coercibility::Implicit };
        let column = ColumnType { nullable, ..target };
        Expr { kind: ExprKind::Cast(Box::new(operand)), ty: ExprType::new(column, coercibility) }
    }

    /// What a temporary table keeps of the expression: an integer that is chosen among DECIMALs gets their digits.
    pub fn kept(&self, expr: Expr) -> Expr {
        let is_choice = match &expr.kind {
            ExprKind::Case { .. } => true,
            ExprKind::Call(function, _) => matches!(function.name, "greatest" | "least"),
            _ => false,
        };
        match (&expr.ty.column.kind, is_choice) {
            (TypeKind::Decimal { .. }, true) => {
                let target = expr.ty.column.clone();
                self.converted(expr, target)
            }
            _ => expr,
        }
    }

    /// A column as it is read: under PAD_CHAR_TO_FULL_LENGTH a CHAR has the spaces that are not stored.
    pub fn read_column(&self, column: Expr) -> Expr {
        let is_padded = self.sql_mode.contains(SqlMode::PAD_CHAR_TO_FULL_LENGTH)
            && column.ty.column.kind == TypeKind::Char;
        if !is_padded {
            return column;
        }
        let ty = column.ty.clone();
        Expr { kind: ExprKind::Fit(Box::new(column)), ty }
    }

    /// CONVERT(expr USING charset).
    pub fn convert_using(&self, mut operand: Expr, charset: Charset) -> Result<Expr, SqlError> {
        self.text_marker(&mut operand);
        let is_binary = charset == Charset::Binary;
        let length = match &operand.ty.column {
            column if is_binary => bytes_max(column),
            column if column.kind.is_large_object() => crate::call::width::large_object_characters(column),
            column => shown_width(column),
        };
        let column = text_column(length, charset.default_collation());
        let mut expr = self.convert(operand, column)?;
        expr.ty.coercibility = Coercibility::Implicit;
        Ok(expr)
    }

    /// `expr COLLATE name`.
    pub fn collate(&self, mut operand: Expr, collation: CollationId) -> Result<Expr, SqlError> {
        self.text_marker(&mut operand);
        crate::call::infer::cast_text(self, &mut operand)?;
        let is_null = matches!(operand.kind, ExprKind::Literal(datum::Value::Null));
        let own = if is_null { Charset::Binary } else { operand.ty.collation().charset() };
        if (is_null || operand.ty.column.kind != TypeKind::Null) && own != collation.charset() {
            return Err(error_code::ER_COLLATION_CHARSET_MISMATCH.with(&[&collation.name(), &own.name()]));
        }
        let column = ColumnType { collation, ..operand.ty.column.clone() };
        let ty = ExprType::new(column, Coercibility::Explicit);
        Ok(Expr { kind: ExprKind::Relabel(Box::new(operand)), ty })
    }
}
