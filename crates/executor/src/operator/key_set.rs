//! Values as keys of hash tables: equal by SQL's comparison means equal bytes.
use datum::{ColumnType, CompareMode, MomentContext, SqlError, Value, encode_key, no_warning};
use expression::{EvalContext, Expr};

/// Appends the key of a group's or DISTINCT's value; NULLs are equal to each other.
pub fn write_group_key(value: &Value, column_type: &ColumnType, key: &mut Vec<u8>) {
    match value {
        // Integers of both signednesses and widths have one form.
        Value::Int(number) => write_integer(i128::from(*number), key),
        Value::UInt(number) => write_integer(i128::from(*number), key),
        Value::Json(text) => {
            key.push(2);
            key.extend_from_slice(&(text.len() as u64).to_be_bytes());
            key.extend_from_slice(text.as_bytes());
        }
        other => encode_key(other, column_type, false, key),
    }
}

fn write_integer(number: i128, key: &mut Vec<u8>) {
    key.push(1);
    key.extend_from_slice(&number.to_be_bytes());
}

/// The group key of several expressions.
pub fn write_group_keys(
    exprs: &[Expr],
    row: &[Value],
    context: &EvalContext,
    key: &mut Vec<u8>,
) -> Result<(), SqlError> {
    for expr in exprs {
        write_group_key(&*expr.eval_ref(row, context)?, &expr.ty.column, key);
    }
    Ok(())
}

/// Appends the key under which `value` is equal to others by `mode`; false when it equals nothing (NULL).
pub fn write_compare_key(
    mode: CompareMode,
    value: &Value,
    column_type: &ColumnType,
    context: &EvalContext,
    key: &mut Vec<u8>,
) -> bool {
    if value.is_null() {
        return false;
    }
    let zone = &context.settings.time_zone;
    match mode {
        CompareMode::Integer => match value.to_integer(column_type, &mut no_warning) {
            Some(number) => write_integer(number, key),
            None => return false,
        },
        CompareMode::Decimal => match value.in_session_zone(zone).to_decimal(column_type, &mut no_warning) {
            Some(number) => number.write_key(key),
            None => return false,
        },
        CompareMode::Double => match value.in_session_zone(zone).to_f64(column_type, &mut no_warning) {
            // Both zeros are equal.
            Some(number) => key.extend_from_slice(&(number + 0.0).to_bits().to_be_bytes()),
            None => return false,
        },
        CompareMode::Text(collation) => collation.write_sort_key(&value.to_text(column_type), key),
        CompareMode::DateTime | CompareMode::Time => {
            let local = zone.to_local(context.settings.now_utc_micros);
            let Some(today) = local.map(datum::DateTime::date) else { return false };
            let moments = MomentContext { zone, mode: context.settings.sql_mode, today };
            let bits = if mode == CompareMode::Time {
                value.to_time(column_type, &moments).map(|time| time.value.to_micros() as u64)
            } else {
                value.to_datetime(column_type, &moments).map(|at| at.value.to_packed())
            };
            match bits {
                Ok(bits) => key.extend_from_slice(&bits.to_be_bytes()),
                Err(_) => return false,
            }
        }
        // Documents are compared one by one: all share one key and the condition decides.
        CompareMode::Json => key.push(0),
    }
    true
}
