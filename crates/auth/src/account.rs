//! One account: who, from where, how it proves itself and what it may do.
//!
//! Invariant: an `Account` never changes; a new password or grant makes a new one. A new password takes with it what the
//! old one had remembered for the fast path. Called by `store` and `exchange`.

use std::sync::{Arc, OnceLock};

use crate::account_name::AccountName;
use crate::credential::Credential;
use crate::grants::Grants;
use crate::policy::{PasswordPolicy, ResourceLimits, TlsRequirement};
use crate::proof::SHA256_LENGTH;
use crate::usage::AccountUsage;

/// A password that was used before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerPassword {
    /// Microseconds since 1970.
    pub moment_us: u64,
    pub credential: Credential,
}

/// An account of the store.
#[derive(Clone, Debug)]
pub struct Account {
    pub name: AccountName,
    pub credential: Credential,
    /// RETAIN CURRENT PASSWORD: the password before, which is good as well.
    pub second_credential: Option<Credential>,
    pub grants: Grants,
    /// The roles that are active after login.
    pub default_roles: Vec<AccountName>,
    /// ACCOUNT LOCK.
    pub locked: bool,
    pub tls: TlsRequirement,
    pub limits: ResourceLimits,
    pub policy: PasswordPolicy,
    /// Microseconds since 1970; 0 when nobody noted it.
    pub password_changed_us: u64,
    /// The newest first, the present one among them.
    pub former_passwords: Vec<FormerPassword>,
    /// COMMENT and ATTRIBUTE: a JSON object.
    pub attributes: Option<String>,
    /// What its sessions and failed logins count; the same for every version of the account.
    pub usage: Arc<AccountUsage>,
    /// SHA256(SHA256(password)) of the passwords, known after one full proof; the fast path needs it.
    pub(crate) proven: Arc<[OnceLock<[u8; SHA256_LENGTH]>; 2]>,
}

impl Account {
    pub fn new(name: AccountName, credential: Credential) -> Self {
        Self {
            name,
            credential,
            second_credential: None,
            grants: Grants::default(),
            default_roles: Vec::new(),
            locked: false,
            tls: TlsRequirement::None,
            limits: ResourceLimits::default(),
            policy: PasswordPolicy::default(),
            password_changed_us: 0,
            former_passwords: Vec::new(),
            attributes: None,
            usage: Arc::default(),
            proven: Arc::default(),
        }
    }

    /// What was proven is forgotten.
    pub fn set_credentials(&mut self, credential: Credential, second: Option<Credential>) {
        self.credential = credential;
        self.second_credential = second;
        self.proven = Arc::default();
    }
}
