//! Which comparisons an index answers: where it has the values in the order, or by the equality, that the comparison means. Called
//! by `range`.
use collation::CollationId;
use datum::{ColumnType, CompareMode, TypeKind};
use expression::{Expr, ExprKind};

/// The digits that a double keeps.
const DOUBLE_DIGITS: u8 = 15;

/// Whether what is equal to the value by `mode` has one key. The keys of an ENUM have the order of its members, and a text is the text of one.
pub fn index_finds(column_type: &ColumnType, mode: CompareMode, value: &Expr) -> bool {
    let is_member = matches!(column_type.kind, TypeKind::Enum(_))
        && mode == CompareMode::Text(column_type.collation)
        && value.ty.column.kind.is_string();
    is_member || is_coarser(column_type, mode) || index_orders(column_type, mode)
}

/// Whether texts whose characters are the same are one key of the column, so that what is equal by a binary collation is.
fn is_coarser(column_type: &ColumnType, mode: CompareMode) -> bool {
    let CompareMode::Text(collation) = mode else { return false };
    is_text_type(column_type)
        && (collation == CollationId::UTF8MB4_0900_BIN || collation == collation.charset().binary_collation())
        && collation.charset() == column_type.collation.charset()
        && (column_type.collation.pads() || !collation.pads())
}

/// Whether comparing by `mode` agrees with the order of the column's keys.
pub fn index_orders(column_type: &ColumnType, mode: CompareMode) -> bool {
    use TypeKind::*;
    match (&column_type.kind, mode) {
        (Tiny | Short | Int24 | Long | LongLong | Year | Bit(_), CompareMode::Integer) => true,
        (Tiny | Short | Int24 | Long | LongLong, CompareMode::Decimal | CompareMode::Double) => true,
        (Decimal { .. }, CompareMode::Integer | CompareMode::Decimal) => true,
        // No two of so many digits are one double.
        (Decimal { precision, .. }, CompareMode::Double) => *precision <= DOUBLE_DIGITS,
        (Enum(_), CompareMode::Integer | CompareMode::Decimal | CompareMode::Double) => true,
        (Float { .. } | Double { .. }, CompareMode::Double) => true,
        (Date | DateTime { .. } | Timestamp { .. }, CompareMode::DateTime) => true,
        (Time { .. }, CompareMode::Time) => true,
        (_, CompareMode::Text(collation)) => is_text(column_type) && collation == column_type.collation,
        _ => false,
    }
}

pub fn is_text(column_type: &ColumnType) -> bool {
    is_text_type(column_type) || (is_binary_type(column_type) && column_type.collation == CollationId::BINARY)
}

pub fn is_text_type(column_type: &ColumnType) -> bool {
    use TypeKind::*;
    matches!(column_type.kind, Char | VarChar | TinyText | Text | MediumText | LongText)
}

fn is_binary_type(column_type: &ColumnType) -> bool {
    use TypeKind::*;
    matches!(column_type.kind, Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob)
}

/// The key's order and the comparison are the same thing: rows inside the range satisfy the condition. Integers
/// compared as integers only; everything else is checked again.
pub fn is_exact(column_type: &ColumnType, condition: &Expr) -> bool {
    use TypeKind::{Int24, Long, LongLong, Short, Tiny};
    let mode_of = |mode: CompareMode| mode == CompareMode::Integer;
    matches!(column_type.kind, Tiny | Short | Int24 | Long | LongLong)
        && match &condition.kind {
            ExprKind::Compare(_, mode, ..) | ExprKind::Between { mode, .. } => mode_of(*mode),
            ExprKind::In { list, .. } => list.iter().all(|(mode, _)| mode_of(*mode)),
            _ => false,
        }
}
