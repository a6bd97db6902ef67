//! What changes of definitions have in common: the names of tables, what foreign keys ask, and the commit.
//!
//! Invariant: a change is committed as a whole, with what the binary log says of it and, in an applier's session, with how far its
//! channel has come. Called by the statements of data definition, by programs and by locks.
use auth::AccountName;
use catalog::{SYSTEM_DATABASES, SchemaChange};
use datum::{Condition, SqlError, error_code};
use definition::{Definer, ForeignKeys, TableName};
use parser::ast::ObjectName;

use crate::session::Session;
use session_state::guard::Shield;

impl Definer for Session {
    fn table_name(&self, name: ObjectName<'_>) -> Result<TableName, SqlError> {
        Session::table_name(self, name)
    }

    fn permit_reference(&self, database: &str, table: &str) -> Result<(), SqlError> {
        self.require_table(auth::Privilege::References.into(), database, table)
    }

    fn tell(&self, condition: Condition) {
        self.shared.diagnostics.lock().add(condition);
    }
}

impl Session {
    /// What foreign keys demand of the statement.
    pub fn foreign_keys(&self) -> ForeignKeys<'_> {
        ForeignKeys { catalog: self.instance.catalog(), settings: &self.settings, definer: self }
    }

    /// The table that a statement means; error 1046 without a database.
    pub fn table_name(&self, name: ObjectName<'_>) -> Result<TableName, SqlError> {
        let database = match (name.database, &self.database) {
            (Some(database), _) => catalog::canonical_database(database.name).to_owned(),
            (None, Some(database)) => database.to_string(),
            (None, None) => return Err(error_code::ER_NO_DB_ERROR.plain()),
        };
        Ok(TableName { database, name: name.name.name.to_owned() })
    }

    /// Commits a change; from here on the statement cannot be interrupted.
    pub async fn commit_change(&self, mut change: SchemaChange, shield: &Shield) -> Result<(), SqlError> {
        self.log_definition(&mut change);
        let Some(applying) = &self.applying else { return self.commit_unlogged(change, shield).await };
        applying.store(change.transaction()).await?;
        self.commit_unlogged(change, shield).await?;
        applying.stored();
        Ok(())
    }

    /// The same for what no other server is told: tables of this session alone.
    pub async fn commit_unlogged(&self, change: SchemaChange, shield: &Shield) -> Result<(), SqlError> {
        shield.raise();
        let result = change.commit().await;
        shield.lower();
        result
    }

    /// The virtual databases belong to the server.
    pub fn require_changeable(&self, database: &str) -> Result<(), SqlError> {
        match SYSTEM_DATABASES.contains(&database) && database.ends_with("_schema") {
            true => Err(self.database_denied(database)),
            false => Ok(()),
        }
    }

    /// Conditions that a definition has given.
    pub fn keep_conditions(&self, conditions: Vec<Condition>) {
        let mut diagnostics = self.shared.diagnostics.lock();
        for condition in conditions {
            diagnostics.add(condition);
        }
    }
}

/// Error 1470.
pub fn check_account_length(name: &AccountName) -> Result<(), SqlError> {
    const USER_LENGTH_MAX: usize = 32;
    const HOST_LENGTH_MAX: usize = 255;
    let parts =
        [(&*name.user, "user name", USER_LENGTH_MAX), (name.host.as_str(), "host name", HOST_LENGTH_MAX)];
    match parts.into_iter().find(|(text, _, maximum)| text.chars().count() > *maximum) {
        Some((text, what, maximum)) => {
            // Errors quote no more of a string than this.
            let shown: String = text.chars().take(70).collect();
            Err(ER_WRONG_STRING_LENGTH.with(&[&shown, &what, &maximum]))
        }
        None => Ok(()),
    }
}

const ER_WRONG_STRING_LENGTH: datum::ErrorCode =
    datum::ErrorCode::new(1470, "HY000", "String '%s' is too long for %s (should be no longer than %d)");

/// Error 1347.
pub fn not_a_view(name: &TableName) -> SqlError {
    error_code::ER_WRONG_OBJECT.with(&[&name.database, &name.name, &"VIEW"])
}
