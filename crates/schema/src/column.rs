//! One column of a table.
use datum::{ColumnType, TypeKind, Value};

/// What a column gets when INSERT names no value for it.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum ColumnDefault {
    /// No DEFAULT clause and NOT NULL: leaving the column out is error 1364 in strict mode.
    #[default]
    None,
    Null,
    /// A literal, already converted to the column's type; `text` is what SHOW CREATE TABLE quotes.
    Value {
        value: Value,
        text: String,
    },
    /// `CURRENT_TIMESTAMP(fsp)`.
    CurrentTimestamp {
        fsp: u8,
    },
    /// `DEFAULT (expression)`: the expression's text, parsed again when a plan needs it.
    Expression {
        text: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    pub name: String,
    pub column_type: ColumnType,
    pub default: ColumnDefault,
    /// `ON UPDATE CURRENT_TIMESTAMP(fsp)`; the digits are those of the column's type.
    pub on_update_current_timestamp: bool,
    pub auto_increment: bool,
    pub invisible: bool,
    pub comment: String,
}

impl ColumnDef {
    pub fn new(name: impl Into<String>, column_type: ColumnType) -> ColumnDef {
        let default = if column_type.nullable { ColumnDefault::Null } else { ColumnDefault::None };
        ColumnDef {
            name: name.into(),
            column_type,
            default,
            on_update_current_timestamp: false,
            auto_increment: false,
            invisible: false,
            comment: String::new(),
        }
    }

    pub fn nullable(&self) -> bool {
        self.column_type.nullable
    }

    /// TEXT, BLOB and JSON columns cannot be a key without a prefix length.
    pub fn is_large_object(&self) -> bool {
        use TypeKind::*;
        matches!(
            self.column_type.kind,
            TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob | Json
        )
    }
}

impl ColumnDef {
    /// Whether a full (not truncated) index part gives the exact value back. Text that is ordered by weights or by
    /// padding does not.
    pub fn is_decodable_from_key(&self) -> bool {
        use TypeKind::*;
        match self.column_type.kind {
            Char | VarChar | TinyText | Text | MediumText | LongText | Json | Null => false,
            Tiny | Short | Int24 | Long | LongLong | Decimal { .. } | Float { .. } | Double { .. } => true,
            Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob => true,
            Date | Time { .. } | DateTime { .. } | Timestamp { .. } | Year | Enum(_) | Set(_) | Bit(_) => {
                true
            }
        }
    }
}
