//! What a user variable keeps of a value: whole numbers, DOUBLE, DECIMAL and text, and no other type.
//!
//! Invariant: what is read from a variable has a type that was made here. Called when a variable takes a value.
use collation::CollationId;
use datum::{ColumnType, TypeKind, Value};

/// Characters of a text, so that it is none of a TEXT column's, whose numbers are read without a word.
const TEXT_LENGTH: u32 = 16_777_216;

/// The value and its type, as a variable has them.
pub fn kept(value: Value, column_type: &ColumnType) -> (Value, ColumnType) {
    use TypeKind::*;
    let text = |kind: TypeKind, collation: CollationId| {
        let kept = ColumnType { length: TEXT_LENGTH, collation, ..ColumnType::new(kind) };
        (text_of(&value, column_type), kept)
    };
    match column_type.kind {
        Null => text(LongBlob, CollationId::BINARY),
        Tiny | Short | Int24 | Long | LongLong | Year | Bit(_) => whole_number(value, column_type),
        Decimal { .. } => (value, ColumnType { zerofill: false, nullable: true, ..column_type.clone() }),
        Float { .. } | Double { .. } => {
            let value = match value {
                Value::Float(number) => Value::Double(f64::from(number)),
                other => other,
            };
            (value, ColumnType::double())
        }
        // Moments and JSON are text from here on.
        Date | Time { .. } | DateTime { .. } | Timestamp { .. } => {
            text(LongText, CollationId::LATIN1_SWEDISH_CI)
        }
        Json => text(LongText, CollationId::UTF8MB4_BIN),
        _ if column_type.is_text() => text(LongText, column_type.collation),
        Enum(_) | Set(_) => text(LongText, column_type.collation),
        _ => text(LongBlob, CollationId::BINARY),
    }
}

fn whole_number(value: Value, column_type: &ColumnType) -> (Value, ColumnType) {
    let is_signed = matches!(value, Value::Int(_))
        || (value.is_null()
            && !column_type.unsigned
            && !matches!(column_type.kind, TypeKind::Year | TypeKind::Bit(_)));
    let value = match value {
        Value::Bit(bits) => Value::UInt(bits),
        Value::Year(year) => Value::UInt(u64::from(year)),
        other => other,
    };
    (value, if is_signed { ColumnType::bigint() } else { ColumnType::bigint_unsigned() })
}

fn text_of(value: &Value, column_type: &ColumnType) -> Value {
    match value {
        Value::Null | Value::Bytes(_) => value.clone(),
        other => Value::Bytes(other.to_text(column_type).into_owned()),
    }
}
