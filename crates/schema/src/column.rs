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
    /// `GENERATED ALWAYS AS (..)`: its value is made from the row's other columns whenever the row is written.
    pub generated: Option<Generation>,
    /// Stands for the expression of an index part: no statement can name it or sees it.
    pub hidden: bool,
    /// The hidden column of a multi-valued index: a JSON array whose elements have this type; each is a key of the index.
    pub array_of: Option<ColumnType>,
    pub invisible: bool,
    /// The definition names a character set or a collation, which SHOW CREATE TABLE prints even where they are the table's.
    pub explicit_collation: bool,
    /// What rows have that were stored before the column was there; `None`: there are no such rows. Of a virtual column it
    /// only says that there are some: the value is computed.
    pub added_value: Option<Value>,
    pub comment: String,
}

/// How a generated column gets its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// The expression as SHOW CREATE TABLE prints it, over columns of the same row.
    pub expression: String,
    /// STORED, as the definition says it. Rows hold the value of VIRTUAL columns as well (decision 0033).
    pub stored: bool,
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
            generated: None,
            hidden: false,
            array_of: None,
            invisible: false,
            explicit_collation: false,
            added_value: None,
            comment: String::new(),
        }
    }

    /// A generated column that is not STORED.
    pub fn is_virtual(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| !generated.stored)
    }

    /// The type of the keys of an index over the column.
    pub fn key_type(&self) -> &ColumnType {
        self.array_of.as_ref().unwrap_or(&self.column_type)
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
