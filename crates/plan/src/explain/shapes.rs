//! The operators that EXPLAIN shows for single nodes, given what is shown below them. Called by `walk`.
use super::json_text::Json;
use super::operator::Operator;
use super::words::{column_names, key_text, kind_text, shown, shown_all, slots_read};
use crate::join::{HashJoin, JoinKind};
use crate::node::SortKey;
use expression::{Expr, ExprKind};

/// A subquery under its number and with where its value is read.
pub fn located((id, is_dependent, query): (u64, bool, Operator), place: &'static str) -> Operator {
    let (how, name) = if is_dependent { ("dependent", "dependent") } else { ("run only once", "cacheable") };
    query
        .headed(format!("Select #{id} (subquery in {place}; {how})"))
        .with("subquery", Json::Bool(true))
        .with("subquery_location", Json::text(place))
        .with(name, Json::Bool(true))
}

/// What only lets rows through.
pub fn filter(conditions: &[Expr], inputs: Vec<Operator>) -> Operator {
    let text = shown_all(conditions);
    let operator = Operator::plain(format!("Filter: {text}"), "filter", inputs)
        .with("condition", Json::text(text))
        .with("filter_columns", Json::texts(column_names(conditions)));
    Operator { slots: slots_read(conditions), ..operator }
}

/// Rows in another order.
pub fn sort(keys: &[SortKey], limit: Option<&(Expr, Option<Expr>)>, input: Operator) -> Operator {
    let keys: Vec<String> = keys.iter().map(key_text).collect();
    let wanted = limit.and_then(|(count, offset)| rows_wanted(count, offset.as_ref()));
    let limited = match (wanted, limit) {
        (Some(rows), _) => format!(", limit input to {rows} row(s) per chunk"),
        (None, Some(_)) => ", limit input to the rows wanted".to_owned(),
        (None, None) => String::new(),
    };
    let text = format!("Sort: {}{limited}", keys.join(", "));
    let operator = Operator::plain(text, "sort", vec![input]).with("sort_fields", Json::texts(keys));
    match wanted {
        Some(rows) => operator.with("per_chunk_limit", Json::Integer(rows)),
        None => operator,
    }
}

/// Some of the rows.
pub fn limit(count: &Expr, offset: Option<&Expr>, input: Operator) -> Operator {
    let text = match offset {
        None => format!("Limit: {} row(s)", shown(count)),
        Some(offset) => format!("Limit/Offset: {}/{} row(s)", shown(count), shown(offset)),
    };
    let mut operator = Operator::plain(text, "limit", vec![input]);
    if let Some(rows) = rows_wanted(count, offset) {
        operator = operator.with("limit", Json::Integer(rows));
    }
    match offset.map_or(Some(0), literal) {
        Some(offset) => operator.with("limit_offset", Json::Integer(offset)),
        None => operator,
    }
}

/// Count and offset together, where both are known.
fn rows_wanted(count: &Expr, offset: Option<&Expr>) -> Option<u64> {
    Some(literal(count)?.saturating_add(offset.map_or(Some(0), literal)?))
}

fn literal(expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Literal(datum::Value::Int(number)) => u64::try_from(*number).ok(),
        ExprKind::Literal(datum::Value::UInt(number)) => Some(*number),
        _ => None,
    }
}

/// A join through a hash table.
pub fn hash_join(join: &HashJoin, inputs: Vec<Operator>) -> Operator {
    let pairs = join.outer_keys.iter().zip(&join.inner_keys);
    let conditions: Vec<String> =
        pairs.map(|(outer, inner)| format!("({} = {})", shown(outer), shown(inner))).collect();
    let word = match join.kind {
        JoinKind::Inner => "Inner hash join",
        JoinKind::Left => "Left hash join",
        JoinKind::Semi => "Hash semijoin",
        JoinKind::Anti => "Hash antijoin",
    };
    let condition = if conditions.is_empty() { "(no condition)".to_owned() } else { conditions.join(", ") };
    let mut text = format!("{word} {condition}");
    let keys: Vec<Expr> = join.outer_keys.iter().chain(&join.inner_keys).cloned().collect();
    let extra: Vec<String> = join.on.iter().map(shown).collect();
    if !extra.is_empty() {
        text.push_str(&format!(", extra conditions: {}", extra.join(" and ")));
    }
    let operator = Operator::plain(text, "join", inputs)
        .with("join_type", Json::text(kind_text(join.kind)))
        .with("join_algorithm", Json::text("hash"))
        .with("join_columns", Json::texts(column_names(&keys)))
        .with("hash_condition", Json::texts(conditions));
    let operator = Operator { slots: slots_read(&join.on), ..operator };
    match extra.is_empty() {
        true => operator,
        false => operator.with("extra_condition", Json::texts(extra)),
    }
}

/// Rows that are kept.
pub fn materialize(
    word: &str,
    deduplicates: bool,
    inputs: Vec<Operator>,
    members: super::operator::Members,
) -> Operator {
    let how = if deduplicates { " with deduplication" } else { "" };
    let mut operator = Operator::plain(format!("{word} materialize{how}"), "materialize", inputs);
    operator.members.extend(members);
    if deduplicates { operator.with("deduplication", Json::Bool(true)) } else { operator }
}

/// The scan of a temporary table.
pub fn temporary(kind: &str, made: Operator, cost: f64, rows: f64) -> Operator {
    let name = if kind.is_empty() { "<temporary>".to_owned() } else { format!("<{kind} temporary>") };
    Operator::plain(format!("Table scan on {name}"), "table", vec![made.costing(cost, rows).at_once()])
        .with("table_name", Json::text(name))
        .costing(cost, rows)
        .at_once()
}
