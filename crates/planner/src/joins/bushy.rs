//! Bushy joins: several tables that are joined with each other first, and then through a hash table with those before them.
//!
//! Invariant: a group is joined as if it stood alone, and an equality that a hash table has keys of connects it, so the rows
//! are those of any other order. The search (`join_search`) weighs each pair of sets; what it finds is planned beside the
//! best order that adds one table at a time, and the cheaper plan is taken (`join_order`).
use crate::joins::build::{Build, take_covered};
use crate::joins::costs::{COST_BUILD, COST_PROBE, COST_ROW_OUT, HASH_BYTES_MAX, kept_bytes};
use crate::joins::equal_columns::EqualColumns;
use crate::joins::hash_side::converts_quietly;
use crate::joins::join_list::{Item, JoinList};
use crate::joins::join_parts::equality_sides;
use crate::planner::Planner;
use binder::block::{Block, SourceKind};
use binder::walk::{any, is_volatile};
use datum::SqlError;
use expression::{Expr, ExprKind};
use plan::JoinKind;

/// With fewer tables each order adds one at a time.
pub const BUSHY_MIN: usize = 4;
/// A row that is written to disk and read again, because the hash table has no room.
const COST_SPILL: f64 = 1.0;

/// What comes next in an order of joins.
#[derive(Clone, Debug)]
pub enum Part {
    Table(usize),
    /// Tables that are joined by themselves; the join with those before leaves `rows_out` rows for each row before.
    Group {
        sources: u64,
        rows_out: f64,
    },
}

/// Which tables of a list may be joined by themselves, and what connects them; sets are of places in the list.
pub struct Connections {
    /// What equalities connect with each set.
    neighbours: Vec<u16>,
    /// Those that may be members of a group.
    standalone: usize,
    /// So many pairs of sets are still weighed.
    pairs_left: u32,
}

impl Connections {
    /// Whether the set may be a group behind the other one.
    pub fn may_group(&self, group: usize, before: usize) -> bool {
        group & self.standalone == group && usize::from(self.neighbours[group]) & before != 0
    }

    /// Counts a pair; false when there were enough.
    pub fn take_pair(&mut self) -> bool {
        self.pairs_left = self.pairs_left.saturating_sub(1);
        self.pairs_left > 0
    }
}

/// The price of a hash join of so many rows with so many of a group.
pub fn hash_cost(block: &Block, group: u64, (before, kept, after): (f64, f64, f64)) -> f64 {
    let spilled = if kept_bytes(block, group, kept) > HASH_BYTES_MAX { before + kept } else { 0.0 };
    kept * COST_BUILD + before.max(1.0) * COST_PROBE + after * COST_ROW_OUT + spilled * COST_SPILL
}

impl Planner<'_> {
    /// Whether groups may be among the tables of the list: not where rows are locked or a LIMIT ends the reading, which want
    /// rows one by one, nor where a hint demands an order.
    pub fn may_be_bushy(&self, block: &Block, list: &JoinList, outer: u64) -> bool {
        let is_source = |item: &&Item| matches!(item, Item::Source(_));
        outer == 0
            && !list.straight
            && list.items.iter().filter(is_source).count() >= BUSHY_MIN
            && self.context.switches.pairs_max > 1
            && block.row_goal.is_none()
            && !self.builds_correlated
            && block.hints.join_orders().is_empty()
            && block.sources.iter().all(|source| source.lock.is_none())
            && !list.any_condition(&|condition| any(condition, &is_volatile))
    }

    /// What connects the sources, if anything lets a group be joined.
    pub fn connections(
        &self,
        block: &Block,
        sources: &[usize],
        (conditions, equal): (&[Expr], &EqualColumns),
        single: u64,
    ) -> Option<Connections> {
        let place_of = |set: u64| sources.iter().position(|source| set == 1 << source);
        let mut direct = vec![0u16; sources.len()];
        for condition in conditions.iter().filter(|condition| !equal.follows_from_value(condition)) {
            let ExprKind::Compare(_, _, left, right) = &condition.kind else { continue };
            let sides = (place_of(block.sources_of(left)), place_of(block.sources_of(right)));
            let (Some(left), Some(right)) = sides else { continue };
            let is_edge = left != right
                && equality_sides(block, condition, 1 << sources[left], 1 << sources[right]).is_some();
            if is_edge && !converts_quietly(condition) {
                return None;
            }
            if is_edge {
                direct[left] |= 1 << right;
                direct[right] |= 1 << left;
            }
        }
        let reads_single = conditions.iter().map(|condition| block.sources_of(condition));
        let reads_single = reads_single.filter(|set| set & single != 0).fold(0, |all, set| all | set);
        let may_stand = |source: usize| {
            let is_plain = matches!(
                block.sources[source].kind,
                SourceKind::Stored { .. } | SourceKind::Derived(_) | SourceKind::Common(_)
            );
            is_plain && reads_single >> source & 1 == 0 && self.hashes(block, 1 << source)
        };
        let standalone = (0..sources.len()).filter(|place| may_stand(sources[*place]));
        let standalone = standalone.fold(0usize, |set, place| set | 1 << place);
        let mut neighbours = vec![0u16; 1 << sources.len()];
        for set in 1..neighbours.len() {
            let rest = set & (set - 1);
            neighbours[set] = neighbours[rest] | direct[set.trailing_zeros() as usize];
        }
        let pairs_left = self.context.switches.pairs_max;
        (standalone.count_ones() > 1).then_some(Connections { neighbours, standalone, pairs_left })
    }

    /// Joins with a group; false where it cannot be joined through a hash table after all.
    pub fn place_group(
        &mut self,
        block: &mut Block,
        build: &mut Build,
        (sources, rows_out): (u64, f64),
    ) -> Result<bool, SqlError> {
        let after = build.placed | sources;
        let is_of_group = |condition: &&Expr| {
            let set = block.sources_of(condition);
            set & sources != 0 && set & !after == 0
        };
        let conditions: Vec<Expr> = build.waiting.iter().filter(is_of_group).cloned().collect();
        let on = build.equal.prune_between(block, conditions, build.placed, sources);
        let members = (0..block.sources.len()).filter(|source| sources >> source & 1 == 1);
        let list = JoinList { items: members.map(Item::Source).collect(), ..JoinList::default() };
        let Some(outer) = &build.node else { return Ok(false) };
        let rows = (outer.rows_passing() * rows_out).max(1e-3);
        let hashed = self.hashed_side(block, outer, (&list, &on), build, JoinKind::Inner)?;
        let Some((mut node, planned)) = hashed else { return Ok(false) };
        node.estimate.rows = rows;
        *block = planned;
        build.node = Some(node);
        build.placed = after;
        take_covered(block, build);
        Ok(true)
    }
}
