//! EXTRACT and TIMESTAMPDIFF, whose unit is bound as a first argument.
use datum::{ColumnType, SqlError, Time, Value, error_code};

use expression::BindContext;
use expression::IntervalUnit;
use expression::Volatility::Pure;
use expression::call::MomentOrTime;
use expression::call::infer::{cast_calendar_datetime, cast_datetime, integer_type};
use expression::call::width::width_of_part;
use expression::call::{difference_in, part_of};
use expression::{Arguments, Function};
use expression::{Expr, ExprKind, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "extract",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_extract,
        evaluate: extract,
    },
    Function {
        name: "timestampdiff",
        arguments_min: 3,
        arguments_max: 3,
        volatility: Pure,
        infer: infer_difference,
        evaluate: difference,
    },
];

fn bound_unit(exprs: &[Expr]) -> Result<IntervalUnit, SqlError> {
    let unit = match exprs[0].kind {
        ExprKind::Literal(Value::Int(number)) => IntervalUnit::by_number(number),
        _ => None,
    };
    unit.ok_or_else(|| error_code::ER_WRONG_ARGUMENTS.with(&[&"interval unit"]))
}

/// Units with a part of time are taken from what the value is, all others from a DATETIME.
fn infer_extract(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let unit = bound_unit(arguments)?;
    if !unit.has_time() || arguments[1].ty.column.kind.has_date() {
        match unit {
            IntervalUnit::Week => cast_calendar_datetime(bind, &mut arguments[1])?,
            _ => cast_datetime(bind, &mut arguments[1])?,
        };
    }
    let length = width_of_part(unit);
    Ok(ExprType { column: ColumnType { length, ..ColumnType::bigint() }, ..integer_type() })
}

fn infer_difference(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    bound_unit(arguments)?;
    cast_calendar_datetime(bind, &mut arguments[1])?;
    cast_calendar_datetime(bind, &mut arguments[2])?;
    Ok(ExprType { column: ColumnType::bigint(), ..integer_type() })
}

fn extract(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let unit = bound_unit(arguments.exprs)?;
    if unit.has_time() && !arguments.exprs[1].ty.column.kind.is_temporal() {
        return Ok(match arguments.moment_or_number(1)? {
            None => Value::Null,
            Some(MomentOrTime::Time(time)) => Value::Int(part_of(unit, datum::DateTime::ZERO, time)),
            Some(MomentOrTime::Moment(moment)) => Value::Int(part_of(unit, moment, moment.time())),
        });
    }
    Ok(match &*arguments.value(1)? {
        Value::Time(time) => Value::Int(part_of(unit, datum::DateTime::ZERO, *time)),
        Value::DateTime(moment) => Value::Int(part_of(unit, *moment, moment.time())),
        Value::Date(date) => Value::Int(part_of(unit, date.at_midnight(), Time::ZERO)),
        _ => Value::Null,
    })
}

fn difference(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let unit = bound_unit(arguments.exprs)?;
    let Some(from) = arguments.real_datetime(1)? else { return Ok(Value::Null) };
    let to = arguments.real_datetime(2)?;
    Ok(to.map_or(Value::Null, |to| Value::Int(difference_in(unit, from, to))))
}
