//! The session as the planner sees it: the tables it may name and the values of its variables.
use catalog::{LockMode, LockName, canonical_database};
use datum::{ColumnType, SqlError, Value, error_code};
use parser::ast::VariableScope;
use planner::{CatalogView, ResolvedTable, SessionValues, TableStatistics};

use expression::SessionServices;

use crate::session::Session;

impl CatalogView for Session {
    fn table(&self, database: &str, name: &str) -> Result<ResolvedTable, SqlError> {
        if let Some(table) = self.instance.virtual_tables.find(database, name) {
            return Ok(ResolvedTable::Virtual(table));
        }
        let handle = match self.instance.catalog().require_table(database, name) {
            Ok(handle) => handle,
            Err(error) if canonical_database(database) == catalog::INFORMATION_SCHEMA => {
                let known = error_code::ER_NO_SUCH_TABLE.number == error.errno;
                return Err(match known {
                    true => error_code::ER_UNKNOWN_TABLE.with(&[&name, &"information_schema"]),
                    false => error,
                });
            }
            Err(error) => {
                let name = LockName::Table(database.into(), name.into());
                self.check_locked_tables(&[(name, LockMode::Shared)])?;
                return Err(error);
            }
        };
        let rows = handle.if_ready().map(|table| table.estimated_rows());
        let statistics = TableStatistics { rows, indexes: Vec::new() };
        Ok(ResolvedTable::Stored { table: handle.definition().clone(), statistics })
    }
}

impl SessionValues for Session {
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<(Value, ColumnType), SqlError> {
        self.read_variable(scope, name)
    }

    fn user_variable_type(&self, name: &str) -> Option<ColumnType> {
        self.shared.user_variable(name).map(|(_, column_type)| column_type)
    }
}
