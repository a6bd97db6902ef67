//! SHOW COLUMNS and DESCRIBE.
use std::sync::Arc;

use collation::CollationId;
use datum::{SqlError, Value};
use parser::ast::{ObjectName, ShowFilter};
use schema::{ColumnDef, ColumnDefault, IndexKind, TableDef, type_text};

use crate::result::{MadeColumn, MadeRows, optional_text};
use crate::session::Session;
use crate::statement::{Done, Request, Shield};

impl Session {
    pub(crate) async fn describe(
        &mut self,
        table: ObjectName<'_>,
        column: Option<&str>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let rows = self.show_columns(false, table)?;
        let filter = column.map_or(ShowFilter::None, |pattern| ShowFilter::Like(pattern.as_bytes()));
        let rows = self.filter_rows(rows, filter, request, shield).await?;
        Ok(Done::Made(rows))
    }

    /// The descriptor of a stored or virtual table that a SHOW names.
    pub(super) fn shown_table(&self, table: ObjectName<'_>) -> Result<Arc<TableDef>, SqlError> {
        let name = self.table_name(table)?;
        if let Some(table) = self.server.virtual_tables.find(&name.database, &name.name) {
            return Ok(table.definition().clone());
        }
        let handle = self.server.catalog().require_table(&name.database, &name.name)?;
        if !self.privileges.sees_table(&name.database, &name.name) {
            self.require_table(auth::Privilege::Select, &name.database, &name.name)?;
        }
        Ok(handle.definition().clone())
    }

    pub(super) fn show_columns(&self, full: bool, table: ObjectName<'_>) -> Result<MadeRows, SqlError> {
        let table = self.shown_table(table)?;
        let mut columns = vec![MadeColumn::Text("Field", 64), MadeColumn::LongText("Type")];
        if full {
            columns.push(MadeColumn::NullableText("Collation", 64));
        }
        columns.extend([
            MadeColumn::Text("Null", 3),
            MadeColumn::Text("Key", 3),
            MadeColumn::LongText("Default"),
            MadeColumn::NullableText("Extra", 256),
        ]);
        if full {
            columns.extend([MadeColumn::NullableText("Privileges", 154), MadeColumn::LongText("Comment")]);
        }
        let mut rows = MadeRows::new(&columns);
        for (position, column) in table.columns.iter().enumerate() {
            let mut row = vec![Value::bytes(&column.name), Value::bytes(type_text(&column.column_type))];
            if full {
                row.push(collation_of(column));
            }
            row.extend([
                Value::bytes(if column.nullable() { "YES" } else { "NO" }),
                Value::bytes(key_of(&table, position)),
                default_of(column),
                Value::bytes(extra_of(column)),
            ]);
            if full {
                row.push(Value::bytes("select,insert,update,references"));
                row.push(Value::bytes(&column.comment));
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

fn collation_of(column: &ColumnDef) -> Value {
    let collation = column.column_type.collation;
    match collation == CollationId::BINARY {
        true => Value::Null,
        false => Value::bytes(collation.name()),
    }
}

/// PRI, UNI or MUL, as `COLUMN_KEY` of `information_schema`.
fn key_of(table: &TableDef, column: usize) -> &'static str {
    let is_part = |kind: IndexKind| {
        table
            .indexes
            .iter()
            .any(|index| index.kind == kind && index.parts.iter().any(|part| part.column == column))
    };
    let is_first = |unique: bool| {
        table.indexes.iter().any(|index| {
            let leads = index.parts.first().is_some_and(|part| part.column == column);
            leads && (index.kind == IndexKind::Unique && index.parts.len() == 1) == unique
        })
    };
    if is_part(IndexKind::Primary) {
        "PRI"
    } else if is_first(true) {
        "UNI"
    } else if is_first(false) {
        "MUL"
    } else {
        ""
    }
}

fn default_of(column: &ColumnDef) -> Value {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Null => Value::Null,
        ColumnDefault::Value { text, .. } | ColumnDefault::Expression { text } => Value::bytes(text),
        ColumnDefault::CurrentTimestamp { fsp: 0 } => Value::bytes("CURRENT_TIMESTAMP"),
        ColumnDefault::CurrentTimestamp { fsp } => Value::bytes(format!("CURRENT_TIMESTAMP({fsp})")),
    }
}

fn extra_of(column: &ColumnDef) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    if matches!(column.default, ColumnDefault::CurrentTimestamp { .. } | ColumnDefault::Expression { .. }) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_current_timestamp {
        let fsp = datum::fraction_digits(&column.column_type);
        let digits = if fsp == 0 { String::new() } else { format!("({fsp})") };
        words.push(format!("on update CURRENT_TIMESTAMP{digits}"));
    }
    if column.invisible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

/// Kept next to its only other user, SHOW INDEX.
pub(super) fn yes_or_empty(condition: bool) -> Value {
    optional_text(Some(if condition { "YES" } else { "" }))
}
