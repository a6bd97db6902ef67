//! The access path of one table: every allowed index is priced, the cheapest wins.
//!
//! Prices come from what indexes and statistics tell of the values at hand; a plan that is kept says what it relied on
//! (`dive`). Units: reading one row of a scan in order costs 1.
use crate::array_index::{bound_array, may_repeat_rows};
use crate::block::{Block, Position, SourceKind};
use crate::catalog_view::TableStatistics;
use crate::hints::{IndexHints, ScopedIndexes};
use crate::join_order::WantedOrder;
use crate::join_parts::projection_of;
use crate::planner::Planner;
use crate::range::{IndexRanges, RangeFinder};
use crate::switches::Switch;
use expression::{Expr, ExprKind};
use plan::{AccessPath, IndexMerge, KeyCondition, MergeKind, MergePart, RangeCondition, TableAccess};
use schema::{IndexDef, IndexKind, TableDef};

/// Finding the start of a range: a walk down the tree.
pub const COST_RANGE: f64 = 3.0;
/// Fetching the row behind a secondary index entry.
pub const COST_LOOKUP: f64 = 3.0;
/// An entry of an index that has all that is needed, compared with a whole row: at least this, and more for wide keys.
const COST_COVERED: f64 = 0.4;
const COST_COVERED_BYTE: f64 = 0.01;
const COST_COVERED_MAX: f64 = 0.9;
/// For each row and doubling of the number of rows.
const COST_SORT: f64 = 0.3;
/// For each row that goes through a hash table of groups.
const COST_GROUP: f64 = 0.4;
/// What a hint asks not to be done, unless there is nothing else.
const COST_REFUSED: f64 = 1e12;
/// Small and unknown tables are planned as if they had this many rows: they may have grown since.
const ROWS_MIN: f64 = 1000.0;
/// Fewer rows are read as their entries come.
const ROWS_IN_ORDER_MIN: f64 = 2000.0;
/// As much of a column is as good as all of it.
const WHOLE_SHARE: f64 = 0.9;
/// A kept plan of a table with so few rows serves all values (`EstimateCheck`), so it is made without asking for them.
const DIVE_ROWS_MIN: f64 = 100.0;

#[derive(Clone, Debug)]
pub struct Choice {
    pub path: AccessPath,
    pub backward: bool,
    pub covering: bool,
    pub possible: Vec<usize>,
    /// Conditions that hold for all rows of the path, given exact bounds.
    pub implied: Vec<Expr>,
    pub reads_outer: bool,
    pub cost: f64,
    pub rows_read: f64,
    pub rows_out: f64,
    pub ordered: bool,
    /// One value for each of so many first parts, of which no statistics tell how many rows share them.
    pub guessed_equal_parts: Option<usize>,
}

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
        let share = || usable.iter().map(|condition| crate::selectivity::of(block, condition)).product();
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
                && !crate::walk::any(condition, &crate::walk::is_volatile)
        };
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
            entry_filter: Vec::new(),
            entry_columns: Vec::new(),
            in_row_order,
            filter,
            implied,
            lock: description.lock,
            possible_indexes: choice.possible,
        };
        if self.context.switches.has(Switch::IndexConditionPushdown) {
            crate::entry_filter::push_down(block, source, hints, &mut access);
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

/// A path before it is known how many rows pass the conditions.
pub struct Candidate {
    pub choice: Choice,
    /// The index whose order the rows come in.
    pub index: Option<usize>,
    pub per_row: f64,
    /// Conditions (by number) that bound it.
    pub used: Vec<usize>,
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
        let possible: Vec<usize> = found.iter().map(|(position, _)| *position).collect();
        let is_point = |(position, found): &(usize, IndexRanges)| {
            point_key(&self.table.indexes[*position], &found.ranges).is_some()
        };
        // One row at most is as good as a path gets, whatever there is to know of the others.
        if found.iter().any(is_point) {
            found.retain(is_point);
            without_range.clear();
        }
        let has_point = found.first().is_some_and(is_point);
        let decides = self.block.sources.len() > 1 || wanted.is_some() || found.len() > 1;
        let mut candidates: Vec<Candidate> = found
            .into_iter()
            .map(|(position, found)| self.ranges(position, found, conditions, decides))
            .collect();
        let has_range = !candidates.is_empty();
        let rows_out = self.rows_passing(conditions, &candidates);
        // A whole index may be cheaper than a range of rows, but it would lock what the range does not touch.
        if !(self.locks && has_range) {
            let whole = without_range.iter().filter_map(|position| self.whole_index(*position, wanted));
            candidates.extend(whole);
        }
        if !has_point {
            let has_all_rows = |position: &usize| !self.table.is_multi_valued(&self.table.indexes[*position]);
            let indexes = (0..self.table.indexes.len()).filter(has_all_rows);
            candidates.extend(indexes.filter_map(|position| self.group_walk(position, &finder, conditions)));
            let skip = |position: &usize| self.skip_scan(*position, &finder, conditions);
            candidates.extend(without_range.iter().filter_map(skip));
            candidates.extend(self.index_merge(&finder, conditions));
        }
        if !(has_point || self.hints.join.force && has_range) {
            candidates.push(self.full_scan());
        }
        let mut choices: Vec<Choice> =
            candidates.into_iter().map(|candidate| self.with_order(candidate, rows_out, wanted)).collect();
        // Where nothing is known of the values, more equalities are never worse than fewer.
        let most_equal = choices.iter().filter_map(|choice| choice.guessed_equal_parts).max();
        choices.retain(|choice| {
            choice.ordered || choice.guessed_equal_parts.is_none_or(|parts| Some(parts) == most_equal)
        });
        if let Some(trace) = self.planner.context.trace {
            trace.consider(self.table, &choices, self.scale);
        }
        let better = |left: &Choice, right: &Choice| left.cost.total_cmp(&right.cost);
        let best = choices.into_iter().min_by(better).expect("the full scan or a range is a candidate");
        let mut possible = possible;
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

    /// How many rows all conditions leave. Who has asked an index about one knows better than a guess, and what several
    /// conditions leave together is what an index knows of as many of them as any.
    fn rows_passing(&self, conditions: &[Expr], candidates: &[Candidate]) -> f64 {
        let mut shares: Vec<f64> =
            conditions.iter().map(|condition| crate::selectivity::of(self.block, condition)).collect();
        for (share, condition) in shares.iter_mut().zip(conditions) {
            *share = self.share_by_histogram(condition).unwrap_or(*share);
        }
        for candidate in candidates {
            if let [number] = candidate.used.as_slice() {
                shares[*number] = (candidate.choice.rows_read / self.rows).min(1.0);
            }
        }
        let passing = |candidate: &Candidate| {
            let others = shares.iter().enumerate().filter(|(number, _)| !candidate.used.contains(number));
            candidate.choice.rows_read * others.map(|(_, share)| share).product::<f64>()
        };
        // Values of several columns seldom have nothing to do with each other: an index over them knows.
        let told = candidates.iter().map(|candidate| candidate.used.len()).max().filter(|told| *told > 1);
        match told {
            Some(told) => {
                let best = candidates.iter().filter(|candidate| candidate.used.len() == told).map(passing);
                best.fold(f64::INFINITY, f64::min)
            }
            None => self.rows * shares.iter().product::<f64>(),
        }
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

    /// What a histogram tells of a condition on its column alone.
    fn share_by_histogram(&self, condition: &Expr) -> Option<f64> {
        let column = self.lone_column(condition)?;
        let finder = RangeFinder { block: self.block, table: self.table, source: self.source, placed: 0 };
        self.statistics.histograms.binary_search(&column).ok()?;
        let index = IndexDef {
            id: schema::IndexId(0),
            name: String::new(),
            kind: IndexKind::Plain,
            parts: vec![schema::IndexPart::column(column)],
            tree: 0,
            invisible: false,
            generated: false,
            comment: String::new(),
        };
        let found = finder.find(&index, std::slice::from_ref(condition));
        let share = self.planner.share_in_histogram(self.table, column, &found.ranges)?;
        // A pattern that begins with anything has all values for its range, which tells nothing.
        let is_pattern = matches!(condition.kind, ExprKind::Like { .. });
        (share < WHOLE_SHARE || !is_pattern).then_some(share)
    }

    /// The column, if the condition reads only this one.
    fn lone_column(&self, condition: &Expr) -> Option<usize> {
        let mut read = Vec::new();
        crate::walk::positions(condition, &mut read);
        let own = |position: &usize| match self.block.frame[*position] {
            Position::Column { source, column } if source == self.source => Some(column),
            _ => None,
        };
        let column = own(read.first()?)?;
        read.iter().all(|position| own(position) == Some(column)).then_some(column)
    }

    /// The indexes that may give rows in this order.
    fn scope_of(&self, wanted: &WantedOrder) -> &ScopedIndexes {
        if wanted.for_groups { &self.hints.group } else { &self.hints.order }
    }

    fn ranges(&self, position: usize, found: IndexRanges, conditions: &[Expr], decides: bool) -> Candidate {
        let index = &self.table.indexes[position];
        let clustered = self.table.clustered_by == Some(index.id);
        let covering = !clustered && self.covers(index);
        let point = point_key(index, &found.ranges);
        // A range of rows is never worse than all of them; one of an index may be.
        let decides = decides || !(clustered || covering);
        let counted = match point {
            Some(_) => None,
            None if self.rows / self.scale <= DIVE_ROWS_MIN => None,
            None => self.planner.dive(self.table, position, &found.ranges, decides),
        };
        let judged = || found.ranges.iter().map(|range| self.range_rows(position, index, range)).sum::<f64>();
        let rows_read = counted.map_or_else(judged, |rows| rows * self.scale).min(self.rows).max(0.1);
        let starts: f64 = found.ranges.iter().map(starts).sum();
        let per_row = match clustered || covering {
            true => self.row_cost(index, clustered, covering),
            // Rows whose entries fail are not fetched.
            false => {
                let told = crate::entry_filter::share_told(
                    self.block,
                    self.source,
                    index,
                    self.table,
                    |number| {
                        let is_left = !found.used.contains(&number);
                        is_left && !self.hints.no_condition.contains(&position)
                    },
                    conditions,
                );
                self.row_cost(index, clustered, covering) - COST_LOOKUP * (1.0 - told)
            }
        };
        let equal = leading_single_values(&found.ranges);
        let is_guess = counted.is_none()
            && self.distinct(position, equal).is_none()
            && equal > 0
            && found.ranges[0].parts.len() == equal;
        let path = match point {
            Some(key) => AccessPath::Point { index: position, key },
            None if may_repeat_rows(self.table, index, &found.ranges) => {
                let part = MergePart { index: position, ranges: found.ranges };
                AccessPath::Merge(Box::new(IndexMerge { kind: MergeKind::Elements, parts: vec![part] }))
            }
            None => AccessPath::Ranges { index: position, ranges: found.ranges },
        };
        let choice = Choice {
            path,
            backward: false,
            covering,
            possible: Vec::new(),
            implied: found.implied.iter().map(|&number| conditions[number].clone()).collect(),
            reads_outer: found.reads_outer,
            cost: starts * COST_RANGE + rows_read * per_row,
            rows_read,
            rows_out: rows_read,
            ordered: false,
            guessed_equal_parts: is_guess.then_some(equal),
        };
        // Rows that are put together come in their own order.
        let index = Some(position).filter(|_| !matches!(choice.path, AccessPath::Merge(_)));
        Candidate { choice, index, per_row, used: found.used }
    }

    /// The index from end to end: for its order, or because it is smaller than the rows.
    fn whole_index(&self, position: usize, wanted: Option<&WantedOrder>) -> Option<Candidate> {
        let index = &self.table.indexes[position];
        let clustered = self.table.clustered_by == Some(index.id);
        let covering = !clustered && self.covers(index);
        let orders = wanted.is_some_and(|wanted| {
            self.scope_of(wanted).allows(position) && self.order_of(Some(index), &[], wanted).is_some()
        });
        let covers = covering && self.hints.join.allows(position);
        if clustered || !(covers || orders) {
            return None;
        }
        let per_row = self.row_cost(index, clustered, covering);
        let choice = Choice {
            path: AccessPath::IndexScan { index: position },
            cost: COST_RANGE + self.rows * per_row,
            covering,
            ..self.scan_choice()
        };
        Some(Candidate { choice, index: Some(position), per_row, used: Vec::new() })
    }

    fn full_scan(&self) -> Candidate {
        let clustering = self.table.clustered_by;
        let index = self.table.indexes.iter().position(|index| clustering == Some(index.id));
        Candidate { choice: self.scan_choice(), index, per_row: 1.0, used: Vec::new() }
    }

    pub fn scan_choice(&self) -> Choice {
        Choice {
            path: AccessPath::FullScan,
            backward: false,
            covering: false,
            possible: Vec::new(),
            implied: Vec::new(),
            reads_outer: false,
            cost: COST_RANGE + self.rows,
            rows_read: self.rows,
            rows_out: self.rows,
            ordered: false,
            guessed_equal_parts: None,
        }
    }

    /// Adds the price of sorting, or takes the rows off that a LIMIT spares when the index gives the order.
    fn with_order(&self, candidate: Candidate, rows_out: f64, wanted: Option<&WantedOrder>) -> Choice {
        let Candidate { mut choice, index, per_row, .. } = candidate;
        choice.rows_out = rows_out.min(choice.rows_read);
        let Some(wanted) = wanted else { return choice };
        let scope = self.scope_of(wanted);
        let index = index.filter(|position| scope.allows(*position));
        let index = index.map(|position| &self.table.indexes[position]);
        let single = single_values(&choice.path);
        match self.order_of(index, &single, wanted) {
            Some(backward) => {
                choice.ordered = true;
                choice.backward = backward;
                if let Some(limit) = wanted.limit {
                    let passing = (choice.rows_out / choice.rows_read.max(1e-9)).clamp(1e-6, 1.0);
                    let needed = (limit / passing).min(choice.rows_read);
                    choice.cost -= (choice.rows_read - needed) * per_row;
                }
            }
            None => {
                let rows = choice.rows_out.max(1.0);
                choice.cost += match wanted.for_groups {
                    true => rows * COST_GROUP,
                    false => rows * rows.max(2.0).log2() * COST_SORT,
                };
                if scope.force {
                    choice.cost += COST_REFUSED;
                }
            }
        }
        choice
    }

    /// Whether the index delivers the wanted order, and if so whether it is read backward. `single` are parts that
    /// have one value in all rows read.
    fn order_of(&self, index: Option<&IndexDef>, single: &[bool], wanted: &WantedOrder) -> Option<bool> {
        let index = index?;
        let mut parts: Vec<(usize, bool, bool)> = Vec::new();
        for (number, part) in index.parts.iter().enumerate() {
            let fixed = single.get(number).copied().unwrap_or(false);
            if part.prefix_length.is_some() && !fixed {
                // Behind a truncated part nothing is ordered.
                parts.push((usize::MAX, false, false));
                break;
            }
            parts.push((part.column, part.descending, fixed));
        }
        let is_clustering = self.table.clustered_by == Some(index.id);
        if let (false, Some(clustering)) = (is_clustering, self.table.clustering_index())
            && parts.last().is_none_or(|(column, ..)| *column != usize::MAX)
        {
            parts.extend(clustering.parts.iter().map(|part| (part.column, part.descending, false)));
        }
        let mut direction = None;
        let mut next = 0;
        for &(column, descending) in &wanted.columns {
            if parts.iter().any(|&(known, _, fixed)| known == column && fixed) {
                continue;
            }
            while parts.get(next).is_some_and(|&(known, _, fixed)| fixed && known != column) {
                next += 1;
            }
            match parts.get(next) {
                Some(&(known, part_descending, _)) if known == column => {
                    let backward = descending != part_descending;
                    if *direction.get_or_insert(backward) != backward {
                        return None;
                    }
                    next += 1;
                }
                // All parts of a unique row key are used up: at most one row is left to order. A hidden one is not among them.
                None if self.table.clustering_index().is_some() => break,
                _ => return None,
            }
        }
        Some(direction.unwrap_or(false))
    }

    /// Every column the block reads of this table can be had from the index entry.
    pub fn covers(&self, index: &IndexDef) -> bool {
        if self.locks_row {
            return false;
        }
        let available = crate::entry_filter::columns_of_entry(self.table, index);
        projection_of(self.block, self.source).iter().all(|(column, _)| available.contains(column))
    }

    pub fn row_cost(&self, index: &IndexDef, clustered: bool, covering: bool) -> f64 {
        if clustered {
            return 1.0;
        }
        let width: u32 = index
            .parts
            .iter()
            .map(|part| plan::key_length(self.table.columns[part.column].key_type(), part.prefix_length))
            .sum();
        let entry = (COST_COVERED + f64::from(width) * COST_COVERED_BYTE).min(COST_COVERED_MAX);
        if covering { entry } else { entry + COST_LOOKUP }
    }

    pub fn range_rows(&self, position: usize, index: &IndexDef, range: &RangeCondition) -> f64 {
        let mut rows = self.rows;
        let mut values = 1.0;
        let mut equal_parts = 0;
        for part in &range.parts {
            match part {
                KeyCondition::OneOf(list) => {
                    values *= list.len() as f64;
                    equal_parts += 1;
                }
                KeyCondition::SameAs(_) | KeyCondition::IsNull => equal_parts += 1,
                KeyCondition::Between(interval) => {
                    rows = self.equal_rows(position, index, equal_parts);
                    let both = interval.lower.is_some() && interval.upper.is_some();
                    let either = interval.lower.is_some() || interval.upper.is_some();
                    let share = if both {
                        0.02
                    } else if either {
                        0.3
                    } else {
                        0.9
                    };
                    return (rows * share * values).max(1.0);
                }
                KeyCondition::NoneOf(_) => {
                    return (self.equal_rows(position, index, equal_parts) * 0.9 * values).max(1.0);
                }
                KeyCondition::Like { .. } => {
                    rows = self.equal_rows(position, index, equal_parts);
                    return (rows * 0.05 * values).max(1.0);
                }
            }
        }
        if equal_parts > 0 {
            rows = self.equal_rows(position, index, equal_parts);
        }
        rows * values
    }

    /// Rows that share the values of the first `parts` parts.
    fn equal_rows(&self, position: usize, index: &IndexDef, parts: usize) -> f64 {
        if parts == 0 {
            return self.rows;
        }
        if index.kind != IndexKind::Plain && parts == index.parts.len() {
            return 1.0;
        }
        match self.distinct(position, parts) {
            Some(distinct) => (self.rows / distinct as f64).max(1.0),
            None => (self.rows / 200f64.powi(parts as i32)).max(1.5),
        }
    }

    /// How many different values the first `parts` parts have, if that is known.
    pub fn distinct(&self, position: usize, parts: usize) -> Option<u64> {
        let known = self.statistics.indexes.get(position)?.distinct_prefixes.get(parts.checked_sub(1)?);
        known.copied().filter(|distinct| *distinct > 0)
    }
}

/// The number of separate ranges a condition stands for.
pub fn starts(range: &RangeCondition) -> f64 {
    range
        .parts
        .iter()
        .map(|part| match part {
            KeyCondition::OneOf(values) => values.len() as f64,
            _ => 1.0,
        })
        .product()
}

/// Which leading parts have one value in all rows of the path.
fn single_values(path: &AccessPath) -> Vec<bool> {
    match path {
        AccessPath::Point { key, .. } => vec![true; key.len()],
        AccessPath::Ranges { ranges, .. } => match ranges.as_slice() {
            [range] => range.parts.iter().map(is_single_value).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn is_single_value(part: &KeyCondition) -> bool {
    match part {
        KeyCondition::OneOf(values) => values.len() == 1,
        KeyCondition::SameAs(_) | KeyCondition::IsNull => true,
        KeyCondition::Between(_) | KeyCondition::NoneOf(_) | KeyCondition::Like { .. } => false,
    }
}

/// How many leading parts have one value in all rows of the ranges.
pub fn leading_single_values(ranges: &[RangeCondition]) -> usize {
    let [range] = ranges else { return 0 };
    range.parts.iter().take_while(|part| is_single_value(part)).count()
}

/// One value by `=` for each part of a unique index without truncated parts.
fn point_key(index: &IndexDef, ranges: &[RangeCondition]) -> Option<Vec<Expr>> {
    let [range] = ranges else { return None };
    if index.kind == IndexKind::Plain || index.has_prefix_parts() || range.parts.len() != index.parts.len() {
        return None;
    }
    let value = |part: &KeyCondition| match part {
        KeyCondition::OneOf(values) if values.len() == 1 => Some(values[0].clone()),
        _ => None,
    };
    let key: Vec<Expr> = range.parts.iter().map(value).collect::<Option<_>>()?;
    let volatile = key.iter().any(|expr| matches!(expr.kind, ExprKind::UserVariable(_)));
    (!volatile).then_some(key)
}
