//! Everything granted to one account, by the place where it is granted.
//!
//! Invariant: an entry that permits nothing is not kept, so that what exists also shows. Changed by GRANT and REVOKE,
//! read by `access`, which turns the grants of an account and its roles into what a session may do.

use std::collections::BTreeMap;

use crate::account_name::AccountName;
use crate::dynamic::DynamicSet;
use crate::privilege::{Privilege, PrivilegeSet};

/// Database and table, or database and routine.
pub type ObjectKey = (String, String);

/// What a routine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoutineKind {
    Function,
    Procedure,
    Library,
}

impl RoutineKind {
    pub const ALL: &'static [Self] = &[Self::Function, Self::Procedure, Self::Library];

    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "FUNCTION",
            Self::Procedure => "PROCEDURE",
            Self::Library => "LIBRARY",
        }
    }
}

/// Who granted something last, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// `user@host`.
    pub grantor: String,
    /// Microseconds since 1970.
    pub moment_us: u64,
}

/// What is granted on one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableGrants {
    pub table: PrivilegeSet,
    /// By column, as GRANT wrote it.
    pub columns: BTreeMap<String, PrivilegeSet>,
    pub origin: Origin,
}

impl TableGrants {
    pub fn is_empty(&self) -> bool {
        self.table.is_empty() && self.columns.is_empty()
    }

    /// More than passing on what is held elsewhere.
    pub fn permits_anything(&self) -> bool {
        !self.table.without(Privilege::GrantOption.into()).is_empty() || !self.columns.is_empty()
    }

    /// What any column has.
    pub fn any_column(&self) -> PrivilegeSet {
        self.columns.values().fold(PrivilegeSet::NONE, |set, &column| set | column)
    }

    /// What a column has, beside what the table has.
    pub fn column(&self, name: &str) -> PrivilegeSet {
        let same =
            |known: &str| known.eq_ignore_ascii_case(name) || known.to_lowercase() == name.to_lowercase();
        self.columns.iter().find(|(known, _)| same(known)).map_or(PrivilegeSet::NONE, |(_, set)| *set)
    }

    pub fn grant_column(&mut self, name: &str, privileges: PrivilegeSet) {
        let known = self.columns.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned();
        *self.columns.entry(known.unwrap_or_else(|| name.to_owned())).or_default() |= privileges;
    }

    pub fn revoke_column(&mut self, name: &str, privileges: PrivilegeSet) {
        self.columns.retain(|known, set| {
            if known.eq_ignore_ascii_case(name) {
                *set = set.without(privileges);
            }
            !set.is_empty()
        });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.table |= other.table;
        for (column, privileges) in &other.columns {
            self.grant_column(column, *privileges);
        }
    }
}

/// What is granted on one routine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutineGrants {
    pub privileges: PrivilegeSet,
    pub origin: Origin,
}

/// The right to act as another account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyGrant {
    pub with_grant: bool,
    pub origin: Origin,
}

/// Everything granted to one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    pub global: PrivilegeSet,
    pub dynamic: DynamicSet,
    /// The dynamic privileges that may be passed on.
    pub grantable: DynamicSet,
    /// Partial revokes: what of `global` does not hold in a database.
    pub restrictions: BTreeMap<String, PrivilegeSet>,
    /// By name or pattern: `%` and `_` are wildcards, `\` takes that from them.
    pub databases: BTreeMap<String, PrivilegeSet>,
    pub tables: BTreeMap<ObjectKey, TableGrants>,
    /// Names of routines ignore case; kept as written.
    pub routines: BTreeMap<(RoutineKind, ObjectKey), RoutineGrants>,
    pub proxies: BTreeMap<AccountName, ProxyGrant>,
    /// Roles, and whether they may be passed on.
    pub roles: BTreeMap<AccountName, bool>,
}

impl Grants {
    /// What `root` has.
    pub fn full() -> Self {
        let everybody = AccountName::anybody();
        Self {
            global: PrivilegeSet::all_global() | Privilege::GrantOption.into(),
            dynamic: DynamicSet::all(),
            grantable: DynamicSet::all(),
            proxies: BTreeMap::from([(
                everybody,
                ProxyGrant { with_grant: true, origin: Origin { grantor: "boot@".to_owned(), moment_us: 0 } },
            )]),
            ..Self::default()
        }
    }

    pub fn grant_database(&mut self, pattern: &str, privileges: PrivilegeSet) {
        let held = self.databases.entry(pattern.to_owned()).or_default();
        *held |= privileges;
        if held.is_empty() {
            self.databases.remove(pattern);
        }
    }

    pub fn revoke_database(&mut self, pattern: &str, privileges: PrivilegeSet) {
        if let Some(held) = self.databases.get_mut(pattern) {
            *held = held.without(privileges);
            if held.is_empty() {
                self.databases.remove(pattern);
            }
        }
    }

    /// Changes what is granted on a table; an entry that is empty then is removed.
    pub fn change_table(&mut self, key: &ObjectKey, change: impl FnOnce(&mut TableGrants)) {
        let grants = self.tables.entry(key.clone()).or_default();
        change(grants);
        if grants.is_empty() {
            self.tables.remove(key);
        }
    }

    /// Adds what another account has, roles and PROXY apart.
    pub fn join(&mut self, other: &Self) {
        self.global |= other.global;
        self.dynamic |= other.dynamic;
        self.grantable |= other.grantable;
        for (database, set) in &other.databases {
            *self.databases.entry(database.clone()).or_default() |= *set;
        }
        for (key, table) in &other.tables {
            self.tables.entry(key.clone()).or_default().merge(table);
        }
        for (key, routine) in &other.routines {
            self.routines.entry(key.clone()).or_default().privileges |= routine.privileges;
        }
    }

    /// Takes global, database, table and routine privileges; roles and PROXY stay.
    pub fn revoke_all(&mut self) {
        let (roles, proxies) = (std::mem::take(&mut self.roles), std::mem::take(&mut self.proxies));
        *self = Self { roles, proxies, ..Self::default() };
    }
}
