//! What the session's account may do, checked before a statement runs.
//!
//! Invariant: the account is the one of the store's present version; a DROP USER leaves the session without any
//! privilege.
use std::sync::Arc;

use auth::{Account, AccountName, Grants, Privilege, PrivilegeSet, Scope};
use datum::{SqlError, error_code};
use plan::TableUsage;

use crate::connection_info::ConnectionInfo;
use crate::session::Session;
use instance::Instance;

pub struct Privileges {
    name: AccountName,
    account: Option<Arc<Account>>,
    version: u64,
    /// The account may do everything: the check that every statement passes is then one comparison.
    is_full: bool,
}

impl Privileges {
    pub fn new(instance: &Instance, connection: &ConnectionInfo) -> Privileges {
        let name = AccountName::new(&connection.account_user, &connection.account_host);
        let mut privileges = Privileges { name, account: None, version: 0, is_full: false };
        privileges.refresh(instance);
        privileges
    }

    /// Looks at the account again when any account has changed; true if so.
    pub fn refresh(&mut self, instance: &Instance) -> bool {
        let version = instance.accounts_version();
        let is_outdated = version != self.version;
        if is_outdated {
            self.account = instance.accounts().get(&self.name);
            self.is_full =
                self.grants().is_some_and(|grants| grants.permit(PrivilegeSet::all_global(), &Scope::Global));
            self.version = version;
        }
        is_outdated
    }

    pub fn account_name(&self) -> &AccountName {
        &self.name
    }

    pub fn account(&self) -> Option<&Arc<Account>> {
        self.account.as_ref()
    }

    pub fn is_full(&self) -> bool {
        self.is_full
    }

    fn grants(&self) -> Option<&Grants> {
        self.account.as_ref().map(|account| &account.grants)
    }

    pub fn has_global(&self, privilege: Privilege) -> bool {
        self.is_full || self.has(privilege, &Scope::Global)
    }

    pub fn has(&self, privilege: Privilege, scope: &Scope) -> bool {
        self.is_full || self.grants().is_some_and(|grants| grants.permit(privilege.into(), scope))
    }

    pub fn sees_database(&self, database: &str) -> bool {
        self.is_full || self.grants().is_some_and(|grants| grants.permit_any_within(database))
    }

    /// Whether any privilege at all reaches the table.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        let scope = Scope::Table(database.to_owned(), table.to_owned());
        self.is_full || PrivilegeSet::all_table().iter().any(|privilege| self.has(privilege, &scope))
    }
}

impl Session {
    pub(crate) fn sees_database(&self, database: &str) -> bool {
        catalog::INFORMATION_SCHEMA == database
            || database == "performance_schema"
            || self.privileges.sees_database(database)
    }

    pub(crate) fn database_denied(&self, database: &str) -> SqlError {
        let (user, host) = self.account_parts();
        error_code::ER_DBACCESS_DENIED_ERROR.with(&[&user, &host, &database])
    }

    fn account_parts(&self) -> (String, String) {
        let name = self.privileges.account_name();
        (name.user.clone(), name.host.as_str().to_owned())
    }

    /// Error 1227 unless the account has the privilege everywhere.
    pub(crate) fn require_global(&self, privilege: Privilege) -> Result<(), SqlError> {
        match self.privileges.has_global(privilege) {
            true => Ok(()),
            false => Err(error_code::ER_SPECIFIC_ACCESS_DENIED_ERROR.with(&[&privilege.name()])),
        }
    }

    pub(crate) fn require_database(&self, privilege: Privilege, database: &str) -> Result<(), SqlError> {
        match self.privileges.has(privilege, &Scope::Database(database.to_owned())) {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    pub(crate) fn require_table(
        &self,
        privilege: Privilege,
        database: &str,
        table: &str,
    ) -> Result<(), SqlError> {
        if self.privileges.is_full() {
            return Ok(());
        }
        let scope = Scope::Table(database.to_owned(), table.to_owned());
        if self.privileges.has(privilege, &scope) {
            return Ok(());
        }
        let (user, host) = self.account_parts();
        // MySQL names the database only where the statement is about another table.
        let table = match privilege {
            Privilege::References => format!("{database}.{table}"),
            _ => table.to_owned(),
        };
        Err(error_code::ER_TABLEACCESS_DENIED_ERROR.with(&[&privilege.name(), &user, &host, &table]))
    }

    /// What a plan does to its tables.
    pub(crate) fn require_plan(&self, plan: &plan::Plan) -> Result<(), SqlError> {
        if self.privileges.is_full() {
            return Ok(());
        }
        for table in &plan.tables {
            let privilege = match table.usage {
                TableUsage::Read | TableUsage::ReadLocking | TableUsage::ReadForUpdate => Privilege::Select,
                TableUsage::Insert => Privilege::Insert,
                TableUsage::Update => Privilege::Update,
                TableUsage::Delete => Privilege::Delete,
            };
            self.require_table(privilege, &table.table.database, &table.table.name)?;
        }
        Ok(())
    }
}

impl Session {
    /// What virtual tables learn of this session.
    pub(crate) fn viewer(&mut self) -> Arc<catalog::Viewer> {
        if let Some(viewer) = &self.viewer {
            return viewer.clone();
        }
        let viewer = Arc::new(self.make_viewer());
        self.viewer = Some(viewer.clone());
        viewer
    }

    fn make_viewer(&self) -> catalog::Viewer {
        let account = self.privileges.account.clone();
        let is_full = self.privileges.is_full;
        let sees = move |database: &str, table: Option<&str>| {
            if is_full || database == catalog::INFORMATION_SCHEMA || database == "performance_schema" {
                return true;
            }
            let Some(account) = &account else { return false };
            match table {
                None => account.grants.permit_any_within(database),
                Some(table) => {
                    let scope = Scope::Table(database.to_owned(), table.to_owned());
                    let mut all = PrivilegeSet::all_table().iter();
                    all.any(|privilege| account.grants.permit(privilege.into(), &scope))
                }
            }
        };
        catalog::Viewer {
            sees: Arc::new(sees),
            user: self.connection.user.clone(),
            connection_id: u64::from(self.connection.id.0),
            time_zone: self.settings.time_zone.clone(),
            sees_all_sessions: self.privileges.has_global(Privilege::Process),
        }
    }
}
