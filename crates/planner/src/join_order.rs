//! Joins: which table is read next, and how it is connected to those before it.
//!
//! What comes first and next is decided by `join_cost`.
use crate::access::Choice;
use crate::block::{Block, Position, SourceKind};
use crate::condition::constant_truth;
use crate::equal_columns::EqualColumns;
use crate::from::JoinTree;
use crate::hints::DemandedOrder;
use crate::join_list::{Item, JoinList, Test};
use crate::join_search::SEARCH_MAX;
use crate::or_parts::add_parts;
use crate::planner::Planner;
use crate::select_subquery::apply_all;
use crate::trace::{Mark, Trace};
use crate::walk::{any, positions};
use datum::SqlError;
use expression::{ComparisonOperator, Expr, ExprKind};
use plan::{
    CommonTable, Estimate, HashJoin, JoinKind, JsonTable, Lateral, NestedLoop, Node, NodeKind, RoundScan,
    VirtualAccess,
};

/// An order that saves a sort when the first table delivers it.
#[derive(Clone, Debug)]
pub struct WantedOrder {
    pub source: usize,
    /// (column, descending).
    pub columns: Vec<(usize, bool)>,
    /// The order is for grouping, which can do without.
    pub for_groups: bool,
    /// Only about so many rows are taken.
    pub limit: Option<f64>,
}

/// How one more table is connected; `hash` also where its path could look rows up.
struct Way {
    choice: Choice,
    hash: bool,
    /// The outer rows come in an order that is wanted.
    ordered: bool,
    /// The rows so far are what the hash table keeps.
    keeps_outer: bool,
    /// Without an equality the inner rows are kept, and all of them compared with each outer row.
    keeps_all: bool,
    /// Nothing is gained by a hash table, since there is one row at most.
    once: bool,
}

/// Outer rows that may be needed for one of the result.
const ROWS_FOR_ONE: f64 = 10.0;

/// A list while its items are placed.
pub struct Build {
    pub node: Option<Node>,
    /// Sources whose positions are filled in the frames of `node` (or of the base frame).
    pub placed: u64,
    /// The list is joined again for each row of others.
    pub is_inner: bool,
    /// Conditions not yet checked anywhere.
    waiting: Vec<Expr>,
    /// The same, of conditions with subqueries, whose values are found once their tables are there.
    late: Vec<Expr>,
    /// What is known to be equal among them.
    equal: EqualColumns,
    pub ordered: bool,
    /// Tables of which at most one row is read, which come first, and those that stand before the list.
    single: u64,
    /// What hints demand.
    demanded: DemandedOrder,
}

impl Build {
    /// Whether there is at most one row so far.
    fn is_one_row(&self) -> bool {
        self.placed & !self.single == 0
    }
}

impl Planner<'_> {
    /// The rows of all tables that satisfy the conditions; also whether they come in the wanted order.
    pub fn plan_joins(
        &mut self,
        block: &mut Block,
        tree: JoinTree,
        conditions: Vec<Expr>,
        wanted: Option<WantedOrder>,
        straight: bool,
    ) -> Result<(Node, bool), SqlError> {
        if conditions.iter().any(|condition| matches!(constant_truth(condition), Some(None | Some(false)))) {
            return Ok((Node::new(NodeKind::Nothing, block.frame.len(), 0.0), true));
        }
        // What a subquery's value is for an absent row is not known.
        let early: Vec<Expr> =
            conditions.iter().filter(|condition| !is_late(block, condition)).cloned().collect();
        let mut list = JoinList::flatten(tree, &early, &|expr| block.sources_of(expr));
        list.conditions.extend(conditions);
        list.conditions.retain(|condition| constant_truth(condition) != Some(Some(true)));
        list.straight |= straight || block.hints.fixes_order();
        self.plan_cheapest(block, list, wanted.as_ref())
    }

    /// Plans the list as it is and with one after another of its semijoins driving, as long as that gets cheaper.
    fn plan_cheapest(
        &mut self,
        block: &mut Block,
        mut list: JoinList,
        wanted: Option<&WantedOrder>,
    ) -> Result<(Node, bool), SqlError> {
        let tests = list.items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Test(_)));
        let places: Vec<usize> = tests.map(|(place, _)| place).collect();
        if places.is_empty() || list.straight || self.builds_correlated {
            return self.plan_list(block, list, 0, wanted);
        }
        let mut tried = block.clone();
        let mut best = self.plan_list(&mut tried, list.clone(), 0, wanted)?;
        let (mut best_block, mut start) = (tried, block.clone());
        for place in places.into_iter().take(crate::join_test::DRIVING_MAX) {
            let Some((with, driven)) = self.with_driving(&start, &list, place)? else { continue };
            let mut tried = with.clone();
            let plan = self.plan_list(&mut tried, driven.clone(), 0, wanted)?;
            if crate::price::price(&plan.0) < crate::price::price(&best.0) {
                (best, best_block, start, list) = (plan, tried, with, driven);
            }
        }
        *block = best_block;
        Ok(best)
    }

    pub fn plan_list(
        &mut self,
        block: &mut Block,
        list: JoinList,
        outer: u64,
        wanted: Option<&WantedOrder>,
    ) -> Result<(Node, bool), SqlError> {
        let (late, mut waiting): (Vec<Expr>, Vec<Expr>) =
            list.conditions.into_iter().partition(|condition| is_late(block, condition));
        let (mut sources, mut lefts, mut tests) = (Vec::new(), Vec::new(), Vec::new());
        for item in list.items {
            match item {
                Item::Source(source) => sources.push(source),
                Item::Test(test) => tests.push(test),
                left => lefts.push(left),
            }
        }
        let own = sources.iter().fold(0, |set, source| set | 1 << source);
        let written = self.context.trace.map(|_| waiting.clone());
        let equal = EqualColumns::complete(block, &mut waiting, own);
        add_parts(block, &mut waiting, own);
        let mark = self.context.trace.map(|trace| {
            trace.conditions(&written.unwrap_or_default(), &waiting);
            self.trace_estimates(trace, block, (&sources, &waiting, outer))
        });
        let single =
            if list.straight { 0 } else { self.put_single_first(block, &mut sources, &waiting, outer) };
        let single_count = single.count_ones() as usize;
        let single = single | outer;
        let demanded = DemandedOrder::of(block, &sources[single_count..]);
        let mut build = Build {
            node: None,
            placed: outer,
            is_inner: outer != 0,
            waiting,
            late,
            equal,
            ordered: false,
            single,
            demanded,
        };
        let is_searched = !list.straight
            && (2..=SEARCH_MAX).contains(&(sources.len() - single_count))
            && sources.iter().all(|source| is_ready(block, *source, outer));
        if is_searched {
            let conditions = (build.waiting.as_slice(), &build.equal);
            let others = (&sources[single_count..], &build.demanded);
            let others = self.best_order(block, others, conditions, single, wanted);
            sources.splice(single_count.., others);
        }
        let mut lefts = lefts.into_iter();
        loop {
            let all_ready = sources.iter().copied().filter(|source| is_ready(block, *source, build.placed));
            let mut ready: Vec<usize> = all_ready.collect();
            // What reads a table comes behind it, whatever a hint demands.
            if !list.straight && ready.iter().any(|source| build.demanded.allows(*source, build.placed)) {
                ready.retain(|source| build.demanded.allows(*source, build.placed));
            }
            let comes_first = ready.first().is_none_or(|first| single >> first & 1 == 1);
            let next = match list.straight || is_searched || comes_first {
                true => 0,
                false => self.cheapest(block, &ready, &build, wanted),
            };
            // A table that leaves fewer rows comes before what is looked for row by row.
            let has_work = build.node.is_some() && !(tests.is_empty() && build.late.is_empty());
            if has_work && !ready.get(next).is_some_and(|next| self.reduces(block, *next, &build)) {
                self.place_ready_tests(block, &mut build, &mut tests)?;
                check_late(block, &mut build);
            }
            if !ready.is_empty() {
                sources.retain(|source| *source != ready[next]);
                let placed = build.placed;
                self.place_source(block, &mut build, ready[next], wanted)?;
                if let (Some(trace), Some(node), false) = (self.context.trace, &build.node, is_searched) {
                    let outcome = (node.rows_passing(), crate::price::price(node), true);
                    trace.plan(block, placed, ready[next], &trace.take_considered(), outcome);
                }
                continue;
            }
            let Some(left) = lefts.next() else { break };
            let Item::Left { inner, on, needs } = left else { unreachable!("sources were taken out") };
            debug_assert_eq!(needs & !build.placed, 0, "an outer join's left side comes first");
            self.place_left(block, &mut build, inner, on)?;
        }
        if let (Some(trace), Some(mark)) = (self.context.trace, mark) {
            trace.end_plans();
            trace.attached(&mark);
        }
        assert!(sources.is_empty(), "a query in FROM reads only tables before it");
        assert!(tests.is_empty(), "a semijoin reads only tables of its block");
        assert!(
            build.waiting.is_empty() && build.late.is_empty(),
            "every condition reads only tables of its block"
        );
        Ok((build.node.expect("a list has at least one item"), build.ordered))
    }

    /// Tells a trace what each table of a list costs by itself, and that the search begins.
    fn trace_estimates(
        &self,
        trace: &Trace,
        block: &Block,
        (sources, conditions, outer): (&[usize], &[Expr], u64),
    ) -> Mark {
        let mark = trace.mark();
        trace.begin_estimates();
        for &source in sources {
            let choice = self.choose(block, source, conditions, outer, None);
            trace.estimate(block, source, &choice);
        }
        trace.end(&mark);
        trace.begin_plans();
        mark
    }

    /// Whether fewer rows are left once the source is joined.
    fn reduces(&self, block: &Block, source: usize, build: &Build) -> bool {
        self.choose(block, source, &build.waiting, build.placed, None).rows_out < 0.9
    }

    fn place_ready_tests(
        &mut self,
        block: &mut Block,
        build: &mut Build,
        tests: &mut Vec<Test>,
    ) -> Result<(), SqlError> {
        while let Some(place) = tests.iter().position(|test| self.is_test_ready(block, test, build.placed)) {
            let test = tests.remove(place);
            self.place_test(block, build, test)?;
            let usable = take_covered(block, build);
            let node = build.node.take().expect("placed above");
            build.node = Some(crate::select_build::filter(node, usable));
        }
        Ok(())
    }

    fn cheapest(
        &self,
        block: &Block,
        sources: &[usize],
        build: &Build,
        wanted: Option<&WantedOrder>,
    ) -> usize {
        let conditions = (build.waiting.as_slice(), &build.equal);
        match &build.node {
            _ if sources.len() == 1 => 0,
            None => self.first_source(block, sources, conditions, build.placed, wanted),
            Some(node) => self.next_source(block, sources, conditions, build.placed, node.rows_passing()),
        }
    }

    fn place_source(
        &mut self,
        block: &mut Block,
        build: &mut Build,
        source: usize,
        wanted: Option<&WantedOrder>,
    ) -> Result<(), SqlError> {
        let once = build.is_one_row();
        let is_single = build.single >> source & 1 == 1;
        let wanted_here = wanted.filter(|wanted| once && wanted.source == source);
        let waiting = build.equal.prune(block, build.waiting.clone(), source, build.placed);
        let choice = self.choose(block, source, &waiting, build.placed, wanted_here.filter(|_| !is_single));
        if wanted_here.is_some() {
            build.ordered = is_single || choice.ordered;
        }
        let before = build.placed;
        build.placed |= 1 << source;
        let usable = take_covered(block, build);
        let usable = build.equal.prune(block, usable, source, before);
        if let Some(trace) = self.context.trace {
            trace.attach(block, source, &usable);
        }
        let node = match build.node.take() {
            None => self.access_node(block, source, choice, usable)?,
            Some(outer) => {
                let rows = self.rows_wanted(block, &outer);
                let connection = self.connection(block, source, &usable, before);
                let hash = connection.prefers_hash(rows);
                let keeps_outer = !build.ordered && connection.keeps_outer(rows);
                let keeps_all = !build.is_inner && connection.keeps_all;
                let way = Way { choice, hash, keeps_outer, keeps_all, ordered: build.ordered, once };
                self.join_source(block, outer, source, way, usable, before, JoinKind::Inner)?
            }
        };
        build.node = Some(node);
        Ok(())
    }

    fn place_left(
        &mut self,
        block: &mut Block,
        build: &mut Build,
        mut inner: JoinList,
        on: Vec<Expr>,
    ) -> Result<(), SqlError> {
        let outer = build.node.take().expect("the left side of an outer join is placed first");
        let inner_sources = inner.sources();
        let before = build.placed;
        let node = match inner.items.as_slice() {
            [Item::Source(source)]
                if !inner.conditions.iter().chain(&on).any(|condition| is_late(block, condition)) =>
            {
                let source = *source;
                let mut conditions = std::mem::take(&mut inner.conditions);
                conditions.extend(on);
                add_parts(block, &mut conditions, 1 << source);
                let connection = self.connection(block, source, &conditions, before);
                let hash = connection.prefers_hash(self.rows_wanted(block, &outer));
                let keeps_all = !build.is_inner && connection.keeps_all;
                let (choice, ordered, once) = (connection.choice, build.ordered, build.is_one_row());
                let way = Way { choice, hash, keeps_outer: false, keeps_all, ordered, once };
                self.join_source(block, outer, source, way, conditions, before, JoinKind::Left)?
            }
            _ => {
                inner.conditions.extend(on);
                let rows = outer.estimate.rows;
                let (inner, _) = self.plan_list(block, inner, before, None)?;
                let join = NestedLoop {
                    outer: Box::new(outer),
                    inner: Box::new(inner),
                    kind: JoinKind::Left,
                    on: Vec::new(),
                    inner_positions: positions_of(block, inner_sources),
                };
                Node::new(NodeKind::NestedLoop(Box::new(join)), block.frame.len(), rows)
            }
        };
        build.placed |= inner_sources;
        let usable = take_covered(block, build);
        build.node = Some(crate::select_build::filter(node, usable));
        Ok(())
    }

    /// Of how many rows of the outer side the inner one is asked: no more than a LIMIT needs.
    fn rows_wanted(&self, block: &Block, outer: &Node) -> f64 {
        let rows = outer.rows_passing();
        block.row_goal.map_or(rows, |goal| rows.min(goal * ROWS_FOR_ONE))
    }

    /// Connects one more table: by lookups when its access path reads values of the tables before it, else by a hash
    /// table over an equality, else by comparing each row with all of it, which is kept or read again.
    #[expect(clippy::too_many_arguments, reason = "the parts of one join, used once")]
    fn join_source(
        &mut self,
        block: &mut Block,
        outer: Node,
        source: usize,
        Way { choice, hash, keeps_outer, keeps_all, ordered, once }: Way,
        conditions: Vec<Expr>,
        before: u64,
        kind: JoinKind,
    ) -> Result<Node, SqlError> {
        let own = 1u64 << source;
        let rows = outer.rows_passing() * choice.rows_out.max(if kind == JoinKind::Left { 1.0 } else { 0.0 });
        let inner_positions = positions_of(block, own);
        let width = block.frame.len();
        let keeps_all = keeps_all && hash && !once;
        let hash = !once && (hash || !choice.reads_outer) && self.hashes(block, own);
        let (equalities, rest): (Vec<Expr>, Vec<Expr>) = conditions
            .into_iter()
            .partition(|condition| hash && equality_sides(block, condition, before, own).is_some());
        if equalities.is_empty() && !keeps_all {
            let inner = self.access_node(block, source, choice, rest)?;
            let join = NestedLoop {
                outer: Box::new(outer),
                inner: Box::new(inner),
                kind,
                on: Vec::new(),
                inner_positions,
            };
            return Ok(Node::new(NodeKind::NestedLoop(Box::new(join)), width, rows));
        }
        let (inner_only, on): (Vec<Expr>, Vec<Expr>) =
            rest.into_iter().partition(|condition| block.sources_of(condition) & !own == 0);
        let choice = self.choose(block, source, &inner_only, 0, None);
        let inner = self.access_node(block, source, choice, inner_only)?;
        let (mut outer_keys, mut inner_keys) = (Vec::new(), Vec::new());
        let mut modes = Vec::new();
        for condition in equalities {
            let (outer_key, inner_key, mode) =
                equality_sides(block, &condition, before, own).expect("partitioned by this");
            outer_keys.push(outer_key);
            inner_keys.push(inner_key);
            modes.push(mode);
        }
        let mut join = HashJoin {
            outer: Box::new(outer),
            inner: Box::new(inner),
            kind,
            outer_keys,
            inner_keys,
            modes,
            on,
            inner_positions,
            keeps_order: ordered,
        };
        if keeps_outer && !join.outer_keys.is_empty() {
            std::mem::swap(&mut join.outer, &mut join.inner);
            std::mem::swap(&mut join.outer_keys, &mut join.inner_keys);
            join.inner_positions = (0..width).filter(|at| !join.inner_positions.contains(at)).collect();
        }
        Ok(Node::new(NodeKind::HashJoin(Box::new(join)), width, rows))
    }

    fn access_node(
        &mut self,
        block: &mut Block,
        source: usize,
        choice: Choice,
        conditions: Vec<Expr>,
    ) -> Result<Node, SqlError> {
        let width = block.frame.len();
        let known = match &block.sources[source].kind {
            SourceKind::Stored { statistics, .. } => (statistics.rows.unwrap_or(0) as f64).max(1.0),
            _ => f64::INFINITY,
        };
        let estimate = Estimate {
            rows: choice.rows_read.min(known),
            filtered: (choice.rows_out / choice.rows_read.max(1e-9) * 100.0).clamp(0.01, 100.0),
        };
        let projection = projection_of(block, source);
        let (conditions, late_from) = late_last(block, source, &projection, conditions);
        let description = &mut block.sources[source];
        let column_count = description.columns.len();
        let alias = description.alias.clone();
        let kind = match &mut description.kind {
            SourceKind::Stored { .. } => {
                return Ok(Node {
                    kind: NodeKind::Table(Box::new(self.table_access(block, source, choice, conditions))),
                    width,
                    estimate,
                });
            }
            SourceKind::Virtual(table) => NodeKind::Virtual(Box::new(VirtualAccess {
                table: table.clone(),
                alias,
                projection,
                filter: conditions,
                late_from,
            })),
            SourceKind::Derived(node) => NodeKind::Derived {
                input: node.take().expect("each derived table is placed once"),
                alias,
                projection,
                filter: conditions,
            },
            SourceKind::Query(_) => unreachable!("queries in FROM are planned before the joins"),
            SourceKind::Common(common) => NodeKind::Common(Box::new(CommonTable {
                number: common.number,
                input: common.node(),
                slots: common.slots(),
                alias,
                projection,
                filter: conditions,
            })),
            SourceKind::JsonTable(table) => NodeKind::JsonTable(Box::new(JsonTable {
                document: table.document.clone(),
                alias,
                path: table.path.clone(),
                columns: table.columns.clone(),
                width: column_count,
                projection,
                filter: conditions,
            })),
            SourceKind::Lateral(lateral) => {
                let lateral = *lateral.take().expect("each derived table is placed once");
                NodeKind::Lateral(Box::new(Lateral {
                    input: Box::new(lateral.node),
                    alias,
                    correlation: lateral.correlation,
                    slots: lateral.slots,
                    projection,
                    filter: conditions,
                }))
            }
            SourceKind::Round(round) => {
                NodeKind::Round(Box::new(RoundScan { round: *round, alias, projection, filter: conditions }))
            }
        };
        Ok(Node { kind, width, estimate })
    }
}

/// The conditions on a source, those that need a late column of a virtual table behind the others, and how many others
/// there are; `None` when no late column is wanted at all.
fn late_last(
    block: &Block,
    source: usize,
    projection: &[(usize, usize)],
    conditions: Vec<Expr>,
) -> (Vec<Expr>, Option<usize>) {
    let SourceKind::Virtual(table) = &block.sources[source].kind else { return (conditions, None) };
    let columns = table.late_columns();
    let late: Vec<usize> = projection
        .iter()
        .filter_map(|(column, position)| columns.contains(column).then_some(*position))
        .collect();
    if late.is_empty() {
        return (conditions, None);
    }
    let (mut early, behind): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|condition| {
        let mut positions = Vec::new();
        crate::walk::positions(condition, &mut positions);
        !positions.iter().any(|position| late.contains(position))
    });
    let early_count = early.len();
    early.extend(behind);
    (early, Some(early_count))
}

/// Whether everything is placed that a source reads.
pub fn is_ready(block: &Block, source: usize, placed: u64) -> bool {
    match &block.sources[source].kind {
        SourceKind::Lateral(Some(lateral)) => lateral.needs & !placed == 0,
        SourceKind::JsonTable(table) => table.needs & !placed == 0,
        _ => true,
    }
}

/// Whether a condition reads the value of a subquery in ON that is not found yet.
pub fn is_late(block: &Block, condition: &Expr) -> bool {
    any(condition, &|part| {
        part.as_column().is_some_and(|position| matches!(block.frame[position], Position::OnSubquery { .. }))
    })
}

/// Stacks the conditions with subqueries whose tables are all placed, and what finds the subqueries' values.
fn check_late(block: &mut Block, build: &mut Build) {
    let placed = build.placed;
    let (covered, late): (Vec<Expr>, Vec<Expr>) = std::mem::take(&mut build.late)
        .into_iter()
        .partition(|condition| block.sources_of(condition) & !placed == 0);
    build.late = late;
    if covered.is_empty() {
        return;
    }
    let mut wanted = Vec::new();
    covered.iter().for_each(|condition| positions(condition, &mut wanted));
    let mut taken = Vec::new();
    for apply in std::mem::take(&mut block.on_applies).into_iter().rev() {
        if wanted.contains(&apply.position) {
            let inner = apply.left.iter().chain(&apply.correlation).map(|(_, expr)| expr);
            inner.chain(&apply.guard).for_each(|expr| positions(expr, &mut wanted));
            taken.push(apply);
        } else {
            block.on_applies.push(apply);
        }
    }
    block.on_applies.reverse();
    taken.reverse();
    let node = build.node.take().expect("a table is placed");
    build.node = Some(crate::select_build::filter(apply_all(node, taken), covered));
}

/// Takes out the waiting conditions whose tables are all placed.
fn take_covered(block: &Block, build: &mut Build) -> Vec<Expr> {
    let placed = build.placed;
    let (covered, waiting) = std::mem::take(&mut build.waiting)
        .into_iter()
        .partition(|condition| block.sources_of(condition) & !placed == 0);
    build.waiting = waiting;
    covered
}

pub fn positions_of(block: &Block, set: u64) -> Vec<usize> {
    let in_set = |position: &Position| match position {
        Position::Column { source, .. } | Position::RowKey { source } => set & 1 << source != 0,
        Position::Subquery | Position::OnSubquery { .. } | Position::Computed => false,
    };
    block.frame.iter().enumerate().filter(|(_, position)| in_set(position)).map(|(at, _)| at).collect()
}

/// (column, frame position) of a source, in column order.
pub fn projection_of(block: &Block, wanted: usize) -> Vec<(usize, usize)> {
    let mut projection: Vec<(usize, usize)> = block
        .frame
        .iter()
        .enumerate()
        .filter_map(|(at, position)| match position {
            Position::Column { source, column } if *source == wanted => Some((*column, at)),
            _ => None,
        })
        .collect();
    projection.sort_unstable();
    projection
}

/// `a = b` with one side from the tables before and the other from the new one: (outer, inner, mode).
pub fn equality_sides(
    block: &Block,
    condition: &Expr,
    before: u64,
    own: u64,
) -> Option<(Expr, Expr, datum::CompareMode)> {
    let ExprKind::Compare(ComparisonOperator::Equal, mode, left, right) = &condition.kind else {
        return None;
    };
    let (left_set, right_set) = (block.sources_of(left), block.sources_of(right));
    // Keys tell nothing of whether two documents are equal, or two numbers but for a last digit.
    let has_no_key = matches!(mode, datum::CompareMode::Json | datum::CompareMode::FixedReal(_));
    if left_set == 0 || right_set == 0 || has_no_key {
        return None;
    }
    if left_set & !before == 0 && right_set & !own == 0 {
        return Some(((**left).clone(), (**right).clone(), *mode));
    }
    (right_set & !before == 0 && left_set & !own == 0).then(|| ((**right).clone(), (**left).clone(), *mode))
}
