//! Traditional EXPLAIN: a row for each table of each query block, in the order they are read.
use super::ways::{access_type, key_length_text, key_text, merge_text, reference_text};
use crate::access::{AccessPath, MergeKind, TableAccess};
use crate::aggregate::Aggregate;
use crate::common::CommonTable;
use crate::node::{Node, NodeKind};
use crate::statement::{Plan, PlanKind};
use expression::{Expr, ExprKind, TruthTest};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExplainRow {
    pub id: Option<u64>,
    pub select_type: String,
    pub table: Option<String>,
    /// system, const, eq_ref, ref, range, index, ALL, or `None` without a table.
    pub access_type: Option<&'static str>,
    pub possible_keys: Option<String>,
    pub key: Option<String>,
    pub key_len: Option<String>,
    pub reference: Option<String>,
    pub rows: Option<u64>,
    pub filtered: Option<f64>,
    pub extra: Option<String>,
}

pub fn explain_rows(plan: &Plan) -> Vec<ExplainRow> {
    let mut walk = Walk { rows: Vec::new(), last_id: 1, common: Vec::new() };
    match &plan.kind {
        PlanKind::Query(query) => {
            let select_type = if is_simple(&query.root) { "SIMPLE" } else { "PRIMARY" };
            walk.block(&query.root, 1, select_type);
        }
        PlanKind::Insert(insert) => {
            let select_type = if insert.duplicates_replace() { "REPLACE" } else { "INSERT" };
            walk.rows.push(ExplainRow {
                id: Some(1),
                select_type: select_type.to_owned(),
                table: Some(insert.table.name.clone()),
                access_type: Some("ALL"),
                ..ExplainRow::default()
            });
            if let crate::InsertSource::Query(node) = &insert.source {
                walk.block(node, 1, "SIMPLE");
            }
        }
        PlanKind::Update(update) => walk.block(&update.input, 1, "UPDATE"),
        PlanKind::Delete(delete) => walk.block(&delete.input, 1, "DELETE"),
    }
    walk.rows
}

struct Walk {
    rows: Vec<ExplainRow>,
    last_id: u64,
    /// Tables of WITH that are shown already, with their ids.
    common: Vec<(usize, u64)>,
}

/// Work that a node does on the rows of the tables below it, shown at the block's first table.
#[derive(Clone, Copy, Default)]
struct Above {
    filesort: bool,
    temporary: bool,
    filter: bool,
    first_row: bool,
}

/// Where rows of EXPLAIN belong: to a query block, below what is done with its rows.
#[derive(Clone, Copy)]
struct Place<'a> {
    id: u64,
    select_type: &'a str,
    above: Above,
}

impl Place<'_> {
    /// The place below one more step.
    fn below(self, above: Above) -> Self {
        Self { above, ..self }
    }

    fn row(self) -> ExplainRow {
        ExplainRow { id: Some(self.id), select_type: self.select_type.to_owned(), ..ExplainRow::default() }
    }

    /// Whether the rows of a table with the filter pass a condition.
    fn is_filtered(self, filter: &[Expr]) -> bool {
        !filter.is_empty() || self.above.filter
    }
}

impl Walk {
    fn block(&mut self, node: &Node, id: u64, select_type: &str) {
        let first = self.rows.len();
        let place = Place { id, select_type, above: Above::default() };
        self.node(node, place);
        // What the block reads may all stand in subqueries of its own.
        if !self.rows[first..].iter().any(|row| row.id == Some(id)) {
            let extra = if node_is_empty(node) { "Impossible WHERE" } else { "No tables used" };
            self.rows.insert(first, ExplainRow { extra: Some(extra.to_owned()), ..place.row() });
        }
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn node(&mut self, node: &Node, place: Place<'_>) {
        let above = place.above;
        match &node.kind {
            NodeKind::Dual | NodeKind::Nothing | NodeKind::Values { .. } => {}
            NodeKind::Table(access) => self.table(access, node, place),
            NodeKind::Virtual(access) => {
                let words = [(place.is_filtered(&access.filter), "Using where")];
                self.scan(None, place, access.alias.clone(), &words);
            }
            NodeKind::Derived { input, filter, .. } => {
                self.derived(node, (input, "DERIVED"), place.is_filtered(filter), place);
            }
            NodeKind::JsonTable(table) => {
                let made = "Table function: json_table; Using temporary";
                let words = [(true, made), (place.is_filtered(&table.filter), "Using where")];
                self.scan(Some(node), place, table.alias.clone(), &words);
            }
            NodeKind::Lateral(lateral) => {
                let is_filtered = place.is_filtered(&lateral.filter);
                self.derived(node, (&lateral.input, "DEPENDENT DERIVED"), is_filtered, place);
            }
            NodeKind::Common(table) => self.common_table(table, node, place),
            NodeKind::Round(round) => {
                let words = [(true, "Recursive"), (place.is_filtered(&round.filter), "Using where")];
                self.scan(Some(node), place, round.alias.clone(), &words);
            }
            NodeKind::Recursive(recursive) => {
                self.block(&recursive.seed, place.id, place.select_type);
                recursive.branches.iter().for_each(|branch| self.new_block(&branch.query, "UNION"));
            }
            NodeKind::Filter { input, .. } => self.node(input, place.below(Above { filter: true, ..above })),
            NodeKind::Project { input, .. }
            | NodeKind::Limit { input, .. }
            | NodeKind::Measured { input, .. } => self.node(input, place),
            NodeKind::Sort { input, .. } => self.node(input, place.below(Above { filesort: true, ..above })),
            NodeKind::Distinct { input, .. } => {
                self.node(input, place.below(Above { temporary: true, ..above }));
            }
            NodeKind::Aggregate(aggregate) => self.aggregate(aggregate, place),
            NodeKind::Window(window) => {
                self.node(&window.input, place.below(Above { temporary: true, ..above }));
            }
            NodeKind::NestedLoop(join) => {
                self.join((&join.outer, &join.inner), &join.on, place);
            }
            NodeKind::HashJoin(join) => {
                let first = self.join((&join.outer, &join.inner), &join.on, place);
                for row in &mut self.rows[first..] {
                    add_extra(row, "Using join buffer (hash join)");
                }
            }
            NodeKind::UnionAll { inputs } => self.union(inputs, place),
            NodeKind::SetDifference { left, right, intersect, .. } => {
                self.block(left, place.id, place.select_type);
                self.new_block(right, if *intersect { "INTERSECT" } else { "EXCEPT" });
            }
            NodeKind::Apply(apply) => {
                self.node(&apply.input, place);
                let is_dependent = !apply.correlation.is_empty();
                self.new_block(&apply.query, if is_dependent { "DEPENDENT SUBQUERY" } else { "SUBQUERY" });
            }
            NodeKind::Initialise(initialise) => {
                self.node(&initialise.input, place);
                initialise.shown().for_each(|shown| self.new_block(&shown.query, "SUBQUERY"));
            }
        }
    }

    /// A block with the next number.
    fn new_block(&mut self, node: &Node, select_type: &str) {
        let id = self.next_id();
        self.block(node, id, select_type);
    }

    /// A table that a block of its own makes, shown behind the row that reads it.
    fn derived(
        &mut self,
        node: &Node,
        (input, select_type): (&Node, &str),
        is_filtered: bool,
        place: Place<'_>,
    ) {
        let inner = self.next_id();
        self.scan(Some(node), place, format!("<derived{inner}>"), &[(is_filtered, "Using where")]);
        self.block(input, inner, select_type);
    }

    fn aggregate(&mut self, aggregate: &Aggregate, place: Place<'_>) {
        if aggregate.single && reads_ends(&aggregate.input) {
            let extra = Some("Select tables optimized away".to_owned());
            self.rows.push(ExplainRow { extra, ..place.row() });
            return;
        }
        let temporary = place.above.temporary || !(aggregate.ordered || aggregate.single);
        self.node(&aggregate.input, place.below(Above { temporary, ..place.above }));
    }

    /// Both sides of a join; answers where the inner one's rows begin, whose conditions its first table tests.
    fn join(&mut self, (outer, inner): (&Node, &Node), on: &[Expr], place: Place<'_>) -> usize {
        self.node(outer, place);
        let first = self.rows.len();
        self.node(inner, place.below(Above { filter: !on.is_empty(), ..Above::default() }));
        first
    }

    /// A row of what is read whole; estimates are shown of `node`.
    fn scan(&mut self, node: Option<&Node>, place: Place<'_>, table: String, words: &[(bool, &'static str)]) {
        self.rows.push(ExplainRow {
            table: Some(table),
            access_type: Some("ALL"),
            rows: node.map(|node| whole(node.estimate.rows)),
            filtered: node.map(|node| node.estimate.filtered),
            extra: extra(words),
            ..place.row()
        });
    }

    /// The first reference shows how the rows are made, all show where they are kept.
    fn common_table(&mut self, table: &CommonTable, node: &Node, place: Place<'_>) {
        let known = self.common.iter().find(|(number, _)| *number == table.number).map(|(_, id)| *id);
        let inner = known.unwrap_or_else(|| self.next_id());
        let words = [(place.is_filtered(&table.filter), "Using where")];
        self.scan(Some(node), place, format!("<derived{inner}>"), &words);
        if known.is_none() {
            self.common.push((table.number, inner));
            self.block(&table.input, inner, "DERIVED");
        }
    }

    fn union(&mut self, inputs: &[Node], place: Place<'_>) {
        for (position, input) in inputs.iter().enumerate() {
            if position == 0 {
                self.block(input, place.id, place.select_type);
            } else {
                self.new_block(input, "UNION");
            }
        }
    }

    fn table(&mut self, access: &TableAccess, node: &Node, place: Place<'_>) {
        if matches!(access.path, AccessPath::Nothing) {
            let extra = Some("Impossible WHERE".to_owned());
            self.rows.push(ExplainRow { extra, ..place.row() });
            return;
        }
        let names: Vec<&str> =
            access.possible_indexes.iter().map(|&index| access.table.indexes[index].name.as_str()).collect();
        let key = key_text(access);
        let is_range = matches!(&access.path, AccessPath::Ranges { .. }) && access_type(access) == "range";
        let merge = match &access.path {
            AccessPath::Merge(merge) if merge.kind != MergeKind::Elements => {
                format!("Using {}", merge_text(access, merge))
            }
            _ => String::new(),
        };
        let is_merge = !merge.is_empty();
        let is_skip = matches!(access.path, AccessPath::Skip { .. });
        let is_filtered =
            !access.filter.is_empty() || !access.gate.is_empty() || place.above.filter || is_skip;
        let is_walk = matches!(access.path, AccessPath::Groups { .. } | AccessPath::Skip { .. });
        let primary = access
            .path
            .index()
            .is_some_and(|index| access.table.clustered_by == Some(access.table.indexes[index].id));
        self.rows.push(ExplainRow {
            table: Some(access.alias.clone()),
            access_type: Some(access_type(access)),
            possible_keys: (!names.is_empty()).then(|| names.join(",")),
            key_len: key.as_ref().map(|_| key_length_text(access)),
            key,
            reference: reference_text(access),
            rows: Some(whole(node.estimate.rows)),
            filtered: Some(node.estimate.filtered),
            extra: extra(&[
                (is_merge, &merge),
                (
                    is_range && !is_walk && !primary && !access.covering && access.filter.is_empty()
                        || !access.entry_filter.is_empty(),
                    "Using index condition",
                ),
                (is_filtered, "Using where"),
                (access.in_row_order, "Using MRR"),
                (access.backward, "Backward index scan"),
                (matches!(access.path, AccessPath::Groups { .. }), "Using index for group-by"),
                (matches!(access.path, AccessPath::Skip { .. }), "Using index for skip scan"),
                (access.covering && !primary && !is_walk, "Using index"),
                (place.above.temporary, "Using temporary"),
                (place.above.filesort, "Using filesort"),
                (place.above.first_row, "Start temporary"),
            ]),
            ..place.row()
        });
    }
}

/// One row from each of some ends of indexes, found before anything runs.
fn reads_ends(node: &Node) -> bool {
    match &node.kind {
        NodeKind::UnionAll { inputs } => inputs.iter().all(reads_ends),
        NodeKind::Limit { input, .. } => match &input.kind {
            NodeKind::Table(access) => {
                let mut tests = access.filter.iter().chain(&access.entry_filter);
                tests.all(is_set) && access.gate.is_empty()
            }
            _ => false,
        },
        _ => false,
    }
}

fn is_set(condition: &Expr) -> bool {
    matches!(condition.kind, ExprKind::TruthTest(TruthTest::NotNull, _))
}

fn whole(rows: f64) -> u64 {
    rows.round().clamp(1.0, 1e18) as u64
}

fn extra(parts: &[(bool, &str)]) -> Option<String> {
    let shown: Vec<&str> = parts.iter().filter(|(shown, _)| *shown).map(|(_, text)| *text).collect();
    (!shown.is_empty()).then(|| shown.join("; "))
}

fn add_extra(row: &mut ExplainRow, text: &str) {
    row.extra = Some(match row.extra.take() {
        Some(before) => format!("{before}; {text}"),
        None => text.to_owned(),
    });
}

/// One SELECT without subqueries, derived tables and set operations.
fn is_simple(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Dual | NodeKind::Nothing | NodeKind::Values { .. } => true,
        NodeKind::Table(_) | NodeKind::Virtual(_) | NodeKind::JsonTable(_) => true,
        NodeKind::Filter { input, .. }
        | NodeKind::Project { input, .. }
        | NodeKind::Sort { input, .. }
        | NodeKind::Limit { input, .. }
        | NodeKind::Distinct { input, .. }
        | NodeKind::Measured { input, .. } => is_simple(input),
        NodeKind::Aggregate(aggregate) => {
            aggregate.single && reads_ends(&aggregate.input) || is_simple(&aggregate.input)
        }
        NodeKind::Window(window) => is_simple(&window.input),
        NodeKind::Initialise(initialise) if initialise.shown().next().is_none() => {
            is_simple(&initialise.input)
        }
        NodeKind::NestedLoop(join) => is_simple(&join.outer) && is_simple(&join.inner),
        NodeKind::HashJoin(join) => is_simple(&join.outer) && is_simple(&join.inner),
        NodeKind::Derived { .. }
        | NodeKind::Common(_)
        | NodeKind::Lateral(_)
        | NodeKind::Recursive(_)
        | NodeKind::Round(_)
        | NodeKind::UnionAll { .. }
        | NodeKind::SetDifference { .. }
        | NodeKind::Apply(_)
        | NodeKind::Initialise(_) => false,
    }
}

fn node_is_empty(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Nothing => true,
        NodeKind::Filter { input, .. }
        | NodeKind::Project { input, .. }
        | NodeKind::Sort { input, .. }
        | NodeKind::Limit { input, .. }
        | NodeKind::Distinct { input, .. } => node_is_empty(input),
        NodeKind::Aggregate(aggregate) => node_is_empty(&aggregate.input),
        NodeKind::Window(window) => node_is_empty(&window.input),
        _ => false,
    }
}
