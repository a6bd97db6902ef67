//! EXPLAIN FORMAT=TREE: an indented line for each node, in MySQL's wording where it has one.
use super::rows::{access_type, merge_text};
use crate::access::{AccessPath, MergeKind, TableAccess};
use crate::join::JoinKind;
use crate::node::{Node, NodeKind, SortKey};
use crate::statement::{Plan, PlanKind};
use expression::{AggregateCall, Expr};
use std::fmt::Write;

pub fn explain_tree(plan: &Plan) -> String {
    let mut text = String::new();
    match &plan.kind {
        PlanKind::Query(query) => line(&mut text, &query.root, 0, ""),
        PlanKind::Insert(insert) => {
            write_line(&mut text, 0, &format!("Insert into {}", insert.table.name));
            if let crate::InsertSource::Query(node) = &insert.source {
                line(&mut text, node, 1, "");
            }
        }
        PlanKind::Update(update) => {
            let names: Vec<&str> = update.targets.iter().map(|target| target.table.name.as_str()).collect();
            write_line(&mut text, 0, &format!("Update {}", names.join(", ")));
            line(&mut text, &update.input, 1, "");
        }
        PlanKind::Delete(delete) => {
            let names: Vec<&str> = delete.targets.iter().map(|target| target.table.name.as_str()).collect();
            write_line(&mut text, 0, &format!("Delete from {}", names.join(", ")));
            line(&mut text, &delete.input, 1, "");
        }
    }
    text
}

fn write_line(text: &mut String, depth: usize, what: &str) {
    writeln!(text, "{:indent$}-> {what}", "", indent = depth * 4).expect("writing to a String cannot fail");
}

/// `actual`: what EXPLAIN ANALYZE found of the node.
fn line(text: &mut String, node: &Node, depth: usize, actual: &str) {
    match &node.kind {
        NodeKind::Project { input, .. } => return line(text, input, depth, actual),
        NodeKind::Measured { input, measure } => return line(text, input, depth, &measure.text()),
        _ => {}
    }
    let (what, children) = describe(node);
    let rows = match &node.kind {
        NodeKind::Table(_) | NodeKind::Filter { .. } | NodeKind::NestedLoop(_) | NodeKind::HashJoin(_) => {
            format!("  (rows={})", node.estimate.rows.round())
        }
        _ => String::new(),
    };
    write_line(text, depth, &(what + &rows + actual));
    for child in children {
        line(text, child, depth + 1, "");
    }
}

/// What a node does, in words, and the nodes that it reads.
pub(super) fn describe(node: &Node) -> (String, Vec<&Node>) {
    match &node.kind {
        NodeKind::Dual => ("Rows fetched before execution".to_owned(), vec![]),
        NodeKind::Nothing => ("Zero rows (Impossible WHERE)".to_owned(), vec![]),
        NodeKind::Values { rows } => (format!("Rows fetched before execution ({} rows)", rows.len()), vec![]),
        NodeKind::Table(access) => (table_text(access), vec![]),
        NodeKind::Virtual(access) => (format!("Table scan on {}", access.alias), vec![]),
        NodeKind::Derived { input, alias, .. } => {
            (format!("Table scan on {alias}: Materialize"), vec![input])
        }
        NodeKind::JsonTable(table) => (format!("Materialize table function {}", table.alias), vec![]),
        NodeKind::Lateral(lateral) => (
            format!("Table scan on {}: Materialize (invalidate on row change)", lateral.alias),
            vec![&lateral.input],
        ),
        NodeKind::Common(table) => {
            (format!("Table scan on {}: Materialize CTE once", table.alias), vec![&*table.input])
        }
        NodeKind::Recursive(recursive) => {
            let branches = recursive.branches.iter().map(|branch| &branch.query);
            (format!("Repeat until convergence: {}", recursive.name), {
                let seed: &Node = &recursive.seed;
                [seed].into_iter().chain(branches).collect()
            })
        }
        NodeKind::Round(round) => (format!("Scan new records on {}", round.alias), vec![]),
        NodeKind::Filter { input, predicates } => (format!("Filter: {}", shown_all(predicates)), vec![input]),
        NodeKind::Project { input, .. } | NodeKind::Measured { input, .. } => describe(input),
        NodeKind::Sort { input, keys, limit } => {
            let limited = if limit.is_some() { ", limit input to the rows wanted" } else { "" };
            let key = |key: &SortKey| shown(&key.expr) + if key.descending { " DESC" } else { "" };
            let keys: Vec<String> = keys.iter().map(key).collect();
            (format!("Sort: {}{limited}", keys.join(", ")), vec![input])
        }
        NodeKind::Limit { input, count, offset: None } => {
            (format!("Limit: {} row(s)", shown(count)), vec![input])
        }
        NodeKind::Limit { input, count, offset: Some(offset) } => {
            (format!("Limit/Offset: {}/{} row(s)", shown(count), shown(offset)), vec![input])
        }
        NodeKind::Distinct { input, .. } => {
            ("Remove duplicates with temporary table".to_owned(), vec![input])
        }
        NodeKind::Aggregate(aggregate) => {
            let how = if aggregate.ordered || aggregate.single {
                "Group aggregate"
            } else {
                "Aggregate using temporary table"
            };
            let calls = aggregate.aggregates.iter().map(|column| call_text(&column.call));
            let calls: Vec<String> = calls.collect();
            let calls = if calls.is_empty() { String::new() } else { format!(": {}", calls.join(", ")) };
            (how.to_owned() + &calls, vec![&aggregate.input])
        }
        NodeKind::Window(window) => ("Window aggregate".to_owned(), vec![&window.input]),
        NodeKind::NestedLoop(join) => {
            (format!("Nested loop {}", kind_text(join.kind)), vec![&join.outer, &join.inner])
        }
        NodeKind::HashJoin(join) => {
            (format!("{} (hash join)", kind_text(join.kind)), vec![&join.outer, &join.inner])
        }
        NodeKind::UnionAll { inputs } => ("Append".to_owned(), inputs.iter().collect()),
        NodeKind::SetDifference { left, right, intersect, .. } => {
            (if *intersect { "Intersect" } else { "Except" }.to_owned(), vec![left, right])
        }
        NodeKind::Apply(apply) => ("Run subquery for each row".to_owned(), vec![&apply.input, &apply.query]),
        NodeKind::Initialise(initialise) => {
            let children = initialise.initialisers.iter().map(|initialiser| &initialiser.query);
            ("Run subqueries once".to_owned(), children.chain([&*initialise.input]).collect())
        }
    }
}

/// An expression without the names of databases and without backticks.
pub(super) fn shown(expr: &Expr) -> String {
    let text = expr.to_string();
    let mut words: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(text.len());
    // Every second part stands between backticks.
    for (number, part) in text.split('`').enumerate() {
        if number % 2 == 1 {
            words.push(part);
        } else if part != "." || words.is_empty() {
            flush(&mut words, &mut out);
            out.push_str(part);
        }
    }
    flush(&mut words, &mut out);
    out
}

/// The last two parts of a name.
fn flush(words: &mut Vec<&str>, out: &mut String) {
    let first = words.len().saturating_sub(2);
    out.push_str(&words[first..].join("."));
    words.clear();
}

pub(super) fn shown_all(exprs: &[Expr]) -> String {
    let all: Vec<String> = exprs.iter().map(shown).collect();
    if let [one] = all.as_slice() { one.clone() } else { format!("({})", all.join(" and ")) }
}

fn call_text(call: &AggregateCall) -> String {
    let arguments: Vec<String> = call.arguments.iter().map(shown).collect();
    let arguments = if arguments.is_empty() { "0".to_owned() } else { arguments.join(",") };
    let distinct = if call.distinct { "distinct " } else { "" };
    format!("{}({distinct}{arguments})", format!("{:?}", call.function).to_lowercase())
}

pub(super) fn kind_text(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner join",
        JoinKind::Left => "left join",
        JoinKind::Semi => "semijoin",
        JoinKind::Anti => "antijoin",
    }
}

pub(super) fn table_text(access: &TableAccess) -> String {
    let index = match &access.path {
        AccessPath::Merge(merge) => merge.parts.first().map(|part| part.index),
        path => path.index(),
    };
    let index = index.map(|index| access.table.indexes[index].name.as_str()).unwrap_or_default();
    let backward = if access.backward { " (reverse)" } else { "" };
    let covering = if access.covering { "Covering index" } else { "Index" };
    let filter = match (access.entry_filter.is_empty(), access.filter.is_empty()) {
        (true, true) => String::new(),
        (true, false) => ", filtered".to_owned(),
        (false, true) => format!(", with index condition: {}", shown_all(&access.entry_filter)),
        (false, false) => format!(", with index condition: {}, filtered", shown_all(&access.entry_filter)),
    };
    match &access.path {
        AccessPath::Groups { .. } => {
            return format!("{covering} skip scan for grouping on {} using {index}{filter}", access.alias);
        }
        AccessPath::Skip { .. } => {
            return format!("{covering} skip scan on {} using {index}{filter}", access.alias);
        }
        AccessPath::Merge(merge) if merge.kind != MergeKind::Elements => {
            return format!("Index merge on {} using {}{filter}", access.alias, merge_text(access, merge));
        }
        _ => {}
    }
    match access_type(access) {
        "ALL" => format!("Table scan on {}{filter}", access.alias),
        "const" => format!("Constant row from {}{filter}", access.alias),
        "eq_ref" => format!("Single-row index lookup on {} using {index}{filter}", access.alias),
        "ref" => format!("{covering} lookup on {} using {index}{backward}{filter}", access.alias),
        "range" => format!("{covering} range scan on {} using {index}{backward}{filter}", access.alias),
        "index" => format!("{covering} scan on {} using {index}{backward}{filter}", access.alias),
        _ => "Zero rows (Impossible WHERE)".to_owned(),
    }
}
