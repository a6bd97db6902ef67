//! Subqueries among the values of INSERT and VALUES, which no plan computes row by row.
//!
//! Invariant: nothing pending is left in the block: a value with IN, ANY or ALL over a query becomes a query of its own
//! that runs once before it, and one that would read the row is refused. Called for each value that is bound.
use crate::block::Block;
use crate::bound::{BoundBlock, BoundInitialiser, Logical};
use crate::planner::{Planner, not_supported};
use crate::select_build::BoundSelect;
use crate::select_items::SelectItem;
use crate::walk::any;
use datum::{ColumnType, SqlError};
use expression::{Expr, ExprKind};
use plan::InitialiserKind;

impl Planner<'_> {
    /// The value without pending subqueries.
    pub fn settle_subqueries(&mut self, value: Expr) -> Result<Expr, SqlError> {
        let subqueries = std::mem::take(&mut self.block().subqueries);
        if subqueries.is_empty() {
            return Ok(value);
        }
        let reads_row = |expr: &Expr| any(expr, &|part| matches!(part.kind, ExprKind::Column(_)));
        let mut taken = subqueries.iter().flat_map(|pending| pending.left.iter().chain(&pending.correlation));
        if reads_row(&value) || taken.any(|(_, expr)| reads_row(expr)) {
            return Err(not_supported("a subquery among values that reads the row"));
        }
        let mut stand_in = Expr::slot(self.new_slot(), value.ty.column.clone());
        stand_in.ty = value.ty.clone();
        stand_in.ty.column = ColumnType { nullable: true, ..value.ty.column.clone() };
        let ExprKind::Slot(slot) = stand_in.kind else { unreachable!("made above") };
        let item = SelectItem { expr: value, name: String::new(), is_alias: false };
        let block = Block { subqueries, ..Block::default() };
        let bound = BoundSelect::of_items(vec![item]);
        let query = Logical::Select(Box::new(BoundBlock { block, bound, tree: None, is_correlated: false }));
        self.block().initialisers.push(BoundInitialiser { slot, kind: InitialiserKind::Scalar, query });
        Ok(stand_in)
    }
}
