//! Conversions: CAST, CONVERT .. USING and COLLATE.
use collation::{Charset, CollationId};
use datum::{ColumnType, SqlError, TypeKind, error_code};

use super::BindContext;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::functions::{characters_max, text_column};

impl BindContext {
    /// CAST(expr AS type). A length of `u32::MAX` or 0 takes the length of the operand; other binary strings are
    /// filled up to their length, which `TypeKind::Binary` says.
    pub fn cast(&self, operand: Expr, target: ColumnType) -> Result<Expr, SqlError> {
        let has_length = !matches!(target.length, 0 | u32::MAX);
        if target.kind == TypeKind::VarBinary && has_length {
            return self.convert(operand, ColumnType { kind: TypeKind::Binary, ..target });
        }
        self.convert(operand, target)
    }

    /// The conversion of a value that changes its kind. Too long a text is cut only where the type has a length.
    pub(crate) fn convert(&self, operand: Expr, target: ColumnType) -> Result<Expr, SqlError> {
        let numeric = !target.kind.is_string();
        // A conversion may fail into NULL only where text or numbers become moments.
        let may_fail = target.kind.is_temporal() || target.kind == TypeKind::Json;
        let nullable = operand.ty.column.nullable || may_fail;
        let coercibility = if numeric { Coercibility::Numeric } else { Coercibility::Implicit };
        let column = ColumnType { nullable, ..target };
        Ok(Expr { kind: ExprKind::Cast(Box::new(operand)), ty: ExprType::new(column, coercibility) })
    }

    /// CONVERT(expr USING charset).
    pub fn convert_using(&self, operand: Expr, charset: Charset) -> Result<Expr, SqlError> {
        let mut length = characters_max(&operand.ty.column);
        if charset == Charset::Binary {
            length *= u64::from(operand.ty.collation().charset().bytes_per_character_max());
        }
        let column = text_column(length, charset.default_collation());
        let mut expr = self.convert(operand, column)?;
        expr.ty.coercibility = Coercibility::Implicit;
        Ok(expr)
    }

    /// `expr COLLATE name`.
    pub fn collate(&self, mut operand: Expr, collation: CollationId) -> Result<Expr, SqlError> {
        crate::functions::cast_text(self, &mut operand)?;
        let own = operand.ty.collation().charset();
        if operand.ty.column.kind != TypeKind::Null && own != collation.charset() {
            return Err(error_code::ER_COLLATION_CHARSET_MISMATCH.with(&[&collation.name(), &own.name()]));
        }
        let column = ColumnType { collation, ..operand.ty.column.clone() };
        let ty = ExprType::new(column, Coercibility::Explicit);
        Ok(Expr { kind: ExprKind::Relabel(Box::new(operand)), ty })
    }
}
