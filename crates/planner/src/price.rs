//! What it costs to run a plan, in the units of `access`: reading one row of a scan in order costs 1.
//!
//! Used to compare whole plans of one block with each other, for instance ways to evaluate a subquery.
use crate::paths::choice::{COST_LOOKUP, COST_RANGE};
use plan::{AccessPath, Apply, HashJoin, JoinKind, Node, NodeKind, Reads, TableAccess};

/// A row through an operator that only looks at it.
const COST_PASS: f64 = 0.1;
/// A row into a hash table, and a look-up in it.
pub const COST_BUILD: f64 = 0.6;
pub const COST_PROBE: f64 = 0.4;
/// A row of what was kept.
const COST_KEPT: f64 = 0.2;
/// For each row and doubling of the number of rows.
const COST_SORT: f64 = 0.3;

/// The first run, and each further one with another base row.
#[derive(Clone, Copy)]
pub struct Price {
    pub first: f64,
    pub again: f64,
    /// What each run reads of the device besides.
    pub reads: Reads,
}

/// The price of one run.
pub fn price(node: &Node) -> f64 {
    let price = price_of(node);
    price.first + price.reads.run
}

fn each(cost: f64) -> Price {
    Price { first: cost, again: cost, reads: Reads::default() }
}

fn plus(price: Price, cost: f64) -> Price {
    Price { first: price.first + cost, again: price.again + cost, ..price }
}

/// Rows that are made once and read again from where they are kept.
fn kept(input: &Node, rows: f64) -> Price {
    Price { first: price(input) + rows * COST_KEPT, again: rows * COST_KEPT, reads: Reads::default() }
}

pub fn price_of(node: &Node) -> Price {
    let rows = node.estimate.rows;
    match &node.kind {
        NodeKind::Dual | NodeKind::Nothing | NodeKind::Values { .. } => each(1.0),
        NodeKind::Table(access) => Price { reads: node.estimate.reads, ..each(table_price(access, rows)) },
        NodeKind::Virtual(_) | NodeKind::JsonTable(_) | NodeKind::Round(_) => each(rows),
        NodeKind::Derived { input, .. } => kept(input, rows),
        NodeKind::Common(table) => kept(&table.input, rows),
        NodeKind::Lateral(lateral) => each(price(&lateral.input) + rows * COST_KEPT),
        NodeKind::Recursive(recursive) => {
            let branches = recursive.branches.iter().map(|branch| price(&branch.query));
            each(price(&recursive.seed) + branches.sum::<f64>())
        }
        NodeKind::Filter { input, .. } | NodeKind::Project { input, .. } => {
            plus(price_of(input), input.rows_passing() * COST_PASS)
        }
        NodeKind::Limit { input, .. } | NodeKind::Measured { input, .. } => price_of(input),
        NodeKind::Sort { input, .. } => {
            let rows = input.rows_passing();
            plus(price_of(input), rows * rows.max(2.0).log2() * COST_SORT)
        }
        NodeKind::Distinct { input, .. } => plus(price_of(input), input.rows_passing() * COST_BUILD),
        NodeKind::Aggregate(aggregate) => {
            plus(price_of(&aggregate.input), aggregate.input.rows_passing() * COST_PROBE)
        }
        NodeKind::Window(window) => plus(price_of(&window.input), window.input.rows_passing() * COST_PROBE),
        NodeKind::NestedLoop(join) => {
            let inner = price_of(&join.inner);
            // The first match ends a test.
            let share = if join.kind == JoinKind::Semi { 0.5 } else { 1.0 };
            let outer_rows = join.outer.rows_passing().max(1.0);
            let outer = price_of(&join.outer);
            let reads = outer.reads + inner.reads.times(outer_rows);
            Price { reads, ..plus(outer, inner.first + (outer_rows - 1.0) * inner.again * share) }
        }
        NodeKind::HashJoin(join) => hash_price(join),
        NodeKind::UnionAll { inputs } => each(inputs.iter().map(price).sum()),
        NodeKind::SetDifference { left, right, .. } => {
            let rows = left.rows_passing() + right.rows_passing();
            each(price(left) + price(right) + rows * COST_BUILD)
        }
        NodeKind::Apply(apply) => {
            let input = price_of(&apply.input);
            let rows = apply.input.rows_passing();
            match apply.correlation.is_empty() {
                true => plus(input, price(&apply.query) + rows * COST_PROBE),
                false => {
                    let runs = if apply.is_steady { rows.min(different(apply)) } else { rows };
                    plus(input, runs * price(&apply.query) + rows * COST_PROBE)
                }
            }
        }
        NodeKind::Initialise(initialise) => {
            let queries: f64 =
                initialise.initialisers.iter().map(|initialiser| price(&initialiser.query)).sum();
            plus(price_of(&initialise.input), queries)
        }
    }
}

fn hash_price(join: &HashJoin) -> Price {
    let kept = join.inner.rows_passing();
    let built = price(&join.inner) + kept * COST_BUILD;
    let compared = match join.outer_keys.is_empty() {
        // The first match ends a test.
        true if join.kind.only_tests() => kept.max(1.0) * 0.5,
        true => kept.max(1.0),
        false => 1.0,
    };
    let probed = plus(price_of(&join.outer), join.outer.rows_passing() * compared * COST_PROBE);
    let built_again = if join.keeps_table { 0.0 } else { built };
    Price { first: probed.first + built, again: probed.again + built_again, ..probed }
}

/// At most so many different values the subquery is run with: what it takes from one table is as often different as that
/// table has rows in the joins.
fn different(apply: &Apply) -> f64 {
    let mut read = Vec::new();
    apply
        .correlation
        .iter()
        .chain(&apply.left)
        .for_each(|(_, expr)| binder::walk::positions(expr, &mut read));
    let mut tables: Vec<(*const Node, f64)> = Vec::new();
    for position in read {
        let Some((node, rows)) = read_once(&apply.input, position) else { return f64::INFINITY };
        if !tables.iter().any(|(known, _)| *known == node) {
            tables.push((node, rows));
        }
    }
    tables.iter().map(|(_, rows)| rows.max(1.0)).product()
}

/// The table whose column stands at the position, if it is read once as a whole, and its rows that pass.
fn read_once(node: &Node, position: usize) -> Option<(*const Node, f64)> {
    match &node.kind {
        NodeKind::Table(access) => {
            let has = access.projection.iter().any(|(_, at)| *at == position);
            has.then(|| (std::ptr::from_ref(node), node.rows_passing()))
        }
        NodeKind::NestedLoop(join) => read_once(&join.outer, position),
        NodeKind::HashJoin(join) => {
            read_once(&join.outer, position).or_else(|| read_once(&join.inner, position))
        }
        NodeKind::Filter { input, .. } => read_once(input, position),
        NodeKind::Apply(apply) => read_once(&apply.input, position),
        _ => None,
    }
}

fn table_price(access: &TableAccess, rows: f64) -> f64 {
    let clustered = |index: usize| access.table.clustered_by == Some(access.table.indexes[index].id);
    let per_row = |index: usize| match (clustered(index), access.covering) {
        (true, _) => 1.0,
        (false, true) => 0.5,
        (false, false) => 1.0 + COST_LOOKUP,
    };
    match &access.path {
        AccessPath::Nothing => 0.0,
        AccessPath::FullScan | AccessPath::Keys { .. } => COST_RANGE + rows,
        AccessPath::IndexScan { index } => COST_RANGE + rows * per_row(*index),
        AccessPath::Point { index, .. } => COST_RANGE + per_row(*index),
        AccessPath::Groups { index, .. } | AccessPath::Skip { index, .. } => {
            rows * (COST_RANGE + per_row(*index))
        }
        AccessPath::Merge(merge) => COST_RANGE * merge.parts.len() as f64 + rows * (1.0 + COST_LOOKUP),
        AccessPath::Ranges { index, ranges } => COST_RANGE * ranges.len() as f64 + rows * per_row(*index),
    }
}
