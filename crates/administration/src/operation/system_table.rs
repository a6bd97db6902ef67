//! TRUNCATE of system tables: summaries and logs begin anew.
use auth::Privilege;
use datum::{SqlError, error_code};
use parser::ast::ObjectName;

use crate::caller::Caller;
use session::Done;

impl Caller<'_> {
    /// Error 1142 for a table that cannot be emptied, whatever the privileges.
    pub(crate) fn truncate_system_table(&mut self, table: ObjectName<'_>) -> Result<Done, SqlError> {
        let name = self.table_name(table)?;
        self.require_table(Privilege::Drop.into(), &name.database, &name.name)?;
        let found = self.instance().virtual_tables.find(&name.database, &name.name);
        match found.is_some_and(|table| table.truncate()) {
            true => Ok(Done::ok()),
            false => {
                let (user, host) = (&self.connection().user, &self.connection().host);
                Err(error_code::ER_TABLEACCESS_DENIED_ERROR.with(&[&"DROP", user, host, &name.name]))
            }
        }
    }
}
