//! Accounts, what they may do, and the two ways a client proves that it is one of them.
//!
//! Invariant: no comparison of secrets depends on where they differ, and an unknown user walks the same steps as
//! a known one. No I/O: the session persists `AccountStore::encode`, the server carries `Exchange` messages.
//!
//! Reading order: `account` and `privilege` are the facts, `store` holds them, `exchange` is the dialogue with a
//! client; `sha256_crypt`, `proof` and `key_pair` are the cryptography beneath it.
#![forbid(unsafe_code)]

mod account;
mod host_pattern;
mod plugin;
mod privilege;
mod store;

mod exchange;
mod key_pair;
mod proof;
mod sha256_crypt;

mod base64;
mod encoding;

pub use account::{Account, AccountName, Credential};
pub use encoding::CorruptAccounts;
pub use exchange::{Denial, Exchange, ExchangeStart, Step};
pub use host_pattern::{ClientHost, HostPattern};
pub use key_pair::KeyPair;
pub use plugin::Plugin;
pub use privilege::{Grants, Privilege, PrivilegeSet, Scope};
pub use store::{AccountError, AccountStore};
