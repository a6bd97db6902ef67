//! `mysql.db`, `tables_priv`, `columns_priv`, `procs_priv`, `proxies_priv` and `global_grants`.
use std::sync::Arc;

use auth::{Privilege, PrivilegeSet};
use catalog::Viewer;
use datum::Value;
use schema::TableDef;

use super::columns::{self, choice, flag, folded_name, grantor, host, moment, name, set, truth};
use super::{Rows, host_and_user};
use instance::Instance;

const DATABASE: &[(&str, Privilege)] = &[
    ("Select_priv", Privilege::Select),
    ("Insert_priv", Privilege::Insert),
    ("Update_priv", Privilege::Update),
    ("Delete_priv", Privilege::Delete),
    ("Create_priv", Privilege::Create),
    ("Drop_priv", Privilege::Drop),
    ("Grant_priv", Privilege::GrantOption),
    ("References_priv", Privilege::References),
    ("Index_priv", Privilege::Index),
    ("Alter_priv", Privilege::Alter),
    ("Create_tmp_table_priv", Privilege::CreateTemporaryTables),
    ("Lock_tables_priv", Privilege::LockTables),
    ("Create_view_priv", Privilege::CreateView),
    ("Show_view_priv", Privilege::ShowView),
    ("Create_routine_priv", Privilege::CreateRoutine),
    ("Alter_routine_priv", Privilege::AlterRoutine),
    ("Execute_priv", Privilege::Execute),
    ("Event_priv", Privilege::Event),
    ("Trigger_priv", Privilege::Trigger),
];
/// Members of the SET columns.
pub(super) const TABLE: &[(&str, Privilege)] = &[
    ("Select", Privilege::Select),
    ("Insert", Privilege::Insert),
    ("Update", Privilege::Update),
    ("Delete", Privilege::Delete),
    ("Create", Privilege::Create),
    ("Drop", Privilege::Drop),
    ("Grant", Privilege::GrantOption),
    ("References", Privilege::References),
    ("Index", Privilege::Index),
    ("Alter", Privilege::Alter),
    ("Create View", Privilege::CreateView),
    ("Show view", Privilege::ShowView),
    ("Trigger", Privilege::Trigger),
];
pub(super) const COLUMN: &[(&str, Privilege)] = &[
    ("Select", Privilege::Select),
    ("Insert", Privilege::Insert),
    ("Update", Privilege::Update),
    ("References", Privilege::References),
];
pub(super) const ROUTINE: &[(&str, Privilege)] = &[
    ("Execute", Privilege::Execute),
    ("Alter Routine", Privilege::AlterRoutine),
    ("Grant", Privilege::GrantOption),
];

fn words(members: &[(&'static str, Privilege)]) -> Vec<&'static str> {
    members.iter().map(|(word, _)| *word).collect()
}

/// The value of a SET column.
fn members_of(privileges: PrivilegeSet, members: &[(&str, Privilege)]) -> Value {
    let held = members.iter().enumerate().filter(|(_, (_, privilege))| privileges.has((*privilege).into()));
    Value::Set(held.fold(0, |bits, (place, _)| bits | 1 << place))
}

/// The members as text, for the views that list them.
pub(super) fn member_text(privileges: PrivilegeSet, members: &[(&str, Privilege)]) -> String {
    let held = members.iter().filter(|(_, privilege)| privileges.has((*privilege).into()));
    held.map(|(word, _)| *word).collect::<Vec<_>>().join(",")
}

pub fn database_definition() -> Arc<TableDef> {
    let mut columns = vec![host("Host"), name("Db", 64), name("User", 32)];
    columns.extend(DATABASE.iter().map(|(name, _)| flag(name)));
    columns::table("db", "Database privileges", columns)
}

pub fn databases(instance: &Instance, _: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for (pattern, privileges) in &account.grants.databases {
            let [host, user] = host_and_user(&account.name);
            let mut row = vec![host, Value::bytes(pattern), user];
            let chosen = |privilege: Privilege| Value::Enum(1 + u16::from(privileges.has(privilege.into())));
            row.extend(DATABASE.iter().map(|(_, privilege)| chosen(*privilege)));
            rows.push(row);
        }
    }
    rows
}

pub fn table_definition() -> Arc<TableDef> {
    let columns = vec![
        host("Host"),
        name("Db", 64),
        name("User", 32),
        name("Table_name", 64),
        grantor(),
        moment("Timestamp", 0),
        set("Table_priv", &words(TABLE)),
        set("Column_priv", &words(COLUMN)),
    ];
    columns::table("tables_priv", "Table privileges", columns)
}

pub fn tables(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for ((database, table), entry) in &account.grants.tables {
            let [host, user] = host_and_user(&account.name);
            rows.push(vec![
                host,
                Value::bytes(database),
                user,
                Value::bytes(table),
                Value::bytes(&entry.origin.grantor),
                super::moment(viewer, entry.origin.moment_us, false),
                members_of(entry.table, TABLE),
                members_of(entry.any_column(), COLUMN),
            ]);
        }
    }
    rows
}

pub fn column_definition() -> Arc<TableDef> {
    let columns = vec![
        host("Host"),
        name("Db", 64),
        name("User", 32),
        name("Table_name", 64),
        name("Column_name", 64),
        moment("Timestamp", 0),
        set("Column_priv", &words(COLUMN)),
    ];
    columns::table("columns_priv", "Column privileges", columns)
}

pub fn columns(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for ((database, table), entry) in &account.grants.tables {
            for (column, privileges) in &entry.columns {
                let [host, user] = host_and_user(&account.name);
                rows.push(vec![
                    host,
                    Value::bytes(database),
                    user,
                    Value::bytes(table),
                    Value::bytes(column),
                    super::moment(viewer, entry.origin.moment_us, false),
                    members_of(*privileges, COLUMN),
                ]);
            }
        }
    }
    rows
}

pub fn routine_definition() -> Arc<TableDef> {
    let columns = vec![
        host("Host"),
        name("Db", 64),
        name("User", 32),
        folded_name("Routine_name", 64),
        choice("Routine_type", &["FUNCTION", "PROCEDURE", "LIBRARY"], Some("FUNCTION")),
        grantor(),
        set("Proc_priv", &words(ROUTINE)),
        moment("Timestamp", 0),
    ];
    columns::table("procs_priv", "Procedure privileges", columns)
}

pub fn routines(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for ((kind, (database, routine)), entry) in &account.grants.routines {
            let [host, user] = host_and_user(&account.name);
            rows.push(vec![
                host,
                Value::bytes(database),
                user,
                Value::bytes(routine),
                Value::Enum(1 + *kind as u16),
                Value::bytes(&entry.origin.grantor),
                members_of(entry.privileges, ROUTINE),
                super::moment(viewer, entry.origin.moment_us, false),
            ]);
        }
    }
    rows
}

pub fn proxy_definition() -> Arc<TableDef> {
    let columns = vec![
        host("Host"),
        name("User", 32),
        host("Proxied_host"),
        name("Proxied_user", 32),
        truth("With_grant"),
        grantor(),
        moment("Timestamp", 0),
    ];
    columns::table("proxies_priv", "User proxy privileges", columns)
}

pub fn proxies(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for (proxied, proxy) in &account.grants.proxies {
            let mut row: Vec<Value> = host_and_user(&account.name).into();
            row.extend(host_and_user(proxied));
            row.push(Value::Int(i64::from(proxy.with_grant)));
            row.push(Value::bytes(&proxy.origin.grantor));
            row.push(super::moment(viewer, proxy.origin.moment_us.max(1_000_000), false));
            rows.push(row);
        }
    }
    rows
}

pub fn dynamic_definition() -> Arc<TableDef> {
    let columns = vec![name("USER", 32), host("HOST"), folded_name("PRIV", 32), flag("WITH_GRANT_OPTION")];
    columns::table("global_grants", "Extended global grants", columns)
}

pub fn dynamic(instance: &Instance, _: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for privilege in account.grants.dynamic.iter() {
            let [host, user] = host_and_user(&account.name);
            let grantable = account.grants.grantable.has(privilege.into());
            rows.push(vec![
                user,
                host,
                Value::bytes(privilege.name()),
                Value::Enum(1 + u16::from(grantable)),
            ]);
        }
    }
    rows
}
