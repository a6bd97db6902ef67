//! The types of columns of `information_schema` as MySQL 9.7 describes them, where a view's own list says it otherwise.
//!
//! `shapes.txt` has a line for each: view, column, type, and the collation of a text. Names compare by their bytes, as in
//! MySQL on a system that tells upper case from lower. Invariant: each line is understood and names a column of a view; a
//! test reads them all. `view_definition` asks, and whoever makes rows has them fitted.
use collation::CollationId;
use datum::{ColumnType, TypeKind, Value};
use schema::TableDef;

use crate::shape::type_of;

const SHAPES: &str = include_str!("shapes.txt");

/// Gives the columns of a view the types that MySQL has for them; whether they may be NULL stays.
pub(crate) fn apply(definition: &mut TableDef) {
    for line in SHAPES.lines() {
        let Some((view, column, column_type)) = read(line) else { continue };
        if view == definition.name
            && let Some(position) = definition.column_named(column)
        {
            let nullable = definition.columns[position].nullable();
            definition.columns[position].column_type = ColumnType { nullable, ..column_type };
        }
    }
}

fn read(line: &str) -> Option<(&str, &str, ColumnType)> {
    let (view, rest) = line.split_once(' ')?;
    let (column, rest) = rest.split_once(' ')?;
    let (type_text, collation) = match rest.rsplit_once(' ') {
        Some((text, name)) if name != "unsigned" => (text, CollationId::by_name(name)?),
        _ => (rest, CollationId::UTF8MB3_GENERAL_CI),
    };
    Some((view, column, type_of(type_text, collation)?))
}

/// Makes whole numbers those of their columns: the makers of rows count without signs.
pub(crate) fn fit(definition: &TableDef, row: &mut [Value]) {
    for (value, column) in row.iter_mut().zip(&definition.columns) {
        let is_signed = matches!(column.column_type.kind, TypeKind::Long | TypeKind::LongLong)
            && !column.column_type.unsigned;
        if let Value::UInt(number) = value
            && is_signed
        {
            *value = Value::Int(i64::try_from(*number).unwrap_or(i64::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SHAPES, read};

    #[test]
    fn every_line_is_understood() {
        for line in SHAPES.lines() {
            assert!(read(line).is_some(), "{line}");
        }
        assert_eq!(read("TABLES VERSION int").map(|shape| shape.1), Some("VERSION"));
    }
}
