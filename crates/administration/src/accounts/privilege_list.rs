//! The privileges and the target of a GRANT or REVOKE, as written, turned into sets; errors 1144, 1149, 1221, 3619.
//!
//! Invariant: what comes out fits its target. Called by `grant` and `revoke`.
use std::collections::BTreeMap;

use auth::{AccountName, DynamicPrivilege, DynamicSet, Privilege, PrivilegeSet, RoutineKind};
use datum::{SqlError, error_code};
use parser::ast::{GrantTarget, ObjectKind, PrivilegeKind};

use crate::caller::Caller;
use definition::TableName;

/// Where something is granted.
pub(super) enum Target {
    Global,
    /// A name or a pattern.
    Database(String),
    Table(TableName),
    Routine(RoutineKind, TableName),
    Proxy(AccountName),
}

/// What is granted there.
#[derive(Default)]
pub(super) struct Granted {
    pub whole: PrivilegeSet,
    /// As written, in lower case.
    pub columns: BTreeMap<String, PrivilegeSet>,
    pub dynamic: DynamicSet,
    pub is_all: bool,
}

impl Granted {
    /// What the table, its columns included, is about.
    pub fn everything(&self) -> PrivilegeSet {
        self.columns.values().fold(self.whole, |set, &column| set | column)
    }
}

impl Caller<'_> {
    pub(super) fn grant_target(&self, target: GrantTarget<'_>) -> Result<Target, SqlError> {
        Ok(match target {
            GrantTarget::Global => Target::Global,
            GrantTarget::CurrentDatabase => match self.database() {
                Some(database) => Target::Database(database.to_string()),
                None => return Err(error_code::ER_NO_DB_ERROR.plain()),
            },
            GrantTarget::Database(name) => {
                Target::Database(catalog::canonical_database(name.name).to_owned())
            }
            GrantTarget::Object { kind, name } => {
                let name = self.table_name(name)?;
                match kind {
                    ObjectKind::Table => Target::Table(name),
                    ObjectKind::Function => Target::Routine(RoutineKind::Function, name),
                    ObjectKind::Procedure => Target::Routine(RoutineKind::Procedure, name),
                    ObjectKind::Library => Target::Routine(RoutineKind::Library, name),
                }
            }
            GrantTarget::Proxy(user) => Target::Proxy(self.named_account(user)?),
        })
    }
}

/// The privileges of a GRANT or REVOKE.
pub(super) fn granted(written: &[parser::ast::Privilege<'_>], target: &Target) -> Result<Granted, SqlError> {
    let mut granted = Granted::default();
    for privilege in written {
        match privilege.kind {
            PrivilegeKind::Dynamic(name) => granted.dynamic |= dynamic(name, target)?.into(),
            PrivilegeKind::All => {
                granted.is_all = true;
                granted.whole |= possible(target);
                if matches!(target, Target::Global) {
                    granted.dynamic = DynamicSet::all();
                }
            }
            PrivilegeKind::Usage | PrivilegeKind::Proxy => {}
            kind => add(&mut granted, plain_privilege(kind), privilege.columns, target)?,
        }
    }
    Ok(granted)
}

fn add(
    granted: &mut Granted,
    privilege: Option<Privilege>,
    columns: &[parser::ast::Ident<'_>],
    target: &Target,
) -> Result<(), SqlError> {
    let illegal = || error_code::ER_ILLEGAL_GRANT_FOR_TABLE.plain();
    let one: PrivilegeSet = privilege.ok_or_else(illegal)?.into();
    if !(possible(target) | Privilege::GrantOption.into()).has(one) {
        return Err(match target {
            Target::Database(_) => error_code::ER_WRONG_USAGE.with(&[&"DB GRANT", &"GLOBAL PRIVILEGES"]),
            _ => illegal(),
        });
    }
    if columns.is_empty() {
        granted.whole |= one;
        return Ok(());
    }
    if !matches!(target, Target::Table(_)) || !PrivilegeSet::all_column().has(one) {
        return Err(illegal());
    }
    for column in columns {
        *granted.columns.entry(column.name.to_lowercase()).or_default() |= one;
    }
    Ok(())
}

/// Everything that the target can have.
fn possible(target: &Target) -> PrivilegeSet {
    match target {
        Target::Global => PrivilegeSet::all_global(),
        Target::Database(_) => PrivilegeSet::all_database(),
        Target::Table(_) => PrivilegeSet::all_table(),
        Target::Routine(..) => PrivilegeSet::all_routine(),
        Target::Proxy(_) => PrivilegeSet::NONE,
    }
}

fn dynamic(name: &str, target: &Target) -> Result<DynamicPrivilege, SqlError> {
    match target {
        Target::Global => {
            let known = DynamicPrivilege::from_name(name);
            known.ok_or_else(|| SqlError {
                errno: 1149,
                sqlstate: *b"42000",
                message:
                    "You have an error in your SQL syntax; check the manual that corresponds to your MySQL \
                          server version for the right syntax to use"
                        .to_owned(),
            })
        }
        // MySQL names the object then.
        Target::Table(table) | Target::Routine(_, table) => {
            Err(ER_ILLEGAL_PRIVILEGE_LEVEL.with(&[&table.name]))
        }
        Target::Database(_) | Target::Proxy(_) => {
            Err(ER_ILLEGAL_PRIVILEGE_LEVEL.with(&[&name.to_uppercase()]))
        }
    }
}

fn plain_privilege(kind: PrivilegeKind<'_>) -> Option<Privilege> {
    use PrivilegeKind as Kind;
    Some(match kind {
        Kind::Alter => Privilege::Alter,
        Kind::AlterRoutine => Privilege::AlterRoutine,
        Kind::Create => Privilege::Create,
        Kind::CreateRole => Privilege::CreateRole,
        Kind::CreateRoutine => Privilege::CreateRoutine,
        Kind::CreateTablespace => Privilege::CreateTablespace,
        Kind::CreateTemporaryTables => Privilege::CreateTemporaryTables,
        Kind::CreateUser => Privilege::CreateUser,
        Kind::CreateView => Privilege::CreateView,
        Kind::Delete => Privilege::Delete,
        Kind::Drop => Privilege::Drop,
        Kind::DropRole => Privilege::DropRole,
        Kind::Event => Privilege::Event,
        Kind::Execute => Privilege::Execute,
        Kind::File => Privilege::File,
        Kind::GrantOption => Privilege::GrantOption,
        Kind::Index => Privilege::Index,
        Kind::Insert => Privilege::Insert,
        Kind::LockTables => Privilege::LockTables,
        Kind::Process => Privilege::Process,
        Kind::References => Privilege::References,
        Kind::Reload => Privilege::Reload,
        Kind::ReplicationClient => Privilege::ReplicationClient,
        Kind::ReplicationSlave => Privilege::ReplicationSlave,
        Kind::Select => Privilege::Select,
        Kind::ShowDatabases => Privilege::ShowDatabases,
        Kind::ShowView => Privilege::ShowView,
        Kind::Shutdown => Privilege::Shutdown,
        Kind::Super => Privilege::Super,
        Kind::Trigger => Privilege::Trigger,
        Kind::Update => Privilege::Update,
        Kind::All | Kind::Usage | Kind::Proxy | Kind::Dynamic(_) => return None,
    })
}

const ER_ILLEGAL_PRIVILEGE_LEVEL: datum::ErrorCode =
    datum::ErrorCode::new(3619, "HY000", "Illegal privilege level specified for %s");
