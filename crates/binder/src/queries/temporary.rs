//! The types that columns of a result have for clients when MySQL keeps the rows in a temporary table: computed whole numbers
//! by their width, and what ROLLUP groups by, which is computed since it may be NULL.
//!
//! Invariant: a value of the old type is one of the new type as it is. Called where a derived table is bound that is not
//! merged, and for blocks WITH ROLLUP.
use datum::{ColumnType, TypeKind};
use plan::OutputColumn;

/// Wider numbers are BIGINT.
const INT_WIDTH_MAX: u32 = 9;

/// What is computed in a query whose rows are kept.
pub fn keep_computed(columns: &mut [OutputColumn]) {
    for column in columns.iter_mut().filter(|column| column.original_name.is_empty()) {
        keep_number(&mut column.column_type);
    }
}

/// The columns of a block WITH ROLLUP whose rows are kept.
pub fn keep_grouped(columns: &mut [OutputColumn]) {
    for column in columns {
        keep_number(&mut column.column_type);
        if column.column_type.kind == TypeKind::Char {
            column.column_type.kind = TypeKind::VarChar;
        }
    }
}

fn keep_number(column_type: &mut ColumnType) {
    let (signed, unsigned) = match column_type.kind {
        TypeKind::Tiny => (4, 3),
        TypeKind::Short => (6, 5),
        TypeKind::Int24 => (9, 8),
        TypeKind::Long => (11, 10),
        TypeKind::LongLong => (20, 20),
        _ => return,
    };
    let own = if column_type.unsigned { unsigned } else { signed };
    let width = if column_type.length > 0 { column_type.length } else { own };
    column_type.kind = if width <= INT_WIDTH_MAX { TypeKind::Long } else { TypeKind::LongLong };
    column_type.length = width;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_by_their_width() {
        let kept = |column_type: ColumnType| {
            let mut columns = [OutputColumn::computed("a", column_type)];
            keep_computed(&mut columns);
            (columns[0].column_type.kind.clone(), columns[0].column_type.length)
        };
        assert_eq!(kept(ColumnType::int()), (TypeKind::LongLong, 11));
        assert_eq!(kept(ColumnType { length: 1, ..ColumnType::bigint() }), (TypeKind::Long, 1));
        assert_eq!(kept(ColumnType::new(TypeKind::Tiny)), (TypeKind::Long, 4));
    }
}
