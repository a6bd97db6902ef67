//! Which queries in FROM become part of the block around them, as MySQL decides it: by what they are, hints and
//! `optimizer_switch`.
//!
//! Decided where they are bound, since it shows in names and types of result columns; done by the planner's rewrites.
//! Called for derived tables, tables of WITH and views.
use crate::binder::Binder;
use crate::bound::{BoundBlock, Logical};
use crate::switches::Switch;
use crate::walk::{any, has_subquery};
use expression::{Expr, ExprKind};
use parser::hints::TableSwitch;

impl Binder<'_> {
    /// Whether a query in FROM is merged into the innermost block, which calls it `alias`.
    pub fn merges(&self, query: &Logical, alias: &str) -> bool {
        let hint = self.blocks.last().and_then(|block| block.hints.switch(TableSwitch::Merge, alias));
        if !hint.unwrap_or_else(|| self.context.switches.has(Switch::DerivedMerge)) {
            return false;
        }
        let Logical::Select(select) = query else { return false };
        let BoundBlock { block, bound, tree, .. } = &**select;
        tree.is_some()
            && bound.groups.is_none()
            && block.aggregates.is_empty()
            && bound.having.is_empty()
            && block.window_calls.is_empty()
            && bound.limit.is_none()
            && !(bound.distinct || bound.straight || bound.count_found_rows)
            && !bound.items.iter().any(|item| has_subquery(&item.expr) || any(&item.expr, &sets_variable))
    }
}

fn sets_variable(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::SetUserVariable(..))
}
