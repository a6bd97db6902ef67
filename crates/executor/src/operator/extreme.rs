//! The one row that decides `x < ALL (..)`, `x >= ANY (..)` and their like for every `x`.
//!
//! Invariant: a comparison with all rows of the query comes out as that with the rows kept here: the least or the greatest in the order that the
//! comparison has, and one that is NULL. Called by `apply` for a query that is the same for all rows.
use std::cmp::Ordering;

use datum::{CompareMode, Operand, SqlError, Value, no_warning};
use expression::{ComparisonOperator, Expr, ExprKind, moment_context};
use plan::{ApplyKind, Quantifier};

use super::{BATCH_ROWS, Operator};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::row_store::RowStore;

pub(super) struct Extreme<'p> {
    /// The query's column.
    column: &'p Expr,
    position: usize,
    mode: CompareMode,
    /// What a value must be to the one kept to take its place.
    wanted: Ordering,
}

impl<'p> Extreme<'p> {
    /// `None` where the comparison has no such row.
    pub fn of(kind: &'p ApplyKind) -> Option<Extreme<'p>> {
        let ApplyKind::Quantified { comparison, quantifier } = kind else { return None };
        let ExprKind::Compare(operator, mode, left, right) = &comparison.condition.kind else { return None };
        let (ExprKind::Slot(_), ExprKind::Column(position)) = (&left.kind, &right.kind) else { return None };
        let is_ordered = match mode {
            CompareMode::Integer | CompareMode::Decimal | CompareMode::Text(_) => true,
            // Values that were no numbers or moments would warn.
            CompareMode::Double => right.ty.column.kind.is_numeric(),
            CompareMode::DateTime => right.ty.column.kind.has_date(),
            CompareMode::Date | CompareMode::Time | CompareMode::FixedReal(_) | CompareMode::Json => false,
        };
        let exceeds = match operator {
            ComparisonOperator::Greater | ComparisonOperator::GreaterOrEqual => true,
            ComparisonOperator::Less | ComparisonOperator::LessOrEqual => false,
            _ => return None,
        };
        // Whoever exceeds all exceeds the greatest.
        let wants_greatest = exceeds == (*quantifier == Quantifier::All);
        let wanted = if wants_greatest { Ordering::Greater } else { Ordering::Less };
        is_ordered.then_some(Extreme { column: right, position: *position, mode: *mode, wanted })
    }

    /// Reads all rows of the query and keeps those that decide.
    pub async fn fill(
        &self,
        query: &mut (dyn Operator + '_),
        rows: &mut RowStore,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let mut batch = RowBatch::new(rows.width());
        let (mut extreme, mut null): (Option<Vec<Value>>, Option<Vec<Value>>) = (None, None);
        let mut more = true;
        while more {
            context.check()?;
            batch.clear();
            more = query.next_batch(context, BATCH_ROWS, &mut batch).await?;
            for row in batch.rows() {
                if row[self.position].is_null() {
                    null.get_or_insert_with(|| row.to_vec());
                } else if extreme.as_ref().is_none_or(|kept| self.is_beyond(row, kept, context)) {
                    extreme = Some(row.to_vec());
                }
            }
        }
        for row in extreme.iter().chain(&null) {
            rows.push(row, context).await?;
        }
        rows.finish(context).await
    }

    fn is_beyond<'a>(&'a self, row: &'a [Value], kept: &'a [Value], context: &ExecContext<'_>) -> bool {
        let moments = moment_context(context.eval, false);
        let operand =
            |row: &'a [Value]| Operand { value: &row[self.position], column: &self.column.ty.column };
        let order = datum::compare(self.mode, operand(row), operand(kept), &moments, &mut no_warning);
        order == Some(self.wanted)
    }
}
