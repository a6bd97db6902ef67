//! The optimizer's trace: what the search for a plan weighs, in the outer shape of MySQL's document.
//!
//! The planner tells a trace what it does if its context has one; without one nothing is written or kept. Paths that were
//! weighed for a table are kept from when they are priced (`consider`) until the search uses them (`take_considered`).
use crate::paths::choice::Choice;
use crate::trace_text::TraceText;
use binder::block::{Block, SourceKind};
use expression::Expr;
use plan::{AccessPath, MergeKind};
use schema::TableDef;
use std::cell::RefCell;

/// `optimizer_trace` and its features.
#[derive(Clone, Copy, Debug)]
pub struct TraceSettings {
    pub one_line: bool,
    pub limit_bytes: usize,
    /// Paths and orders of joins.
    pub search: bool,
    /// Ranges of indexes.
    pub ranges: bool,
}

pub struct Trace {
    settings: TraceSettings,
    state: RefCell<State>,
}

struct State {
    text: TraceText,
    considered: Vec<Considered>,
    /// Table and conditions of what was placed.
    attached: Vec<(String, String)>,
}

/// A way to read a table that was priced.
#[derive(Clone, Debug)]
pub struct Considered {
    kind: &'static str,
    index: Option<String>,
    ranges: String,
    rows: f64,
    cost: f64,
    chosen: bool,
}

/// What was open before a block or a list of tables.
pub struct Mark {
    depth: usize,
    attached: usize,
}

impl Trace {
    pub fn new(settings: TraceSettings) -> Trace {
        let mut text = TraceText::new(settings.limit_bytes, settings.one_line);
        text.open_object(None);
        text.open_list("steps");
        Trace { settings, state: RefCell::new(State { text, considered: Vec::new(), attached: Vec::new() }) }
    }

    /// What is to be planned.
    pub fn prepared(&self, step: &str, key: Option<&str>, statement: &str) {
        let text = &mut self.state.borrow_mut().text;
        text.open_object(None);
        text.open_object(Some(step));
        text.number("select#", 1.0);
        text.open_list("steps");
        match key {
            Some(key) => {
                text.open_object(None);
                text.text(Some(key), statement);
                text.close();
            }
            None => text.text(None, statement),
        }
        text.close_to(2);
    }

    /// The document, once the plan is made, and how many bytes it lacks. `last` is what follows: `join_execution`.
    pub fn finish(self, last: Option<&str>) -> (String, usize) {
        let mut text = self.state.into_inner().text;
        text.close_to(2);
        if let Some(last) = last {
            text.open_object(None);
            text.open_object(Some(last));
            text.number("select#", 1.0);
            text.open_list("steps");
        }
        text.finish()
    }

    pub(crate) fn begin_block(&self, block: &Block) -> Mark {
        let state = &mut *self.state.borrow_mut();
        let mark = Mark { depth: state.text.depth(), attached: state.attached.len() };
        state.text.open_object(None);
        state.text.open_object(Some("join_optimization"));
        state.text.number("select#", f64::from(block.hints.number.max(1)));
        state.text.open_list("steps");
        mark
    }

    pub(crate) fn end(&self, mark: &Mark) {
        let state = &mut *self.state.borrow_mut();
        state.text.close_to(mark.depth);
        state.attached.truncate(mark.attached);
    }

    /// The conditions of a list of tables as they were written, and with what follows from them.
    pub(crate) fn conditions(&self, original: &[Expr], resulting: &[Expr]) {
        if original.is_empty() && resulting.is_empty() {
            return;
        }
        let text = &mut self.state.borrow_mut().text;
        let depth = text.depth();
        text.open_object(None);
        text.open_object(Some("condition_processing"));
        text.text(Some("condition"), "WHERE");
        text.text(Some("original_condition"), &joined(original));
        text.open_list("steps");
        text.open_object(None);
        text.text(Some("transformation"), "equality_propagation");
        text.text(Some("resulting_condition"), &joined(resulting));
        text.close_to(depth);
    }

    pub(crate) fn begin_estimates(&self) {
        let state = &mut *self.state.borrow_mut();
        state.considered.clear();
        state.text.open_object(None);
        state.text.open_list("rows_estimation");
    }

    /// What each index gives by itself, before any other table is read.
    pub(crate) fn estimate(&self, block: &Block, source: usize, choice: &Choice) {
        let considered = self.take_considered();
        let text = &mut self.state.borrow_mut().text;
        let depth = text.depth();
        text.open_object(None);
        text.text(Some("table"), &table_name(block, source));
        let SourceKind::Stored { table, .. } = &block.sources[source].kind else {
            text.number("rows", choice.rows_read);
            text.number("cost", choice.cost);
            return text.close_to(depth);
        };
        if !self.settings.ranges {
            text.text(Some("range_analysis"), "...");
            return text.close_to(depth);
        }
        text.open_object(Some("range_analysis"));
        if let Some(scan) = considered.iter().find(|way| way.kind == "scan") {
            text.open_object(Some("table_scan"));
            text.number("rows", scan.rows);
            text.number("cost", scan.cost);
            text.close();
        }
        write_indexes(text, table, &considered);
        write_alternatives(text, &considered);
        text.close_to(depth);
    }

    pub(crate) fn begin_plans(&self) {
        let state = &mut *self.state.borrow_mut();
        state.considered.clear();
        state.text.open_object(None);
        match self.settings.search {
            true => state.text.open_list("considered_execution_plans"),
            false => state.text.text(Some("considered_execution_plans"), "..."),
        }
    }

    /// One more table behind others: the rows and the price so far, and whether nothing cheaper reaches the same tables.
    pub(crate) fn plan(
        &self,
        block: &Block,
        placed: u64,
        source: usize,
        considered: &[Considered],
        (rows, cost, chosen): (f64, f64, bool),
    ) {
        if !self.settings.search {
            return;
        }
        let text = &mut self.state.borrow_mut().text;
        let depth = text.depth();
        text.open_object(None);
        text.open_list("plan_prefix");
        for before in (0..block.sources.len()).filter(|before| placed >> before & 1 == 1) {
            text.text(None, &table_name(block, before));
        }
        text.close();
        text.text(Some("table"), &table_name(block, source));
        text.open_object(Some("best_access_path"));
        text.open_list("considered_access_paths");
        considered.iter().for_each(|way| write_way(text, way));
        text.close();
        text.close();
        text.number("rows_for_plan", rows);
        text.number("cost_for_plan", cost);
        match chosen {
            true => text.truth("chosen", true),
            false => text.truth("pruned_by_cost", true),
        }
        text.close_to(depth);
    }

    /// Ends the list of plans that `begin_plans` began.
    pub(crate) fn end_plans(&self) {
        let text = &mut self.state.borrow_mut().text;
        if self.settings.search {
            text.close();
        }
        text.close();
    }

    pub(crate) fn attach(&self, block: &Block, source: usize, conditions: &[Expr]) {
        let attached = (table_name(block, source), joined(conditions));
        self.state.borrow_mut().attached.push(attached);
    }

    /// The conditions that each table of a list has got.
    pub(crate) fn attached(&self, mark: &Mark) {
        let state = &mut *self.state.borrow_mut();
        let attached = state.attached.split_off(mark.attached);
        let text = &mut state.text;
        let depth = text.depth();
        text.open_object(None);
        text.open_object(Some("attaching_conditions_to_tables"));
        text.open_list("attached_conditions_summary");
        for (table, condition) in attached {
            text.open_object(None);
            text.text(Some("table"), &table);
            text.text(Some("attached"), &condition);
            text.close();
        }
        text.close_to(depth);
    }

    /// A list of tables begins; nothing is opened.
    pub(crate) fn mark(&self) -> Mark {
        let state = self.state.borrow();
        Mark { depth: state.text.depth(), attached: state.attached.len() }
    }

    /// The ways to read a stored table that were priced; `scale` as `Chooser` has it.
    pub(crate) fn consider(&self, table: &TableDef, choices: &[Choice], scale: f64) {
        let cheapest = choices.iter().map(|choice| choice.cost).fold(f64::INFINITY, f64::min);
        let mut found: Vec<Considered> = choices.iter().map(|choice| way_of(table, choice, scale)).collect();
        if let Some(best) = found.iter_mut().find(|way| way.cost == cheapest) {
            best.chosen = true;
        }
        self.state.borrow_mut().considered = found;
    }

    pub(crate) fn take_considered(&self) -> Vec<Considered> {
        std::mem::take(&mut self.state.borrow_mut().considered)
    }
}

fn table_name(block: &Block, source: usize) -> String {
    format!("`{}`", block.sources[source].alias)
}

fn joined(conditions: &[Expr]) -> String {
    match conditions {
        [one] => one.to_string(),
        several => {
            let texts: Vec<String> = several.iter().map(Expr::to_string).collect();
            if texts.is_empty() { String::new() } else { format!("({})", texts.join(" and ")) }
        }
    }
}

fn way_of(table: &TableDef, choice: &Choice, scale: f64) -> Considered {
    let name = |index: usize| table.indexes[index].name.clone();
    let ranges_of = |index: usize, ranges| plan::ranges_text(table, &table.indexes[index], ranges);
    let (kind, index, ranges) = match &choice.path {
        AccessPath::Point { index, key } => {
            let values: Vec<Option<&Expr>> = key.iter().map(Some).collect();
            let text = plan::lookup_text(table, &table.indexes[*index], &values);
            (if choice.reads_outer { "eq_ref" } else { "const" }, Some(name(*index)), text)
        }
        AccessPath::Ranges { index, ranges } => {
            let is_ref = ranges.len() == 1
                && crate::paths::choice::leading_single_values(ranges) == ranges[0].parts.len();
            (if is_ref { "ref" } else { "range" }, Some(name(*index)), ranges_of(*index, ranges))
        }
        AccessPath::IndexScan { index } => ("index_scan", Some(name(*index)), String::new()),
        AccessPath::Groups { index, walk } => {
            ("group_index_skip_scan", Some(name(*index)), ranges_of(*index, &walk.ranges))
        }
        AccessPath::Skip { index, range, .. } => {
            ("index_skip_scan", Some(name(*index)), ranges_of(*index, std::slice::from_ref(range)))
        }
        AccessPath::Merge(merge) => {
            let kind = if merge.kind == MergeKind::Elements { "range" } else { "index_merge" };
            let names: Vec<String> = merge.parts.iter().map(|part| name(part.index)).collect();
            let texts = merge.parts.iter().map(|part| ranges_of(part.index, &part.ranges));
            (kind, Some(names.join(",")), texts.collect::<Vec<_>>().join(", "))
        }
        AccessPath::FullScan | AccessPath::Keys { .. } | AccessPath::Nothing => ("scan", None, String::new()),
    };
    let scale = if kind == "const" || kind == "eq_ref" { 1.0 } else { scale };
    Considered { kind, index, ranges, rows: choice.rows_read / scale, cost: choice.cost, chosen: false }
}

fn write_indexes(text: &mut TraceText, table: &TableDef, considered: &[Considered]) {
    text.open_list("potential_range_indexes");
    for index in &table.indexes {
        let is_used = considered.iter().any(|way| {
            !way.ranges.is_empty() && way.index.as_deref().is_some_and(|names| has_name(names, &index.name))
        });
        text.open_object(None);
        text.text(Some("index"), &index.name);
        text.truth("usable", is_used);
        if is_used {
            text.open_list("key_parts");
            index.parts.iter().for_each(|part| text.text(None, &table.columns[part.column].name));
            text.close();
        } else {
            text.text(Some("cause"), "not_applicable");
        }
        text.close();
    }
    text.close();
}

fn has_name(names: &str, name: &str) -> bool {
    names == name || names.split(',').any(|one| one == name)
}

fn write_alternatives(text: &mut TraceText, considered: &[Considered]) {
    let ranges: Vec<&Considered> = considered.iter().filter(|way| !way.ranges.is_empty()).collect();
    if ranges.is_empty() {
        return;
    }
    text.open_object(Some("analyzing_range_alternatives"));
    text.open_list("range_scan_alternatives");
    ranges.iter().for_each(|way| write_way(text, way));
    text.close();
    text.close();
    let Some(best) = ranges.iter().find(|way| way.chosen) else { return };
    text.open_object(Some("chosen_range_access_summary"));
    text.open_object(Some("range_access_plan"));
    text.text(Some("type"), best.kind);
    text.text(Some("index"), best.index.as_deref().unwrap_or_default());
    text.close();
    text.number("rows_for_plan", best.rows);
    text.number("cost_for_plan", best.cost);
    text.truth("chosen", true);
    text.close();
}

fn write_way(text: &mut TraceText, way: &Considered) {
    text.open_object(None);
    text.text(Some("access_type"), way.kind);
    if let Some(index) = &way.index {
        text.text(Some("index"), index);
    }
    if !way.ranges.is_empty() {
        text.open_list("ranges");
        text.text(None, &way.ranges);
        text.close();
    }
    text.number("rows", way.rows);
    text.number("cost", way.cost);
    text.truth("chosen", way.chosen);
    if !way.chosen {
        text.text(Some("cause"), "cost");
    }
    text.close();
}
