//! Values as keys of hash tables: equal by SQL's comparison means equal bytes.
use datum::{ColumnType, CompareMode, Operand, SqlError, Value, encode_key, no_warning, write_integer_key};
use expression::{EvalContext, Expr, moment_context};

/// Appends the key of a group's or DISTINCT's value; NULLs are equal to each other.
pub fn write_group_key(value: &Value, column_type: &ColumnType, key: &mut Vec<u8>) {
    match value {
        // Integers of both signednesses and widths have one form.
        Value::Int(number) => write_integer_key(i128::from(*number), key),
        Value::UInt(number) => write_integer_key(i128::from(*number), key),
        Value::Json(text) => {
            key.push(2);
            let bytes = datum::json_key(text);
            key.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            key.extend_from_slice(&bytes);
        }
        other => encode_key(other, column_type, false, key),
    }
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
    // Documents are compared one by one: all share one key and the condition decides.
    if mode == CompareMode::Json && !value.is_null() {
        key.push(0);
        return true;
    }
    let moments = moment_context(context, mode == CompareMode::DateTime);
    let operand = Operand { value, column: column_type };
    datum::write_compare_key(mode, operand, &moments, &mut no_warning, key)
}
