//! EXPLAIN FORMAT=TREE: an indented line for each operator.
use super::operator::Operator;
use super::walk::operators;
use crate::node::Node;
use crate::statement::Plan;
use std::fmt::Write;

/// `cost` is what the planner thinks that a node costs.
pub fn explain_tree(plan: &Plan, cost: &dyn Fn(&Node) -> f64) -> String {
    let mut text = String::new();
    write_operator(&mut text, &operators(plan, cost), 0);
    text
}

fn write_operator(text: &mut String, operator: &Operator, mut depth: usize) {
    if let Some(heading) = &operator.heading {
        write_line(text, depth, heading);
        depth += 1;
    }
    let figures = operator.figures.as_ref().map_or(String::new(), |figures| figures.text());
    write_line(text, depth, &format!("{}{figures}", operator.operation));
    operator.inputs.iter().for_each(|input| write_operator(text, input, depth + 1));
    operator.selected.iter().for_each(|subquery| write_operator(text, subquery, depth));
}

fn write_line(text: &mut String, depth: usize, what: &str) {
    writeln!(text, "{:indent$}-> {what}", "", indent = depth * 4).expect("writing to a String cannot fail");
}
