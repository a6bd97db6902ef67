//! What programs are called, and the locks of their names.
use catalog::LockName;
use datum::{SqlError, error_code};
use parser::ast::ObjectName;
use schema::ProgramKind;

use crate::session::Session;

/// Names are as long as those of tables at most.
const NAME_CHARACTERS_MAX: usize = 64;

impl Session {
    /// Database and name of a program; error 1046 without a database.
    pub fn program_name(&self, name: ObjectName<'_>) -> Result<(String, String), SqlError> {
        let table = self.table_name(name)?;
        if table.name.chars().count() > NAME_CHARACTERS_MAX {
            return Err(error_code::ER_TOO_LONG_IDENT.with(&[&table.name]));
        }
        Ok((table.database, table.name))
    }

    /// The metadata lock of a program's name.
    pub fn program_lock(kind: ProgramKind, database: &str, name: &str) -> LockName {
        let name = if kind == ProgramKind::Trigger { name.to_owned() } else { name.to_lowercase() };
        LockName::Program(kind, database.into(), name.as_str().into())
    }

    /// The table of a trigger that is there.
    pub fn triggers_table(&self, database: &str, name: &str) -> Option<String> {
        let known = self.instance.catalog().program(ProgramKind::Trigger, database, name)?;
        known.definition.trigger.as_ref().map(|trigger| trigger.table.clone())
    }
}
