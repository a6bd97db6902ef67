//! All accounts, in memory, in the order in which a client's name and host are matched.
//!
//! Invariant: sorted by how specific the host is, then named users before the anonymous one, so the first match
//! is the account; no two accounts share a name. Read at every connect, written by CREATE USER and its kin.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::access::Access;
use crate::account::Account;
use crate::account_name::AccountName;
use crate::credential::Credential;
use crate::encoding::{self, CorruptAccounts};
use crate::grants::Grants;
use crate::host_pattern::ClientHost;
use crate::plugin::Plugin;
use crate::strangers::Strangers;

/// Longest parts of an account name, in characters, as MySQL has them.
const USER_LENGTH_MAX: usize = 32;
const HOST_LENGTH_MAX: usize = 255;

/// Why accounts could not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountError {
    AlreadyExists,
    Unknown,
    UserTooLong,
    HostTooLong,
}

/// The accounts of a server.
#[derive(Debug)]
pub struct AccountStore {
    /// A leaf lock, held for a search or a change, never across a wait.
    accounts: RwLock<Vec<Arc<Account>>>,
    strangers: Strangers,
}

impl AccountStore {
    /// The accounts of a new server: `root` from this machine, who may do everything.
    pub fn with_root(password: &str) -> Self {
        let credential = Credential::from_password(Plugin::default(), password);
        let mut root = Account::new(AccountName::new("root", "localhost"), credential);
        root.grants = Grants::full();
        Self::of(vec![Arc::new(root)])
    }

    fn of(accounts: Vec<Arc<Account>>) -> Self {
        Self { accounts: RwLock::new(accounts), strangers: Strangers::default() }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, CorruptAccounts> {
        let mut accounts: Vec<_> = encoding::decode(bytes)?.into_iter().map(Arc::new).collect();
        sort(&mut accounts);
        if accounts.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(CorruptAccounts);
        }
        Ok(Self::of(accounts))
    }

    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(self.accounts.read().iter().map(|account| &**account))
    }

    /// All accounts as they are, to put them back when a change of several could not be finished.
    pub fn snapshot(&self) -> Vec<Arc<Account>> {
        self.accounts.read().clone()
    }

    pub fn restore(&self, accounts: Vec<Arc<Account>>) {
        *self.accounts.write() = accounts;
    }

    /// What a session may do.
    pub fn access(
        &self,
        account: &Account,
        client: ClientHost,
        roles: &[AccountName],
        partial_revokes: bool,
    ) -> Access {
        let all = self.accounts.read();
        match roles {
            [] => Access::of_account(account, &all, client, partial_revokes),
            roles => Access::of_roles(account, &all, roles, partial_revokes),
        }
    }

    /// The roles and all that are granted to them in turn.
    pub fn reached_roles(&self, roles: &[AccountName]) -> std::collections::BTreeSet<AccountName> {
        crate::access::reached_roles(&self.accounts.read(), roles)
    }

    /// Whether an account of this name is granted to somebody.
    pub fn is_granted(&self, role: &AccountName) -> bool {
        self.accounts.read().iter().any(|account| account.grants.roles.contains_key(role))
    }

    /// Whom a client that no account fits is measured against.
    pub(crate) fn stand_in(&self, user: &str) -> Arc<Account> {
        let has_native =
            self.accounts.read().iter().any(|account| account.credential.plugin() == Plugin::Native);
        self.strangers.stand_in(user, has_native)
    }

    /// The account that a client of this name from this host acts as.
    pub fn find(&self, user: &str, host: ClientHost) -> Option<Arc<Account>> {
        let fits = |account: &&Arc<Account>| {
            (account.name.user.is_empty() || account.name.user == user) && account.name.host.matches(host)
        };
        self.accounts.read().iter().find(fits).cloned()
    }

    /// The account of exactly this name.
    pub fn get(&self, name: &AccountName) -> Option<Arc<Account>> {
        self.accounts.read().iter().find(|account| account.name == *name).cloned()
    }

    pub fn all(&self) -> Vec<Arc<Account>> {
        self.accounts.read().clone()
    }

    /// Accounts that anybody who knows the name can use.
    pub fn passwordless(&self) -> Vec<AccountName> {
        let accounts = self.accounts.read();
        let open = accounts.iter().filter(|account| account.credential.is_passwordless() && !account.locked);
        open.map(|account| account.name.clone()).collect()
    }

    pub fn create(&self, account: Account) -> Result<(), AccountError> {
        check_length(&account.name)?;
        let mut accounts = self.accounts.write();
        if accounts.iter().any(|other| other.name == account.name) {
            return Err(AccountError::AlreadyExists);
        }
        accounts.push(Arc::new(account));
        sort(&mut accounts);
        Ok(())
    }

    /// Removes an account, and it from everybody it was granted to.
    pub fn remove(&self, name: &AccountName) -> Result<(), AccountError> {
        let mut accounts = self.accounts.write();
        let count = accounts.len();
        accounts.retain(|account| account.name != *name);
        if accounts.len() == count {
            return Err(AccountError::Unknown);
        }
        follow_name(&mut accounts, name, None);
        Ok(())
    }

    /// Changes an account: password, lock, grants or name.
    pub fn change(&self, name: &AccountName, change: impl FnOnce(&mut Account)) -> Result<(), AccountError> {
        let mut accounts = self.accounts.write();
        let index = accounts.iter().position(|account| account.name == *name).ok_or(AccountError::Unknown)?;
        let mut changed = (*accounts[index]).clone();
        change(&mut changed);
        if changed.name != *name {
            check_length(&changed.name)?;
            if accounts.iter().any(|other| other.name == changed.name) {
                return Err(AccountError::AlreadyExists);
            }
            follow_name(&mut accounts, name, Some(&changed.name));
        }
        accounts[index] = Arc::new(changed);
        sort(&mut accounts);
        Ok(())
    }
}

fn check_length(name: &AccountName) -> Result<(), AccountError> {
    if name.user.chars().count() > USER_LENGTH_MAX {
        return Err(AccountError::UserTooLong);
    }
    if name.host.as_str().chars().count() > HOST_LENGTH_MAX {
        return Err(AccountError::HostTooLong);
    }
    Ok(())
}

/// What is granted to others by an account's name follows the name, or goes with it.
fn follow_name(accounts: &mut [Arc<Account>], name: &AccountName, renamed: Option<&AccountName>) {
    for account in accounts {
        let grants = &account.grants;
        let knows = grants.roles.contains_key(name)
            || grants.proxies.contains_key(name)
            || account.default_roles.contains(name);
        if !knows {
            continue;
        }
        let account = Arc::make_mut(account);
        let role = account.grants.roles.remove(name);
        let proxy = account.grants.proxies.remove(name);
        let place = account.default_roles.iter().position(|role| role == name);
        if let Some(renamed) = renamed {
            role.map(|admin| account.grants.roles.insert(renamed.clone(), admin));
            proxy.map(|proxy| account.grants.proxies.insert(renamed.clone(), proxy));
        }
        match (place, renamed) {
            (Some(place), Some(renamed)) => account.default_roles[place] = renamed.clone(),
            (Some(place), None) => drop(account.default_roles.remove(place)),
            (None, _) => {}
        }
    }
}

fn sort(accounts: &mut [Arc<Account>]) {
    accounts.sort_by(|left, right| {
        let key = |account: &Account| (account.name.host.rank(), account.name.user.is_empty());
        key(left).cmp(&key(right)).then_with(|| left.name.cmp(&right.name))
    });
}

#[cfg(test)]
mod tests;
