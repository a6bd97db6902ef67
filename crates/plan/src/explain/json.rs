//! EXPLAIN FORMAT=JSON, version 2: an object for each operator, with what it reads in `inputs`.
use super::json_text::Json;
use super::operator::{Figures, Operator};
use super::walk::operators;
use crate::node::Node;
use crate::statement::{Plan, PlanKind};
use std::sync::atomic::Ordering::Relaxed;

/// `query` is the statement's text, if it is to be shown, `cost` what the planner thinks that a node costs.
pub fn explain_json(plan: &Plan, query: &str, cost: &dyn Fn(&Node) -> f64) -> String {
    let kind = match &plan.kind {
        PlanKind::Query(_) => "select",
        PlanKind::Insert(insert) if insert.duplicates_replace() => "replace",
        PlanKind::Insert(_) => "insert",
        PlanKind::Update(_) => "update",
        PlanKind::Delete(_) => "delete",
    };
    let mut members = vec![
        ("query_plan", operator_json(operators(plan, cost))),
        ("query_type", Json::text(kind)),
        ("json_schema_version", Json::text("2.0")),
    ];
    if !query.is_empty() {
        members.push(("query", Json::text(query)));
    }
    Json::Object(members).print(true)
}

fn operator_json(operator: Operator) -> Json {
    let mut members = operator.members;
    members.push(("operation", Json::text(operator.operation)));
    members.extend(operator.heading.map(|heading| ("heading", Json::text(heading))));
    if let Some(figures) = &operator.figures {
        add_figures(&mut members, figures);
    }
    for (name, operators) in [("inputs", operator.inputs), ("inputs_from_select_list", operator.selected)] {
        if !operators.is_empty() {
            members.push((name, Json::List(operators.into_iter().map(operator_json).collect())));
        }
    }
    Json::Object(members)
}

fn add_figures(members: &mut super::operator::Members, figures: &Figures) {
    members.push(("estimated_rows", Json::Number(figures.rows)));
    members.push(("estimated_total_cost", Json::Number(figures.cost)));
    if figures.comes_at_once {
        members.push(("estimated_first_row_cost", Json::Number(figures.cost)));
    }
    let Some(measure) = &figures.measure else { return };
    let loops = measure.loops.load(Relaxed);
    members.push(("actual_loops", Json::Integer(loops)));
    if loops == 0 {
        return;
    }
    let average = |sum: u64| sum as f64 / loops as f64;
    members.push(("actual_rows", Json::Number(average(measure.rows.load(Relaxed)))));
    members.push(("actual_first_row_ms", Json::Number(average(measure.first_ns.load(Relaxed)) / 1e6)));
    members.push(("actual_last_row_ms", Json::Number(average(measure.last_ns.load(Relaxed)) / 1e6)));
    for (name, sum) in [
        ("spilled_bytes", &measure.spilled_bytes),
        ("pages_read", &measure.pages_read),
        ("read_wait_us", &measure.read_wait_us),
    ] {
        match sum.load(Relaxed) {
            0 => {}
            sum => members.push((name, Json::Integer(sum))),
        }
    }
}
