//! Aggregates over six rows: every line of `testdata/aggregates.tsv` was recorded from MySQL 9.7.
//!
//! A line is function, DISTINCT or nothing, column, `all` rows or `none`, and the result: NULL or `=text`.
//! GROUP_CONCAT is ordered by its column, descending.
use collation::CollationId;
use datum::{ColumnType, Date, Decimal, Time, TypeKind, Value};

use super::{AggregateCall, AggregateFunction, AggregateOrder};
use crate::build::BindContext;
use crate::context::EvalContext;
use crate::expr::Expr;

const COLUMNS: [&str; 7] = ["i", "b", "d", "f", "s", "dt", "tm"];

fn column_type(name: &str) -> ColumnType {
    match name {
        "i" => ColumnType::int(),
        "b" => ColumnType::bigint_unsigned(),
        "d" => ColumnType::decimal(10, 2),
        "f" => ColumnType::double(),
        "s" => ColumnType::varchar(20, CollationId::UTF8MB4_0900_AI_CI),
        "dt" => ColumnType::new(TypeKind::Date),
        _ => ColumnType::new(TypeKind::Time { fsp: 1 }),
    }
}

fn rows() -> Vec<Vec<Value>> {
    let decimal = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
    let date = |text: &str| Value::Date(Date::parse(text.as_bytes(), false).unwrap().value);
    let time = |text: &str| Value::Time(Time::parse(text.as_bytes()).unwrap().value);
    let row = |i, b, d, f, s: &str, dt, tm| {
        vec![Value::Int(i), Value::UInt(b), decimal(d), Value::Double(f), Value::bytes(s), dt, time(tm)]
    };
    vec![
        row(1, u64::MAX, "1.50", 0.1, "b", date("2020-01-02"), "10:00:00.5"),
        row(2, 3, "2.25", 0.2, "A", date("2020-01-01"), "-01:00:00"),
        {
            let mut third = row(2, 3, "2.25", -5.5e10, "a", Value::Null, "00:00:00");
            third[6] = Value::Null;
            third
        },
        vec![Value::Null; 7],
        row(-7, 0, "-0.01", 3e-5, "12x", date("2021-12-31"), "00:00:00"),
        row(5, 9, "99999999.99", 7.0, "", date("2020-01-02"), "10:00:00.5"),
    ]
}

fn result(function: &str, distinct: &str, name: &str, rows: &[Vec<Value>]) -> String {
    let bind = BindContext::default();
    let context = EvalContext::of_constants(&BindContext::default());
    let index = COLUMNS.iter().position(|column| *column == name).unwrap();
    let argument = || Expr::column(index, column_type(name));
    let function = AggregateFunction::by_name(function).unwrap();
    let call = AggregateCall::new(&bind, function, vec![argument()], distinct == "DISTINCT").unwrap();
    let call = if function == AggregateFunction::GroupConcat {
        call.with_order(vec![AggregateOrder { expr: argument(), descending: true }], b",".to_vec())
    } else {
        call
    };
    let mut accumulator = call.accumulator();
    for row in rows {
        accumulator.add(&call, row, &context).unwrap();
    }
    match accumulator.finish(&call, &context).unwrap() {
        Value::Null => "NULL".to_owned(),
        value => format!("={}", String::from_utf8_lossy(&value.to_text(&call.ty.column))),
    }
}

#[test]
fn recorded_aggregates() {
    let all = rows();
    let mut failures = Vec::new();
    for line in include_str!("../../testdata/aggregates.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [function, distinct, column, which, expected] = fields[..] else { panic!("five fields: {line}") };
        let rows = if which == "all" { all.as_slice() } else { &[] };
        let actual = result(function, distinct, column, rows);
        if actual != expected {
            failures.push(format!("{line}, ours {actual}"));
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}
