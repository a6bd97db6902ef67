//! What accounts may do: privileges, sets of them, and where they are granted.
//!
//! Invariant: nothing is permitted that was not granted; a check names the privileges and the place it needs.
//! Called by the session before a statement runs and by SHOW GRANTS.

use std::collections::BTreeMap;
use std::ops::{BitOr, BitOrAssign};

use crate::host_pattern::wildcard_match;

/// One declaration per privilege: its name in GRANT and SHOW GRANTS; the position is its bit on disk.
macro_rules! privileges {
    ($($name:ident = $bit:literal, $text:literal;)*) => {
        /// A right that GRANT can give.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Privilege { $($name,)* }

        impl Privilege {
            /// In the order of SHOW GRANTS.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            const fn bit(self) -> u64 {
                match self { $(Self::$name => 1 << $bit,)* }
            }
        }
    };
}

privileges! {
    Select = 0, "SELECT";
    Insert = 1, "INSERT";
    Update = 2, "UPDATE";
    Delete = 3, "DELETE";
    Create = 4, "CREATE";
    Drop = 5, "DROP";
    Reload = 6, "RELOAD";
    Shutdown = 7, "SHUTDOWN";
    Process = 8, "PROCESS";
    File = 9, "FILE";
    References = 10, "REFERENCES";
    Index = 11, "INDEX";
    Alter = 12, "ALTER";
    ShowDatabases = 13, "SHOW DATABASES";
    Super = 14, "SUPER";
    CreateTemporaryTables = 15, "CREATE TEMPORARY TABLES";
    LockTables = 16, "LOCK TABLES";
    Execute = 17, "EXECUTE";
    ReplicationSlave = 18, "REPLICATION SLAVE";
    ReplicationClient = 19, "REPLICATION CLIENT";
    CreateView = 20, "CREATE VIEW";
    ShowView = 21, "SHOW VIEW";
    CreateRoutine = 22, "CREATE ROUTINE";
    AlterRoutine = 23, "ALTER ROUTINE";
    CreateUser = 24, "CREATE USER";
    Event = 25, "EVENT";
    Trigger = 26, "TRIGGER";
    CreateTablespace = 27, "CREATE TABLESPACE";
    CreateRole = 28, "CREATE ROLE";
    DropRole = 29, "DROP ROLE";
    GrantOption = 30, "GRANT OPTION";
    XaRecoverAdmin = 31, "XA_RECOVER_ADMIN";
}

impl Privilege {
    /// What MySQL calls a dynamic privilege: global only, and shown in a line of its own.
    pub fn is_dynamic(self) -> bool {
        self == Privilege::XaRecoverAdmin
    }

    /// From the words of a GRANT statement, in any case and without ALL.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|privilege| privilege.name().eq_ignore_ascii_case(name))
    }
}

/// Several privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrivilegeSet(u64);

impl PrivilegeSet {
    pub const NONE: Self = Self(0);

    /// ALL PRIVILEGES on `*.*`; GRANT OPTION is never part of ALL.
    pub fn all_global() -> Self {
        Privilege::ALL
            .iter()
            .filter(|&&privilege| privilege != Privilege::GrantOption)
            .fold(Self::NONE, |set, &privilege| set | privilege.into())
    }

    /// ALL PRIVILEGES on one database (or, of these, the ones that tables have).
    pub fn all_database() -> Self {
        use Privilege::*;
        [
            Select,
            Insert,
            Update,
            Delete,
            Create,
            Drop,
            References,
            Index,
            Alter,
            CreateTemporaryTables,
            LockTables,
            Execute,
            CreateView,
            ShowView,
            CreateRoutine,
            AlterRoutine,
            Event,
            Trigger,
        ]
        .into_iter()
        .fold(Self::NONE, |set, privilege| set | privilege.into())
    }

    pub fn all_table() -> Self {
        use Privilege::*;
        [
            Select, Insert, Update, Delete, Create, Drop, References, Index, Alter, CreateView, ShowView,
            Trigger,
        ]
        .into_iter()
        .fold(Self::NONE, |set, privilege| set | privilege.into())
    }

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::ALL.iter().copied().filter(move |&privilege| self.has(privilege.into()))
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Bits of privileges that this version does not know are dropped: they can permit nothing here.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Privilege::ALL
            .iter()
            .filter(|privilege| bits & privilege.bit() != 0)
            .fold(Self::NONE, |set, &privilege| set | privilege.into())
    }
}

impl From<Privilege> for PrivilegeSet {
    fn from(privilege: Privilege) -> Self {
        Self(privilege.bit())
    }
}

impl BitOr for PrivilegeSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for PrivilegeSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Where a privilege is granted or needed. A granted database name may hold the wildcards `%` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Global,
    Database(String),
    Table(String, String),
}

/// Everything granted to one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    by_scope: BTreeMap<Scope, PrivilegeSet>,
}

impl Grants {
    pub fn full() -> Self {
        let mut grants = Self::default();
        grants.grant(Scope::Global, PrivilegeSet::all_global() | Privilege::GrantOption.into());
        grants
    }

    pub fn grant(&mut self, scope: Scope, privileges: PrivilegeSet) {
        *self.by_scope.entry(scope).or_default() |= privileges;
    }

    pub fn revoke(&mut self, scope: &Scope, privileges: PrivilegeSet) {
        if let Some(granted) = self.by_scope.get_mut(scope) {
            *granted = granted.without(privileges);
            if granted.is_empty() {
                self.by_scope.remove(scope);
            }
        }
    }

    pub fn revoke_all(&mut self) {
        self.by_scope.clear();
    }

    /// Whether every privilege of `needed` holds at `scope`, counting what is granted around it.
    pub fn permit(&self, needed: PrivilegeSet, scope: &Scope) -> bool {
        let mut held = PrivilegeSet::NONE;
        for (granted_at, privileges) in &self.by_scope {
            if covers(granted_at, scope) {
                held |= *privileges;
            }
        }
        held.has(needed)
    }

    /// Whether anything at all is granted on a database or within it: then it may be seen and entered.
    pub fn permit_any_within(&self, database: &str) -> bool {
        self.by_scope.iter().any(|(scope, privileges)| {
            let reaches = match scope {
                Scope::Global => true,
                Scope::Database(pattern) => wildcard_match(pattern.as_bytes(), database.as_bytes()),
                Scope::Table(name, _) => name == database,
            };
            reaches && !privileges.is_empty()
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Scope, PrivilegeSet)> {
        self.by_scope.iter().map(|(scope, privileges)| (scope, *privileges))
    }
}

fn covers(granted: &Scope, needed: &Scope) -> bool {
    match (granted, needed) {
        (Scope::Global, _) => true,
        (Scope::Database(pattern), Scope::Database(name) | Scope::Table(name, _)) => {
            wildcard_match(pattern.as_bytes(), name.as_bytes())
        }
        (Scope::Table(database, table), Scope::Table(needed_database, needed_table)) => {
            database == needed_database && table == needed_table
        }
        (Scope::Database(_) | Scope::Table(..), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_cover_what_is_within_them() {
        let database = |name: &str| Scope::Database(name.to_owned());
        let table = |name: &str| Scope::Table("shop".to_owned(), name.to_owned());
        let mut grants = Grants::default();
        grants.grant(database("sh%"), Privilege::Select.into());
        grants.grant(table("orders"), Privilege::Insert.into());
        let both = PrivilegeSet::from(Privilege::Select) | Privilege::Insert.into();
        assert!(grants.permit(both, &table("orders")));
        assert!(!grants.permit(both, &table("items")));
        assert!(grants.permit(Privilege::Select.into(), &database("shop")));
        assert!(!grants.permit(Privilege::Select.into(), &database("other")));
        assert!(!grants.permit(Privilege::Select.into(), &Scope::Global));
        assert!(grants.permit_any_within("shop") && !grants.permit_any_within("other"));
        grants.revoke(&database("sh%"), Privilege::Select.into());
        assert!(!grants.permit(Privilege::Select.into(), &table("orders")));
    }

    #[test]
    fn bits_and_names_are_distinct() {
        let bits = Privilege::ALL.iter().fold(0u64, |bits, privilege| bits | privilege.bit());
        assert_eq!(bits.count_ones() as usize, Privilege::ALL.len());
        for &privilege in Privilege::ALL {
            assert_eq!(Privilege::from_name(&privilege.name().to_lowercase()), Some(privilege));
        }
        assert!(!PrivilegeSet::all_global().has(Privilege::GrantOption.into()));
        assert!(Grants::full().permit(Privilege::GrantOption.into(), &Scope::Global));
    }
}
