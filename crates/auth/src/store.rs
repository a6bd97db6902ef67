//! All accounts, in memory, in the order in which a client's name and host are matched.
//!
//! Invariant: sorted by how specific the host is, then named users before the anonymous one, so the first match
//! is the account; no two accounts share a name. Read at every connect, written by CREATE USER and its kin.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::account::{Account, AccountName, Credential};
use crate::encoding::{self, CorruptAccounts};
use crate::host_pattern::ClientHost;
use crate::plugin::Plugin;
use crate::privilege::Grants;

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
#[derive(Debug, Default)]
pub struct AccountStore {
    /// A leaf lock, held for a search or a change, never across a wait.
    accounts: RwLock<Vec<Arc<Account>>>,
}

impl AccountStore {
    /// The accounts of a new server: `root` from this machine, who may do everything.
    pub fn with_root(password: &str) -> Self {
        let credential = Credential::from_password(Plugin::default(), password);
        let mut root = Account::new(AccountName::new("root", "localhost"), credential);
        root.grants = Grants::full();
        Self { accounts: RwLock::new(vec![Arc::new(root)]) }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, CorruptAccounts> {
        let mut accounts: Vec<_> = encoding::decode(bytes)?.into_iter().map(Arc::new).collect();
        sort(&mut accounts);
        if accounts.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(CorruptAccounts);
        }
        Ok(Self { accounts: RwLock::new(accounts) })
    }

    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(self.accounts.read().iter().map(|account| &**account))
    }

    /// Replaces everything: after the persisted table changed, or to undo a change that could not be persisted.
    pub fn replace_with(&self, bytes: &[u8]) -> Result<(), CorruptAccounts> {
        let other = Self::decode(bytes)?;
        *self.accounts.write() = other.accounts.into_inner();
        Ok(())
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

    pub fn remove(&self, name: &AccountName) -> Result<(), AccountError> {
        let mut accounts = self.accounts.write();
        let count = accounts.len();
        accounts.retain(|account| account.name != *name);
        if accounts.len() == count { Err(AccountError::Unknown) } else { Ok(()) }
    }

    /// Changes an account: password, lock, grants or name. What it had proven is forgotten.
    pub fn change(&self, name: &AccountName, change: impl FnOnce(&mut Account)) -> Result<(), AccountError> {
        let mut accounts = self.accounts.write();
        let index = accounts.iter().position(|account| account.name == *name).ok_or(AccountError::Unknown)?;
        let mut changed = accounts[index].copy();
        change(&mut changed);
        if changed.name != *name {
            check_length(&changed.name)?;
            if accounts.iter().any(|other| other.name == changed.name) {
                return Err(AccountError::AlreadyExists);
            }
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

fn sort(accounts: &mut [Arc<Account>]) {
    accounts.sort_by(|left, right| {
        let key = |account: &Account| (account.name.host.rank(), account.name.user.is_empty());
        key(left).cmp(&key(right)).then_with(|| left.name.cmp(&right.name))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privilege::{Privilege, Scope};

    fn account(user: &str, host: &str) -> Account {
        Account::new(AccountName::new(user, host), Credential::from_password(Plugin::Native, "pw"))
    }

    fn found(store: &AccountStore, user: &str, host: &str) -> String {
        let host = ClientHost::Address(host.parse().expect("an address"));
        store.find(user, host).map_or("none".to_owned(), |account| account.name.to_string())
    }

    #[test]
    fn the_most_specific_account_is_found() {
        let store = AccountStore::with_root("");
        for (user, host) in [("anna", "%"), ("anna", "10.0.%"), ("", "10.0.0.1"), ("anna", "localhost")] {
            store.create(account(user, host)).expect("new");
        }
        assert_eq!(found(&store, "anna", "10.9.9.9"), "`anna`@`%`");
        assert_eq!(found(&store, "anna", "10.0.9.9"), "`anna`@`10.0.%`");
        assert_eq!(found(&store, "anna", "10.0.0.1"), "``@`10.0.0.1`");
        assert_eq!(found(&store, "anna", "127.0.0.1"), "`anna`@`localhost`");
        assert_eq!(found(&store, "root", "127.0.0.1"), "`root`@`localhost`");
        assert_eq!(found(&store, "root", "10.9.9.9"), "none");
        assert_eq!(found(&store, "Anna", "10.9.9.9"), "none");
    }

    #[test]
    fn accounts_survive_their_encoding() {
        let store = AccountStore::with_root("secret");
        store.create(account("anna", "%")).expect("new");
        let name = AccountName::new("anna", "%");
        store
            .change(&name, |account| {
                account.locked = true;
                account.grants.grant(Scope::Database("shop".to_owned()), Privilege::Select.into());
                account.grants.grant(Scope::Table("a".to_owned(), "b".to_owned()), Privilege::Index.into());
            })
            .expect("known");
        let bytes = store.encode();
        let again = AccountStore::decode(&bytes).expect("readable");
        assert_eq!(again.encode(), bytes);
        let anna = again.get(&name).expect("known");
        assert!(anna.locked && !anna.requires_tls);
        assert_eq!(
            anna.show_grants(),
            [
                "GRANT USAGE ON *.* TO `anna`@`%`",
                "GRANT SELECT ON `shop`.* TO `anna`@`%`",
                "GRANT INDEX ON `a`.`b` TO `anna`@`%`",
            ]
        );
        for length in 0..bytes.len() {
            assert!(AccountStore::decode(&bytes[..length]).is_err(), "cut at {length}");
        }
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0xff;
            let _ = AccountStore::decode(&damaged);
        }
    }

    #[test]
    fn names_stay_unique() {
        let store = AccountStore::with_root("");
        assert_eq!(store.passwordless(), [AccountName::new("root", "localhost")]);
        let root = AccountName::new("root", "LOCALHOST");
        assert_eq!(store.create(account("root", "localhost")), Err(AccountError::AlreadyExists));
        assert_eq!(store.create(account(&"x".repeat(33), "%")), Err(AccountError::UserTooLong));
        store.create(account("anna", "%")).expect("new");
        let rename = |account: &mut Account| account.name = AccountName::new("anna", "%");
        assert_eq!(store.change(&root, rename), Err(AccountError::AlreadyExists));
        assert_eq!(store.remove(&AccountName::new("bert", "%")), Err(AccountError::Unknown));
        assert_eq!(store.remove(&root), Ok(()));
        assert_eq!(store.all().len(), 1);
    }
}
