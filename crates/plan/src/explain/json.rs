//! EXPLAIN FORMAT=JSON, version 2: an object for each operator, with what it reads in `inputs`.
//!
//! The names and their meaning are MySQL's; costs are the planner's own.
use super::json_text::Json;
use super::rows::access_type;
use super::tree::{describe, kind_text, shown, shown_all, table_text};
use crate::access::{AccessPath, TableAccess};
use crate::measure::Measure;
use crate::node::{Node, NodeKind};
use crate::statement::{Plan, PlanKind};
use expression::{Expr, ExprKind};
use schema::TableDef;
use std::sync::atomic::Ordering::Relaxed;

type Members = Vec<(&'static str, Json)>;

/// `query` is the statement's text, if it is to be shown, `cost` what the planner thinks that a node costs.
pub fn explain_json(plan: &Plan, query: &str, cost: &dyn Fn(&Node) -> f64) -> String {
    let (kind, query_plan) = match &plan.kind {
        PlanKind::Query(query) => ("select", node_json(&query.root, cost, None)),
        PlanKind::Insert(insert) => {
            let (kind, word) = match insert.duplicates_replace() {
                true => ("replace", "Replace into"),
                false => ("insert", "Insert into"),
            };
            let columns = insert.columns.iter().copied();
            let mut members = change_members(word, &[&insert.table]);
            members.push(("used_columns", column_names(&insert.table, columns)));
            let input = match &insert.source {
                crate::InsertSource::Query(node) => node_json(node, cost, None),
                crate::InsertSource::Rows(_) => {
                    let access = if kind == "replace" { "replace_values" } else { "insert_values" };
                    members.push(("access_type", Json::text(access)));
                    Json::Object(vec![
                        ("operation", Json::text("Rows fetched before execution")),
                        ("access_type", Json::text("rows_fetched_before_execution")),
                    ])
                }
            };
            members.push(("inputs", Json::List(vec![input])));
            (kind, Json::Object(members))
        }
        PlanKind::Update(update) => {
            let tables: Vec<&TableDef> = update.targets.iter().map(|target| &*target.table).collect();
            let mut members = change_members("Update", &tables);
            members.push(("access_type", Json::text("update")));
            members.push(("inputs", Json::List(vec![node_json(&update.input, cost, None)])));
            ("update", Json::Object(members))
        }
        PlanKind::Delete(delete) => {
            let tables: Vec<&TableDef> = delete.targets.iter().map(|target| &*target.table).collect();
            let mut members = change_members("Delete from", &tables);
            members.push(("access_type", Json::text("delete_rows")));
            members.push(("inputs", Json::List(vec![node_json(&delete.input, cost, None)])));
            ("delete", Json::Object(members))
        }
    };
    let mut members = vec![
        ("query_plan", query_plan),
        ("query_type", Json::text(kind)),
        ("json_schema_version", Json::text("2.0")),
    ];
    if !query.is_empty() {
        members.push(("query", Json::text(query)));
    }
    Json::Object(members).print(true)
}

fn change_members(word: &str, tables: &[&TableDef]) -> Members {
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let mut members = vec![("operation", Json::text(format!("{word} {}", names.join(", "))))];
    if let [table] = tables {
        members.push(("table_name", Json::text(table.name.as_str())));
        members.push(("schema_name", Json::text(table.database.as_str())));
    }
    members
}

fn node_json(node: &Node, cost: &dyn Fn(&Node) -> f64, measure: Option<&Measure>) -> Json {
    match &node.kind {
        NodeKind::Project { input, .. } => return node_json(input, cost, measure),
        NodeKind::Measured { input, measure } => return node_json(input, cost, Some(measure)),
        NodeKind::Table(access) => return table_json(access, node, cost, measure),
        _ => {}
    }
    let (operation, inputs) = describe(node);
    let mut members = own_members(node);
    members.push(("operation", Json::text(operation)));
    add_figures(&mut members, node, cost(node), node.estimate.rows, measure);
    if !inputs.is_empty() {
        let inputs = inputs.into_iter().map(|input| node_json(input, cost, None)).collect();
        members.push(("inputs", Json::List(inputs)));
    }
    Json::Object(members)
}

fn add_figures(members: &mut Members, node: &Node, cost: f64, rows: f64, measure: Option<&Measure>) {
    members.push(("estimated_rows", Json::Number(rows)));
    members.push(("estimated_total_cost", Json::Number(cost)));
    if matches!(node.kind, NodeKind::Dual | NodeKind::Nothing | NodeKind::Values { .. }) {
        members.push(("estimated_first_row_cost", Json::Number(cost)));
    }
    let Some(measure) = measure else { return };
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

fn text(text: &str) -> Json {
    Json::text(text)
}

/// What tells more of a node than its words do.
fn own_members(node: &Node) -> Members {
    match &node.kind {
        NodeKind::Dual | NodeKind::Values { .. } => {
            vec![("access_type", text("rows_fetched_before_execution"))]
        }
        NodeKind::Nothing => {
            vec![("access_type", text("zero_rows")), ("zero_rows_cause", text("Impossible WHERE"))]
        }
        NodeKind::Virtual(access) => {
            vec![("access_type", text("table")), ("table_name", text(&access.alias))]
        }
        NodeKind::Derived { alias, .. } => {
            vec![("access_type", text("materialize")), ("table_name", text(alias))]
        }
        NodeKind::Lateral(lateral) => {
            vec![("access_type", text("materialize")), ("table_name", text(&lateral.alias))]
        }
        NodeKind::Common(table) => vec![
            ("access_type", text("materialize")),
            ("table_name", text(&table.alias)),
            ("cte", Json::Bool(true)),
        ],
        NodeKind::Recursive(recursive) => vec![
            ("access_type", text("materialize")),
            ("table_name", text(&recursive.name)),
            ("recursive", Json::Bool(true)),
        ],
        NodeKind::Round(round) => {
            vec![("access_type", text("follow_tail")), ("table_name", text(&round.alias))]
        }
        NodeKind::JsonTable(table) => {
            vec![("access_type", text("materialized_table_function")), ("table_name", text(&table.alias))]
        }
        NodeKind::Filter { predicates, .. } => {
            vec![("access_type", text("filter")), ("condition", Json::text(shown_all(predicates)))]
        }
        NodeKind::Sort { keys, limit, .. } => {
            let key =
                |key: &crate::node::SortKey| shown(&key.expr) + if key.descending { " DESC" } else { "" };
            let mut members =
                vec![("access_type", text("sort")), ("sort_fields", Json::texts(keys.iter().map(key)))];
            if let Some((count, None)) = limit
                && let Some(count) = literal(count)
            {
                members.push(("per_chunk_limit", Json::Integer(count)));
            }
            members
        }
        NodeKind::Limit { count, offset, .. } => {
            let mut members = vec![("access_type", text("limit"))];
            members.extend(literal(count).map(|count| ("limit", Json::Integer(count))));
            let offset = offset.as_ref().map_or(Some(0), literal);
            members.extend(offset.map(|offset| ("limit_offset", Json::Integer(offset))));
            members
        }
        NodeKind::Distinct { .. } => {
            vec![("access_type", text("materialize")), ("deduplication", Json::Bool(true))]
        }
        NodeKind::Aggregate(aggregate) => {
            let is_streamed = aggregate.ordered || aggregate.single;
            vec![("access_type", text(if is_streamed { "aggregate" } else { "temp_table_aggregate" }))]
        }
        NodeKind::Window(_) => vec![("access_type", text("window"))],
        NodeKind::NestedLoop(join) => join_members(kind_text(join.kind), "nested_loop"),
        NodeKind::HashJoin(join) => join_members(kind_text(join.kind), "hash"),
        NodeKind::UnionAll { .. } => vec![("access_type", text("append"))],
        NodeKind::SetDifference { intersect, .. } => {
            vec![("access_type", text(if *intersect { "intersect" } else { "except" }))]
        }
        NodeKind::Apply(_) | NodeKind::Initialise(_) => vec![("access_type", text("subquery"))],
        NodeKind::Table(_) | NodeKind::Project { .. } | NodeKind::Measured { .. } => Vec::new(),
    }
}

fn join_members(kind: &str, algorithm: &str) -> Members {
    vec![
        ("access_type", Json::text("join")),
        ("join_type", Json::text(kind)),
        ("join_algorithm", Json::text(algorithm)),
    ]
}

fn literal(expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Literal(datum::Value::Int(number)) => u64::try_from(*number).ok(),
        ExprKind::Literal(datum::Value::UInt(number)) => Some(*number),
        _ => None,
    }
}

/// A table, below a filter where it has conditions.
fn table_json(
    access: &TableAccess,
    node: &Node,
    cost: &dyn Fn(&Node) -> f64,
    measure: Option<&Measure>,
) -> Json {
    let mut plain = access.clone();
    plain.filter.clear();
    let mut members = vec![
        ("operation", Json::text(table_text(&plain))),
        ("table_name", Json::text(access.alias.as_str())),
        ("schema_name", Json::text(access.table.database.as_str())),
        ("used_columns", column_names(&access.table, access.projection.iter().map(|(column, _)| *column))),
    ];
    members.extend(path_members(access));
    if !access.entry_filter.is_empty() {
        members.push(("pushed_index_condition", Json::text(shown_all(&access.entry_filter))));
    }
    if access.filter.is_empty() {
        add_figures(&mut members, node, cost(node), node.estimate.rows, measure);
        return Json::Object(members);
    }
    add_figures(&mut members, node, cost(node), node.estimate.rows, None);
    let condition = shown_all(&access.filter);
    let mut filter = vec![
        ("operation", Json::text(format!("Filter: {condition}"))),
        ("condition", Json::text(condition)),
        ("access_type", Json::text("filter")),
        ("inputs", Json::List(vec![Json::Object(members)])),
    ];
    add_figures(&mut filter, node, cost(node), node.rows_passing(), measure);
    Json::Object(filter)
}

fn path_members(access: &TableAccess) -> Members {
    let kind = match access_type(access) {
        "ALL" => return vec![("access_type", Json::text("table"))],
        "const" => return vec![("access_type", Json::text("constant_row"))],
        "NULL" => return vec![("access_type", Json::text("zero_rows"))],
        "index_merge" => return vec![("access_type", Json::text("index_merge"))],
        "eq_ref" | "ref" => "index_lookup",
        "index" => "index_scan",
        _ => match access.path {
            AccessPath::Groups { .. } => "group_index_skip_scan",
            AccessPath::Skip { .. } => "index_skip_scan",
            _ => "index_range_scan",
        },
    };
    let mut members = vec![
        ("access_type", Json::text("index")),
        ("index_access_type", Json::text(kind)),
        ("covering", Json::Bool(access.covering)),
    ];
    if let Some(index) = access.path.index() {
        let index = &access.table.indexes[index];
        let columns = index.parts.iter().map(|part| part.column);
        members.push(("index_name", Json::text(index.name.as_str())));
        members.push(("key_columns", column_names(&access.table, columns)));
    }
    if access.backward {
        members.push(("reverse", Json::Bool(true)));
    }
    members
}

fn column_names(table: &TableDef, columns: impl Iterator<Item = usize>) -> Json {
    let shown = columns.map(|column| &table.columns[column]).filter(|column| !column.hidden);
    Json::texts(shown.map(|column| column.name.clone()))
}
