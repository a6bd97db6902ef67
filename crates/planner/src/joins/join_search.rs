//! The order of a list of inner joins: the cheapest of all that add one table or one group of tables at a time, found set by
//! set.
//!
//! Tables of which at most one row is read stand before all others (MySQL's const tables). For each set of tables the cheapest
//! way to join them is kept; a set that is one table larger is reached from each of those, and any set from two that it is made
//! of (`bushy`). Beyond a bound of tables, or of prices, `join_cost` goes on greedily. Called by `join_order` once for each list.
use crate::joins::bushy::{BUSHY_MIN, Connections, Part, hash_cost};
use crate::joins::join_cost::Simulation;
use crate::joins::join_orders::DemandedOrder;
use crate::planner::Planner;
use binder::block::{Block, SourceKind};
use expression::Expr;
use plan::AccessPath;

/// With more tables the sets are too many.
pub const SEARCH_MAX: usize = 12;
/// So many ways to connect a table are priced for a list; dense conditions between many tables need more.
const PRICED_MAX: usize = 1000;

/// The cheapest way to join the tables of a set.
#[derive(Clone, Copy)]
struct Reached {
    cost: f64,
    rows: f64,
    /// What was added last, as a set of places in the list.
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
    /// The order with its price; `None` where that would price too many ways to connect a table. `first` must come first
    /// if it is given; `connections` tell which tables may be joined by themselves, if any may.
    pub fn search(
        &mut self,
        sources: &[usize],
        outer: u64,
        demanded: &DemandedOrder,
        first: Option<usize>,
        mut connections: Option<Connections>,
    ) -> Option<(Vec<Part>, f64)> {
        let count = sources.len();
        let nothing = Reached { cost: f64::INFINITY, rows: 1.0, last: 0, is_set: false };
        let mut reached = vec![nothing; 1 << count];
        reached[0] = Reached { cost: 0.0, is_set: true, ..nothing };
        let whole = (1usize << count) - 1;
        for set in 0..=whole {
            if !reached[set].is_set {
                continue;
            }
            if let Some(connections) = &mut connections {
                self.divide(set, &mut reached, sources, connections);
            }
            let from = reached[set];
            let placed = sources_of(set, sources, outer);
            let mut candidates: Vec<usize> = (0..count)
                .filter(|place| set >> place & 1 == 0 && demanded.allows(sources[*place], placed))
                .collect();
            match first {
                Some(first) if set == 0 => candidates.retain(|place| *place == first),
                _ if set == 0 => {}
                // A product comes only where nothing else is left.
                _ => {
                    let mut connects = |place: &usize| self.priced(sources[*place], placed).is_connected;
                    if candidates.iter().any(&mut connects) {
                        candidates.retain(connects);
                    }
                }
            }
            for place in candidates {
                let (cost, rows) = self.step(sources[place], placed, from.rows, set == 0);
                if self.priced_count() > PRICED_MAX {
                    return None;
                }
                let to = &mut reached[set | 1 << place];
                let is_cheaper = from.cost + cost < to.cost || !to.is_set;
                if let Some(trace) = self.planner.trace {
                    let considered = &self.priced(sources[place], placed).considered;
                    let outcome = (rows, from.cost + cost, is_cheaper);
                    trace.plan(self.block, placed, sources[place], considered, outcome);
                }
                if is_cheaper {
                    *to = Reached { cost: from.cost + cost, rows, last: 1 << place, is_set: true };
                }
            }
        }
        Some((order_of(&reached, sources), reached[whole].cost))
    }

    /// Whether the tables of the set are joined cheaper if some of them are joined by themselves. How many rows there are then
    /// is known from adding one table at a time.
    fn divide(&self, set: usize, reached: &mut [Reached], sources: &[usize], connections: &mut Connections) {
        if set.count_ones() < BUSHY_MIN as u32 {
            return;
        }
        let mut best = reached[set];
        let mut group = set & (set - 1);
        while group != 0 {
            let before = set ^ group;
            let (kept, probing) = (reached[group], reached[before]);
            let is_tried = kept.is_set
                && probing.is_set
                && group.count_ones() > 1
                && before.count_ones() > 1
                && kept.cost + probing.cost < best.cost
                && connections.may_group(group, before);
            if is_tried {
                if !connections.take_pair() {
                    break;
                }
                let rows = (probing.rows, kept.rows, best.rows);
                let join = hash_cost(self.block, sources_of(group, sources, 0), rows);
                let cost = kept.cost + probing.cost + join;
                if cost < best.cost {
                    best = Reached { cost, last: group, ..best };
                }
            }
            group = (group - 1) & set;
        }
        reached[set] = best;
    }

    /// The price of adding a table to so many rows, and how many there are then.
    fn step(&mut self, source: usize, placed: u64, rows: f64, is_first: bool) -> (f64, f64) {
        let priced = self.priced(source, placed);
        let cost = if is_first { priced.first_cost(rows) } else { priced.score(rows) };
        (cost, (rows * priced.rows_out()).max(1e-3))
    }
}

/// From places in the list to sources, with those that stand before it.
fn sources_of(set: usize, sources: &[usize], outer: u64) -> u64 {
    let members = (0..sources.len()).filter(|place| set >> place & 1 == 1);
    members.fold(outer, |all, place| all | 1 << sources[place])
}

/// How the set of all sources was reached.
fn order_of(reached: &[Reached], sources: &[usize]) -> Vec<Part> {
    let mut set = reached.len() - 1;
    let mut order = Vec::with_capacity(sources.len());
    while set != 0 {
        let last = reached[set].last;
        order.push(match last.count_ones() {
            1 => Part::Table(sources[last.trailing_zeros() as usize]),
            _ => {
                let rows_out = reached[set].rows / reached[set & !last].rows;
                Part::Group { sources: sources_of(last, sources, 0), rows_out }
            }
        });
        set &= !last;
    }
    order.reverse();
    order
}
