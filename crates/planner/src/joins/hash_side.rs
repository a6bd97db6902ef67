//! A list of tables that is read once into a hash table: the inner side of a semijoin, an antijoin or an outer join.
//!
//! Invariant: the list is planned as if it stood alone, so its rows are the same whichever row they are joined with. Called by
//! `join_test` and `join_left`, which compare the price with that of look-ups.
use crate::joins::build::Build;
use crate::joins::costs::{fits_for_all, rows_left};
use crate::joins::join_list::JoinList;
use crate::joins::join_parts::{equality_sides, is_late, is_ready, positions_of};
use crate::planner::Planner;
use binder::block::{Block, Source, SourceKind};
use binder::walk::{any, is_volatile};
use datum::{CompareMode, SqlError};
use expression::{Expr, ExprKind};
use plan::{HashJoin, JoinKind, Node, NodeKind};

impl Planner<'_> {
    /// Joins with the list `inner` by `on`, if a condition connects the sides and nothing stands in the way; without an
    /// equality each row is compared with all that is kept.
    pub fn hashed_side(
        &mut self,
        block: &Block,
        outer: &Node,
        (inner, on): (&JoinList, &[Expr]),
        build: &Build,
        kind: JoinKind,
    ) -> Result<Option<(Node, Block)>, SqlError> {
        let (own, before) = (inner.sources(), build.placed);
        let (inner_only, between): (Vec<Expr>, Vec<Expr>) =
            on.iter().cloned().partition(|condition| block.sources_of(condition) & !own == 0);
        let (equalities, on): (Vec<Expr>, Vec<Expr>) = between
            .into_iter()
            .partition(|condition| equality_sides(block, condition, before, own).is_some());
        let mut list = inner.clone();
        list.conditions.extend(inner_only);
        let reads_outer = |condition: &Expr| block.sources_of(condition) & !own != 0;
        let differs = |condition: &Expr| any(condition, &is_volatile);
        let is_steady = !list.any_condition(&differs);
        let connects = match equalities.is_empty() {
            true => !build.is_inner && is_steady && may_keep_all(block, own, &on),
            false => equalities.iter().all(converts_quietly),
        };
        let may_hash = connects
            && self.hashes(block, own)
            && !self.builds_correlated
            && !on.iter().chain(&equalities).any(|condition| is_late(block, condition))
            && !inner.any_condition(&reads_outer)
            && is_self_contained(block, own);
        if !may_hash {
            return Ok(None);
        }
        let mut block = block.clone();
        let (inner, _) = self.plan_cheapest(&mut block, list, None)?;
        if equalities.is_empty() && !fits_for_all(&block, own, inner.rows_passing()) {
            return Ok(None);
        }
        let (mut outer_keys, mut inner_keys, mut modes) = (Vec::new(), Vec::new(), Vec::new());
        for condition in equalities {
            let (outer_key, inner_key, mode) =
                equality_sides(&block, &condition, before, own).expect("partitioned by this");
            outer_keys.push(outer_key);
            inner_keys.push(inner_key);
            modes.push(mode);
        }
        let inner_positions = match kind.only_tests() && on.is_empty() {
            true => Vec::new(),
            false => positions_of(&block, own),
        };
        let rows = match kind.only_tests() {
            true => rows_left(outer.rows_passing()),
            false => outer.estimate.rows,
        };
        let join = HashJoin {
            outer: Box::new(outer.clone()),
            inner: Box::new(inner),
            kind,
            outer_keys,
            inner_keys,
            modes,
            on,
            inner_positions,
            keeps_order: build.ordered,
            keeps_table: build.is_inner && is_steady && !changes_by_round(&block, own),
        };
        Ok(Some((Node::new(NodeKind::HashJoin(Box::new(join)), block.frame.len(), rows), block)))
    }
}

/// Whether all rows of the sources may be kept to be compared with each row, though no equality connects them.
fn may_keep_all(block: &Block, own: u64, on: &[Expr]) -> bool {
    let is_plain =
        |source: &Source| matches!(source.kind, SourceKind::Stored { .. }) && source.lock.is_none();
    let is_inner = |number: usize| own >> number & 1 == 1;
    !on.is_empty()
        && block.sources.iter().enumerate().all(|(number, source)| !is_inner(number) || is_plain(source))
        && !on.iter().any(|condition| any(condition, &is_volatile))
}

/// Whether one of the sources is the round before of a recursive table.
fn changes_by_round(block: &Block, own: u64) -> bool {
    let is_round = |source: &Source| matches!(source.kind, SourceKind::Round(_));
    block.sources.iter().enumerate().any(|(number, source)| own >> number & 1 == 1 && is_round(source))
}

/// No query among the sources reads tables of another one.
pub fn is_self_contained(block: &Block, own: u64) -> bool {
    (0..block.sources.len())
        .filter(|source| own >> source & 1 == 1)
        .all(|source| is_ready(block, source, own))
}

/// No value of either side is one that a comparison warns about.
pub fn converts_quietly(equality: &Expr) -> bool {
    let ExprKind::Compare(_, mode, left, right) = &equality.kind else { return false };
    let is_text = |side: &Expr| side.ty.column.kind.is_string();
    matches!(mode, CompareMode::Text(_)) || !is_text(left) && !is_text(right)
}
