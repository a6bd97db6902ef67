//! Virtual columns that are added without touching the rows: older rows lack them, and whoever reads such a row computes the
//! value (decision 0061).
//!
//! Invariant: what is computed is the same for every reader and at any time, as entries of indexes are found by it. So a
//! column whose values depend on the session is written into the rows, and so are those whose columns change their types.
//! Called by `alteration`.
use datum::TypeKind;
use schema::{ColumnDef, TableDef};

use super::draft::{ColumnSource, same_name};
use super::row_expression::{columns_read, functions_called};
use crate::altered_table::Alteration;

/// What these give depends on the session: its time zone, its language, its default week, its cipher.
const SESSION_FUNCTIONS: &[&str] = &[
    "aes_decrypt",
    "aes_encrypt",
    "date_format",
    "dayname",
    "format",
    "from_unixtime",
    "monthname",
    "str_to_date",
    "time_format",
    "unix_timestamp",
    "week",
];

/// These give a TIME.
const TIME_FUNCTIONS: &[&str] = &["addtime", "maketime", "sec_to_time", "subtime", "time", "timediff"];

/// Whether rows need not have the new column.
pub fn is_added_to_be_computed(column: &ColumnDef, after: &TableDef) -> bool {
    // An index that comes with the column needs the values that rows had before they change: the stream of changes has
    // none of a column that was not there.
    let position = after.columns.iter().position(|other| std::ptr::eq(other, column));
    let mut parts = after.indexes.iter().flat_map(|index| &index.parts);
    column.is_virtual()
        && !column.hidden
        && !parts.any(|part| Some(part.column) == position)
        && !depends_on_session(column, after)
}

/// A TIMESTAMP is shown in the session's zone, and a TIME becomes a moment of the statement's day.
fn depends_on_session(column: &ColumnDef, table: &TableDef) -> bool {
    let is_session_type =
        |kind: &TypeKind| matches!(kind, TypeKind::Timestamp { .. } | TypeKind::Time { .. });
    let Some(generated) = &column.generated else { return false };
    let functions = functions_called(&generated.expression);
    let is_asked = |name: &String| {
        let read = table.columns.iter().find(|other| same_name(&other.name, name));
        read.is_none_or(|read| is_session_type(&read.column_type.kind) || depends_on_session(read, table))
    };
    let calls = |wanted: &[&str]| functions.iter().any(|name| wanted.contains(&name.as_str()));
    matches!(column.column_type.kind, TypeKind::Timestamp { .. })
        || calls(SESSION_FUNCTIONS)
        || column.column_type.kind.has_date() && calls(TIME_FUNCTIONS)
        || columns_read(&generated.expression).iter().any(is_asked)
}

/// Whether a column that stays, and that rows lack, might be computed otherwise from now on.
pub fn changes_what_is_computed(alteration: &Alteration) -> bool {
    let Alteration { before, after, sources, .. } = alteration;
    let before = before.definition();
    let mut columns = after.columns.iter().zip(sources);
    let old = |source: &ColumnSource| match source {
        ColumnSource::Old(old) => Some(&before.columns[*old]),
        ColumnSource::New => None,
    };
    let is_lacking = |(_, source): (&ColumnDef, &ColumnSource)| {
        old(source).is_some_and(|column| column.generated.is_some() && column.added_value.is_some())
    };
    if !columns.clone().any(is_lacking) {
        return false;
    }
    columns.any(|(column, source)| {
        let grows = matches!(
            column.column_type.kind,
            TypeKind::VarChar | TypeKind::VarBinary | TypeKind::Enum(_) | TypeKind::Set(_)
        );
        !grows && old(source).is_some_and(|before| before.column_type != column.column_type)
    })
}
