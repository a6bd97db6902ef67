//! `optimizer_trace`: the statement is planned once more with a listener, and what that is told is kept for the session.
//!
//! Invariant: the traces of a session take at most `optimizer_trace_max_mem_size` bytes. Nothing is done or held while the
//! trace is off. Called before a query or a change is planned, by EXPLAIN and before a prepared plan runs.
use std::cell::RefCell;
use std::sync::Arc;

use binder::Literals;
use bumpalo::Bump;
use catalog::{OptimizerTrace, SharedTraces};
use datum::{SqlError, Value};
use parser::ast::StatementKind;
use parser::parse;
use plan::{InsertSource, Plan, PlanKind};
use planner::{Trace, TraceSettings};

use crate::session::Session;
use crate::statement::Request;

#[derive(Default)]
pub(crate) struct Traces {
    pub shared: SharedTraces,
    /// Statements since the kept ones were last forgotten.
    statements: u64,
}

impl Traces {
    /// Another offset or limit begins anew.
    pub fn forget(&mut self) {
        self.shared.lock().kept.clear();
        self.statements = 0;
    }
}

/// Why a statement is planned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    Run,
    Explain,
    /// Its names were resolved by PREPARE.
    Execute,
}

/// Which statements are kept and how many of them are shown.
#[derive(Clone, Copy)]
struct Window {
    offset: i64,
    limit: usize,
}

impl Window {
    /// How many of the last traces have to be kept.
    fn kept_max(self) -> usize {
        match self.offset {
            0.. => self.limit,
            below => usize::try_from(below.unsigned_abs()).unwrap_or(usize::MAX),
        }
    }

    /// Whether the statement of this number is kept: no later one can push out the first of those counted from 0.
    fn admits(self, number: u64) -> bool {
        let Ok(first) = u64::try_from(self.offset) else { return true };
        number >= first && number - first < self.limit as u64
    }
}

impl Session {
    /// Keeps what the planner weighs for a statement. What is wrong with it, its own run will tell.
    pub async fn trace_plan(
        &mut self,
        request: Request<'_>,
        database: Option<&str>,
        text: &str,
        occasion: Occasion,
    ) {
        let size = |name| usize::try_from(self.variables.by_name(name).as_unsigned()).unwrap_or(usize::MAX);
        let window = Window {
            offset: self.variables.by_name("optimizer_trace_offset").as_signed(),
            limit: size("optimizer_trace_limit"),
        };
        let bytes_max = size("optimizer_trace_max_mem_size");
        if !window.admits(self.traces.statements) {
            self.traces.statements += 1;
            return;
        }
        // Looking at the traces pushes none out, so that waits until it is known what the statement reads.
        let held: usize = {
            let traces = self.traces.shared.lock();
            let left_out = (traces.kept.len() + 1).saturating_sub(window.kept_max());
            traces.kept.iter().skip(left_out).map(|kept| kept.trace.len() + kept.query.len()).sum()
        };
        let settings = self.trace_settings(bytes_max.saturating_sub(held).saturating_sub(text.len()));
        let told = RefCell::new(None);
        let make = |session: &Session| {
            let trace = Trace::new(settings);
            if occasion != Occasion::Execute {
                session.tell_statement(&trace, request, database, text);
            }
            let mut context = session.planner_context(Literals::Inline, request.parameter_types);
            context.values = request.parameters;
            context.binder.current_database = database.or(context.binder.current_database);
            context.trace = Some(&trace);
            let plan = planner::plan_statement(request.statement, session, &context);
            drop(context);
            told.replace(Some(trace.finish(last_step(&plan, occasion))));
            plan
        };
        let plan = self.plan_knowing(make).await;
        let Some((trace, missing_bytes)) = told.into_inner() else { return };
        let trace = self.with_end_markers(trace);
        // A statement that cannot be planned may name what the session may not know of.
        let Ok(plan) = plan else { return };
        if reads_traces(&plan) || window.kept_max() == 0 {
            return;
        }
        let is_hidden = self.require_plan(&plan).is_err() || self.require_shown_views(&plan).is_err();
        let kept = match is_hidden {
            true => OptimizerTrace { is_hidden, ..OptimizerTrace::default() },
            false => OptimizerTrace { query: text.to_owned(), trace, missing_bytes, is_hidden },
        };
        self.traces.statements += 1;
        let mut traces = self.traces.shared.lock();
        traces.kept.push_back(kept);
        while traces.kept.len() > window.kept_max() {
            traces.kept.pop_front();
        }
        traces.shown_max = window.limit;
    }

    /// The same for a prepared statement, which MySQL shows with the values in place of its markers.
    pub(in crate::statement) async fn trace_execute(&mut self, text: &[u8], parameters: &[Value]) {
        let text = self.text_with_values(text, parameters).into_owned();
        let arena = Bump::new();
        let Ok(parsed) = parse(&text, self.parse_options(false), &arena) else { return };
        let request = Request {
            statement: &parsed.statement,
            text: &text,
            parameters: &[],
            parameter_types: &[],
            locals: &[],
        };
        self.trace_plan(request, None, &Session::own_text(request), Occasion::Execute).await;
    }

    /// `end_markers_in_json`
    pub fn with_end_markers(&self, document: String) -> String {
        match self.variables.by_name("end_markers_in_json").as_boolean() {
            true => plan::with_end_markers(&document),
            false => document,
        }
    }

    fn trace_settings(&self, limit_bytes: usize) -> TraceSettings {
        let features = self.variables.by_name("optimizer_trace_features").as_text();
        TraceSettings {
            one_line: self.variables.by_name("optimizer_trace").as_text().contains("one_line=on"),
            limit_bytes,
            search: features.contains("greedy_search=on"),
            ranges: features.contains("range_optimizer=on"),
        }
    }

    fn tell_statement(&self, trace: &Trace, request: Request<'_>, database: Option<&str>, text: &str) {
        let step = match request.statement.kind {
            StatementKind::Query(query) => {
                let mut context = self.binder_context(Literals::Inline, request.parameter_types);
                context.current_database = database.or(context.current_database);
                let current = context.current_database;
                let expanded = binder::expanded_query(query, current, self, &context);
                let expanded = expanded.unwrap_or_else(|_| text.to_owned());
                return trace.prepared("join_preparation", Some("expanded_query"), &expanded);
            }
            // As in MySQL, which tells of the query that is inserted alone.
            StatementKind::Insert(_) => return,
            StatementKind::Update(_) => "update_preparation",
            _ => "delete_preparation",
        };
        trace.prepared(step, None, text);
    }

    /// The text of a request's own statement.
    pub(in crate::statement) fn own_text(request: Request<'_>) -> String {
        let span = request.statement.span;
        let part = request.text.get(span.start as usize..span.end as usize).unwrap_or(request.text);
        String::from_utf8_lossy(part).into_owned()
    }
}

/// What follows the search; rows that are written out need none.
fn last_step(plan: &Result<Plan, SqlError>, occasion: Occasion) -> Option<&'static str> {
    match plan.as_ref().map(|plan| &plan.kind) {
        Ok(PlanKind::Insert(insert)) if matches!(insert.source, InsertSource::Rows(_)) => None,
        _ if occasion == Occasion::Explain => Some("join_explain"),
        _ => Some("join_execution"),
    }
}

/// Whoever looks at the traces leaves none.
fn reads_traces(plan: &Plan) -> bool {
    plan.needs.iter().any(|need| {
        need.database.eq_ignore_ascii_case(catalog::INFORMATION_SCHEMA)
            && need.table.eq_ignore_ascii_case("OPTIMIZER_TRACE")
    })
}

impl Session {
    /// What virtual tables read.
    pub(crate) fn shared_traces(&self) -> SharedTraces {
        Arc::clone(&self.traces.shared)
    }
}

#[cfg(test)]
mod tests {
    use crate::statement::query::optimizer_trace::*;

    #[test]
    fn a_window_counts_from_the_first_or_the_last() {
        let first = Window { offset: 1, limit: 2 };
        assert_eq!([0, 1, 2, 3].map(|number| first.admits(number)), [false, true, true, false]);
        let last = Window { offset: -3, limit: 2 };
        assert!(last.admits(0) && last.admits(100) && last.kept_max() == 3);
        assert!(!Window { offset: 0, limit: 0 }.admits(0));
    }
}
