//! What the columns hold that an UPDATE of one table has assigned, as expressions over the row before it.
//!
//! The plan computes subqueries among the values from the row as it was, while MySQL gives them what stands to their left.
//! Invariant: an expression that `put_into` has gone through reads no column that was assigned. Called by `update`.
use crate::binder::not_supported;
use crate::walk::{any, has_subquery, replace};
use datum::{ColumnType, SqlError, TypeKind};
use expression::{BindContext, Expr, ExprKind};
use plan::InsertValue;

#[derive(Default)]
pub struct AssignedColumns {
    /// (frame position, value); none where there is no expression for what the column keeps of it.
    known: Vec<(usize, Option<Expr>)>,
}

impl AssignedColumns {
    /// The column at `position` has got a value.
    pub fn assign(
        &mut self,
        bind: &BindContext,
        position: usize,
        column_type: &ColumnType,
        value: &InsertValue,
    ) -> Result<(), SqlError> {
        let kept = match value {
            InsertValue::Expr(expr) if is_kept_alike(&column_type.kind) && !has_subquery(expr) => {
                let mut expr = expr.clone();
                let is_whole = self.put_into(&mut expr).is_ok();
                is_whole.then(|| bind.convert(expr, column_type.clone())).transpose()?
            }
            _ => None,
        };
        self.known.retain(|(known, _)| *known != position);
        self.known.push((position, kept));
        Ok(())
    }

    /// Puts the values in the places of the columns; error 1235 where there is no expression for one.
    pub fn put_into(&self, expr: &mut Expr) -> Result<(), SqlError> {
        let is_lost = |part: &Expr| {
            let ExprKind::Column(place) = part.kind else { return false };
            self.known.iter().any(|(known, value)| *known == place && value.is_none())
        };
        if any(expr, &is_lost) {
            return Err(not_supported("a subquery that reads a column which the statement has assigned"));
        }
        replace(expr, &mut |part| {
            let ExprKind::Column(place) = part.kind else { return None };
            self.known.iter().find(|(known, _)| *known == place).and_then(|(_, value)| value.clone())
        });
        Ok(())
    }
}

/// Whether a column keeps a value as a conversion to its type gives it.
fn is_kept_alike(kind: &TypeKind) -> bool {
    kind.is_integer()
        || matches!(
            kind,
            TypeKind::Decimal { .. }
                | TypeKind::Double { digits: None }
                | TypeKind::Date
                | TypeKind::DateTime { .. }
                | TypeKind::Time { .. }
                | TypeKind::VarChar
                | TypeKind::Text
        )
}
