//! What is known of roles: `mysql.role_edges`, `mysql.default_roles`, and the views of `information_schema`.
use std::sync::Arc;

use auth::{Account, AccountName, Privilege, TableGrants};
use catalog::Viewer;
use datum::Value;
use schema::TableDef;

use crate::view::ViewColumn::{self, NullText, Text};

use super::columns::{self, flag, host, name};
use super::grants::{COLUMN, ROUTINE, TABLE, member_text};
use super::{RowMaker, Rows, host_and_user, yes_no};
use instance::Instance;

const ROLE_COLUMNS: &[ViewColumn] = &[
    NullText("USER", 97),
    NullText("HOST", 256),
    NullText("GRANTEE", 97),
    NullText("GRANTEE_HOST", 256),
    NullText("ROLE_NAME", 255),
    NullText("ROLE_HOST", 256),
    Text("IS_GRANTABLE", 3),
    NullText("IS_DEFAULT", 3),
    Text("IS_MANDATORY", 3),
];

pub const VIEWS: &[(&str, &[ViewColumn], RowMaker)] = &[
    ("APPLICABLE_ROLES", ROLE_COLUMNS, |instance, viewer| applicable(instance, viewer, false)),
    ("ADMINISTRABLE_ROLE_AUTHORIZATIONS", ROLE_COLUMNS, |instance, viewer| {
        applicable(instance, viewer, true)
    }),
    (
        "ENABLED_ROLES",
        &[
            NullText("ROLE_NAME", 255),
            NullText("ROLE_HOST", 255),
            NullText("IS_DEFAULT", 3),
            Text("IS_MANDATORY", 3),
        ],
        enabled,
    ),
    (
        "ROLE_TABLE_GRANTS",
        &[
            NullText("GRANTOR", 97),
            NullText("GRANTOR_HOST", 256),
            Text("GRANTEE", 32),
            Text("GRANTEE_HOST", 255),
            Text("TABLE_CATALOG", 3),
            Text("TABLE_SCHEMA", 64),
            Text("TABLE_NAME", 64),
            Text("PRIVILEGE_TYPE", 121),
            Text("IS_GRANTABLE", 3),
        ],
        table_grants,
    ),
    (
        "ROLE_COLUMN_GRANTS",
        &[
            NullText("GRANTOR", 97),
            NullText("GRANTOR_HOST", 256),
            Text("GRANTEE", 32),
            Text("GRANTEE_HOST", 255),
            Text("TABLE_CATALOG", 3),
            Text("TABLE_SCHEMA", 64),
            Text("TABLE_NAME", 64),
            Text("COLUMN_NAME", 64),
            Text("PRIVILEGE_TYPE", 31),
            Text("IS_GRANTABLE", 3),
        ],
        column_grants,
    ),
    (
        "ROLE_ROUTINE_GRANTS",
        &[
            NullText("GRANTOR", 97),
            NullText("GRANTOR_HOST", 256),
            Text("GRANTEE", 32),
            Text("GRANTEE_HOST", 255),
            Text("SPECIFIC_CATALOG", 3),
            Text("SPECIFIC_SCHEMA", 64),
            Text("SPECIFIC_NAME", 64),
            Text("ROUTINE_CATALOG", 3),
            Text("ROUTINE_SCHEMA", 64),
            Text("ROUTINE_NAME", 64),
            Text("PRIVILEGE_TYPE", 27),
            Text("IS_GRANTABLE", 3),
        ],
        routine_grants,
    ),
];

pub fn edge_definition() -> Arc<TableDef> {
    let columns = vec![
        host("FROM_HOST"),
        name("FROM_USER", 32),
        host("TO_HOST"),
        name("TO_USER", 32),
        flag("WITH_ADMIN_OPTION"),
    ];
    columns::table("role_edges", "Role hierarchy and role grants", columns)
}

pub fn edges(instance: &Instance, _: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for (role, is_admin) in &account.grants.roles {
            let mut row: Vec<Value> = host_and_user(role).into();
            row.extend(host_and_user(&account.name));
            row.push(Value::Enum(1 + u16::from(*is_admin)));
            rows.push(row);
        }
    }
    rows
}

pub fn default_definition() -> Arc<TableDef> {
    let columns =
        vec![host("HOST"), name("USER", 32), host("DEFAULT_ROLE_HOST"), name("DEFAULT_ROLE_USER", 32)];
    columns::table("default_roles", "Default roles", columns)
}

pub fn defaults(instance: &Instance, _: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in instance.accounts().all() {
        for role in &account.default_roles {
            let mut row: Vec<Value> = host_and_user(&account.name).into();
            row.extend(host_and_user(role));
            rows.push(row);
        }
    }
    rows
}

fn own_account(instance: &Instance, viewer: &Viewer) -> Option<Arc<Account>> {
    instance.accounts().all().into_iter().find(|account| account.name.to_string() == viewer.account)
}

/// The viewer's roles and those granted to them in turn, each with whom it is granted to.
fn applicable(instance: &Instance, viewer: &Viewer, administrable: bool) -> Rows {
    let Some(own) = own_account(instance, viewer) else { return Rows::new() };
    let mandatory = instance.mandatory_roles();
    let mut members = vec![own.clone()];
    let reached = instance.accounts().reached_roles(&instance.roles_of(&own));
    members.extend(reached.iter().filter_map(|name| instance.accounts().get(name)));
    let mut rows = Rows::new();
    for member in &members {
        for role in instance.roles_of(member) {
            let is_admin = member.grants.roles.get(&role) == Some(&true);
            if member.name != own.name && !member.grants.roles.contains_key(&role)
                || (administrable && !is_admin)
            {
                continue;
            }
            let mut row = Vec::with_capacity(ROLE_COLUMNS.len());
            for name in [&own.name, &member.name, &role] {
                row.extend([Value::bytes(&name.user), Value::bytes(name.host.as_str())]);
            }
            row.push(yes_no(is_admin));
            row.push(yes_no(own.default_roles.contains(&role)));
            row.push(yes_no(mandatory.contains(&role)));
            rows.push(row);
        }
    }
    rows
}

fn enabled_roles(instance: &Instance, viewer: &Viewer) -> Vec<Arc<Account>> {
    let reached = instance.accounts().reached_roles(&viewer_roles(viewer));
    reached.iter().filter_map(|name| instance.accounts().get(name)).collect()
}

fn viewer_roles(viewer: &Viewer) -> Vec<AccountName> {
    viewer.active_roles.iter().map(|(user, host)| AccountName::new(user, host)).collect()
}

fn enabled(instance: &Instance, viewer: &Viewer) -> Rows {
    let own = own_account(instance, viewer);
    let mandatory = instance.mandatory_roles();
    let row = |role: Arc<Account>| {
        let is_default = own.as_ref().is_some_and(|own| own.default_roles.contains(&role.name));
        vec![
            Value::bytes(&role.name.user),
            Value::bytes(role.name.host.as_str()),
            yes_no(is_default),
            yes_no(mandatory.contains(&role.name)),
        ]
    };
    enabled_roles(instance, viewer).into_iter().map(row).collect()
}

/// Who granted it, and to which role.
fn granted(grantor: &str, role: &Account) -> Vec<Value> {
    let (user, host) = grantor.rsplit_once('@').unwrap_or((grantor, ""));
    let mut row = vec![Value::bytes(user), Value::bytes(host)];
    row.extend([Value::bytes(&role.name.user), Value::bytes(role.name.host.as_str()), Value::bytes("def")]);
    row
}

fn is_grantable(entry: &TableGrants) -> Value {
    yes_no(entry.table.has(Privilege::GrantOption.into()))
}

fn table_grants(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for role in enabled_roles(instance, viewer) {
        for ((database, table), entry) in &role.grants.tables {
            let mut row = granted(&entry.origin.grantor, &role);
            row.extend([Value::bytes(database), Value::bytes(table)]);
            row.extend([Value::bytes(member_text(entry.table, TABLE)), is_grantable(entry)]);
            rows.push(row);
        }
    }
    rows
}

fn column_grants(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for role in enabled_roles(instance, viewer) {
        for ((database, table), entry) in &role.grants.tables {
            for (column, set) in &entry.columns {
                let mut row = granted(&entry.origin.grantor, &role);
                row.extend([Value::bytes(database), Value::bytes(table), Value::bytes(column)]);
                row.extend([Value::bytes(member_text(*set, COLUMN)), is_grantable(entry)]);
                rows.push(row);
            }
        }
    }
    rows
}

fn routine_grants(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for role in enabled_roles(instance, viewer) {
        for ((_, (database, routine)), entry) in &role.grants.routines {
            let mut row = granted(&entry.origin.grantor, &role);
            let place = [Value::bytes(database), Value::bytes(routine)];
            row.extend(place.clone());
            row.push(Value::bytes("def"));
            row.extend(place);
            row.push(Value::bytes(member_text(entry.privileges, ROUTINE)));
            row.push(yes_no(entry.privileges.has(Privilege::GrantOption.into())));
            rows.push(row);
        }
    }
    rows
}
