//! Where a column's value comes from when the statement gives none.
use crate::binder::Binder;
use datum::{SqlError, TypeKind, Value};
use plan::DefaultSource;
use schema::{ColumnDefault, TableDef};
use std::sync::Arc;

impl Binder<'_> {
    /// The default of a column; an AUTO_INCREMENT column takes the counter's next value.
    /// Expressions read the row of the table.
    pub fn default_source(
        &mut self,
        table: &Arc<TableDef>,
        column: usize,
    ) -> Result<DefaultSource, SqlError> {
        let column = &table.columns[column];
        if column.generated.is_some() {
            // Its value is made when all others are there.
            return Ok(DefaultSource::Value(Value::Null));
        }
        if column.auto_increment {
            return Ok(DefaultSource::AutoIncrement);
        }
        Ok(match &column.default {
            // An ENUM that may not be NULL has its first member for a default.
            ColumnDefault::None if matches!(column.column_type.kind, TypeKind::Enum(_)) => {
                DefaultSource::Value(column.column_type.implicit_default())
            }
            ColumnDefault::None => DefaultSource::Missing,
            ColumnDefault::Null => DefaultSource::Value(Value::Null),
            ColumnDefault::Value { value, .. } => DefaultSource::Value(value.clone()),
            ColumnDefault::CurrentTimestamp { .. } => {
                DefaultSource::Expr(self.bind_current_timestamp(&column.column_type)?)
            }
            ColumnDefault::Expression { text } => {
                let expr =
                    crate::row_expression::bind_default_expression(text, table, self.catalog, &self.context)?;
                DefaultSource::Expr(expr)
            }
        })
    }
}
