//! What the session's account and its active roles may do, looked up once and asked before a statement runs.
//!
//! Invariant: the account is the one of the store's present version; a DROP USER leaves the session without any
//! privilege, and a role that is revoked or dropped is active no more.
//! What each kind of statement needs of them stands in `session::privileges`.

use std::sync::Arc;

use auth::{Access, Account, AccountName, ClientHost, DynamicPrivilege, Privilege, PrivilegeSet};

use crate::connection_info::ConnectionInfo;
use instance::Instance;

pub struct Privileges {
    name: AccountName,
    client: ClientHost,
    account: Option<Arc<Account>>,
    access: Access,
    /// SET ROLE, sorted by name.
    active_roles: Vec<AccountName>,
    version: u64,
    /// Of no account: what it does was permitted elsewhere.
    is_unlimited: bool,
}

impl Privileges {
    pub fn new(instance: &Instance, connection: &ConnectionInfo) -> Privileges {
        let name = AccountName::new(&connection.account_user, &connection.account_host);
        let client = connection.peer.map_or(ClientHost::Local, |peer| ClientHost::Address(peer.ip()));
        Privileges::at_login(instance, name, client)
    }

    /// Of an account that nobody has logged in to: the definer of a program.
    pub fn of_account(instance: &Instance, user: &str, host: &str) -> Privileges {
        Privileges::at_login(instance, AccountName::new(user, host), ClientHost::Local)
    }

    fn at_login(instance: &Instance, name: AccountName, client: ClientHost) -> Privileges {
        let mut privileges = Privileges {
            name,
            client,
            account: None,
            access: Access::default(),
            active_roles: Vec::new(),
            version: 0,
            is_unlimited: false,
        };
        privileges.refresh(instance);
        if let Some(account) = privileges.account.clone() {
            let roles = instance.roles_at_login(&account);
            privileges.activate_roles(instance, roles);
        }
        privileges
    }

    /// Looks at the account again when any account has changed; true if so.
    pub fn refresh(&mut self, instance: &Instance) -> bool {
        let version = instance.accounts_version();
        let is_outdated = version != self.version;
        if is_outdated {
            self.version = version;
            self.account = instance.accounts().get(&self.name);
            if let (Some(account), false) = (&self.account, self.active_roles.is_empty()) {
                let granted = instance.roles_of(account);
                self.active_roles.retain(|role| granted.contains(role));
            }
            self.read_access(instance);
        }
        is_outdated
    }

    pub fn activate_roles(&mut self, instance: &Instance, mut roles: Vec<AccountName>) {
        roles.sort();
        roles.dedup();
        if self.active_roles != roles {
            self.active_roles = roles;
            self.read_access(instance);
        }
    }

    /// For who applies what another server has done.
    pub fn set_unlimited(&mut self) {
        self.is_unlimited = true;
        self.access = Access::unlimited();
    }

    /// Who the definer is of what is made without one; for who is unlimited.
    pub fn act_as(&mut self, user: &str, host: &str) {
        self.name = AccountName::new(user, host);
    }

    fn read_access(&mut self, instance: &Instance) {
        self.access = match &self.account {
            _ if self.is_unlimited => return,
            Some(account) => instance.accounts().access(
                account,
                self.client,
                &self.active_roles,
                instance.partial_revokes(),
            ),
            None => Access::default(),
        };
    }

    pub fn account_name(&self) -> &AccountName {
        &self.name
    }

    pub fn account(&self) -> Option<&Arc<Account>> {
        self.account.as_ref()
    }

    pub fn active_roles(&self) -> &[AccountName] {
        &self.active_roles
    }

    /// As CURRENT_ROLE() shows them.
    pub fn role_text(&self) -> String {
        if self.active_roles.is_empty() {
            return "NONE".to_owned();
        }
        self.active_roles.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    pub fn access(&self) -> &Access {
        &self.access
    }

    /// The account may do everything: the check that every statement passes is then one comparison.
    pub fn is_full(&self) -> bool {
        self.access.is_full()
    }

    pub fn has_global(&self, privilege: Privilege) -> bool {
        self.access.global.has(privilege.into())
    }

    pub fn has_dynamic(&self, privilege: DynamicPrivilege) -> bool {
        self.access.has_dynamic(privilege)
    }

    /// SUPER, which includes what has become privileges of their own, or one of these.
    pub fn has_super_or(&self, privileges: &[DynamicPrivilege]) -> bool {
        self.has_global(Privilege::Super) || privileges.iter().any(|&privilege| self.has_dynamic(privilege))
    }

    pub fn has_on_database(&self, privilege: Privilege, database: &str) -> bool {
        self.access.database(database).has(privilege.into())
    }

    /// Whether the whole table has all of these.
    pub fn has_on_table(&self, privileges: PrivilegeSet, database: &str, table: &str) -> bool {
        self.access.table(database, table).has(privileges)
    }

    /// Whether a database may be entered and its tables listed.
    pub fn opens_database(&self, database: &str) -> bool {
        database == catalog::INFORMATION_SCHEMA || self.access.opens_database(database)
    }

    /// Whether the tables of a database may be listed.
    pub fn lists_database(&self, database: &str) -> bool {
        database == catalog::INFORMATION_SCHEMA || self.access.lists_database(database)
    }

    /// Whether any privilege at all reaches the table.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        self.access.sees_table(database, table)
    }
}
