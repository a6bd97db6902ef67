//! Bound parameters of the protocol as SQL values.
//!
//! Invariant: a calendar value that does not exist is an error, never silently another one. Called by `commands`.

use datum::{Date, DateTime, Decimal, SqlError, Time, Value, error_code};
use wire::{ColumnType, DateTimeValue, ParameterValue, TimeValue};

pub(super) fn to_value(parameter: &ParameterValue<'_>) -> Result<Value, SqlError> {
    Ok(match parameter {
        ParameterValue::Null => Value::Null,
        ParameterValue::Signed(value) => Value::Int(*value),
        ParameterValue::Unsigned(value) => Value::UInt(*value),
        ParameterValue::Float(value) => Value::Float(finite(f64::from(*value)).map(|_| *value)?),
        ParameterValue::Double(value) => Value::Double(finite(*value)?),
        ParameterValue::Bytes { column_type, bytes } => from_bytes(*column_type, bytes),
        ParameterValue::Date(value) => Value::Date(date(value)?),
        ParameterValue::DateTime(value) => {
            let date = date(value)?;
            let moment = DateTime::new(date, value.hour, value.minute, value.second, value.microsecond);
            Value::DateTime(moment.ok_or_else(|| out_of_range("DATETIME"))?)
        }
        ParameterValue::Time(value) => Value::Time(time(value)?),
    })
}

/// Numbers in text form become exact numbers; everything else stays the bytes it is.
fn from_bytes(column_type: ColumnType, bytes: &[u8]) -> Value {
    if matches!(column_type, ColumnType::Decimal | ColumnType::NewDecimal)
        && let Some(number) = std::str::from_utf8(bytes).ok().and_then(Decimal::parse)
    {
        return Value::Decimal(number);
    }
    Value::Bytes(bytes.to_vec())
}

fn finite(value: f64) -> Result<f64, SqlError> {
    if value.is_finite() { Ok(value) } else { Err(out_of_range("DOUBLE")) }
}

/// Whether a zero month or day is welcome is for the column to say (NO_ZERO_IN_DATE), so those pass here.
fn date(value: &DateTimeValue) -> Result<Date, SqlError> {
    Date::new_lenient(value.year, value.month, value.day).ok_or_else(|| out_of_range("DATE"))
}

fn time(value: &TimeValue) -> Result<Time, SqlError> {
    let hours = u64::from(value.days) * 24 + u64::from(value.hours);
    let hours = u16::try_from(hours).map_err(|_| out_of_range("TIME"))?;
    let time = Time::new(value.negative, hours, value.minutes, value.seconds, value.microsecond);
    time.ok_or_else(|| out_of_range("TIME"))
}

fn out_of_range(kind: &str) -> SqlError {
    error_code::ER_DATA_OUT_OF_RANGE.with(&[&kind, &"set_parameter_value"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_that_do_not_exist_are_refused() {
        let check = |parameter: ParameterValue<'_>, expected: Option<Value>| {
            assert_eq!(to_value(&parameter).ok(), expected, "{parameter:?}");
        };
        let day = DateTimeValue { year: 2024, month: 2, day: 29, ..DateTimeValue::default() };
        check(ParameterValue::Date(day), Some(Value::Date(Date::new(2024, 2, 29).expect("a date"))));
        check(ParameterValue::Date(DateTimeValue { month: 13, ..day }), None);
        check(ParameterValue::DateTime(DateTimeValue { hour: 24, ..day }), None);
        let moment = TimeValue { days: 34, hours: 22, minutes: 59, seconds: 59, ..TimeValue::default() };
        let expected = Time::new(false, 838, 59, 59, 0).expect("a time");
        check(ParameterValue::Time(moment), Some(Value::Time(expected)));
        check(ParameterValue::Time(TimeValue { days: u32::MAX, ..moment }), None);
        check(ParameterValue::Double(f64::NAN), None);
        let number = ParameterValue::Bytes { column_type: ColumnType::NewDecimal, bytes: b"1.50" };
        check(number, Some(Value::Decimal(Decimal::new(150, 2))));
    }
}
