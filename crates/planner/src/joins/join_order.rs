//! Joins: which table is read next, and how it is connected to those before it.
//!
//! What comes first and next is decided by `join_cost`.
use crate::condition::constant_truth;
use crate::joins::build::{Build, take_covered};
use crate::joins::bushy::Part;
use crate::joins::equal_columns::EqualColumns;
use crate::joins::join_list::{Item, JoinList, Test};
use crate::joins::join_orders::DemandedOrder;
use crate::joins::join_parts::{is_late, is_ready};
use crate::joins::join_search::SEARCH_MAX;
use crate::joins::join_source::Way;
use crate::joins::or_parts::add_parts;
use crate::joins::widths::widen;
use crate::paths::choice::WantedOrder;
use crate::planner::Planner;
use crate::price::price;
use crate::queries::nodes::apply_all;
use crate::trace::{Mark, Trace};
use binder::block::Block;
use binder::bound::JoinTree;
use binder::walk::positions;
use datum::SqlError;
use expression::{Expr, ExprKind};
use plan::{JoinKind, Node, NodeKind};
use std::collections::VecDeque;

/// How deep in one another semijoins may be tried as driving ones: each doubles the plans of those inside of it.
const SEARCHES_MAX: usize = 2;

/// What of a list is to be placed yet, and how.
struct Unplaced<'a> {
    sources: Vec<usize>,
    /// Outer joins, as they are written.
    lefts: Vec<Item>,
    tests: Vec<Test>,
    /// What a search found to come first.
    order: VecDeque<Part>,
    /// Tables are placed as they are written.
    straight: bool,
    /// Told whether several tables were joined by themselves.
    has_groups: Option<&'a mut bool>,
}

/// Tables, outer joins and semijoins of a list.
fn by_kind(items: Vec<Item>) -> (Vec<usize>, Vec<Item>, Vec<Test>) {
    let (mut sources, mut lefts, mut tests) = (Vec::new(), Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Source(source) => sources.push(source),
            Item::Test(test) => tests.push(test),
            left => lefts.push(left),
        }
    }
    (sources, lefts, tests)
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
    pub fn plan_cheapest(
        &mut self,
        block: &mut Block,
        list: JoinList,
        wanted: Option<&WantedOrder>,
    ) -> Result<(Node, bool), SqlError> {
        let width = block.frame.len();
        let has_or = list.conditions.iter().any(|condition| matches!(condition.kind, ExprKind::Or(_)));
        let arms = (has_or && wanted.is_none() && self.searches < SEARCHES_MAX).then(|| list.clone());
        self.searches += 1;
        let plan = self.search_driving(block, list, wanted);
        let by_arms = match (&plan, arms) {
            (Ok((plain, _)), Some(list)) => self.joined_by_arms(block, &list, plain),
            _ => None,
        };
        self.searches -= 1;
        let (mut node, ordered) = plan?;
        if let Some(by_arms) = by_arms {
            return Ok((by_arms, false));
        }
        if block.frame.len() > width {
            widen(&mut node, block.frame.len());
        }
        Ok((node, ordered))
    }

    fn search_driving(
        &mut self,
        block: &mut Block,
        mut list: JoinList,
        wanted: Option<&WantedOrder>,
    ) -> Result<(Node, bool), SqlError> {
        let tests = list.items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Test(_)));
        let places: Vec<usize> = tests.map(|(place, _)| place).collect();
        if places.is_empty() || list.straight || self.builds_correlated || self.searches > SEARCHES_MAX {
            return self.plan_list(block, list, 0, wanted);
        }
        let mut tried = block.clone();
        let mut best = self.plan_list(&mut tried, list.clone(), 0, wanted)?;
        let (mut best_block, mut start) = (tried, block.clone());
        for place in places.into_iter().take(crate::joins::join_test::DRIVING_MAX) {
            let Some((with, driven)) = self.with_driving(&start, &list, place)? else { continue };
            let mut tried = with.clone();
            let plan = self.plan_list(&mut tried, driven.clone(), 0, wanted)?;
            if price(&plan.0) < price(&best.0) {
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
        if !self.may_be_bushy(block, &list, outer) {
            return self.plan_ordered(block, list, outer, wanted, None);
        }
        let (mut tried, mut has_groups) = (block.clone(), false);
        let bushy = self.plan_ordered(&mut tried, list.clone(), outer, wanted, Some(&mut has_groups))?;
        if has_groups {
            let plain = self.plan_ordered(block, list, outer, wanted, None)?;
            if price(&plain.0) <= price(&bushy.0) {
                return Ok(plain);
            }
        }
        *block = tried;
        Ok(bushy)
    }

    /// Places one item after the other. With `has_groups` several tables may be joined by themselves; it is told whether some
    /// are.
    fn plan_ordered(
        &mut self,
        block: &mut Block,
        list: JoinList,
        outer: u64,
        wanted: Option<&WantedOrder>,
        has_groups: Option<&mut bool>,
    ) -> Result<(Node, bool), SqlError> {
        let (late, mut waiting): (Vec<Expr>, Vec<Expr>) =
            list.conditions.into_iter().partition(|condition| is_late(block, condition));
        let (mut sources, lefts, tests) = by_kind(list.items);
        let own = sources.iter().fold(0, |set, source| set | 1 << source);
        let written = self.trace.map(|_| waiting.clone());
        let equal = EqualColumns::complete(block, &mut waiting, own);
        add_parts(block, &mut waiting, own);
        let mark = self.trace.map(|trace| {
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
        let order = match list.straight {
            true => VecDeque::new(),
            false => {
                let sources = sources.split_at(single_count);
                self.searched_order(block, sources, outer, &build, wanted, has_groups.is_some())
            }
        };
        let unplaced = Unplaced { sources, lefts, tests, order, straight: list.straight, has_groups };
        self.place_all(block, &mut build, unplaced, wanted)?;
        if let (Some(trace), Some(mark)) = (self.trace, mark) {
            trace.end_plans();
            trace.attached(&mark);
        }
        assert!(
            build.waiting.is_empty() && build.late.is_empty(),
            "every condition reads only tables of its block"
        );
        Ok((build.node.expect("a list has at least one item"), build.ordered))
    }

    /// Places the tables, each semijoin as soon as its tables are there, and the outer joins behind all tables.
    fn place_all(
        &mut self,
        block: &mut Block,
        build: &mut Build,
        unplaced: Unplaced<'_>,
        wanted: Option<&WantedOrder>,
    ) -> Result<(), SqlError> {
        let Unplaced { mut sources, lefts, mut tests, mut order, straight, mut has_groups } = unplaced;
        let mut lefts = lefts.into_iter();
        loop {
            let part = order.pop_front();
            let is_searched = part.is_some();
            let next = match part {
                None => self.next_table(block, &sources, build, wanted, straight).map(Part::Table),
                found => found,
            };
            // A table that leaves fewer rows comes before what is looked for row by row.
            let has_work = build.node.is_some() && !(tests.is_empty() && build.late.is_empty());
            if has_work && !next.as_ref().is_some_and(|next| self.reduces(block, next, build)) {
                self.place_ready_tests(block, build, &mut tests)?;
                check_late(block, build);
            }
            match next {
                Some(Part::Table(next)) => {
                    sources.retain(|source| *source != next);
                    let placed = build.placed;
                    self.place_source(block, build, next, wanted)?;
                    if let (Some(trace), Some(node), false) = (self.trace, &build.node, is_searched) {
                        let outcome = (node.rows_passing(), price(node), true);
                        trace.plan(block, placed, next, &trace.take_considered(), outcome);
                    }
                }
                Some(Part::Group { sources: group, rows_out }) => {
                    if self.place_group(block, build, (group, rows_out))? {
                        sources.retain(|source| group >> source & 1 == 0);
                        has_groups.iter_mut().for_each(|has_groups| **has_groups = true);
                    } else {
                        // What is left is placed greedily.
                        order.clear();
                    }
                }
                None => {
                    let Some(left) = lefts.next() else { break };
                    let Item::Left { inner, on, needs } = left else {
                        unreachable!("sources were taken out")
                    };
                    debug_assert_eq!(needs & !build.placed, 0, "an outer join's left side comes first");
                    self.place_left(block, build, inner, on)?;
                }
            }
        }
        assert!(sources.is_empty(), "a query in FROM reads only tables before it");
        assert!(tests.is_empty(), "a semijoin reads only tables of its block");
        Ok(())
    }

    /// The cheapest order of a list that may be searched: `single` tables of one row first, then the others. Empty where they
    /// are too few or too many, or one of them reads another.
    fn searched_order(
        &mut self,
        block: &mut Block,
        (first, others): (&[usize], &[usize]),
        outer: u64,
        build: &Build,
        wanted: Option<&WantedOrder>,
        may_group: bool,
    ) -> VecDeque<Part> {
        let mut all = first.iter().chain(others);
        if !(2..=SEARCH_MAX).contains(&others.len()) || !all.all(|source| is_ready(block, *source, outer)) {
            return VecDeque::new();
        }
        let conditions = (build.waiting.as_slice(), &build.equal);
        let connections = match may_group {
            true => self.connections(block, others, conditions, build.single),
            false => None,
        };
        let others = (others, &build.demanded);
        let found = self.best_order(block, others, conditions, build.single, wanted, connections);
        let first = first.iter().map(|source| Part::Table(*source));
        found.map_or_else(VecDeque::new, |found| first.chain(found).collect())
    }

    /// What comes next of a list whose order was not searched.
    fn next_table(
        &mut self,
        block: &mut Block,
        sources: &[usize],
        build: &Build,
        wanted: Option<&WantedOrder>,
        is_straight: bool,
    ) -> Option<usize> {
        let all_ready = sources.iter().copied().filter(|source| is_ready(block, *source, build.placed));
        let mut ready: Vec<usize> = all_ready.collect();
        // What reads a table comes behind it, whatever a hint demands.
        if !is_straight && ready.iter().any(|source| build.demanded.allows(*source, build.placed)) {
            ready.retain(|source| build.demanded.allows(*source, build.placed));
        }
        let first = *ready.first()?;
        match is_straight || build.single >> first & 1 == 1 {
            true => Some(first),
            false => Some(ready[self.cheapest(block, &ready, build, wanted)]),
        }
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

    /// Whether fewer rows are left once the part is joined.
    fn reduces(&self, block: &Block, part: &Part, build: &Build) -> bool {
        let rows_out = match part {
            Part::Table(source) => self.choose(block, *source, &build.waiting, build.placed, None).rows_out,
            Part::Group { rows_out, .. } => *rows_out,
        };
        rows_out < 0.9
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
            build.node = Some(crate::queries::nodes::filter(node, usable));
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
        if let Some(trace) = self.trace {
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
                let keeps_table = build.is_inner && !self.builds_correlated;
                let ordered = build.ordered;
                let way = Way { choice, hash, keeps_outer, keeps_all, keeps_table, ordered, once };
                self.join_source(block, outer, source, way, usable, before, JoinKind::Inner)?
            }
        };
        build.node = Some(node);
        Ok(())
    }
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
    build.node = Some(crate::queries::nodes::filter(apply_all(node, taken), covered));
}
