//! Matching, encoding and renaming of accounts.

use super::*;
use crate::privilege::Privilege;

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
            account.grants.grant_database("shop", Privilege::Select.into());
            let key = ("a".to_owned(), "b".to_owned());
            account.grants.change_table(&key, |table| table.table |= Privilege::Index.into());
        })
        .expect("known");
    let bytes = store.encode();
    let again = AccountStore::decode(&bytes).expect("readable");
    assert_eq!(again.encode(), bytes);
    let anna = again.get(&name).expect("known");
    assert!(anna.locked && anna.tls == crate::TlsRequirement::None);
    assert_eq!(anna.grants, store.get(&name).expect("known").grants);
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
