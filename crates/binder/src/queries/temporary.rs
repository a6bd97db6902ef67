//! The types that columns of a result have for clients when MySQL keeps the rows in a temporary table: computed whole numbers
//! by their width, and what ROLLUP groups by, which is computed since it may be NULL.
//!
//! Invariant: a value of the old type is one of the new type as it is. Called where a derived table is bound that is not
//! merged, and for blocks WITH ROLLUP.
use crate::block::Block;
use crate::bound::{Logical, SelectItem};
use crate::walk::aggregate_number;
use datum::{ColumnType, Decimal, PRECISION_MAX, SCALE_MAX, TypeKind, Value};
use expression::{AggregateFunction, BindContext, Expr, ExprKind};
use plan::OutputColumn;

/// Wider numbers are BIGINT.
const INT_WIDTH_MAX: u32 = 9;

/// What is computed in a query whose rows are kept. It reads the slots of `outside` from the queries around it.
pub fn keep_computed(columns: &mut [OutputColumn], query: &Logical, outside: &[usize]) {
    for (place, column) in
        columns.iter_mut().enumerate().filter(|(_, column)| column.original_name.is_empty())
    {
        match item_kind(query, place, outside) {
            ItemKind::Column => {}
            ItemKind::Aggregate if column.column_type.kind.is_integer() => {
                column.column_type.kind = TypeKind::LongLong;
            }
            ItemKind::Aggregate | ItemKind::Computed => keep_number(&mut column.column_type),
        }
    }
}

enum ItemKind {
    /// A column of a query around, or the least or greatest of a column: of the column's type.
    Column,
    Aggregate,
    Computed,
}

fn item_kind(query: &Logical, place: usize, outside: &[usize]) -> ItemKind {
    let select = match query {
        Logical::Select(select) => select,
        Logical::Limit { input, .. } | Logical::Initialise { input, .. } => {
            return item_kind(input, place, outside);
        }
        _ => return ItemKind::Computed,
    };
    let Some(item) = select.bound.items.get(place) else { return ItemKind::Computed };
    if matches!(item.expr.kind, ExprKind::Slot(slot) if outside.contains(&slot)) {
        return ItemKind::Column;
    }
    aggregate_kind(&item.expr, &select.block, outside).unwrap_or(ItemKind::Computed)
}

fn aggregate_kind(expr: &Expr, block: &Block, outside: &[usize]) -> Option<ItemKind> {
    let call = block.aggregates.get(aggregate_number(expr)?)?;
    let is_column = match call.function {
        AggregateFunction::Min | AggregateFunction::Max => match &call.arguments[0].kind {
            ExprKind::Column(_) => true,
            ExprKind::Slot(slot) => outside.contains(slot),
            _ => false,
        },
        _ => false,
    };
    Some(if is_column { ItemKind::Column } else { ItemKind::Aggregate })
}

/// A constant has no more digits in a table than a DECIMAL may have.
pub fn cut_constants(bind: &BindContext, query: &mut Logical) {
    let Logical::Select(select) = query else { return };
    for item in &mut select.bound.items {
        let Some(Value::Decimal(number)) = bind.peek(&item.expr) else { continue };
        let TypeKind::Decimal { scale, .. } = item.expr.ty.column.kind else { continue };
        let scale = scale.min(SCALE_MAX);
        let limit = Decimal::max_of(PRECISION_MAX, scale);
        let cut = match number.rescale(scale) {
            Ok(cut) if cut.absolute().compare(&limit).is_le() => cut,
            _ if number.is_negative() => limit.negated(),
            _ => limit,
        };
        if cut.compare(&number).is_ne() {
            bind.decide_by(&item.expr);
            item.expr =
                Expr::literal(Value::Decimal(cut), ColumnType::decimal(PRECISION_MAX, scale).not_null());
        }
    }
}

/// A number in hexadecimal is nothing but its bytes in a table.
pub fn keep_bytes(columns: &mut [OutputColumn]) {
    for column in columns {
        column.column_type = column.column_type.clone().as_bytes();
    }
}

/// The columns of a block WITH ROLLUP whose rows are kept.
pub fn keep_grouped(columns: &mut [OutputColumn], items: &[SelectItem], block: &Block) {
    for (column, item) in columns.iter_mut().zip(items) {
        if matches!(aggregate_kind(&item.expr, block, &[]), Some(ItemKind::Column)) {
            continue;
        }
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
            keep_computed(&mut columns, &Logical::Union(Vec::new()), &[]);
            (columns[0].column_type.kind.clone(), columns[0].column_type.length)
        };
        assert_eq!(kept(ColumnType::int()), (TypeKind::LongLong, 11));
        assert_eq!(kept(ColumnType { length: 1, ..ColumnType::bigint() }), (TypeKind::Long, 1));
        assert_eq!(kept(ColumnType::new(TypeKind::Tiny)), (TypeKind::Long, 4));
    }
}
