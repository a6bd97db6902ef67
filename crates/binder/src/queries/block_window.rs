//! The windows of a block: what each is partitioned and ordered by. Noted where window functions are bound; stacked on the
//! block's rows by the planner, which also asks whether rows come in the order that a window wants.
use crate::block::{Block, BlockWindow};
use expression::Expr;
use plan::{SortKey, window_keys};

impl Block {
    /// Notes a window, or finds an equal one.
    pub fn add_window(&mut self, partition_by: Vec<Expr>, order_by: Vec<SortKey>, rank: usize) -> usize {
        let keys = window_keys(&partition_by, &order_by);
        let is_same = |window: &BlockWindow| {
            window.partition_by.len() == partition_by.len()
                && starts_with(&window_keys(&window.partition_by, &window.order_by), &keys)
                && window.order_by.len() == order_by.len()
        };
        match self.windows.iter().position(is_same) {
            Some(known) => {
                self.windows[known].rank = self.windows[known].rank.min(rank);
                known
            }
            None => {
                self.windows.push(BlockWindow { partition_by, order_by, rank });
                self.windows.len() - 1
            }
        }
    }
}

/// Whether rows that are ordered by `ordering` are ordered by `keys`.
pub fn starts_with(ordering: &[SortKey], keys: &[SortKey]) -> bool {
    let is_equal = |(left, right): (&SortKey, &SortKey)| {
        left.expr.kind == right.expr.kind && left.descending == right.descending
    };
    keys.len() <= ordering.len() && ordering.iter().zip(keys).all(is_equal)
}
