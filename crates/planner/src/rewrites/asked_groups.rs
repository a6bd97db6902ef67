//! `(SELECT k, SUM(y) FROM t GROUP BY k) x JOIN u ON x.k = u.k`: only the groups that the join asks for are computed, each when
//! its key comes, as if the query were LATERAL.
//!
//! Invariant: what the query computes of one key it computes of the rows with that key alone, and the equality stays where it
//! is, so the block gives the same rows. Called for each block before it is built; the cheaper of both plans is taken.
use crate::changes::changed_rows::reads_any;
use crate::joins::hash_side::converts_quietly;
use crate::planner::Planner;
use crate::rewrites::pushed::{plain_sources, push_before_groups};
use crate::rewrites::semijoin::tells_apart;
use binder::Switch;
use binder::block::{Block, QuerySource, SourceKind};
use binder::bound::{BoundBlock, JoinTree, Logical};
use binder::walk::{any, has_aggregate, has_subquery, has_window, is_volatile};
use expression::{ComparisonOperator, Expr, ExprKind};
use parser::hints::TableSwitch;
use plan::Node;

/// A plan that costs less is not compared with others.
const CHEAP: f64 = 500.0;
/// As many queries of a block are looked at.
const QUERIES_MAX: usize = 4;
/// In queries nested deeper nothing is tried: each level would plan what is in it once more.
const NESTED_MAX: usize = 3;

/// A query in FROM and what the block demands of the rows that it is joined with.
struct Candidate {
    source: usize,
    /// Tables that have a row before the query has one.
    before: u64,
    conditions: Vec<Expr>,
}

impl Planner<'_> {
    /// The block's plan with queries that compute what they are asked for, where that is cheaper than `plain`.
    pub fn with_asked_groups(&mut self, mut select: BoundBlock, mut plain: Node) -> Node {
        let mut cost = crate::price::price(&plain);
        if cost < CHEAP || self.alternatives >= NESTED_MAX {
            return plain;
        }
        self.alternatives += 1;
        for at in 0..candidates(&select).len().min(QUERIES_MAX) {
            let candidate = candidates(&select).swap_remove(at);
            let mut asking = select.clone();
            if !self.ask_for_groups(&mut asking.block, &candidate) {
                continue;
            }
            let Ok(node) = self.build_merged(asking.clone()) else { continue };
            let asking_cost = crate::price::price(&node);
            if asking_cost < cost {
                (select, plain, cost) = (asking, node, asking_cost);
            }
        }
        self.alternatives -= 1;
        plain
    }

    /// The block, if a query in it may be made to compute what it is asked for.
    pub fn asks_for_groups(&self, select: &BoundBlock) -> Option<BoundBlock> {
        let block = &select.block;
        let has_query = block.sources.iter().any(|source| matches!(source.kind, SourceKind::Query(_)));
        let may_be = has_query
            && block.sources.len() > 1
            && self.context.switches.has(Switch::DerivedConditionPushdown)
            && !select.bound.straight
            && !select.is_correlated
            && block.hints.join_orders().is_empty()
            && select.tree.as_ref().is_some_and(|tree| !is_straight(tree));
        may_be.then(|| select.clone())
    }

    /// Makes the query one that runs for the keys of the tables before it; false when there are none.
    fn ask_for_groups(&mut self, block: &mut Block, candidate: &Candidate) -> bool {
        let source = &block.sources[candidate.source];
        let hint = block.hints.switch(TableSwitch::DerivedConditionPushdown, &source.alias);
        let SourceKind::Query(query) = &source.kind else { return false };
        if hint == Some(false) || !self.may_run_again(query) {
            return false;
        }
        let mut query = query.clone();
        for condition in &candidate.conditions {
            let Some((column, outer)) = key_of(block, condition, candidate) else { continue };
            let ExprKind::Compare(_, mode, ..) = &condition.kind else { continue };
            let slot = self.slot_count;
            let inner = Box::new(Expr::column(column.0, column.1));
            let value = Box::new(Expr::slot(slot, outer.ty.column.clone()));
            let kind = ExprKind::Compare(ComparisonOperator::Equal, *mode, inner, value);
            let asked = Expr { kind, ty: condition.ty.clone() };
            if push_before_groups(&mut query.query, &asked) {
                self.new_slot();
                query.correlation.push((slot, outer));
                query.slots.push(slot);
            }
        }
        if query.slots.is_empty() {
            return false;
        }
        let Logical::Select(inner) = &mut query.query else { return false };
        inner.is_correlated = true;
        block.sources[candidate.source].kind = SourceKind::Query(query);
        true
    }

    /// Whether the query gives the same rows whenever it runs, and reads nothing that the statement changes meanwhile.
    fn may_run_again(&self, query: &QuerySource) -> bool {
        let Logical::Select(inner) = &query.query else { return false };
        query.correlation.is_empty()
            && query.slots.is_empty()
            && inner.block.initialisers.is_empty()
            && inner.block.sources.iter().all(|source| source.lock.is_none())
            && !query.query.any_expr(&|expr| any(expr, &is_volatile))
            && (self.changed.is_empty() || !reads_any(&query.query, &self.changed))
    }
}

/// `query.column = outer`: the column with its type, and what it is equal to, if the query's rows with one value of the column
/// are those that are equal to it.
fn key_of(
    block: &Block,
    condition: &Expr,
    candidate: &Candidate,
) -> Option<((usize, datum::ColumnType), Expr)> {
    let ExprKind::Compare(ComparisonOperator::Equal, mode, left, right) = &condition.kind else {
        return None;
    };
    if !converts_quietly(condition) {
        return None;
    }
    [(left, right), (right, left)].into_iter().find_map(|(inner, outer)| {
        let (source, column) = block.column_behind(inner)?;
        let set = block.sources_of(outer);
        let is_key = source == candidate.source
            && set != 0
            && set & !candidate.before == 0
            && set & 1 << source == 0
            && !(has_subquery(outer) || has_aggregate(outer) || has_window(outer))
            && !any(outer, &is_volatile)
            && tells_apart(&inner.ty.column, *mode);
        is_key.then(|| ((column, inner.ty.column.clone()), (**outer).clone()))
    })
}

fn candidates(select: &BoundBlock) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Some(tree) = &select.tree {
        collect(&select.block, tree, plain_sources(tree), &select.bound.conditions, &mut found);
    }
    found
}

/// `before`: tables whose rows are there before those of an outer join's other side; `known`: what holds for each row.
fn collect(block: &Block, tree: &JoinTree, before: u64, known: &[Expr], found: &mut Vec<Candidate>) {
    match tree {
        JoinTree::Source(source) => {
            // Another query may wait for this one.
            let waits = |other: &usize| !is_plain(&block.sources[*other].kind);
            let others = (0..block.sources.len()).filter(|other| before >> other & 1 == 1);
            let waiting = others.filter(waits).fold(0, |set, other| set | 1u64 << other);
            if matches!(block.sources[*source].kind, SourceKind::Query(_)) {
                let conditions = known.to_vec();
                found.push(Candidate { source: *source, before: before & !waiting, conditions });
            }
        }
        JoinTree::Inner { left, right, on, .. } => {
            let known = [known, on].concat();
            collect(block, left, before, &known, found);
            collect(block, right, before, &known, found);
        }
        JoinTree::Left { left, right, on } => {
            collect(block, left, before, known, found);
            collect(block, right, plain_sources(left) | plain_sources(right), on, found);
        }
        JoinTree::Semi { left, .. } => collect(block, left, before, known, found),
    }
}

/// It waits for no other table of the block. A query that waits already is nobody's outer one, so none waits for itself.
fn is_plain(kind: &SourceKind) -> bool {
    match kind {
        SourceKind::Query(query) => query.slots.is_empty(),
        kind => matches!(kind, SourceKind::Stored { .. } | SourceKind::Virtual(_) | SourceKind::Common(_)),
    }
}

fn is_straight(tree: &JoinTree) -> bool {
    match tree {
        JoinTree::Source(_) => false,
        JoinTree::Inner { left, right, straight, .. } => *straight || is_straight(left) || is_straight(right),
        JoinTree::Left { left, right, .. } | JoinTree::Semi { left, right, .. } => {
            is_straight(left) || is_straight(right)
        }
    }
}
