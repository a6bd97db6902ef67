//! How values of a column type are laid out in bytes, decided once for each column.
use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKind {
    /// Width in bytes: 1, 2, 3, 4 or 8.
    Signed(u8),
    Unsigned(u8),
    Float,
    Double,
    Decimal {
        scale: u8,
    },
    /// Binary strings: their own order.
    Binary,
    Text(CollationId),
    Json,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Enum,
    Set,
    Bit,
}

impl StorageKind {
    pub fn of(column_type: &ColumnType) -> StorageKind {
        use TypeKind::*;
        let integer = |width| {
            if column_type.unsigned { StorageKind::Unsigned(width) } else { StorageKind::Signed(width) }
        };
        match &column_type.kind {
            Tiny => integer(1),
            Short => integer(2),
            Int24 => integer(3),
            Long => integer(4),
            LongLong => integer(8),
            Decimal { scale, .. } => StorageKind::Decimal { scale: *scale },
            Float { .. } => StorageKind::Float,
            Double { .. } => StorageKind::Double,
            Char | VarChar | TinyText | Text | MediumText | LongText => match column_type.collation {
                CollationId::BINARY => StorageKind::Binary,
                collation => StorageKind::Text(collation),
            },
            Null | Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob => StorageKind::Binary,
            Date => StorageKind::Date,
            Time { .. } => StorageKind::Time,
            DateTime { .. } => StorageKind::DateTime,
            Timestamp { .. } => StorageKind::Timestamp,
            Year => StorageKind::Year,
            Enum(_) => StorageKind::Enum,
            Set(_) => StorageKind::Set,
            Bit(_) => StorageKind::Bit,
            Json => StorageKind::Json,
        }
    }

    /// The bytes every value takes, `None` when it depends on the value.
    pub fn fixed_width(self) -> Option<usize> {
        match self {
            StorageKind::Signed(width) | StorageKind::Unsigned(width) => Some(usize::from(width)),
            StorageKind::Year | StorageKind::Enum => Some(2),
            StorageKind::Float | StorageKind::Date => Some(4),
            StorageKind::Double
            | StorageKind::Time
            | StorageKind::DateTime
            | StorageKind::Timestamp
            | StorageKind::Set
            | StorageKind::Bit => Some(8),
            StorageKind::Decimal { .. } | StorageKind::Binary | StorageKind::Text(_) | StorageKind::Json => {
                None
            }
        }
    }

    /// A full key part gives the exact value back.
    pub fn is_decodable_from_key(self) -> bool {
        !matches!(self, StorageKind::Text(_) | StorageKind::Json)
    }
}

/// A value that is not of its column's type: the caller did not convert it.
pub fn mismatch(kind: StorageKind, value: &Value) -> SqlError {
    error_code::ER_INTERNAL_ERROR.with(&[&format!("a value {value:?} in a column stored as {kind:?}")])
}

/// An integer of either sign as 64 bits, if it is one.
pub fn integer_of(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    }
}
