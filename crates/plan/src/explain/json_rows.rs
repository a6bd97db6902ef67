//! EXPLAIN FORMAT=JSON, version 1: the rows of the traditional form as nested query blocks.
use super::json_text::Json;
use super::rows::{ExplainRow, explain_rows};
use crate::node::Node;
use crate::statement::{Plan, PlanKind};

/// `cost` is what the planner thinks that a node costs.
pub fn explain_json_rows(plan: &Plan, cost: &dyn Fn(&Node) -> f64) -> String {
    let rows = explain_rows(plan);
    let total = match &plan.kind {
        PlanKind::Query(query) => Some(cost(&query.root)),
        _ => None,
    };
    let first = rows.iter().find_map(|row| row.id).unwrap_or(1);
    let whole = match rows.iter().find(|row| row.id.is_none()) {
        Some(union) => union_json(union, &rows),
        None => block_json(first, &rows, total),
    };
    Json::Object(vec![("query_block", whole)]).print(false)
}

/// The result of a set operation, with the blocks that it has.
fn union_json(union: &ExplainRow, rows: &[ExplainRow]) -> Json {
    let mut ids: Vec<u64> = rows.iter().filter_map(|row| row.id).collect();
    ids.dedup();
    let members = ids.iter().map(|id| inner_block(*id, rows)).collect();
    let result = vec![
        ("using_temporary_table", Json::Bool(true)),
        ("table_name", Json::text(union.table.clone().unwrap_or_default())),
        ("access_type", Json::text("ALL")),
        ("query_specifications", Json::List(members)),
    ];
    Json::Object(vec![("union_result", Json::Object(result))])
}

fn inner_block(id: u64, rows: &[ExplainRow]) -> Json {
    let is_dependent = |row: &ExplainRow| row.id == Some(id) && row.select_type.starts_with("DEPENDENT");
    let dependent = rows.iter().any(is_dependent);
    Json::Object(vec![
        ("dependent", Json::Bool(dependent)),
        ("cacheable", Json::Bool(!dependent)),
        ("query_block", block_json(id, rows, None)),
    ])
}

fn block_json(id: u64, rows: &[ExplainRow], total: Option<f64>) -> Json {
    let own: Vec<&ExplainRow> = rows.iter().filter(|row| row.id == Some(id)).collect();
    let mut members = vec![("select_id", Json::Integer(id))];
    if let [ExplainRow { table: None, extra, .. }] = own.as_slice() {
        members.push(("message", Json::text(extra.clone().unwrap_or_default())));
        members.extend(others_of(id, rows, total.is_some()));
        return Json::Object(members);
    }
    if let Some(total) = total {
        members.push(("cost_info", Json::Object(vec![("query_cost", Json::Text(format!("{total:.2}")))])));
    }
    let says =
        |what: &str| own.iter().any(|row| row.extra.as_deref().is_some_and(|extra| extra.contains(what)));
    let (filesort, temporary) = (says("Using filesort"), says("Using temporary"));
    let mut reads = match own.as_slice() {
        [row] => vec![("table", table_json(row, rows))],
        all => {
            let member = |row: &&ExplainRow| Json::Object(vec![("table", table_json(row, rows))]);
            vec![("nested_loop", Json::List(all.iter().map(member).collect()))]
        }
    };
    if temporary {
        let mut group =
            vec![("using_temporary_table", Json::Bool(true)), ("using_filesort", Json::Bool(filesort))];
        group.append(&mut reads);
        reads = vec![("grouping_operation", Json::Object(group))];
    } else if filesort {
        let mut order = vec![("using_filesort", Json::Bool(true))];
        order.append(&mut reads);
        reads = vec![("ordering_operation", Json::Object(order))];
    }
    members.append(&mut reads);
    members.extend(others_of(id, rows, total.is_some()));
    Json::Object(members)
}

/// Subqueries that no table of FROM stands for, below the outermost block.
fn others_of(id: u64, rows: &[ExplainRow], is_outermost: bool) -> Option<(&'static str, Json)> {
    if !is_outermost {
        return None;
    }
    let is_subquery = |row: &&ExplainRow| row.id != Some(id) && row.select_type.contains("SUBQUERY");
    let mut ids: Vec<u64> = rows.iter().filter(is_subquery).filter_map(|row| row.id).collect();
    ids.dedup();
    let blocks: Vec<Json> = ids.into_iter().map(|id| inner_block(id, rows)).collect();
    (!blocks.is_empty()).then_some(("attached_subqueries", Json::List(blocks)))
}

fn table_json(row: &ExplainRow, rows: &[ExplainRow]) -> Json {
    let mut members = Vec::new();
    let change = match row.select_type.as_str() {
        "INSERT" => Some("insert"),
        "REPLACE" => Some("replace"),
        "UPDATE" => Some("update"),
        "DELETE" => Some("delete"),
        _ => None,
    };
    members.extend(change.map(|change| (change, Json::Bool(true))));
    let table = row.table.clone().unwrap_or_default();
    members.push(("table_name", Json::text(table.clone())));
    members.extend(row.access_type.map(|kind| ("access_type", Json::text(kind))));
    let names = |list: &str| Json::texts(list.split(',').map(str::to_owned));
    members.extend(row.possible_keys.as_deref().map(|keys| ("possible_keys", names(keys))));
    members.extend(row.key.as_deref().map(|key| ("key", Json::text(key))));
    members.extend(row.key_len.as_deref().map(|length| ("key_length", Json::text(length))));
    members.extend(row.reference.as_deref().map(|list| ("ref", names(list))));
    if let Some(read) = row.rows {
        let filtered = row.filtered.unwrap_or(100.0);
        members.push(("rows_examined_per_scan", Json::Integer(read)));
        let produced = (read as f64 * filtered / 100.0).round() as u64;
        members.push(("rows_produced_per_join", Json::Integer(produced)));
        members.push(("filtered", Json::Text(format!("{filtered:.2}"))));
    }
    if row.extra.as_deref().is_some_and(|extra| extra.contains("Using index;") || extra == "Using index") {
        members.push(("using_index", Json::Bool(true)));
    }
    let derived = table.strip_prefix("<derived").and_then(|rest| rest.strip_suffix('>'));
    if let Some(id) = derived.and_then(|id| id.parse().ok()) {
        let Json::Object(mut inner) = inner_block(id, rows) else { return Json::Object(members) };
        inner.insert(0, ("using_temporary_table", Json::Bool(true)));
        members.push(("materialized_from_subquery", Json::Object(inner)));
    }
    Json::Object(members)
}
