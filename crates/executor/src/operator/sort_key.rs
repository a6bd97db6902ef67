//! The keys that ORDER BY compares, as bytes.
//!
//! Invariant: comparing two keys gives what comparing the values by `compare_in_type` does, key by key. Called by `sort`.
use datum::{
    ColumnType, Decimal, SqlError, TypeKind, Value, compare_in_type, encode_key, no_warning,
    write_integer_key,
};
use expression::EvalContext;
use plan::SortKey;
use rowstore::{KeyOrder, read_row, write_row};
use std::cmp::Ordering;
use std::mem::discriminant;
use std::sync::Arc;

/// How the keys of a sort are found, written and compared.
pub struct SortKeys<'p> {
    keys: &'p [SortKey],
    /// How many of them are no columns of the row.
    computed: usize,
    /// Documents have no bytes with their order: then the key is the values themselves.
    are_values: bool,
}

/// A row, and the values of the keys that are no columns of it.
type KeyedRow<'r> = (&'r [Value], &'r [Value]);

impl<'p> SortKeys<'p> {
    pub fn new(keys: &'p [SortKey]) -> SortKeys<'p> {
        SortKeys {
            keys,
            computed: keys.iter().filter(|key| key.expr.as_column().is_none()).count(),
            are_values: keys.iter().any(|key| key.expr.ty.column.kind == TypeKind::Json),
        }
    }

    pub fn order(&self) -> KeyOrder {
        if !self.are_values {
            return KeyOrder::Bytes;
        }
        let types: Vec<(ColumnType, bool)> =
            self.keys.iter().map(|key| (key.expr.ty.column.clone(), key.descending)).collect();
        KeyOrder::By(Arc::new(move |left, right| compare_values(&types, left, right)))
    }

    /// How many keys are no columns of the row.
    pub fn computed(&self) -> usize {
        self.computed
    }

    /// Finds the keys that are no columns of the row.
    pub fn compute(
        &self,
        row: &[Value],
        context: &EvalContext,
        computed: &mut [Value],
    ) -> Result<(), SqlError> {
        let keys = self.keys.iter().filter(|key| key.expr.as_column().is_none());
        for (key, value) in keys.zip(computed) {
            *value = key.expr.eval(row, context)?;
        }
        Ok(())
    }

    /// Each key with its value.
    fn values<'r>(&self, (row, computed): KeyedRow<'r>) -> impl Iterator<Item = (&'p SortKey, &'r Value)> {
        let mut computed = computed.iter();
        self.keys.iter().map(move |key| {
            let value = match key.expr.as_column() {
                Some(position) => &row[position],
                None => computed.next().expect("a value for each key that is computed"),
            };
            (key, value)
        })
    }

    /// Appends the key of a row.
    pub fn write(&self, row: KeyedRow<'_>, out: &mut Vec<u8>) {
        for (key, value) in self.values(row) {
            if self.are_values {
                write_row([value], out);
            } else {
                write_key(value, &key.expr.ty.column, key.descending, out);
            }
        }
    }

    /// The order of two rows, which is that of what `write` writes where the rows are comparable.
    pub fn compare(&self, left: KeyedRow<'_>, right: KeyedRow<'_>) -> Ordering {
        for ((key, left), (_, right)) in self.values(left).zip(self.values(right)) {
            let order = compare_in_type(left, right, &key.expr.ty.column);
            if order.is_ne() {
                return if key.descending { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    }

    /// Whether `compare` has one order of the rows: each key's values are of one kind, or NULL.
    pub fn are_comparable<'r>(&self, rows: impl Iterator<Item = KeyedRow<'r>> + Clone) -> bool {
        (0..self.keys.len()).all(|number| {
            let mut values =
                rows.clone().filter_map(|row| self.values(row).nth(number)).map(|(_, value)| value);
            let Some(first) = values.find(|value| !value.is_null()) else { return true };
            values.all(|value| value.is_null() || discriminant(value) == discriminant(first))
        })
    }
}

fn compare_values(types: &[(ColumnType, bool)], left: &[u8], right: &[u8]) -> Ordering {
    let values = |bytes| {
        let mut values = Vec::with_capacity(types.len());
        // The bytes were checked when they came from the disk.
        let _ = read_row(bytes, &mut values);
        values.resize(types.len(), Value::Null);
        values
    };
    for ((column, descending), (left, right)) in types.iter().zip(values(left).iter().zip(&values(right))) {
        let order = compare_in_type(left, right, column);
        if order.is_ne() {
            return if *descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// Appends the key of one value. A number that is not of its column's type is brought into it first.
fn write_key(value: &Value, column: &ColumnType, descending: bool, key: &mut Vec<u8>) {
    let kind = &column.kind;
    let is_number = matches!(
        value,
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_)
    );
    let is_decimal = matches!(kind, TypeKind::Decimal { .. });
    let are_integers = !is_decimal && !kind.is_floating();
    let start = key.len();
    match value {
        Value::Int(number) if are_integers => write_integer_key(i128::from(*number), key),
        Value::UInt(number) if are_integers => write_integer_key(i128::from(*number), key),
        Value::Int(number) if is_decimal => {
            encode_key(&Value::Decimal(Decimal::from_i64(*number)), column, false, key);
        }
        Value::UInt(number) if is_decimal => {
            encode_key(&Value::Decimal(Decimal::from_u64(*number)), column, false, key);
        }
        Value::Float(number) if !matches!(kind, TypeKind::Float { .. }) => {
            encode_key(&Value::Double(f64::from(*number)), column, false, key);
        }
        Value::Float(_) | Value::Double(_) => encode_key(value, column, false, key),
        _ if is_number && kind.is_floating() => {
            let number = value.to_f64(column, &mut no_warning).unwrap_or_default();
            encode_key(&Value::Double(number), column, false, key);
        }
        Value::Null | Value::Bytes(_) => encode_key(value, column, false, key),
        other if kind.is_string() => {
            encode_key(&Value::Bytes(other.to_text(column).to_vec()), column, false, key);
        }
        other => encode_key(other, column, false, key),
    }
    if descending {
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expression::Expr;

    fn key(value: &Value, column: &ColumnType, descending: bool) -> Vec<u8> {
        let mut key = Vec::new();
        write_key(value, column, descending, &mut key);
        key
    }

    #[test]
    fn keys_order_as_their_values() {
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).expect("a number"));
        let groups: [(ColumnType, Vec<Value>); 5] = [
            (ColumnType::bigint(), vec![Value::Null, Value::Int(i64::MIN), Value::Int(-1), Value::Int(0)]),
            (
                ColumnType::bigint_unsigned(),
                vec![Value::Null, Value::UInt(0), Value::Int(5), Value::UInt(7), Value::UInt(u64::MAX)],
            ),
            (
                ColumnType::decimal(20, 2),
                vec![decimal("-7.25"), Value::Int(-7), decimal("0.00"), Value::UInt(3)],
            ),
            (
                ColumnType::double(),
                vec![
                    Value::Double(-1e9),
                    decimal("-1.5"),
                    Value::Int(0),
                    Value::Float(0.5),
                    Value::Double(2.0),
                ],
            ),
            (
                ColumnType::varbinary(9),
                vec![Value::Null, Value::bytes(""), Value::bytes("a"), Value::bytes("ab")],
            ),
        ];
        for (column, values) in groups {
            for (left_number, left) in values.iter().enumerate() {
                for (right_number, right) in values.iter().enumerate() {
                    let expected = left_number.cmp(&right_number);
                    assert_eq!(compare_in_type(left, right, &column), expected, "{left:?} {right:?}");
                    let keys =
                        |descending| key(left, &column, descending).cmp(&key(right, &column, descending));
                    assert_eq!(
                        (keys(false), keys(true)),
                        (expected, expected.reverse()),
                        "{left:?} {right:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn values_of_several_kinds_are_not_compared() {
        let keys = [SortKey { expr: Expr::column(0, ColumnType::double()), descending: false }];
        let keys = SortKeys::new(&keys);
        let are_comparable = |values: &[Value]| {
            keys.are_comparable(values.iter().map(|value| (std::slice::from_ref(value), &[][..])))
        };
        assert!(are_comparable(&[]));
        assert!(are_comparable(&[Value::Null, Value::Double(1.0), Value::Null, Value::Double(0.0)]));
        assert!(!are_comparable(&[Value::Null, Value::Double(1.0), Value::Int(0)]));
    }
}
