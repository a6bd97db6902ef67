//! The order of a list of inner joins: the cheapest of all that add one table at a time, found set by set.
//!
//! Tables of which at most one row is read stand before all others (MySQL's const tables). For each set of tables the cheapest
//! way to join them is kept; a set that is one table larger is reached from each of those. Beyond a bound of tables `join_cost`
//! goes on greedily. Called by `join_order` once for each list.
use crate::block::{Block, SourceKind};
use crate::hints::DemandedOrder;
use crate::joins::join_cost::Simulation;
use crate::planner::Planner;
use expression::Expr;
use plan::AccessPath;

/// With more tables the sets are too many.
pub const SEARCH_MAX: usize = 12;

/// The cheapest way to join the tables of a set.
#[derive(Clone, Copy)]
struct Reached {
    cost: f64,
    rows: f64,
    /// The table that was added last, by its place in the list.
    last: usize,
    is_set: bool,
}

impl Planner<'_> {
    /// Puts the tables first of which at most one row is read, because a whole unique key is given by constants or by
    /// columns of other such tables; answers their set.
    pub fn put_single_first(
        &self,
        block: &Block,
        sources: &mut Vec<usize>,
        conditions: &[Expr],
        outer: u64,
    ) -> u64 {
        let (mut found, mut single) = (Vec::new(), 0);
        if sources.len() < 2 {
            return single;
        }
        let is_single = |source: usize, placed: u64| {
            has_unique_key(block, source)
                && matches!(
                    self.choose(block, source, conditions, placed, None).path,
                    AccessPath::Point { .. }
                )
        };
        while let Some(place) = sources.iter().position(|source| is_single(*source, outer | single)) {
            let source = sources.remove(place);
            single |= 1 << source;
            found.push(source);
        }
        found.append(sources);
        *sources = found;
        single
    }
}

/// Whether the table has a unique key at all.
fn has_unique_key(block: &Block, source: usize) -> bool {
    let SourceKind::Stored { table, .. } = &block.sources[source].kind else { return false };
    table.indexes.iter().any(|index| index.is_unique())
}

impl Simulation<'_, '_> {
    /// The order with its price. `first` must come first if it is given.
    pub fn search(
        &mut self,
        sources: &[usize],
        outer: u64,
        demanded: &DemandedOrder,
        first: Option<usize>,
    ) -> (Vec<usize>, f64) {
        let count = sources.len();
        let nothing = Reached { cost: f64::INFINITY, rows: 1.0, last: 0, is_set: false };
        let mut reached = vec![nothing; 1 << count];
        reached[0] = Reached { cost: 0.0, is_set: true, ..nothing };
        for set in 0..(1usize << count) - 1 {
            let from = reached[set];
            if !from.is_set {
                continue;
            }
            let members = (0..count).filter(|place| set >> place & 1 == 1);
            let placed = members.fold(outer, |all, place| all | 1 << sources[place]);
            for place in (0..count).filter(|place| set >> place & 1 == 0) {
                let is_other = set == 0 && first.is_some_and(|first| first != place);
                if is_other || !demanded.allows(sources[place], placed) {
                    continue;
                }
                let (cost, rows) = self.step(sources[place], placed, from.rows, set == 0);
                let to = &mut reached[set | 1 << place];
                let is_cheaper = from.cost + cost < to.cost || !to.is_set;
                if let Some(trace) = self.planner.context.trace {
                    let considered = &self.priced(sources[place], placed).considered;
                    let outcome = (rows, from.cost + cost, is_cheaper);
                    trace.plan(self.block, placed, sources[place], considered, outcome);
                }
                if is_cheaper {
                    *to = Reached { cost: from.cost + cost, rows, last: place, is_set: true };
                }
            }
        }
        let mut set = (1usize << count) - 1;
        let cost = reached[set].cost;
        let mut order = Vec::with_capacity(count);
        while set != 0 {
            let last = reached[set].last;
            order.push(sources[last]);
            set &= !(1 << last);
        }
        order.reverse();
        (order, cost)
    }

    /// The price of adding a table to so many rows, and how many there are then.
    fn step(&mut self, source: usize, placed: u64, rows: f64, is_first: bool) -> (f64, f64) {
        let priced = self.priced(source, placed);
        let cost = if is_first { priced.first_cost(rows) } else { priced.score(rows) };
        (cost, (rows * priced.rows_out()).max(1e-3))
    }
}
