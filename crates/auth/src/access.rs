//! What a session may do: the grants of its account and of its active roles, joined once and then only asked.
//!
//! Invariant: nothing is permitted that was not granted. Of several patterns that fit a database only the most
//! specific counts, as in MySQL. Made by `AccountStore::access`, asked by the session before a statement runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::account::Account;
use crate::account_name::AccountName;
use crate::dynamic::{DynamicPrivilege, DynamicSet};
use crate::grants::{Grants, ObjectKey, RoutineKind, TableGrants};
use crate::host_pattern::{ClientHost, pattern_covers, specificity, wildcard_match};
use crate::privilege::{Privilege, PrivilegeSet};

/// The rights of one session.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub global: PrivilegeSet,
    pub dynamic: DynamicSet,
    pub grantable: DynamicSet,
    restrictions: BTreeMap<String, PrivilegeSet>,
    databases: DatabaseGrants,
    tables: BTreeMap<ObjectKey, TableGrants>,
    routines: BTreeMap<(RoutineKind, ObjectKey), PrivilegeSet>,
    /// Names of databases hold no wildcards while partial revokes are on.
    names_are_literal: bool,
    is_full: bool,
}

#[derive(Clone, Debug)]
enum DatabaseGrants {
    /// The most specific first; the first that fits counts.
    Ordered(Vec<(String, PrivilegeSet)>),
    /// With active roles: the name itself, else every pattern that fits.
    Joined(BTreeMap<String, PrivilegeSet>),
}

impl Default for DatabaseGrants {
    fn default() -> Self {
        Self::Ordered(Vec::new())
    }
}

impl Access {
    /// Without active roles: grants to the same user from a host pattern that fits the client count too, and grants on
    /// databases to the anonymous user count for everybody.
    pub(crate) fn of_account(
        account: &Account,
        all: &[std::sync::Arc<Account>],
        client: ClientHost,
        partial_revokes: bool,
    ) -> Self {
        let grants = &account.grants;
        let mut access = Self::global_of(grants, partial_revokes);
        let fits = |other: &&std::sync::Arc<Account>| other.name.host.matches(client);
        let mut databases = Vec::new();
        // Sorted by how specific the host is.
        for other in all.iter().filter(fits) {
            if other.name.user == account.name.user {
                for (key, table) in &other.grants.tables {
                    access.tables.entry(key.clone()).or_insert_with(|| table.clone());
                }
                for (key, routine) in &other.grants.routines {
                    access.routines.entry(folded(key)).or_insert(routine.privileges);
                }
            } else if !other.name.user.is_empty() {
                continue;
            }
            for (pattern, set) in &other.grants.databases {
                let rank = (other.name.host.rank(), 255 - specificity(pattern), other.name.user.is_empty());
                databases.push((rank, pattern.clone(), *set));
            }
        }
        databases.sort_by_key(|database| database.0);
        access.databases =
            DatabaseGrants::Ordered(databases.into_iter().map(|(_, pattern, set)| (pattern, set)).collect());
        access.finish()
    }

    /// With active roles: exactly what is granted to the account and to the roles, and to those these have in turn.
    pub(crate) fn of_roles(
        account: &Account,
        all: &[std::sync::Arc<Account>],
        roles: &[AccountName],
        partial_revokes: bool,
    ) -> Self {
        let mut access = Self::global_of(&account.grants, partial_revokes);
        let mut joined = BTreeMap::new();
        let mut members = vec![&account.grants];
        let reached = reached_roles(all, roles);
        members.extend(all.iter().filter(|other| reached.contains(&other.name)).map(|role| &role.grants));
        for (number, grants) in members.into_iter().enumerate() {
            if number > 0 {
                access.join_global(grants);
            }
            for (pattern, set) in &grants.databases {
                *joined.entry(pattern.clone()).or_default() |= *set;
            }
            for (key, table) in &grants.tables {
                access.tables.entry(key.clone()).or_default().merge(table);
            }
            for (key, routine) in &grants.routines {
                *access.routines.entry(folded(key)).or_default() |= routine.privileges;
            }
        }
        access.databases = DatabaseGrants::Joined(joined);
        access.finish()
    }

    /// Everything, without an account.
    pub fn unlimited() -> Self {
        let global = PrivilegeSet::all_global() | Privilege::GrantOption.into();
        let (dynamic, grantable) = (DynamicSet::all(), DynamicSet::all());
        Self { global, dynamic, grantable, ..Self::default() }.finish()
    }

    fn global_of(grants: &Grants, partial_revokes: bool) -> Self {
        Self {
            global: grants.global,
            dynamic: grants.dynamic,
            grantable: grants.grantable,
            restrictions: grants.restrictions.clone(),
            names_are_literal: partial_revokes,
            ..Self::default()
        }
    }

    /// A restriction stays only where every account that has the privilege is restricted.
    fn join_global(&mut self, other: &Grants) {
        let (mine, theirs) = (self.global, other.global);
        let restricted = |restrictions: &BTreeMap<String, PrivilegeSet>, database: &str| {
            restrictions.get(database).copied().unwrap_or_default()
        };
        let names: BTreeSet<String> =
            self.restrictions.keys().chain(other.restrictions.keys()).cloned().collect();
        let mut left = BTreeMap::new();
        for name in names {
            let held = mine.without(restricted(&self.restrictions, &name))
                | theirs.without(restricted(&other.restrictions, &name));
            let kept = (mine | theirs).without(held);
            if !kept.is_empty() {
                left.insert(name, kept);
            }
        }
        self.restrictions = left;
        self.global |= theirs;
        self.dynamic |= other.dynamic;
        self.grantable |= other.grantable;
    }

    fn finish(mut self) -> Self {
        let all = PrivilegeSet::all_global() | Privilege::GrantOption.into();
        self.is_full = self.global.has(all)
            && self.dynamic.has(DynamicSet::all())
            && self.grantable.has(DynamicSet::all())
            && self.restrictions.is_empty();
        self
    }

    /// Everything is permitted: the check that every statement passes is then one comparison.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    pub fn has_dynamic(&self, privilege: DynamicPrivilege) -> bool {
        self.dynamic.has(privilege.into())
    }

    /// What holds for all of a database. A pattern is asked for by its text.
    pub fn database(&self, name: &str) -> PrivilegeSet {
        let restricted = self.restrictions.get(name).copied().unwrap_or_default();
        self.global.without(restricted) | self.granted_on(name)
    }

    /// What holds for every database that a pattern can mean.
    pub fn database_pattern(&self, pattern: &str) -> PrivilegeSet {
        let restricted = self.restrictions.get(pattern).copied().unwrap_or_default();
        let covers = |granted: &str| match self.names_are_literal {
            true => granted == pattern,
            false => pattern_covers(granted.as_bytes(), pattern.as_bytes()),
        };
        let granted = match &self.databases {
            DatabaseGrants::Ordered(list) => {
                list.iter().find(|(granted, _)| covers(granted)).map(|(_, set)| *set)
            }
            DatabaseGrants::Joined(map) => {
                map.iter().find(|(granted, _)| covers(granted)).map(|(_, set)| *set)
            }
        };
        self.global.without(restricted) | granted.unwrap_or_default()
    }

    /// Partial revokes: what of `global` does not hold in a database.
    pub fn restrictions(&self) -> &BTreeMap<String, PrivilegeSet> {
        &self.restrictions
    }

    /// What is granted on the database itself.
    fn granted_on(&self, name: &str) -> PrivilegeSet {
        let fits = |pattern: &str| match self.names_are_literal {
            true => pattern == name,
            false => wildcard_match(pattern.as_bytes(), name.as_bytes()),
        };
        match &self.databases {
            DatabaseGrants::Ordered(list) => {
                list.iter().find(|(pattern, _)| fits(pattern)).map_or(PrivilegeSet::NONE, |(_, set)| *set)
            }
            DatabaseGrants::Joined(map) => match map.get(name) {
                Some(set) => *set,
                None => map
                    .iter()
                    .filter(|(pattern, _)| fits(pattern))
                    .fold(PrivilegeSet::NONE, |joined, (_, set)| joined | *set),
            },
        }
    }

    /// What holds for a whole table.
    pub fn table(&self, database: &str, name: &str) -> PrivilegeSet {
        self.database(database)
            | self.table_grants(database, name).map_or(PrivilegeSet::NONE, |grants| grants.table)
    }

    /// What holds for at least one column of a table.
    pub fn any_column(&self, database: &str, name: &str) -> PrivilegeSet {
        let columns = self.table_grants(database, name).map_or(PrivilegeSet::NONE, TableGrants::any_column);
        self.table(database, name) | columns
    }

    pub fn column(&self, database: &str, name: &str, column: &str) -> PrivilegeSet {
        let granted = self.table_grants(database, name).map(|grants| grants.column(column));
        self.table(database, name) | granted.unwrap_or_default()
    }

    fn table_grants(&self, database: &str, name: &str) -> Option<&TableGrants> {
        if self.tables.is_empty() {
            return None;
        }
        self.tables.get(&(database.to_owned(), name.to_owned()))
    }

    pub fn routine(&self, kind: RoutineKind, database: &str, name: &str) -> PrivilegeSet {
        let key = folded(&(kind, (database.to_owned(), name.to_owned())));
        self.database(database) | self.routines.get(&key).copied().unwrap_or_default()
    }

    /// Whether anything is granted on a database or within it: then it may be seen and entered.
    pub fn opens_database(&self, name: &str) -> bool {
        self.database(name).meets(PrivilegeSet::opens_database())
            || self.tables.iter().any(|((database, _), table)| database == name && table.permits_anything())
            || self.routines.keys().any(|(_, (database, _))| database == name)
    }

    /// Whether the tables of a database may be listed: passing on rights on one of them is enough.
    pub fn lists_database(&self, name: &str) -> bool {
        self.opens_database(name) || self.tables.keys().any(|(database, _)| database == name)
    }

    /// Whether a database may be known to exist: passing on rights on it is enough.
    pub fn knows_database(&self, name: &str) -> bool {
        self.lists_database(name) || !self.granted_on(name).is_empty()
    }

    /// Whether anything is granted on a table, its columns, or around it.
    pub fn sees_table(&self, database: &str, name: &str) -> bool {
        self.any_column(database, name).meets(PrivilegeSet::all_table())
            || self.has_table_entry(database, name)
    }

    /// Whether anything is granted on the table itself or its columns.
    pub fn has_table_entry(&self, database: &str, name: &str) -> bool {
        self.table_grants(database, name).is_some()
    }
}

/// Names of routines ignore case.
fn folded((kind, (database, name)): &(RoutineKind, ObjectKey)) -> (RoutineKind, ObjectKey) {
    (*kind, (database.clone(), name.to_lowercase()))
}

/// The roles and, beginning with them, all that are granted to one another.
pub(crate) fn reached_roles(all: &[std::sync::Arc<Account>], roles: &[AccountName]) -> BTreeSet<AccountName> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<AccountName> = roles.to_vec();
    while let Some(name) = waiting.pop() {
        let Some(role) = all.iter().find(|other| other.name == name) else { continue };
        if reached.insert(name) {
            waiting.extend(role.grants.roles.keys().cloned());
        }
    }
    reached
}
