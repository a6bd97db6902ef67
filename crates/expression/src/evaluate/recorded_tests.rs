//! Operators and casts over literals: every line of `testdata/operators.tsv` was recorded from MySQL 9.7.
//!
//! A line is operator, left operand, right operand (or the target of CAST) and the result: NULL, `=text` or the
//! number of the error.
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, DateTime, Decimal, SqlError, Time, TypeKind, Value};

use crate::build::BindContext;
use crate::context::{EvalContext, StatementSettings};
use crate::expr::Expr;
use crate::operator::{ArithmeticOperator as A, BitOperator as B, ComparisonOperator as C};

fn quoted<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    text.strip_prefix(prefix)?.strip_prefix('\'')?.strip_suffix('\'')
}

fn operand(bind: &BindContext, text: &str) -> Expr {
    if text == "NULL" {
        return Expr::null();
    }
    if let Some(date) = quoted(text, "DATE") {
        let value = Value::Date(DateTime::parse(date.as_bytes(), false).unwrap().value.date());
        return Expr::literal(value, ColumnType::new(TypeKind::Date).not_null());
    }
    if let Some(moment) = quoted(text, "TIMESTAMP") {
        let value = Value::DateTime(DateTime::parse(moment.as_bytes(), false).unwrap().value);
        return Expr::literal(value, ColumnType::new(TypeKind::DateTime { fsp: 3 }).not_null());
    }
    if let Some(time) = quoted(text, "TIME") {
        let value = Value::Time(Time::parse(time.as_bytes()).unwrap().value);
        return Expr::literal(value, ColumnType::new(TypeKind::Time { fsp: 0 }).not_null());
    }
    if text == "x'41'" {
        return Expr::hex_literal(b"A");
    }
    if let Some(text) = quoted(text, "") {
        return bind.text_literal(text.as_bytes());
    }
    if let Ok(number) = text.parse::<i64>() {
        return Expr::int(number);
    }
    if let Ok(number) = text.parse::<u64>() {
        return Expr::literal(Value::UInt(number), ColumnType::bigint_unsigned().not_null());
    }
    if text.contains('e') {
        return Expr::literal(Value::Double(text.parse().unwrap()), ColumnType::double().not_null());
    }
    let number = Decimal::parse(text).unwrap();
    let column = ColumnType::decimal(number.digit_count() as u8, number.scale()).not_null();
    Expr::literal(Value::Decimal(number), column)
}

fn cast_target(text: &str) -> ColumnType {
    let utf8 = CollationId::UTF8MB4_0900_AI_CI;
    match text {
        "SIGNED" => ColumnType::bigint(),
        "UNSIGNED" => ColumnType::bigint_unsigned(),
        "CHAR" => ColumnType::varchar(u32::MAX, utf8),
        "CHAR(2)" => ColumnType::varchar(2, utf8),
        "BINARY(4)" => ColumnType::varbinary(4),
        "DECIMAL(10,2)" => ColumnType::decimal(10, 2),
        "DOUBLE" => ColumnType::double(),
        "DATE" => ColumnType::new(TypeKind::Date),
        "DATETIME" => ColumnType::new(TypeKind::DateTime { fsp: 0 }),
        "DATETIME(3)" => ColumnType::new(TypeKind::DateTime { fsp: 3 }),
        "TIME" => ColumnType::new(TypeKind::Time { fsp: 0 }),
        "TIME(2)" => ColumnType::new(TypeKind::Time { fsp: 2 }),
        "YEAR" => ColumnType::new(TypeKind::Year),
        _ => panic!("unknown type {text}"),
    }
}

fn bound(bind: &BindContext, operator: &str, left: &str, right: &str) -> Result<Expr, SqlError> {
    let l = operand(bind, left);
    let r = || operand(bind, right);
    match operator {
        "CAST" => bind.cast(l, cast_target(right)),
        "NEG" => bind.negate(l),
        "~" => bind.bit_not(l),
        "NOT" => bind.not(l),
        "+" => bind.arithmetic(A::Add, l, r()),
        "-" => bind.arithmetic(A::Subtract, l, r()),
        "*" => bind.arithmetic(A::Multiply, l, r()),
        "/" => bind.arithmetic(A::Divide, l, r()),
        "DIV" => bind.arithmetic(A::IntegerDivide, l, r()),
        "%" => bind.arithmetic(A::Modulo, l, r()),
        "=" => bind.compare(C::Equal, l, r()),
        "<=>" => bind.compare(C::NullSafeEqual, l, r()),
        "<>" => bind.compare(C::NotEqual, l, r()),
        "<" => bind.compare(C::Less, l, r()),
        ">=" => bind.compare(C::GreaterOrEqual, l, r()),
        "AND" => bind.and(vec![l, r()]),
        "OR" => bind.or(vec![l, r()]),
        "XOR" => bind.xor(l, r()),
        "&" => bind.bit(B::And, l, r()),
        "|" => bind.bit(B::Or, l, r()),
        "^" => bind.bit(B::Xor, l, r()),
        "<<" => bind.bit(B::ShiftLeft, l, r()),
        ">>" => bind.bit(B::ShiftRight, l, r()),
        "LIKE" => bind.like(false, l, r(), None),
        _ => panic!("unknown operator {operator}"),
    }
}

fn check(line: &str, bind: &BindContext, context: &EvalContext) -> Result<(), String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [operator, left, right, expected] = fields[..] else { panic!("four fields: {line}") };
    let actual = bound(bind, operator, left, right).and_then(|expr| {
        let value = expr.eval(&[], context)?;
        Ok(match value {
            Value::Null => "NULL".to_owned(),
            value => {
                format!("={}", String::from_utf8_lossy(&value.to_text(&expr.ty.column)).replace('\0', "\\0"))
            }
        })
    });
    let actual = actual.unwrap_or_else(|error| format!("error {}", error.errno));
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{operator} {left} {right}: {actual}, MySQL {expected}"))
    }
}

#[test]
fn recorded_operators() {
    let bind = BindContext::default();
    let settings =
        StatementSettings { now_utc_micros: 1_700_000_000_123_456, ..StatementSettings::default() };
    let mut context = EvalContext::of_constants(&bind);
    context.settings = Arc::new(settings);
    let lines = include_str!("../../testdata/operators.tsv").lines();
    let failures: Vec<String> = lines.filter_map(|line| check(line, &bind, &context).err()).collect();
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}
