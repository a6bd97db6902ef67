//! Accounts, what they may do, and the two ways a client proves that it is one of them.
//!
//! Invariant: no comparison of secrets depends on where they differ, and an unknown user walks the same steps as
//! a known one. No I/O: the session persists `AccountStore::encode`, the server carries `Exchange` messages.
//!
//! Reading order: `account`, `grants` and `policy` are the facts, `store` holds them, `access` is what a session may do
//! by them; `exchange` is the dialogue with a
//! client; `sha256_crypt`, `proof` and `key_pair` are the cryptography beneath it.
#![forbid(unsafe_code)]

mod access;
mod account;
mod account_name;
mod credential;
mod dynamic;
mod grants;
mod host_pattern;
mod plugin;
mod policy;
mod privilege;
mod store;
mod usage;

mod exchange;
mod key_pair;
mod proof;
mod sha256_crypt;
mod strangers;

mod base64;
mod encoding;

pub use access::Access;
pub use account::{Account, FormerPassword};
pub use account_name::AccountName;
pub use credential::{Credential, random_text};
pub use dynamic::{DynamicPrivilege, DynamicSet};
pub use encoding::CorruptAccounts;
pub use exchange::{Denial, Exchange, ExchangeStart, Step};
pub use grants::{Grants, ObjectKey, Origin, ProxyGrant, RoutineGrants, RoutineKind, TableGrants};
pub use host_pattern::{ClientHost, HostPattern};
pub use key_pair::KeyPair;
pub use plugin::Plugin;
pub use policy::{CertificateNames, ClientTls, PasswordPolicy, ResourceLimits, TlsRequirement};
pub use privilege::{Privilege, PrivilegeSet};
pub use store::{AccountError, AccountStore};
pub use usage::{AccountUsage, LimitReached, TemporaryLock};
