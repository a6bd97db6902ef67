//! Expressions, key ranges and figures as EXPLAIN's tree and its JSON write them.
//!
//! Invariant: what is written of a list of ranges stays short, however many values an IN has.
use crate::access::{Interval, KeyCondition, RangeCondition};
use crate::join::JoinKind;
use crate::node::SortKey;
use crate::window::{Window, WindowFunction};
use expression::{AggregateCall, AggregateFunction, Expr, ExprKind, for_each_operand};
use schema::{IndexDef, TableDef};

/// With more ranges than this only the first two are written.
const RANGES_MAX: usize = 3;

/// An expression without the names of databases and without backticks.
pub fn shown(expr: &Expr) -> String {
    let text = expr.to_string();
    let mut words: Vec<&str> = Vec::new();
    let mut out = String::with_capacity(text.len());
    let (mut is_text, mut is_name) = (false, false);
    let parts = text.split(|letter: char| {
        is_text ^= letter == '\'' && !is_name;
        let is_backtick = letter == '`' && !is_text;
        is_name ^= is_backtick;
        is_backtick
    });
    // Every second part stands between backticks.
    for (number, part) in parts.enumerate() {
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

pub fn shown_all(exprs: &[Expr]) -> String {
    let all: Vec<String> = exprs.iter().map(shown).collect();
    if let [one] = all.as_slice() { one.clone() } else { format!("({})", all.join(" and ")) }
}

pub fn key_text(key: &SortKey) -> String {
    shown(&key.expr) + if key.descending { " DESC" } else { "" }
}

pub fn call_text(call: &AggregateCall) -> String {
    let arguments: Vec<String> = call.arguments.iter().map(shown).collect();
    let arguments = if arguments.is_empty() { "0".to_owned() } else { arguments.join(",") };
    let distinct = if call.distinct { "distinct " } else { "" };
    let name = match call.function {
        AggregateFunction::Count => "count",
        AggregateFunction::Sum | AggregateFunction::AddedCounts => "sum",
        AggregateFunction::Avg => "avg",
        AggregateFunction::Min => "min",
        AggregateFunction::Max => "max",
        AggregateFunction::GroupConcat => {
            let order =
                call.order_by.iter().map(|key| shown(&key.expr) + if key.descending { " DESC" } else { "" });
            let order: Vec<String> = order.collect();
            let order =
                if order.is_empty() { String::new() } else { format!(" order by {}", order.join(",")) };
            let separator = String::from_utf8_lossy(&call.separator);
            return format!("group_concat({distinct}{arguments}{order} separator '{separator}')");
        }
        AggregateFunction::BitAnd => "bit_and",
        AggregateFunction::BitOr => "bit_or",
        AggregateFunction::BitXor => "bit_xor",
        AggregateFunction::StddevPop => "std",
        AggregateFunction::StddevSamp => "stddev_samp",
        AggregateFunction::VarPop => "variance",
        AggregateFunction::VarSamp => "var_samp",
        AggregateFunction::JsonArray => "json_arrayagg",
        AggregateFunction::JsonObject => "json_objectagg",
    };
    format!("{name}({distinct}{arguments})")
}

/// `row_number() OVER (PARTITION BY t.a ORDER BY t.b ) `: the blanks are MySQL's.
pub fn window_texts(window: &Window) -> Vec<String> {
    let mut over = String::new();
    if !window.partition_by.is_empty() {
        let parts: Vec<String> = window.partition_by.iter().map(shown).collect();
        over.push_str(&format!("PARTITION BY {} ", parts.join(",")));
    }
    if !window.order_by.is_empty() {
        let keys: Vec<String> = window.order_by.iter().map(key_text).collect();
        over.push_str(&format!("ORDER BY {} ", keys.join(",")));
    }
    let text = |function: &WindowFunction| match function {
        WindowFunction::RowNumber => "row_number()".to_owned(),
        WindowFunction::Rank => "rank()".to_owned(),
        WindowFunction::DenseRank => "dense_rank()".to_owned(),
        WindowFunction::PercentRank => "percent_rank()".to_owned(),
        WindowFunction::CumulativeDistribution => "cume_dist()".to_owned(),
        WindowFunction::NthTile(tiles) => format!("ntile({})", shown(tiles)),
        WindowFunction::Neighbour { lead, value, distance, default } => {
            let name = if *lead { "lead" } else { "lag" };
            let default = default.as_ref().map_or(String::new(), |value| format!(",{}", shown(value)));
            format!("{name}({},{}{default})", shown(value), shown(distance))
        }
        WindowFunction::FirstValue(value) => format!("first_value({})", shown(value)),
        WindowFunction::LastValue(value) => format!("last_value({})", shown(value)),
        WindowFunction::NthValue { value, number } => {
            format!("nth_value({},{})", shown(value), shown(number))
        }
        WindowFunction::Aggregate(call) => call_text(call),
    };
    window.columns.iter().map(|column| format!("{} OVER ({over}) ", text(&column.function))).collect()
}

pub fn kind_text(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner join",
        JoinKind::Left => "left join",
        JoinKind::Semi => "semijoin",
        JoinKind::Anti => "antijoin",
    }
}

/// Full names of the columns that the expressions read, each once, in their order.
pub fn column_names(exprs: &[Expr]) -> Vec<String> {
    fn collect(expr: &Expr, names: &mut Vec<String>) {
        if let (ExprKind::Column(_), Some(name)) = (&expr.kind, &expr.ty.name) {
            names.push(name.replace('`', ""));
        }
        for_each_operand(expr, &mut |operand| collect(operand, names));
    }
    let mut names = Vec::new();
    exprs.iter().for_each(|expr| collect(expr, &mut names));
    names.sort();
    names.dedup();
    names
}

/// Slots that the expressions read.
pub fn slots_read(exprs: &[Expr]) -> Vec<usize> {
    fn collect(expr: &Expr, slots: &mut Vec<usize>) {
        if let ExprKind::Slot(slot) = expr.kind {
            slots.push(slot);
        }
        for_each_operand(expr, &mut |operand| collect(operand, slots));
    }
    let mut slots = Vec::new();
    exprs.iter().for_each(|expr| collect(expr, &mut slots));
    slots
}

/// `a = 1, b = t.c`: one value for each of the first parts of an index.
pub fn lookup_text(table: &TableDef, index: &IndexDef, values: &[Option<&Expr>]) -> String {
    let pair = |(part, value): (&schema::IndexPart, &Option<&Expr>)| {
        let value = value.map_or_else(|| "NULL".to_owned(), shown);
        format!("{} = {value}", table.columns[part.column].name)
    };
    index.parts.iter().zip(values).map(pair).collect::<Vec<_>>().join(", ")
}

/// `(1 <= a <= 2) OR (a = 5 AND 3 < b)`.
pub fn ranges_text(table: &TableDef, index: &IndexDef, ranges: &[RangeCondition]) -> String {
    let (mut texts, mut count) = (Vec::new(), 0usize);
    for range in ranges {
        // The first of them, and how many there are.
        let (mut alternatives, mut all) = (vec![String::new()], 1usize);
        for (condition, part) in range.parts.iter().zip(&index.parts) {
            let (own, own_count) = part_texts(&table.columns[part.column].name, condition);
            all = all.saturating_mul(own_count);
            let joined = alternatives.iter().flat_map(|before| {
                own.iter().map(move |text| match before.as_str() {
                    "" => text.clone(),
                    before => format!("{before} AND {text}"),
                })
            });
            alternatives = joined.take(RANGES_MAX).collect();
        }
        count = count.saturating_add(all);
        texts.extend(alternatives);
        texts.truncate(RANGES_MAX);
    }
    let shown = if count > RANGES_MAX { RANGES_MAX - 1 } else { texts.len() };
    let mut texts: Vec<String> = texts.into_iter().take(shown).map(|text| format!("({text})")).collect();
    if count > shown {
        texts.push(format!("({} more)", count - shown));
    }
    texts.join(" OR ")
}

/// The first alternatives of a condition on one part, and how many it has.
fn part_texts(column: &str, condition: &KeyCondition) -> (Vec<String>, usize) {
    match condition {
        KeyCondition::OneOf(values) => {
            let texts = values.iter().take(RANGES_MAX).map(|value| format!("{column} = {}", shown(value)));
            (texts.collect(), values.len())
        }
        KeyCondition::SameAs(value) => (vec![format!("{column} = {}", shown(value))], 1),
        KeyCondition::IsNull => (vec![format!("{column} = NULL")], 1),
        KeyCondition::Between(interval) => (vec![interval_text(column, interval)], 1),
        KeyCondition::NoneOf(values) => match values.as_slice() {
            [value] => {
                let value = shown(value);
                (vec![format!("NULL < {column} < {value}"), format!("{value} < {column}")], 2)
            }
            values => {
                let values: Vec<String> = values.iter().take(RANGES_MAX).map(shown).collect();
                (vec![format!("{column} not in ({})", values.join(","))], 1)
            }
        },
        KeyCondition::Like { pattern, .. } => (vec![format!("{column} like {}", shown(pattern))], 1),
    }
}

fn interval_text(column: &str, interval: &Interval) -> String {
    let sign = |included: bool| if included { "<=" } else { "<" };
    let lower = match &interval.lower {
        Some((bound, included)) => format!("{} {} ", shown(bound), sign(*included)),
        None => "NULL < ".to_owned(),
    };
    let upper = match &interval.upper {
        Some((bound, included)) => format!(" {} {}", sign(*included), shown(bound)),
        None => String::new(),
    };
    format!("{lower}{column}{upper}")
}

/// Three digits that count; beyond a million and below a thousandth with an exponent that is a multiple of three.
pub fn figure(number: f64) -> String {
    if !number.is_finite() || number == 0.0 {
        return "0".to_owned();
    }
    if (1e-3..999_999.5).contains(&number.abs()) {
        return plain(number);
    }
    let mut exponent = (number.abs().log10() / 3.0).floor() as i32 * 3;
    let mut mantissa = plain(number / 10f64.powi(exponent));
    if mantissa == "1000" {
        exponent += 3;
        mantissa = "1".to_owned();
    }
    format!("{mantissa}e{exponent:+}")
}

fn plain(number: f64) -> String {
    if number.abs() >= 999.5 || number == number.round() {
        return format!("{number:.0}");
    }
    let before = number.abs().log10().floor() as i32 + 1;
    let shown = format!("{number:.*}", usize::try_from(3 - before).unwrap_or(0).min(9));
    match shown.contains('.') {
        true => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datum::{ColumnType, Value};

    #[test]
    fn backticks_in_texts_are_no_names() {
        let text = Expr::literal(Value::bytes(b"a`b`.`c"), ColumnType::varbinary(7));
        assert_eq!(shown(&text), "'a`b`.`c'");
    }

    #[test]
    fn figures_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (0.06701, "0.067"),
            (12.345, "12.3"),
            (1234.5, "1234"),
            (3.0, "3"),
            (168_094.2, "168094"),
            (999_999.6, "1e+6"),
            (1.683e6, "1.68e+6"),
            (719.3e6, "719e+6"),
            (0.000_102, "102e-6"),
            (2.177e9, "2.18e+9"),
        ];
        for (number, text) in cases {
            assert_eq!(figure(number), text);
        }
    }
}
