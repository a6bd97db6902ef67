//! What the columns of views are, for those who describe them: found out from the tables as they are now.
//!
//! Nobody's privileges are asked: whoever may look at a view may look at its columns.
use std::sync::Arc;

use binder::{BinderContext, CatalogView, Literals, ResolvedTable, SessionValues, TableStatistics};
use datum::{ColumnType, SqlError, Value, error_code};
use parser::ast::{DataType, VariableScope};
use plan::OutputColumn;
use schema::{ColumnDef, ColumnDefault, TableDef, TableId, ViewDef};

use instance::Instance;
use variables::Settings;

/// A catalog without a session.
pub struct ViewColumns {
    pub instance: Arc<Instance>,
    pub settings: Arc<Settings>,
}

impl ViewColumns {
    /// The view as a table without rows; error 1356 for one that is invalid.
    pub fn table_of(&self, view: &Arc<ViewDef>) -> Result<TableDef, SqlError> {
        let mut table = TableDef::new(TableId(0), view.database.as_str(), view.name.as_str());
        table.created_at = view.created_at;
        table.columns = self.columns_of(view)?;
        Ok(table)
    }

    pub fn columns_of(&self, view: &Arc<ViewDef>) -> Result<Vec<ColumnDef>, SqlError> {
        let mut bind = self.settings.bind_context();
        // Asked of those who use the view.
        bind.sql_mode.0 &= !datum::SqlMode::ONLY_FULL_GROUP_BY.0;
        let context = BinderContext {
            bind,
            current_database: None,
            literals: Literals::Inline,
            parameter_types: &[],
            session: self,
            lock_source_rows: false,
            switches: Default::default(),
        };
        let columns = binder::view_columns(view, self, &context)?;
        Ok(columns.into_iter().map(|column| self.column_of(column)).collect())
    }

    /// A column that is a table's has the table's default.
    fn column_of(&self, output: OutputColumn) -> ColumnDef {
        let mut column = ColumnDef::new(output.name.as_str(), output.column_type.clone());
        let catalog = self.instance.catalog();
        let mut base = None;
        if let Some(table) = catalog.table(&output.database, &output.table) {
            let definition = table.definition();
            base = definition.column_named(&output.original_name).map(|at| definition.columns[at].clone());
        } else if let Some(view) = catalog.view(&output.database, &output.table) {
            let columns = self.columns_of(&view).unwrap_or_default();
            base = columns.into_iter().find(|column| column.name == output.original_name);
            if let Some(base) = &mut base
                && matches!(base.default, ColumnDefault::CurrentTimestamp { .. })
            {
                (base.default, base.on_update_current_timestamp) = (zero(&base.column_type), false);
            }
        }
        match base {
            Some(base) => {
                column.comment = base.comment;
                column.on_update_current_timestamp = base.on_update_current_timestamp;
                column.default = match base.auto_increment {
                    true => zero(&column.column_type),
                    false => base.default,
                };
            }
            None if !column.nullable() => column.default = zero(&column.column_type),
            None => {}
        }
        column
    }
}

fn zero(column_type: &ColumnType) -> ColumnDefault {
    let value = column_type.implicit_default();
    let text = String::from_utf8_lossy(&value.to_text(column_type)).into_owned();
    ColumnDefault::Value { value, text }
}

impl CatalogView for ViewColumns {
    fn table(&self, database: &str, name: &str) -> Result<ResolvedTable, SqlError> {
        if let Some(table) = self.instance.virtual_tables.find(database, name) {
            return Ok(ResolvedTable::Virtual(table));
        }
        let catalog = self.instance.catalog();
        if let Some(view) = catalog.view(database, name) {
            return Ok(ResolvedTable::View(view));
        }
        let table = catalog.require_table(database, name)?.definition().clone();
        Ok(ResolvedTable::Stored { table, statistics: TableStatistics::default() })
    }
}

impl SessionValues for ViewColumns {
    fn system_variable(&self, _: VariableScope, _: &str) -> Result<(Value, ColumnType), SqlError> {
        Err(error_code::ER_VIEW_SELECT_VARIABLE.plain())
    }

    fn column_type(&self, data_type: &DataType<'_>, column: &str) -> Result<ColumnType, SqlError> {
        written_type(data_type, column)
    }

    fn user_variable_type(&self, _: &str) -> Option<ColumnType> {
        None
    }
}

/// A type as an expression writes it.
pub fn written_type(data_type: &DataType<'_>, column: &str) -> Result<ColumnType, SqlError> {
    let mut conditions = Vec::new();
    let table_collation = collation::CollationId::UTF8MB4_0900_AI_CI;
    let mut context =
        definition::TypeContext { column, table_collation, is_strict: true, conditions: &mut conditions };
    definition::column_type(data_type, &mut context)
}
