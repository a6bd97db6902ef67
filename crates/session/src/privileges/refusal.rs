//! The errors of whoever may not: which one, and what it names.
//!
//! MySQL names the client by its host in errors about tables and columns, and the account in errors about databases.

use auth::{DynamicPrivilege, Privilege, PrivilegeSet};
use datum::{SqlError, error_code};
use definition::TableName;

use crate::session::Session;
use instance::ProcessEntry;

/// Several privileges as errors list them; GRANT OPTION has its old place and its short name there.
pub fn listed(privileges: PrivilegeSet) -> String {
    let grants = privileges.has(Privilege::GrantOption.into());
    let mut names = Vec::new();
    let mut is_listed = false;
    for privilege in privileges.iter() {
        if grants && !is_listed && (privilege as u32) >= Privilege::References as u32 {
            names.push("GRANT");
            is_listed = true;
        }
        if privilege != Privilege::GrantOption {
            names.push(privilege.name());
        }
    }
    names.join(", ")
}

impl Session {
    /// Error 1044.
    pub fn database_denied(&self, database: &str) -> SqlError {
        let account = self.privileges.account_name();
        error_code::ER_DBACCESS_DENIED_ERROR.with(&[&account.user, &account.host.as_str(), &database])
    }

    /// As SHOW CREATE DATABASE says it.
    pub fn database_denied_to_client(&self, database: &str) -> SqlError {
        error_code::ER_DBACCESS_DENIED_ERROR.with(&[&self.connection.user, &self.connection.host, &database])
    }

    /// Whom errors about tables and routines name: the client, or the definer of the program that runs.
    pub(crate) fn refused_name(&self) -> (&str, &str) {
        if self.programs.are_definers() {
            let account = self.privileges.account_name();
            return (&account.user, account.host.as_str());
        }
        (&self.connection.user, &self.connection.host)
    }

    /// Error 1142.
    pub fn table_denied(&self, command: &str, table: &str) -> SqlError {
        let (user, host) = self.refused_name();
        error_code::ER_TABLEACCESS_DENIED_ERROR.with(&[&command, &user, &host, &table])
    }

    pub(crate) fn column_denied(&self, command: &str, column: &str, table: &str) -> SqlError {
        let (user, host) = self.refused_name();
        error_code::ER_COLUMNACCESS_DENIED_ERROR.with(&[&command, &user, &host, &column, &table])
    }

    /// Error 1045 for what an account may not do anywhere.
    pub fn account_denied(&self) -> SqlError {
        let account = self.privileges.account();
        let has_password = account.is_some_and(|account| !account.credential.is_passwordless());
        let name = self.privileges.account_name();
        let used = if has_password { "YES" } else { "NO" };
        error_code::ER_ACCESS_DENIED_ERROR.with(&[&name.user, &name.host.as_str(), &used])
    }

    /// Error 1227; `needed` lists privileges as MySQL words them for the statement.
    pub fn privilege_missing(needed: &str) -> SqlError {
        error_code::ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&needed])
    }

    /// Error 1227 unless the account has the privilege everywhere.
    pub fn require_global(&self, privilege: Privilege) -> Result<(), SqlError> {
        match self.privileges.has_global(privilege) {
            true => Ok(()),
            false => Err(Self::privilege_missing(privilege.name())),
        }
    }

    /// Error 1227 unless the account has SUPER or one of these.
    pub fn require_super_or(&self, privileges: &[DynamicPrivilege], needed: &str) -> Result<(), SqlError> {
        match self.privileges.has_super_or(privileges) {
            true => Ok(()),
            false => Err(Self::privilege_missing(needed)),
        }
    }

    /// The own sessions, or those of others with CONNECTION_ADMIN; those of an account with SYSTEM_USER with that too.
    pub(crate) fn require_kill(&self, entry: &ProcessEntry) -> Result<(), SqlError> {
        let activity = entry.activity();
        if activity.user == self.connection.user {
            return Ok(());
        }
        if !self.privileges.has_super_or(&[DynamicPrivilege::ConnectionAdmin]) {
            return Err(error_code::ER_KILL_DENIED_ERROR.with(&[&entry.id.0]));
        }
        let is_protected =
            activity.is_system_user && !self.privileges.has_dynamic(DynamicPrivilege::SystemUser);
        match is_protected {
            true => Err(error_code::ER_KILL_DENIED_ERROR.with(&[&entry.id.0])),
            false => Ok(()),
        }
    }

    /// Error 1044.
    pub fn require_database(&self, privilege: Privilege, database: &str) -> Result<(), SqlError> {
        match self.privileges.has_on_database(privilege, database) {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    /// Error 1142 unless the account may read around the table, or has anything on it.
    pub fn require_seen(&self, name: &TableName) -> Result<(), SqlError> {
        let access = self.privileges.access();
        let may = super::is_open_to_all(&name.database, &name.name)
            || access.database(&name.database).has(Privilege::Select.into())
            || access.has_table_entry(&name.database, &name.name);
        if may { Ok(()) } else { Err(self.table_denied("SELECT", &name.name)) }
    }

    /// Error 1227 unless the account may change accounts, or the tables that MySQL keeps them in.
    pub fn require_account_change(&self, on_tables: Privilege) -> Result<(), SqlError> {
        let may = self.privileges.has_global(Privilege::CreateUser)
            || self.privileges.has_on_database(on_tables, "mysql");
        if may { Ok(()) } else { Err(Self::privilege_missing(Privilege::CreateUser.name())) }
    }

    /// Error 1142 with what is missing of these on the table; what one of its columns has counts.
    pub fn require_table(
        &self,
        privileges: PrivilegeSet,
        database: &str,
        table: &str,
    ) -> Result<(), SqlError> {
        if self.privileges.is_full() {
            return Ok(());
        }
        let missing = privileges.without(self.privileges.access().any_column(database, table));
        if missing.is_empty() {
            return Ok(());
        }
        // MySQL names the database only where the statement is about another table.
        let table = match privileges.has(Privilege::References.into()) {
            true => format!("{database}.{table}"),
            false => table.to_owned(),
        };
        Err(self.table_denied(&listed(missing), &table))
    }
}
