//! The access path of one table: every allowed index is priced, the cheapest wins.
//!
//! Prices come from what indexes and statistics tell of the values at hand; a plan that is kept says what it relied on
//! (`dive`). Units: reading one row of a scan in order costs 1.
use crate::joins::join_parts::projection_of;
use crate::paths::array_index::{bound_array, may_repeat_rows};
use crate::paths::choice::{
    Candidate, Choice, ROWS_IN_ORDER_MIN, WantedOrder, leading_single_values, point_key,
};
use crate::paths::range::{IndexRanges, RangeFinder};
use crate::planner::Planner;
use binder::block::{Block, Position, SourceKind};
use binder::hints::IndexHints;
use binder::{Switch, TableStatistics};
use expression::{Expr, ExprKind};
use plan::{AccessPath, RangeCondition, Reads, TableAccess};
use schema::TableDef;

/// Small and unknown tables are planned as if they had this many rows: they may have grown since.
const ROWS_MIN: f64 = 1000.0;
impl Planner<'_> {
    /// Chooses how `source` is read when the sources in `placed` come before it.
    pub fn choose(
        &self,
        block: &Block,
        source: usize,
        conditions: &[Expr],
        placed: u64,
        wanted: Option<&WantedOrder>,
    ) -> Choice {
        let own = 1 << source;
        let usable: Vec<Expr> = conditions
            .iter()
            .filter(|condition| {
                let set = block.sources_of(condition);
                set & !(placed | own) == 0 && set & own != 0
            })
            .cloned()
            .collect();
        let share =
            || usable.iter().map(|condition| crate::paths::selectivity::of(block, condition)).product();
        match &block.sources[source].kind {
            SourceKind::Stored { table, statistics, hints } => {
                let known = statistics.rows.unwrap_or(0) as f64;
                let chooser = Chooser {
                    planner: self,
                    block,
                    source,
                    table,
                    statistics,
                    hints,
                    locks: block.sources[source].lock.is_some(),
                    locks_row: block.sources[source].lock.is_some_and(|lock| lock.exclusive),
                    rows: known.max(ROWS_MIN),
                    scale: if known > 0.0 { known.max(ROWS_MIN) / known } else { 1.0 },
                };
                chooser.best(&usable, placed, wanted)
            }
            SourceKind::Derived(node) => {
                let rows = node.as_ref().map_or(10.0, |node| node.estimate.rows);
                computed(rows, share())
            }
            SourceKind::Common(common) => computed(common.node().estimate.rows, share()),
            SourceKind::Lateral(lateral) => {
                let rows = lateral.as_ref().map_or(10.0, |lateral| lateral.node.estimate.rows);
                let needs = lateral.as_ref().map_or(0, |lateral| lateral.needs);
                Choice { reads_outer: needs != 0, ..computed(rows, share()) }
            }
            SourceKind::JsonTable(table) => {
                Choice { reads_outer: table.needs != 0, ..computed(10.0, share()) }
            }
            SourceKind::Round(_) | SourceKind::Query(_) => computed(10.0, share()),
            SourceKind::Virtual(_) => computed(100.0, share()),
        }
    }

    pub fn table_access(
        &self,
        block: &mut Block,
        source: usize,
        choice: Choice,
        conditions: Vec<Expr>,
    ) -> TableAccess {
        let projection = projection_of(block, source);
        let row_key = Position::RowKey { source };
        let row_key_position = block.frame.iter().position(|position| *position == row_key);
        let description = &block.sources[source];
        let SourceKind::Stored { table, .. } = &description.kind else {
            unreachable!("only stored tables have access paths")
        };
        let (implied, checked): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(|condition| choice.implied.contains(condition));
        let reads_no_row = |condition: &Expr| {
            block.sources_of(condition) & 1 << source == 0
                && !binder::walk::any(condition, &binder::walk::is_volatile)
        };
        let bounds = dividing_bounds(block, source, table, &choice.path, implied.iter().chain(&checked));
        let (gate, filter) = checked.into_iter().partition(reads_no_row);
        let SourceKind::Stored { hints, .. } = &description.kind else {
            unreachable!("only stored tables have access paths")
        };
        let in_row_order = self.takes_rows_in_order(block, &choice, table, description.lock.is_some(), hints);
        let mut access = TableAccess {
            table: table.clone(),
            alias: description.alias.clone(),
            path: choice.path,
            backward: choice.backward,
            projection,
            row_key_position,
            covering: choice.covering,
            gate,
            bounds,
            entry_filter: Vec::new(),
            entry_columns: Vec::new(),
            in_row_order,
            filter,
            implied,
            lock: description.lock,
            possible_indexes: choice.possible,
        };
        if self.context.switches.has(Switch::IndexConditionPushdown) {
            crate::paths::entry_filter::push_down(block, source, hints, &mut access);
        }
        access
    }

    /// Whether rows behind index entries are read in their own order: many, whose order nobody has asked for.
    fn takes_rows_in_order(
        &self,
        block: &Block,
        choice: &Choice,
        table: &TableDef,
        is_locked: bool,
        hints: &IndexHints,
    ) -> bool {
        let Some(position) = choice.path.index() else { return false };
        let is_clustering = table.clustered_by == Some(table.indexes[position].id);
        if is_clustering || choice.covering || choice.ordered || is_locked || block.row_goal.is_some() {
            return false;
        }
        let hinted = hints.in_row_order.iter().find(|(hinted, _)| *hinted == position).map(|(_, on)| *on);
        let is_many = choice.rows_read >= ROWS_IN_ORDER_MIN;
        hinted.unwrap_or(is_many && self.context.switches.has(Switch::MultiRangeRead))
    }
}

fn computed(rows: f64, share: f64) -> Choice {
    Choice {
        path: AccessPath::FullScan,
        backward: false,
        covering: false,
        possible: Vec::new(),
        implied: Vec::new(),
        reads_outer: false,
        cost: rows,
        rows_read: rows,
        rows_out: rows * share,
        ordered: false,
        reads: Reads::default(),
        guessed_equal_parts: None,
    }
}

/// The prices of the ways to read one table.
pub struct Chooser<'a> {
    pub planner: &'a Planner<'a>,
    pub block: &'a Block,
    pub source: usize,
    pub table: &'a TableDef,
    pub statistics: &'a TableStatistics,
    pub hints: &'a IndexHints,
    /// The row itself has to be locked; for a share lock the entry is enough, which holds all that is read.
    pub locks_row: bool,
    /// What is read is locked.
    pub locks: bool,
    /// At least `ROWS_MIN`.
    pub rows: f64,
    /// Times as many as are known.
    pub scale: f64,
}

impl Chooser<'_> {
    fn best(&self, conditions: &[Expr], placed: u64, wanted: Option<&WantedOrder>) -> Choice {
        let finder = RangeFinder { block: self.block, table: self.table, source: self.source, placed };
        let (mut found, mut without_range) = (Vec::new(), Vec::new());
        for (position, index) in self.table.indexes.iter().enumerate() {
            if index.invisible && !self.hints.uses_invisible {
                continue;
            }
            match self.hints.join.allows(position).then(|| self.find(&finder, position, conditions)) {
                Some(ranges) if !ranges.ranges.is_empty() => found.push((position, ranges)),
                _ if self.table.is_multi_valued(index) => {}
                _ => without_range.push(position),
            }
        }
        let mut possible: Vec<usize> = found.iter().map(|(position, _)| *position).collect();
        let is_point = |(position, found): &(usize, IndexRanges)| {
            point_key(&self.table.indexes[*position], &found.ranges).is_some()
        };
        // One row at most is as good as a path gets, whatever there is to know of the others.
        if found.iter().any(is_point) {
            found.retain(is_point);
            without_range.clear();
        }
        let has_point = found.first().is_some_and(is_point);
        let is_alone = self.block.sources.len() == 1 && found.len() == 1;
        let mut candidates: Vec<Candidate> = found
            .into_iter()
            .map(|(position, found)| {
                let decides = !is_alone || wanted.is_some_and(|wanted| self.another_orders(position, wanted));
                self.ranges(position, found, conditions, decides)
            })
            .collect();
        let has_range = !candidates.is_empty();
        let rows_out = self.rows_passing(conditions, &candidates);
        // A whole index may be cheaper than a range of rows, but it would lock what the range does not touch.
        if !(self.locks && has_range) {
            let whole = without_range.iter().filter_map(|position| self.whole_index(*position, wanted));
            candidates.extend(whole);
        }
        if !has_point {
            candidates.extend(self.walks(&finder, &without_range, conditions));
        }
        if !(has_point || self.hints.join.force && has_range) {
            candidates.push(self.full_scan());
        }
        self.price_reads(&mut candidates);
        let mut choices: Vec<Choice> =
            candidates.into_iter().map(|candidate| self.with_order(candidate, rows_out, wanted)).collect();
        // Where nothing is known of the values, more equalities are never worse than fewer.
        let most_equal = choices.iter().filter_map(|choice| choice.guessed_equal_parts).max();
        choices.retain(|choice| {
            choice.ordered || choice.guessed_equal_parts.is_none_or(|parts| Some(parts) == most_equal)
        });
        if let Some(trace) = self.planner.trace {
            trace.consider(self.table, &choices, self.scale);
        }
        let better = |left: &Choice, right: &Choice| left.cost.total_cmp(&right.cost);
        let best = choices.into_iter().min_by(better).expect("the full scan or a range is a candidate");
        match &best.path {
            AccessPath::Merge(merge) => possible.extend(merge.parts.iter().map(|part| part.index)),
            AccessPath::Groups { index, .. } | AccessPath::Skip { index, .. } => possible.push(*index),
            _ => {}
        }
        possible.sort_unstable();
        possible.dedup();
        // One row is one row, however small the table.
        let scale = if matches!(best.path, AccessPath::Point { .. }) { 1.0 } else { self.scale };
        Choice { possible, rows_read: best.rows_read / scale, rows_out: best.rows_out / scale, ..best }
    }

    /// The ways that visit an index at many places: a row of each group, each first part, several indexes at once.
    fn walks(
        &self,
        finder: &RangeFinder<'_>,
        without_range: &[usize],
        conditions: &[Expr],
    ) -> Vec<Candidate> {
        let has_all_rows = |position: &usize| !self.table.is_multi_valued(&self.table.indexes[*position]);
        let indexes = (0..self.table.indexes.len()).filter(has_all_rows);
        let mut walks: Vec<Candidate> =
            indexes.filter_map(|position| self.group_walk(position, finder, conditions)).collect();
        let skip = |position: &usize| self.skip_scan(*position, finder, conditions);
        walks.extend(without_range.iter().filter_map(skip));
        walks.extend(self.index_merge(finder, conditions));
        walks
    }

    /// The ranges of an index that the hints leave.
    fn find(&self, finder: &RangeFinder<'_>, position: usize, conditions: &[Expr]) -> IndexRanges {
        let index = &self.table.indexes[position];
        let found = finder.find(index, conditions);
        // No row that has no entry, and none twice where rows are locked as they come.
        let is_short = !bound_array(self.table, index, &found.ranges);
        if is_short || self.locks && may_repeat_rows(self.table, index, &found.ranges) {
            return IndexRanges::default();
        }
        if !self.hints.no_range.contains(&position) {
            return found;
        }
        // What is left are look-ups of one value.
        let single = leading_single_values(&found.ranges);
        match found.ranges.as_slice() {
            [range] if single == range.parts.len() => found,
            [range] if single > 0 => IndexRanges {
                ranges: vec![RangeCondition { parts: range.parts[..single].to_vec() }],
                reads_outer: found.reads_outer,
                ..IndexRanges::default()
            },
            _ => IndexRanges::default(),
        }
    }
}

/// What is compared with the first column of a key and may divide by zero: MySQL computes the bounds of ranges apart. A key
/// that gives one row of a query is not among them.
fn dividing_bounds<'e>(
    block: &Block,
    source: usize,
    table: &TableDef,
    path: &AccessPath,
    conditions: impl Iterator<Item = &'e Expr>,
) -> Vec<Expr> {
    let is_changed = block.frame.contains(&Position::RowKey { source });
    if matches!(path, AccessPath::Point { .. }) && !is_changed {
        return Vec::new();
    }
    let leads_key = |expr: &Expr| match expr.as_column().map(|place| block.frame[place]) {
        Some(Position::Column { source: of, column }) if of == source => {
            table.indexes.iter().any(|index| index.parts.first().is_some_and(|part| part.column == column))
        }
        _ => false,
    };
    let bound = |condition: &'e Expr| match &condition.kind {
        ExprKind::Compare(_, _, left, right) if leads_key(left) && divides(right) => Some((**right).clone()),
        ExprKind::Compare(_, _, left, right) if leads_key(right) && divides(left) => Some((**left).clone()),
        _ => None,
    };
    conditions.filter_map(bound).collect()
}

/// Whether the expression is a division, or made of one, and of nothing but constants and variables.
fn divides(expr: &Expr) -> bool {
    use expression::ArithmeticOperator::{Divide, IntegerDivide, Modulo};
    let is_division =
        |part: &Expr| matches!(part.kind, ExprKind::Arithmetic(Divide | IntegerDivide | Modulo, ..));
    let is_other = |part: &Expr| {
        !matches!(
            part.kind,
            ExprKind::Arithmetic(..)
                | ExprKind::Negate(_)
                | ExprKind::Cast(_)
                | ExprKind::Literal(_)
                | ExprKind::Parameter(_)
                | ExprKind::UserVariable(_)
        )
    };
    binder::walk::any(expr, &is_division) && !binder::walk::any(expr, &is_other)
}
