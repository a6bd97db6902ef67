//! Bound parameters of the protocol as SQL values.
//!
//! Invariant: a calendar value that does not exist is an error, never silently another one. Called by `commands`.

use datum::{SqlError, Value};
use wire::ParameterValue;

pub(super) fn to_value(parameter: &ParameterValue<'_>) -> Result<Value, SqlError> {
    Ok(match parameter {
        ParameterValue::Null => Value::Null,
        ParameterValue::Signed(value) => Value::Int(*value),
        ParameterValue::Unsigned(value) => Value::UInt(*value),
        ParameterValue::Float(value) => Value::Float(*value),
        ParameterValue::Double(value) => Value::Double(*value),
        ParameterValue::Bytes { bytes, .. } => Value::Bytes(bytes.to_vec()),
        ParameterValue::Date(_) | ParameterValue::DateTime(_) | ParameterValue::Time(_) => Value::Null,
    })
}
