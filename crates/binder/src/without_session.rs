//! Generated columns bound where there is no session: with the settings that a new server has.
//!
//! Such an expression names columns, literals and built-in functions only, so it asks neither the catalog nor a session.
//! Called by the catalog, for rows that lack a virtual column.
use crate::binder::not_supported;
use crate::catalog_view::{CatalogView, ResolvedTable};
use crate::context::{BinderContext, Literals, SessionValues};
use crate::row_expression::bind_generated;
use crate::switches::Switches;
use datum::{ColumnType, SqlError, Value};
use expression::{BindContext, Expr};
use parser::ast::{DataType, VariableScope};
use schema::TableDef;
use std::sync::Arc;

/// Nobody: what is asked of it is an error.
struct Nobody;

fn unknown() -> SqlError {
    not_supported("a name outside of the row in a generated column")
}

impl CatalogView for Nobody {
    fn table(&self, _database: &str, _name: &str) -> Result<ResolvedTable, SqlError> {
        Err(unknown())
    }
}

impl SessionValues for Nobody {
    fn system_variable(&self, _: VariableScope, _: &str) -> Result<(Value, ColumnType), SqlError> {
        Err(unknown())
    }

    fn column_type(&self, _: &DataType<'_>, _: &str) -> Result<ColumnType, SqlError> {
        Err(unknown())
    }

    fn user_variable_type(&self, _: &str) -> Option<ColumnType> {
        None
    }
}

/// By column: the bound expression of a generated one.
pub fn bind_generated_columns(table: &Arc<TableDef>) -> Result<Vec<Option<Expr>>, SqlError> {
    let context = BinderContext {
        bind: BindContext { functions: functions::MYSQL, ..BindContext::default() },
        current_database: None,
        literals: Literals::Inline,
        parameter_types: &[],
        session: &Nobody,
        lock_source_rows: false,
        switches: Switches::default(),
    };
    (0..table.columns.len()).map(|column| bind_generated(column, table, &Nobody, &context)).collect()
}
