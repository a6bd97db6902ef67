//! The type of a column or expression.
//!
//! Invariant: `length` counts characters for CHAR and VARCHAR, bytes for BINARY and VARBINARY, and is the
//! declared display width for integers (0 when none was declared); other kinds keep their sizes in the kind.
use std::sync::Arc;

use collation::CollationId;

/// The members of an ENUM or SET in the column's character set, in declaration order.
pub type Members = Arc<[Box<[u8]>]>;

#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// The type of a bare NULL.
    Null,
    Tiny,
    Short,
    Int24,
    Long,
    LongLong,
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// `digits` is the deprecated (M,D).
    Float {
        digits: Option<(u8, u8)>,
    },
    Double {
        digits: Option<(u8, u8)>,
    },
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Date,
    Time {
        fsp: u8,
    },
    DateTime {
        fsp: u8,
    },
    Timestamp {
        fsp: u8,
    },
    Year,
    Enum(Members),
    Set(Members),
    /// The number of bits, 1..=64.
    Bit(u8),
    Json,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnType {
    pub kind: TypeKind,
    pub unsigned: bool,
    pub zerofill: bool,
    pub nullable: bool,
    pub length: u32,
    /// `BINARY` for everything that is not text.
    pub collation: CollationId,
}

impl ColumnType {
    /// A nullable, signed, binary type of this kind.
    pub fn new(kind: TypeKind) -> ColumnType {
        ColumnType {
            kind,
            unsigned: false,
            zerofill: false,
            nullable: true,
            length: 0,
            collation: CollationId::BINARY,
        }
    }

    pub fn int() -> ColumnType {
        ColumnType::new(TypeKind::Long)
    }

    pub fn bigint() -> ColumnType {
        ColumnType::new(TypeKind::LongLong)
    }

    pub fn bigint_unsigned() -> ColumnType {
        ColumnType { unsigned: true, ..ColumnType::bigint() }
    }

    pub fn double() -> ColumnType {
        ColumnType::new(TypeKind::Double { digits: None })
    }

    pub fn decimal(precision: u8, scale: u8) -> ColumnType {
        ColumnType::new(TypeKind::Decimal { precision, scale })
    }

    pub fn varchar(length: u32, collation: CollationId) -> ColumnType {
        ColumnType { length, collation, ..ColumnType::new(TypeKind::VarChar) }
    }

    pub fn varbinary(length: u32) -> ColumnType {
        ColumnType { length, ..ColumnType::new(TypeKind::VarBinary) }
    }

    #[must_use]
    pub fn not_null(self) -> ColumnType {
        ColumnType { nullable: false, ..self }
    }
}
