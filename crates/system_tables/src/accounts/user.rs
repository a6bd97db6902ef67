//! `mysql.user` and `mysql.password_history`.
use std::sync::Arc;

use auth::{Account, Privilege, PrivilegeSet, TlsRequirement};
use catalog::Viewer;
use datum::{ColumnType, Json, TypeKind, Value, json_text, parse_json};
use schema::{ColumnDef, TableDef};

use super::columns::{self, bytes, choice, flag, host, moment, name, optional_moment, small, text, unsigned};
use super::{Rows, host_and_user};
use instance::Instance;

/// In the order of the columns before `ssl_type`.
const FIRST: &[(&str, Privilege)] = &[
    ("Select_priv", Privilege::Select),
    ("Insert_priv", Privilege::Insert),
    ("Update_priv", Privilege::Update),
    ("Delete_priv", Privilege::Delete),
    ("Create_priv", Privilege::Create),
    ("Drop_priv", Privilege::Drop),
    ("Reload_priv", Privilege::Reload),
    ("Shutdown_priv", Privilege::Shutdown),
    ("Process_priv", Privilege::Process),
    ("File_priv", Privilege::File),
    ("Grant_priv", Privilege::GrantOption),
    ("References_priv", Privilege::References),
    ("Index_priv", Privilege::Index),
    ("Alter_priv", Privilege::Alter),
    ("Show_db_priv", Privilege::ShowDatabases),
    ("Super_priv", Privilege::Super),
    ("Create_tmp_table_priv", Privilege::CreateTemporaryTables),
    ("Lock_tables_priv", Privilege::LockTables),
    ("Execute_priv", Privilege::Execute),
    ("Repl_slave_priv", Privilege::ReplicationSlave),
    ("Repl_client_priv", Privilege::ReplicationClient),
    ("Create_view_priv", Privilege::CreateView),
    ("Show_view_priv", Privilege::ShowView),
    ("Create_routine_priv", Privilege::CreateRoutine),
    ("Alter_routine_priv", Privilege::AlterRoutine),
    ("Create_user_priv", Privilege::CreateUser),
    ("Event_priv", Privilege::Event),
    ("Trigger_priv", Privilege::Trigger),
    ("Create_tablespace_priv", Privilege::CreateTablespace),
];
const LAST: &[(&str, Privilege)] =
    &[("Create_role_priv", Privilege::CreateRole), ("Drop_role_priv", Privilege::DropRole)];

pub fn definition() -> Arc<TableDef> {
    let flags = |list: &[(&str, Privilege)]| list.iter().map(|(name, _)| flag(name)).collect::<Vec<_>>();
    let mut columns = vec![host("Host"), name("User", 32)];
    columns.extend(flags(FIRST));
    columns.extend([
        choice("ssl_type", &["", "ANY", "X509", "SPECIFIED"], Some("")),
        bytes("ssl_cipher"),
        bytes("x509_issuer"),
        bytes("x509_subject"),
        unsigned("max_questions"),
        unsigned("max_updates"),
        unsigned("max_connections"),
        unsigned("max_user_connections"),
        ColumnDef {
            default: schema::ColumnDefault::Value {
                value: Value::bytes("caching_sha2_password"),
                text: "caching_sha2_password".to_owned(),
            },
            ..name("plugin", 64)
        },
        text("authentication_string"),
        flag("password_expired"),
        optional_moment("password_last_changed"),
        small("password_lifetime"),
        flag("account_locked"),
    ]);
    columns.extend(flags(LAST));
    columns.extend([
        small("Password_reuse_history"),
        small("Password_reuse_time"),
        choice("Password_require_current", &["N", "Y"], None),
        ColumnDef::new("User_attributes", ColumnType::new(TypeKind::Json)),
    ]);
    columns::table("user", "Users and global privileges", columns)
}

/// ENUM('N','Y').
fn chosen(condition: bool) -> Value {
    Value::Enum(1 + u16::from(condition))
}

fn chosen_of(set: PrivilegeSet, list: &[(&str, Privilege)]) -> Vec<Value> {
    list.iter().map(|(_, privilege)| chosen(set.has((*privilege).into()))).collect()
}

pub fn rows(instance: &Instance, viewer: &Viewer) -> Rows {
    instance.accounts().all().iter().map(|account| row(account, viewer)).collect()
}

fn row(account: &Account, viewer: &Viewer) -> Vec<Value> {
    let (policy, limits) = (account.policy, account.limits);
    let empty = String::new();
    let (kind, cipher, issuer, subject) = match &account.tls {
        TlsRequirement::None => (1, &empty, &empty, &empty),
        TlsRequirement::Ssl => (2, &empty, &empty, &empty),
        TlsRequirement::X509 => (3, &empty, &empty, &empty),
        TlsRequirement::Specified { cipher, issuer, subject } => (4, cipher, issuer, subject),
    };
    let number = |number: Option<u16>| number.map_or(Value::Null, |number| Value::UInt(number.into()));
    let mut row: Vec<Value> = host_and_user(&account.name).into();
    row.extend(chosen_of(account.grants.global, FIRST));
    row.push(Value::Enum(kind));
    row.extend([cipher, issuer, subject].map(Value::bytes));
    row.extend(
        [
            limits.queries_per_hour,
            limits.updates_per_hour,
            limits.connections_per_hour,
            limits.user_connections,
        ]
        .map(|limit| Value::UInt(limit.into())),
    );
    row.extend([
        Value::bytes(account.credential.plugin().name()),
        Value::bytes(account.credential.stored()),
        chosen(policy.expired),
        super::moment(viewer, account.password_changed_us, false),
        number(policy.lifetime),
        chosen(account.locked),
    ]);
    row.extend(chosen_of(account.grants.global, LAST));
    row.extend([
        number(policy.history),
        number(policy.reuse_days),
        policy.require_current.map_or(Value::Null, chosen),
        attributes(account).map_or(Value::Null, |text| Value::Json(text.into())),
    ]);
    row
}

/// What has no column of its own, as JSON.
fn attributes(account: &Account) -> Option<String> {
    let mut members = no_members();
    if let Some(text) = &account.attributes
        && let Ok(metadata) = parse_json(text.as_bytes())
    {
        members.insert("metadata".to_owned(), metadata);
    }
    let restrictions: Vec<Json> = account
        .grants
        .restrictions
        .iter()
        .map(|(database, set)| {
            let names = set.iter().map(|privilege| Json::String(privilege.name().to_owned())).collect();
            let mut entry = no_members();
            entry.insert("Database".to_owned(), Json::String(database.clone()));
            entry.insert("Privileges".to_owned(), Json::Array(names));
            Json::Object(entry)
        })
        .collect();
    if !restrictions.is_empty() {
        members.insert("Restrictions".to_owned(), Json::Array(restrictions));
    }
    let policy = account.policy;
    if policy.failed_attempts > 0 || policy.lock_days != 0 {
        let mut entry = no_members();
        entry.insert("failed_login_attempts".to_owned(), Json::Int(policy.failed_attempts.into()));
        entry.insert("password_lock_time_days".to_owned(), Json::Int(policy.lock_days.into()));
        members.insert("Password_locking".to_owned(), Json::Object(entry));
    }
    if let Some(second) = &account.second_credential {
        let stored = String::from_utf8_lossy(second.stored()).into_owned();
        members.insert("additional_password".to_owned(), Json::String(stored));
    }
    (!members.is_empty()).then(|| json_text(&Json::Object(members)))
}

fn no_members() -> datum::JsonMap {
    datum::JsonMap::new()
}

pub fn history_definition() -> Arc<TableDef> {
    let columns = vec![host("Host"), name("User", 32), moment("Password_timestamp", 6), text("Password")];
    columns::table("password_history", "Password history for user accounts", columns)
}

pub fn history(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for former in &account.former_passwords {
            let mut row: Vec<Value> = host_and_user(&account.name).into();
            row.push(super::moment(viewer, former.moment_us, true));
            row.push(Value::bytes(former.credential.stored()));
            rows.push(row);
        }
    }
    rows
}
