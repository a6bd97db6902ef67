//! The static privileges: those that can be granted on databases, tables and columns, or only everywhere.
//!
//! Invariant: a privilege's bit never changes, because sets are stored as their bits. Read by everything that grants,
//! checks or shows privileges.

use std::ops::{BitOr, BitOrAssign};

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
}

impl Privilege {
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
        Self::of(&[
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
        ])
    }

    pub fn all_table() -> Self {
        use Privilege::*;
        Self::of(&[
            Select, Insert, Update, Delete, Create, Drop, References, Index, Alter, CreateView, ShowView,
            Trigger,
        ])
    }

    /// What columns can have.
    pub fn all_column() -> Self {
        Self::of(&[Privilege::Select, Privilege::Insert, Privilege::Update, Privilege::References])
    }

    /// What routines can have.
    pub fn all_routine() -> Self {
        Self::of(&[Privilege::Execute, Privilege::AlterRoutine])
    }

    /// With any of these a database may be entered.
    pub fn opens_database() -> Self {
        Self::all_database()
    }

    pub fn of(privileges: &[Privilege]) -> Self {
        privileges.iter().fold(Self::NONE, |set, &privilege| set | privilege.into())
    }

    /// What both have.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether both have one in common.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_names_are_distinct() {
        let bits = Privilege::ALL.iter().fold(0u64, |bits, privilege| bits | privilege.bit());
        assert_eq!(bits.count_ones() as usize, Privilege::ALL.len());
        for &privilege in Privilege::ALL {
            assert_eq!(Privilege::from_name(&privilege.name().to_lowercase()), Some(privilege));
        }
        assert!(!PrivilegeSet::all_global().has(Privilege::GrantOption.into()));
    }
}
