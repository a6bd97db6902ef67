//! Whether a value of one type means the same in another.
use datum::ColumnType;

use datum::TypeKind;

/// The same values, which may be NULL in one of the two only.
pub fn is_same_value(before: &ColumnType, after: &ColumnType) -> bool {
    let nullable = before.nullable;
    is_stored_alike(before, &ColumnType { nullable, ..after.clone() })
}

pub fn is_stored_alike(before: &ColumnType, after: &ColumnType) -> bool {
    let grows =
        matches!(before.kind, TypeKind::VarChar | TypeKind::VarBinary) && before.length <= after.length;
    let is_number = matches!(
        before.kind,
        TypeKind::Tiny | TypeKind::Short | TypeKind::Int24 | TypeKind::Long | TypeKind::LongLong
    );
    let has_members = matches!(before.kind, TypeKind::Enum(_) | TypeKind::Set(_));
    // An integer's length is a display width, its zero fill a matter of printing.
    (before.kind == after.kind || gains_members(&before.kind, &after.kind))
        && before.unsigned == after.unsigned
        && before.nullable == after.nullable
        && before.collation == after.collation
        && (before.length == after.length || grows || is_number || has_members)
}

/// The same members with others behind them: their numbers stay.
pub fn gains_members(before: &TypeKind, after: &TypeKind) -> bool {
    match (before, after) {
        (TypeKind::Enum(old), TypeKind::Enum(new)) | (TypeKind::Set(old), TypeKind::Set(new)) => {
            old.len() <= new.len() && old.iter().eq(new.iter().take(old.len()))
        }
        _ => false,
    }
}
