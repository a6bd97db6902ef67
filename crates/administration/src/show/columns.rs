//! SHOW COLUMNS and DESCRIBE.
use std::sync::Arc;

use collation::CollationId;
use datum::{SqlError, Value};
use parser::ast::{ObjectName, ShowFilter};
use schema::{ColumnDef, TableDef, column_default, column_extra, column_key, type_text};

use crate::caller::Caller;
use session::column_privileges;
use session::{Done, Named, Request, Shield};
use session::{MadeColumn, MadeRows, optional_text};

impl Caller<'_> {
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

    /// The descriptor of a stored or virtual table that a SHOW names and may look at.
    pub(super) fn shown_table(&self, table: ObjectName<'_>) -> Result<Arc<TableDef>, SqlError> {
        let definition = self.named_table(table)?;
        self.require_seen(&self.table_name(table)?)?;
        Ok(definition)
    }

    /// The descriptor of a stored or virtual table.
    pub(super) fn named_table(&self, table: ObjectName<'_>) -> Result<Arc<TableDef>, SqlError> {
        let name = self.table_name(table)?;
        let handle = match self.resolve(&name.database, &name.name) {
            Some(Named::Virtual(table)) => return Ok(table.definition().clone()),
            Some(Named::Stored(handle)) => handle,
            Some(Named::View(view)) => return self.view_columns().table_of(&view).map(Arc::new),
            None => self.stored_table(&name)?,
        };
        Ok(handle.definition().clone())
    }

    pub(super) fn show_columns(&self, full: bool, table: ObjectName<'_>) -> Result<MadeRows, SqlError> {
        let table = self.shown_table(table)?;
        let mut columns = vec![MadeColumn::Text("Field", 64), MadeColumn::ColumnText("Type")];
        if full {
            columns.push(MadeColumn::NullableText("Collation", 64));
        }
        columns.extend([
            MadeColumn::Text("Null", 3),
            MadeColumn::Word("Key", 3),
            MadeColumn::ColumnText("Default"),
            MadeColumn::NullableText("Extra", 256),
        ]);
        if full {
            columns.extend([MadeColumn::NullableText("Privileges", 154), MadeColumn::ColumnText("Comment")]);
        }
        let mut rows = MadeRows::new(&columns);
        for (position, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.hidden) {
            let access = self.privileges().access();
            let privileges = column_privileges(access, &table.database, &table.name, &column.name);
            if privileges.is_empty() {
                continue;
            }
            let mut row = vec![Value::bytes(&column.name), Value::bytes(type_text(&column.column_type))];
            if full {
                row.push(collation_of(column));
            }
            row.extend([
                Value::bytes(if column.nullable() { "YES" } else { "NO" }),
                Value::bytes(column_key(&table, position)),
                column_default(column),
                Value::bytes(column_extra(column)),
            ]);
            if full {
                row.push(Value::bytes(privileges));
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

/// Kept next to its only other user, SHOW INDEX.
pub(super) fn yes_or_empty(condition: bool) -> Value {
    optional_text(Some(if condition { "YES" } else { "" }))
}
