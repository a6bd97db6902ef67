//! What `Select_..`, `Sort_..` and `Created_tmp_tables` count of a plan: found once, when the plan is prepared, added
//! each time it runs.
use plan::{AccessPath, KeyCondition, Node, NodeKind, Plan, PlanKind, RangeCondition};

use crate::counters::{Counters, add};

/// How often each thing is in a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanShape {
    /// Joins (or single tables) whose first table is read whole.
    scans: u64,
    /// Those whose first table is read by ranges.
    ranges: u64,
    /// Joined tables that are read whole, or by ranges.
    full_joins: u64,
    range_joins: u64,
    sorted_scans: u64,
    sorted_ranges: u64,
    /// Sets of rows that are kept in memory: groups, distinct rows, derived tables, unions.
    kept_sets: u64,
    tables: u64,
    /// Something is read that stands in FROM: a stored table, a view of the server's state, a query.
    pub has_sources: bool,
    /// A table is read whole without an index.
    pub reads_without_index: bool,
}

impl PlanShape {
    pub fn of(plan: &Plan) -> PlanShape {
        let tables = plan.tables.len() as u64;
        let mut shape = PlanShape { tables, has_sources: tables > 0, ..PlanShape::default() };
        match &plan.kind {
            PlanKind::Query(query) => shape.visit(&query.root, false),
            PlanKind::Insert(insert) => {
                if let plan::InsertSource::Query(node) = &insert.source {
                    shape.visit(node, false);
                }
            }
            PlanKind::Update(update) => shape.visit(&update.input, false),
            PlanKind::Delete(delete) => shape.visit(&delete.input, false),
        }
        shape
    }

    pub fn count(&self, counters: &Counters) {
        add(&counters.select_scan, self.scans);
        add(&counters.select_range, self.ranges);
        add(&counters.select_full_join, self.full_joins);
        add(&counters.select_full_range_join, self.range_joins);
        add(&counters.sort_scan, self.sorted_scans);
        add(&counters.sort_range, self.sorted_ranges);
        add(&counters.created_tmp_tables, self.kept_sets);
        add(&counters.table_open_cache_hits, self.tables);
    }

    fn visit(&mut self, node: &Node, is_inner: bool) {
        match &node.kind {
            NodeKind::Dual | NodeKind::Nothing | NodeKind::Values { .. } => {}
            NodeKind::Virtual(_) => {
                self.has_sources = true;
                self.reads_without_index = true;
                *if is_inner { &mut self.full_joins } else { &mut self.scans } += 1;
            }
            NodeKind::Table(access) => self.visit_path(&access.path, is_inner),
            NodeKind::Derived { input, .. } => self.visit_kept(Some(input)),
            NodeKind::JsonTable(_) => self.visit_kept(None),
            NodeKind::Lateral(lateral) => self.visit_kept(Some(&lateral.input)),
            NodeKind::Common(table) => self.visit_kept(Some(&table.input)),
            NodeKind::Round(_) => self.has_sources = true,
            NodeKind::Recursive(recursive) => {
                self.visit(&recursive.seed, false);
                recursive.branches.iter().for_each(|branch| self.visit(&branch.query, false));
            }
            NodeKind::Sort { input, .. } => {
                *if is_by_range(input) { &mut self.sorted_ranges } else { &mut self.sorted_scans } += 1;
                self.visit(input, is_inner);
            }
            NodeKind::Distinct { input, .. } => {
                self.kept_sets += 1;
                self.visit(input, is_inner);
            }
            NodeKind::Aggregate(aggregate) => {
                self.kept_sets += u64::from(!aggregate.ordered && !aggregate.single);
                self.visit(&aggregate.input, is_inner);
            }
            NodeKind::Window(window) => {
                self.kept_sets += 1;
                self.visit(&window.input, is_inner);
            }
            NodeKind::Filter { input, .. }
            | NodeKind::Project { input, .. }
            | NodeKind::Limit { input, .. }
            | NodeKind::Measured { input, .. } => self.visit(input, is_inner),
            NodeKind::NestedLoop(join) => {
                self.visit(&join.outer, is_inner);
                self.visit(&join.inner, true);
            }
            NodeKind::HashJoin(join) => {
                self.visit(&join.outer, is_inner);
                self.visit(&join.inner, true);
            }
            NodeKind::UnionAll { inputs } => inputs.iter().for_each(|input| self.visit(input, false)),
            NodeKind::SetDifference { left, right, .. } => {
                self.kept_sets += 1;
                self.visit(left, false);
                self.visit(right, false);
            }
            NodeKind::Apply(apply) => {
                self.visit(&apply.input, is_inner);
                self.visit(&apply.query, false);
            }
            NodeKind::Initialise(initialise) => {
                self.visit(&initialise.input, is_inner);
                initialise.initialisers.iter().for_each(|initialiser| self.visit(&initialiser.query, false));
            }
        }
    }

    fn visit_path(&mut self, path: &AccessPath, is_inner: bool) {
        match path {
            AccessPath::FullScan | AccessPath::IndexScan { .. } => {
                self.reads_without_index |= matches!(path, AccessPath::FullScan);
                *if is_inner { &mut self.full_joins } else { &mut self.scans } += 1;
            }
            AccessPath::Ranges { ranges, .. } if is_lookup(ranges) => {}
            AccessPath::Ranges { .. }
            | AccessPath::Groups { .. }
            | AccessPath::Skip { .. }
            | AccessPath::Merge(_) => {
                *if is_inner { &mut self.range_joins } else { &mut self.ranges } += 1;
            }
            _ => {}
        }
    }

    /// Rows in FROM that are kept before they are read.
    fn visit_kept(&mut self, input: Option<&Node>) {
        self.has_sources = true;
        self.kept_sets += 1;
        if let Some(input) = input {
            self.visit(input, false);
        }
    }
}

/// One key value: what EXPLAIN calls `ref`.
fn is_lookup(ranges: &[RangeCondition]) -> bool {
    let is_one = |part: &KeyCondition| match part {
        KeyCondition::OneOf(values) => values.len() == 1,
        KeyCondition::SameAs(_) | KeyCondition::IsNull => true,
        KeyCondition::Between(_) | KeyCondition::NoneOf(_) | KeyCondition::Like { .. } => false,
    };
    matches!(ranges, [range] if range.parts.iter().all(is_one))
}

/// Whether the rows of a sort come from ranges of an index.
fn is_by_range(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Table(access) => {
            matches!(&access.path, AccessPath::Ranges { ranges, .. } if !is_lookup(ranges))
        }
        NodeKind::Filter { input, .. } | NodeKind::Project { input, .. } => is_by_range(input),
        NodeKind::NestedLoop(join) => is_by_range(&join.outer),
        NodeKind::HashJoin(join) => is_by_range(&join.outer),
        _ => false,
    }
}
