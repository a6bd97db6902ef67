//! One account: who, from where, how it proves itself and what it may do.
//!
//! Invariant: an `Account` never changes; a new password or grant makes a new one, and with it goes what the old
//! one had remembered for the fast path. Called by `store` and `exchange`.

use std::fmt;
use std::sync::OnceLock;

use crate::host_pattern::HostPattern;
use crate::plugin::Plugin;
use crate::privilege::{Grants, Scope};
use crate::proof::{SHA1_LENGTH, SHA256_LENGTH, native_stage2};
use crate::sha256_crypt;

/// `user@host`; the user part is case-sensitive, an empty one matches every user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountName {
    pub user: String,
    pub host: HostPattern,
}

impl AccountName {
    pub fn new(user: &str, host: &str) -> Self {
        Self { user: user.to_owned(), host: HostPattern::new(host) }
    }
}

/// As CREATE USER and SHOW GRANTS write it.
impl fmt::Display for AccountName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.replace('`', "``");
        let host = self.host.as_str().replace('`', "``");
        write!(formatter, "`{user}`@`{host}`")
    }
}

/// What the server keeps to check a password; never the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    plugin: Plugin,
    /// Empty for no password.
    stored: Vec<u8>,
}

/// The stored form is as good as a password for offline guessing, so it stays out of logs.
impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credential").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Credential {
    pub fn from_password(plugin: Plugin, password: &str) -> Self {
        if password.is_empty() {
            return Self { plugin, stored: Vec::new() };
        }
        let stored = match plugin {
            Plugin::CachingSha2 => sha256_crypt::store(password.as_bytes(), &random_salt()),
            Plugin::Native => {
                let digits: String =
                    native_stage2(password.as_bytes()).iter().map(|byte| format!("{byte:02X}")).collect();
                format!("*{digits}").into_bytes()
            }
        };
        Self { plugin, stored }
    }

    /// From `IDENTIFIED WITH plugin AS 'stored'`; `None` when that is no hash of the plugin.
    pub fn from_stored(plugin: Plugin, stored: &[u8]) -> Option<Self> {
        let valid = stored.is_empty()
            || match plugin {
                Plugin::CachingSha2 => sha256_crypt::is_well_formed(stored),
                Plugin::Native => native_bytes(stored).is_some(),
            };
        valid.then(|| Self { plugin, stored: stored.to_vec() })
    }

    pub fn plugin(&self) -> Plugin {
        self.plugin
    }

    /// The authentication string as `mysql.user` shows it.
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }

    pub fn is_passwordless(&self) -> bool {
        self.stored.is_empty()
    }

    pub(crate) fn native_stage2(&self) -> Option<[u8; SHA1_LENGTH]> {
        native_bytes(&self.stored)
    }
}

/// The bytes behind `*` and forty hexadecimal digits.
fn native_bytes(stored: &[u8]) -> Option<[u8; SHA1_LENGTH]> {
    let digits = std::str::from_utf8(stored.strip_prefix(b"*")?).ok()?;
    if digits.len() != 2 * SHA1_LENGTH || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; SHA1_LENGTH];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Salt bytes of a stored hash must be printable enough to survive as text: seven bits, no NUL, no `$`.
fn random_salt() -> [u8; sha256_crypt::SALT_LENGTH] {
    let mut salt = [0; sha256_crypt::SALT_LENGTH];
    aws_lc_rs::rand::fill(&mut salt).expect("the operating system gives random bytes");
    salt.map(|byte| match byte & 0x7f {
        low @ 0..=0x20 => low + 0x40,
        b'$' => b'%',
        0x7f => b'~',
        byte => byte,
    })
}

/// An account of the store.
#[derive(Debug)]
pub struct Account {
    pub name: AccountName,
    pub credential: Credential,
    pub grants: Grants,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// REQUIRE SSL.
    pub requires_tls: bool,
    /// SHA256(SHA256(password)), known after one full proof; the fast path needs it.
    pub(crate) proven: OnceLock<[u8; SHA256_LENGTH]>,
}

impl Account {
    pub fn new(name: AccountName, credential: Credential) -> Self {
        Self {
            name,
            credential,
            grants: Grants::default(),
            locked: false,
            requires_tls: false,
            proven: OnceLock::new(),
        }
    }

    /// A changeable copy that remembers nothing.
    pub fn copy(&self) -> Self {
        Self {
            name: self.name.clone(),
            credential: self.credential.clone(),
            grants: self.grants.clone(),
            locked: self.locked,
            requires_tls: self.requires_tls,
            proven: OnceLock::new(),
        }
    }

    /// The statements that SHOW GRANTS lists.
    pub fn show_grants(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.grants.iter().any(|(scope, _)| *scope == Scope::Global) {
            lines.push(format!("GRANT USAGE ON *.* TO {}", self.name));
        }
        for (scope, privileges) in self.grants.iter() {
            let quote = |name: &str| name.replace('`', "``");
            let place = match scope {
                Scope::Global => "*.*".to_owned(),
                Scope::Database(name) => format!("`{}`.*", quote(name)),
                Scope::Table(database, table) => format!("`{}`.`{}`", quote(database), quote(table)),
            };
            let grant_option = privileges.has(crate::Privilege::GrantOption.into());
            let plain = privileges.without(crate::Privilege::GrantOption.into());
            let (dynamic, fixed): (Vec<_>, Vec<_>) =
                plain.iter().partition(|privilege| privilege.is_dynamic());
            let names: Vec<_> = fixed.into_iter().map(crate::Privilege::name).collect();
            let is_all = match scope {
                Scope::Global => false,
                Scope::Database(_) => plain == crate::PrivilegeSet::all_database(),
                Scope::Table(..) => plain == crate::PrivilegeSet::all_table(),
            };
            let what = match (is_all, names.is_empty()) {
                (true, _) => "ALL PRIVILEGES".to_owned(),
                (false, true) => "USAGE".to_owned(),
                (false, false) => names.join(", "),
            };
            let ending = if grant_option { " WITH GRANT OPTION" } else { "" };
            lines.push(format!("GRANT {what} ON {place} TO {}{ending}", self.name));
            if !dynamic.is_empty() {
                let names: Vec<_> = dynamic.into_iter().map(crate::Privilege::name).collect();
                lines.push(format!("GRANT {} ON {place} TO {}{ending}", names.join(","), self.name));
            }
        }
        lines
    }
}
