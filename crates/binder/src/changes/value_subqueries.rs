//! Subqueries among the values of INSERT and VALUES, which no plan computes row by row.
//!
//! Invariant: nothing pending is left in the block: a value with IN, ANY or ALL over a query becomes a query of its own
//! that runs once before it. One that reads the row runs for each row in ON DUPLICATE KEY UPDATE, whose plan hands it the
//! row in slots, and is refused elsewhere. Called for each value that is bound.
use crate::binder::{Binder, not_supported};
use crate::block::{Block, PendingSubquery};
use crate::bound::{BoundBlock, BoundInitialiser, BoundSelect, Logical, SelectItem};
use crate::bound_statement::BoundRowSubquery;
use crate::walk::{any, replace};
use datum::{ColumnType, SqlError};
use expression::{Expr, ExprKind};
use plan::InitialiserKind;

impl Binder<'_> {
    /// The value without pending subqueries.
    pub fn settle_subqueries(&mut self, value: Expr) -> Result<Expr, SqlError> {
        let subqueries = std::mem::take(&mut self.block().subqueries);
        if subqueries.is_empty() {
            return Ok(value);
        }
        let (mut value, mut subqueries) = (value, subqueries);
        let reads_row = |expr: &Expr| any(expr, &|part| matches!(part.kind, ExprKind::Column(_)));
        let mut taken = subqueries.iter().flat_map(|pending| pending.left.iter().chain(&pending.correlation));
        let reads = reads_row(&value) || taken.any(|(_, expr)| reads_row(expr));
        if reads && self.row_subqueries.is_none() {
            return Err(not_supported("a subquery among values that reads the row"));
        }
        let reads = if reads { self.read_through_slots(&mut value, &mut subqueries) } else { Vec::new() };
        let mut stand_in = Expr::slot(self.new_slot(), value.ty.column.clone());
        stand_in.ty = value.ty.clone();
        stand_in.ty.column = ColumnType { nullable: true, ..value.ty.column.clone() };
        let ExprKind::Slot(slot) = stand_in.kind else { unreachable!("made above") };
        let item = SelectItem { expr: value, name: String::new(), is_alias: false };
        let block = Block { subqueries, ..Block::default() };
        let bound = BoundSelect::of_items(vec![item]);
        let query = Logical::Select(Box::new(BoundBlock { block, bound, tree: None, is_correlated: false }));
        let initialiser = BoundInitialiser { slot, kind: InitialiserKind::Scalar, query };
        match reads.is_empty() {
            true => self.block().initialisers.push(initialiser),
            false => {
                let made = self.row_subqueries.as_mut().expect("asked above");
                let assignment = made.0;
                made.1.push(BoundRowSubquery { assignment, reads, initialiser });
            }
        }
        Ok(stand_in)
    }

    /// Puts slots in the place of the row's columns; gives them with the columns' positions.
    fn read_through_slots(
        &mut self,
        value: &mut Expr,
        subqueries: &mut [PendingSubquery],
    ) -> Vec<(usize, usize)> {
        let mut reads: Vec<(usize, usize)> = Vec::new();
        let mut through_slot = |expr: &Expr| {
            let ExprKind::Column(position) = expr.kind else { return None };
            let known = reads.iter().find(|(_, read)| *read == position).map(|(slot, _)| *slot);
            let slot = known.unwrap_or_else(|| {
                let slot = self.new_slot();
                reads.push((slot, position));
                slot
            });
            Some(Expr { kind: ExprKind::Slot(slot), ty: expr.ty.clone() })
        };
        replace(value, &mut through_slot);
        for pending in subqueries {
            let taken = pending.left.iter_mut().chain(&mut pending.correlation);
            taken.for_each(|(_, expr)| replace(expr, &mut through_slot));
        }
        reads
    }
}
