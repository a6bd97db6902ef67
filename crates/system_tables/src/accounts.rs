//! Accounts and what they may do: `mysql.user` and the `.._PRIVILEGES` of `information_schema`.
use std::sync::Arc;

use crate::view::ViewColumn::{self, NullLongText, NullNumber, Text};
use auth::{Account, Privilege, PrivilegeSet, Scope};
use catalog::Viewer;
use datum::Value;
use instance::Instance;

type Rows = Vec<Vec<Value>>;

pub(crate) const USER_COLUMNS: &[ViewColumn] = &[
    Text("Host", 255),
    Text("User", 32),
    Text("plugin", 64),
    NullLongText("authentication_string"),
    Text("account_locked", 1),
    Text("ssl_type", 9),
    Text("Super_priv", 1),
    Text("Grant_priv", 1),
    NullNumber("max_user_connections"),
];

pub(crate) const USER_PRIVILEGE_COLUMNS: &[ViewColumn] =
    &[Text("GRANTEE", 292), Text("TABLE_CATALOG", 512), Text("PRIVILEGE_TYPE", 64), Text("IS_GRANTABLE", 3)];
pub(crate) const SCHEMA_PRIVILEGE_COLUMNS: &[ViewColumn] = &[
    Text("GRANTEE", 292),
    Text("TABLE_CATALOG", 512),
    Text("TABLE_SCHEMA", 64),
    Text("PRIVILEGE_TYPE", 64),
    Text("IS_GRANTABLE", 3),
];
pub(crate) const TABLE_PRIVILEGE_COLUMNS: &[ViewColumn] = &[
    Text("GRANTEE", 292),
    Text("TABLE_CATALOG", 512),
    Text("TABLE_SCHEMA", 64),
    Text("TABLE_NAME", 64),
    Text("PRIVILEGE_TYPE", 64),
    Text("IS_GRANTABLE", 3),
];

/// The accounts that the viewer may look at: all with access to `mysql`, else the own one.
fn visible_accounts(instance: &Instance, viewer: &Viewer) -> Vec<Arc<Account>> {
    let sees_all = (viewer.sees)("mysql", Some("user"));
    let accounts = instance.accounts().all().into_iter();
    accounts.filter(|account| sees_all || account.name.user == viewer.user).collect()
}

fn grantee(account: &Account) -> Value {
    Value::bytes(format!("'{}'@'{}'", account.name.user, account.name.host.as_str()))
}

/// A row for each privilege of each scope that `scope_columns` accepts.
fn privilege_rows(
    instance: &Instance,
    viewer: &Viewer,
    scope_columns: fn(&Scope) -> Option<Vec<Value>>,
) -> Rows {
    let mut rows = Rows::new();
    for account in visible_accounts(instance, viewer) {
        for (scope, privileges) in account.grants.iter() {
            let Some(columns) = scope_columns(scope) else { continue };
            let grantable = privileges.has(Privilege::GrantOption.into());
            let plain: PrivilegeSet = privileges.without(Privilege::GrantOption.into());
            for privilege in plain.iter() {
                let mut row = vec![grantee(&account), Value::bytes("def")];
                row.extend(columns.iter().cloned());
                row.push(Value::bytes(privilege.name()));
                row.push(Value::bytes(if grantable { "YES" } else { "NO" }));
                rows.push(row);
            }
        }
    }
    rows
}

pub(crate) fn user_privileges(instance: &Instance, viewer: &Viewer) -> Rows {
    privilege_rows(instance, viewer, |scope| matches!(scope, Scope::Global).then(Vec::new))
}

pub(crate) fn schema_privileges(instance: &Instance, viewer: &Viewer) -> Rows {
    privilege_rows(instance, viewer, |scope| match scope {
        Scope::Database(database) => Some(vec![Value::bytes(database)]),
        _ => None,
    })
}

pub(crate) fn table_privileges(instance: &Instance, viewer: &Viewer) -> Rows {
    privilege_rows(instance, viewer, |scope| match scope {
        Scope::Table(database, table) => Some(vec![Value::bytes(database), Value::bytes(table)]),
        _ => None,
    })
}

pub(crate) fn users(instance: &Instance, viewer: &Viewer) -> Rows {
    let yes_no = |condition: bool| Value::bytes(if condition { "Y" } else { "N" });
    let row = |account: Arc<Account>| {
        let has = |privilege: Privilege| account.grants.permit(privilege.into(), &Scope::Global);
        vec![
            Value::bytes(account.name.host.as_str()),
            Value::bytes(&account.name.user),
            Value::bytes(account.credential.plugin().name()),
            Value::bytes(account.credential.stored()),
            yes_no(account.locked),
            Value::bytes(if account.requires_tls { "ANY" } else { "" }),
            yes_no(has(Privilege::Super)),
            yes_no(has(Privilege::GrantOption)),
            Value::UInt(0),
        ]
    };
    visible_accounts(instance, viewer).into_iter().map(row).collect()
}
