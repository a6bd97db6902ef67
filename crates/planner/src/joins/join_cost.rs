//! What it costs to connect one more table, and which table a join begins with.
//!
//! A table is connected by looking up its rows for each row so far, or by reading it once into a hash table, which has no
//! keys where no equality connects it. Every table
//! is tried as the first one, the others follow by what they cost and how many rows they leave; the cheapest beginning
//! wins. Called by `join_order`.
use crate::joins::bushy::{Connections, Part};
use crate::joins::costs::{COST_BUILD, COST_PROBE, COST_ROW_OUT, HASH_BYTES_MAX, fits_for_all, kept_bytes};
use crate::joins::equal_columns::EqualColumns;
use crate::joins::join_orders::DemandedOrder;
use crate::joins::join_parts::{equality_sides, is_late};
use crate::paths::choice::{Choice, WantedOrder};
use crate::planner::Planner;
use crate::trace::{Considered, Trace};
use binder::Switch;
use binder::block::{Block, Source, SourceKind};
use binder::walk::{any, is_volatile};
use expression::Expr;
use parser::hints::TableSwitch;
use plan::AccessPath;
use std::collections::HashMap;
use std::rc::Rc;

/// Starting one more read of a table.
const COST_START: f64 = 3.0;
/// A row of a table as it is known, at most: its entry and the row behind it.
const COST_ROW_MAX: f64 = 4.0;
/// A product with a table that nothing connects comes last.
const UNCONNECTED: f64 = 1e6;
/// With more tables only as many beginnings are tried.
const BEGINNINGS_MAX: usize = 8;

/// How one more table can be connected.
pub struct Connection {
    pub choice: Choice,
    /// For each row so far, without what is read of the device.
    looked_up: f64,
    /// Reading it once for a hash join.
    hashed: Option<f64>,
    /// The hash table has no keys: each row is compared with all of it.
    pub keeps_all: bool,
    /// The rows of that reading.
    pub rows_alone: f64,
    /// Either side may be the one that is kept.
    pub turns: bool,
}

impl Connection {
    /// The price of the cheaper way for so many rows.
    fn cost(&self, rows: f64) -> f64 {
        let looked_up = self.look_up_cost(rows);
        self.hash_cost(rows).map_or(looked_up, |hashed| looked_up.min(hashed))
    }

    fn look_up_cost(&self, rows: f64) -> f64 {
        let rows = rows.max(1.0);
        rows * self.looked_up + self.choice.reads.times(rows).run
    }

    fn hash_cost(&self, rows: f64) -> Option<f64> {
        let (kept, probing) = match self.keeps_outer(rows) {
            true => (rows, self.rows_alone),
            false => (self.rows_alone, rows),
        };
        let compared = if self.keeps_all { kept.max(1.0) } else { 1.0 };
        self.hashed.map(|read| read + kept * COST_BUILD + probing.max(1.0) * compared * COST_PROBE)
    }

    /// Whether the rows so far go into the hash table, because they are fewer.
    pub fn keeps_outer(&self, rows: f64) -> bool {
        self.turns && rows * 1.5 < self.rows_alone
    }

    /// By a hash table, although an index could look rows up.
    pub fn prefers_hash(&self, rows: f64) -> bool {
        self.hash_cost(rows).is_some_and(|hashed| hashed < self.look_up_cost(rows))
    }
}

impl Planner<'_> {
    /// Whether the switches and hints let the sources be read into a hash table.
    pub fn hashes(&self, block: &Block, sources: u64) -> bool {
        let is_on = [Switch::BlockNestedLoop, Switch::HashJoin]
            .into_iter()
            .all(|switch| self.context.switches.has(switch));
        let allowed = |source: &Source| {
            block.hints.switch(TableSwitch::BlockNestedLoop, &source.alias).unwrap_or(is_on)
        };
        let own = block.sources.iter().enumerate().filter(|(number, _)| sources >> number & 1 == 1);
        own.map(|(_, source)| source).all(allowed)
    }

    /// The ways to connect `source` to rows of the tables in `placed`.
    pub fn connection(&self, block: &Block, source: usize, conditions: &[Expr], placed: u64) -> Connection {
        let choice = self.choose(block, source, conditions, placed, None);
        let own = 1u64 << source;
        let joins =
            conditions.iter().any(|condition| equality_sides(block, condition, placed, own).is_some());
        let looked_up = read_cost(&choice);
        let alone = || {
            let alone = conditions.iter().filter(|condition| block.sources_of(condition) == own);
            self.choose(block, source, &alone.cloned().collect::<Vec<Expr>>(), 0, None)
        };
        let (rows_alone, turns) = (0.0, false);
        let without = Connection { looked_up, hashed: None, keeps_all: false, choice, rows_alone, turns };
        if !self.hashes(block, own) {
            return without;
        }
        if joins {
            let (inner, turns) = (alone(), self.may_turn(block, source));
            let may_hash = turns || self.may_hash(block, source, inner.rows_out);
            let hashed =
                (!without.choice.reads_outer || may_hash).then(|| read_cost(&inner) + inner.reads.run);
            return Connection { hashed, rows_alone: inner.rows_out, turns, ..without };
        }
        if placed == 0 || !self.may_keep_all(block, &without.choice, conditions) {
            return without;
        }
        let inner = alone();
        if !self.may_hash(block, source, inner.rows_out) || !fits_for_all(block, own, inner.rows_out) {
            return without;
        }
        let hashed = Some(read_cost(&inner) + inner.reads.run);
        Connection { hashed, keeps_all: true, rows_alone: inner.rows_out, ..without }
    }

    /// Whether a table that would be read from end to end for each row before it may be kept in memory instead, without
    /// keys.
    fn may_keep_all(&self, block: &Block, choice: &Choice, conditions: &[Expr]) -> bool {
        let is_whole = matches!(choice.path, AccessPath::FullScan | AccessPath::IndexScan { .. });
        let differs = |condition: &Expr| is_late(block, condition) || any(condition, &is_volatile);
        is_whole && !choice.reads_outer && block.row_goal.is_none() && !conditions.iter().any(differs)
    }

    /// Whether the rows so far may be the ones that are kept: not if they are locked, or read one by one for a LIMIT.
    fn may_turn(&self, block: &Block, source: usize) -> bool {
        let is_locked = block.sources.iter().any(|source| source.lock.is_some());
        let is_stored = matches!(block.sources[source].kind, SourceKind::Stored { .. });
        is_stored && !is_locked && block.row_goal.is_none() && !self.builds_correlated
    }

    /// What reads the row before it has to run for each; rows that are locked are looked up one by one, a query that runs for each row of another one builds nothing, and
    /// what is built has to fit.
    fn may_hash(&self, block: &Block, source: usize, rows: f64) -> bool {
        let is_stored = matches!(block.sources[source].kind, SourceKind::Stored { .. });
        is_stored
            && block.sources[source].lock.is_none()
            && !self.builds_correlated
            && kept_bytes(block, 1 << source, rows) <= HASH_BYTES_MAX
    }

    /// The cheapest order of the sources, with groups that are joined by themselves if `connections` are given; `None` where
    /// looking for it would take too long.
    pub fn best_order(
        &self,
        block: &Block,
        (sources, demanded): (&[usize], &DemandedOrder),
        (conditions, equal): (&[Expr], &EqualColumns),
        outer: u64,
        wanted: Option<&WantedOrder>,
        connections: Option<Connections>,
    ) -> Option<Vec<Part>> {
        let mut simulation = Simulation::new(self, block, (conditions, equal));
        let (order, cost) = simulation.search(sources, outer, demanded, None, connections)?;
        // The order that a table delivers spares a sort, with a LIMIT most of the work.
        let limited = wanted.filter(|wanted| wanted.limit.is_some());
        let Some(first) =
            limited.and_then(|wanted| sources.iter().position(|source| *source == wanted.source))
        else {
            return Some(order);
        };
        if !demanded.allows(sources[first], outer) {
            return Some(order);
        }
        let (ordered, ordered_cost) = simulation.search(sources, outer, demanded, Some(first), None)?;
        Some(if ordered_cost * 0.5 < cost { ordered } else { order })
    }

    /// Which of the sources (by number in the list) comes first.
    pub fn first_source(
        &self,
        block: &Block,
        sources: &[usize],
        (conditions, equal): (&[Expr], &EqualColumns),
        outer: u64,
        wanted: Option<&WantedOrder>,
    ) -> usize {
        let mut simulation = Simulation::new(self, block, (conditions, equal));
        let mut beginnings: Vec<usize> = (0..sources.len()).collect();
        if sources.len() > BEGINNINGS_MAX {
            let rows = |place: &usize| self.choose(block, sources[*place], conditions, outer, None).rows_out;
            beginnings.sort_by(|left, right| rows(left).total_cmp(&rows(right)));
            beginnings.truncate(BEGINNINGS_MAX);
        }
        let mut best = (0, f64::INFINITY);
        for place in beginnings {
            let mut cost = simulation.cost_from(sources, place, outer);
            // The order that a table delivers spares a sort, with a LIMIT most of the work.
            if wanted.is_some_and(|wanted| wanted.source == sources[place] && wanted.limit.is_some()) {
                cost *= 0.5;
            }
            if cost < best.1 {
                best = (place, cost);
            }
        }
        best.0
    }

    /// Which of the sources (by number in the list) is the next one for so many rows.
    pub fn next_source(
        &self,
        block: &Block,
        sources: &[usize],
        (conditions, equal): (&[Expr], &EqualColumns),
        placed: u64,
        rows: f64,
    ) -> usize {
        let mut simulation = Simulation::new(self, block, (conditions, equal));
        simulation.best_of(sources, placed, rows)
    }
}

/// Without what is read of the device. Small tables are priced as larger ones when their own paths are compared, not when
/// tables are.
fn read_cost(choice: &Choice) -> f64 {
    (choice.cost - choice.reads.run).min(COST_START + choice.rows_read * COST_ROW_MAX)
}

/// Joins as they would be planned, without making them.
pub struct Simulation<'s, 'p> {
    pub planner: &'s Planner<'p>,
    pub block: &'s Block,
    conditions: &'s [Expr],
    equal: &'s EqualColumns,
    /// The sources of each condition.
    sets: Vec<u64>,
    /// By source and those tables before it that its conditions name.
    known: HashMap<(usize, u64), Rc<Priced>>,
    /// The same by what is left of the conditions, whichever tables of a class of equal columns they name.
    alike: HashMap<Conditions, Rc<Priced>>,
}

/// The conditions that a source is read with, by their places in the list.
#[derive(PartialEq, Eq, Hash)]
struct Conditions {
    source: usize,
    is_connected: bool,
    is_first: bool,
    places: Vec<usize>,
}

pub struct Priced {
    /// What a trace is told of it.
    pub considered: Vec<Considered>,
    connection: Connection,
    pub is_connected: bool,
}

impl Priced {
    /// The price as the first table.
    pub fn first_cost(&self, rows: f64) -> f64 {
        self.connection.cost(rows)
    }

    /// Rows for each row before.
    pub fn rows_out(&self) -> f64 {
        self.connection.choice.rows_out
    }

    /// The price for so many rows before.
    pub fn score(&self, rows: f64) -> f64 {
        let after = rows.max(1.0) * self.connection.choice.rows_out;
        let all = self.connection.cost(rows) + after * COST_ROW_OUT;
        if self.is_connected { all } else { (all + 1.0) * UNCONNECTED }
    }
}

impl<'s, 'p> Simulation<'s, 'p> {
    fn new(
        planner: &'s Planner<'p>,
        block: &'s Block,
        (conditions, equal): (&'s [Expr], &'s EqualColumns),
    ) -> Simulation<'s, 'p> {
        let sets = conditions.iter().map(|condition| block.sources_of(condition)).collect();
        Simulation { planner, block, conditions, equal, sets, known: HashMap::new(), alike: HashMap::new() }
    }

    fn cost_from(&mut self, sources: &[usize], first: usize, outer: u64) -> f64 {
        let mut left = sources.to_vec();
        let (mut placed, mut rows, mut total) = (outer, 1.0f64, 0.0);
        let mut next = first;
        loop {
            let source = left.remove(next);
            let priced = self.priced(source, placed);
            let is_first = placed == outer;
            total += if is_first { priced.connection.cost(rows) } else { priced.score(rows) };
            rows = (rows * priced.connection.choice.rows_out).max(1e-3);
            placed |= 1 << source;
            if left.is_empty() {
                return total;
            }
            next = self.best_of(&left, placed, rows);
        }
    }

    fn best_of(&mut self, sources: &[usize], placed: u64, rows: f64) -> usize {
        let mut best = (0, f64::INFINITY);
        for (place, &source) in sources.iter().enumerate() {
            let score = self.priced(source, placed).score(rows);
            if score < best.1 {
                best = (place, score);
            }
        }
        best.0
    }

    /// How many ways to connect a table have been priced.
    pub fn priced_count(&self) -> usize {
        self.alike.len()
    }

    pub fn priced(&mut self, source: usize, placed: u64) -> Rc<Priced> {
        let named = self.sets.iter().filter(|set| *set & 1 << source != 0);
        let relevant = named.fold(0, |all, set| all | set) & placed;
        if let Some(priced) = self.known.get(&(source, relevant)) {
            return priced.clone();
        }
        let own = 1 << source;
        let is_usable = |set: u64| set & own != 0 && set & !(relevant | own) == 0;
        let is_connected = self.sets.iter().any(|set| is_usable(*set) && set & relevant != 0);
        let mut keeps = self.equal.keeper(self.block, source, relevant);
        let places = 0..self.conditions.len();
        let places = places.filter(|place| is_usable(self.sets[*place]) && keeps(&self.conditions[*place]));
        let alike = Conditions { source, is_connected, is_first: relevant == 0, places: places.collect() };
        let priced = match self.alike.get(&alike) {
            Some(priced) => priced.clone(),
            None => {
                let conditions = alike.places.iter().map(|place| self.conditions[*place].clone());
                let conditions: Vec<Expr> = conditions.collect();
                let connection = self.planner.connection(self.block, source, &conditions, relevant);
                let considered = self.planner.trace.map_or_else(Vec::new, Trace::take_considered);
                let priced = Rc::new(Priced { considered, connection, is_connected });
                self.alike.insert(alike, priced.clone());
                priced
            }
        };
        self.known.insert((source, relevant), priced.clone());
        priced
    }
}
