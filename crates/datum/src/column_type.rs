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

const COMPUTED_YEAR_LENGTH: u32 = 5;

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

    /// The YEAR of an expression, which is shown without leading zeros. It has five places, a column's four.
    pub fn computed_year() -> ColumnType {
        ColumnType { length: COMPUTED_YEAR_LENGTH, ..ColumnType::new(TypeKind::Year) }
    }

    /// The YEAR that an expression takes from others, which is shown without leading zeros as well.
    pub fn chosen_year() -> ColumnType {
        ColumnType { length: COMPUTED_YEAR_LENGTH - 1, ..ColumnType::new(TypeKind::Year) }
    }

    pub fn is_computed_year(&self) -> bool {
        self.kind == TypeKind::Year && self.length > 0
    }

    #[must_use]
    pub fn not_null(self) -> ColumnType {
        ColumnType { nullable: false, ..self }
    }
}

impl TypeKind {
    pub fn is_integer(&self) -> bool {
        use TypeKind::{Int24, Long, LongLong, Short, Tiny};
        matches!(self, Tiny | Short | Int24 | Long | LongLong)
    }

    pub fn is_floating(&self) -> bool {
        matches!(self, TypeKind::Float { .. } | TypeKind::Double { .. })
    }

    /// Integers, DECIMAL, FLOAT, DOUBLE, YEAR and BIT: what behaves as a number by itself.
    pub fn is_numeric(&self) -> bool {
        self.is_integer()
            || self.is_floating()
            || matches!(self, TypeKind::Decimal { .. } | TypeKind::Year | TypeKind::Bit(_))
    }

    /// CHAR to LONGBLOB: values are `Value::Bytes`.
    pub fn is_string(&self) -> bool {
        use TypeKind::{Binary, Char, VarBinary, VarChar};
        matches!(self, Char | VarChar | Binary | VarBinary) || self.is_large_object()
    }

    /// The TEXT and BLOB types.
    pub fn is_large_object(&self) -> bool {
        use TypeKind::{Blob, LongBlob, LongText, MediumBlob, MediumText, Text, TinyBlob, TinyText};
        matches!(self, TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob)
    }

    /// DATE, TIME, DATETIME and TIMESTAMP.
    pub fn is_temporal(&self) -> bool {
        self.has_date() || matches!(self, TypeKind::Time { .. })
    }

    /// DATE, DATETIME and TIMESTAMP.
    pub fn has_date(&self) -> bool {
        matches!(self, TypeKind::Date | TypeKind::DateTime { .. } | TypeKind::Timestamp { .. })
    }

    pub fn has_members(&self) -> bool {
        matches!(self, TypeKind::Enum(_) | TypeKind::Set(_))
    }

    /// Fractional second digits of temporals, 0 for others.
    pub fn fsp(&self) -> u8 {
        match self {
            TypeKind::Time { fsp } | TypeKind::DateTime { fsp } | TypeKind::Timestamp { fsp } => *fsp,
            _ => 0,
        }
    }
}

impl ColumnType {
    /// The lowest and highest value of an integer type; `None` for other kinds.
    pub fn integer_bounds(&self) -> Option<(i128, i128)> {
        let bits = match self.kind {
            TypeKind::Tiny => 8,
            TypeKind::Short => 16,
            TypeKind::Int24 => 24,
            TypeKind::Long => 32,
            TypeKind::LongLong => 64,
            _ => return None,
        };
        Some(if self.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) })
    }

    /// The most bytes a string column of this type holds.
    pub fn byte_length_max(&self) -> u64 {
        let per_character = u64::from(self.collation.charset().bytes_per_character_max());
        match self.kind {
            TypeKind::Char | TypeKind::VarChar => u64::from(self.length) * per_character,
            TypeKind::Binary | TypeKind::VarBinary => u64::from(self.length),
            TypeKind::TinyText | TypeKind::TinyBlob => 255,
            TypeKind::Text | TypeKind::Blob => 65_535,
            TypeKind::MediumText | TypeKind::MediumBlob => 16_777_215,
            _ => u64::from(u32::MAX),
        }
    }

    /// A TEXT or BLOB column; computed ones have a length.
    pub fn is_stored_object(&self) -> bool {
        self.kind.is_large_object() && self.length == 0
    }

    /// Text with a character set other than `binary`.
    pub fn is_text(&self) -> bool {
        self.kind.is_string() && self.collation != CollationId::BINARY
    }

    /// The type of the bytes that are kept of a number in hexadecimal; any other type as it is.
    pub fn as_bytes(self) -> ColumnType {
        match self.is_hex_literal() {
            true => ColumnType { unsigned: false, zerofill: false, ..self },
            false => self,
        }
    }

    /// The type of a hexadecimal or bit literal: a binary string that is a number where numbers are wanted.
    pub fn is_hex_literal(&self) -> bool {
        self.kind == TypeKind::VarBinary && self.unsigned
    }

    pub fn is_unsigned_number(&self) -> bool {
        self.unsigned
            || matches!(self.kind, TypeKind::Year | TypeKind::Bit(_) | TypeKind::Set(_) | TypeKind::Enum(_))
    }

    /// A hexadecimal literal that was written in bits, which is no unsigned number.
    pub fn is_bit_literal(&self) -> bool {
        self.is_hex_literal() && self.zerofill
    }

    /// Digits after the point where a type has a fixed number of them: not FLOAT and DOUBLE without (M,D), nor text other
    /// than hexadecimal literals.
    pub fn fixed_scale(&self) -> Option<u8> {
        match self.kind {
            TypeKind::Float { digits } | TypeKind::Double { digits } => digits.map(|(_, scale)| scale),
            TypeKind::Json => None,
            ref kind if kind.has_members() || (kind.is_string() && !self.is_hex_literal()) => None,
            _ => Some(self.scale()),
        }
    }

    /// Digits after the point of exact numbers; 0 for integers.
    pub fn scale(&self) -> u8 {
        match self.kind {
            TypeKind::Decimal { scale, .. } => scale,
            _ => self.kind.fsp(),
        }
    }
}
