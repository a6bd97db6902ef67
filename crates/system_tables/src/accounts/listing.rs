//! `information_schema`: USER_PRIVILEGES, SCHEMA_PRIVILEGES, TABLE_PRIVILEGES, COLUMN_PRIVILEGES, USER_ATTRIBUTES.
use std::sync::Arc;

use auth::{Account, Privilege, PrivilegeSet};
use catalog::Viewer;
use datum::Value;

use crate::view::ViewColumn::{self, NullLongText, Text};

use super::{RowMaker, Rows, grantee, host_and_user, visible_accounts, yes_no};
use instance::Instance;

pub const VIEWS: &[(&str, &[ViewColumn], RowMaker)] = &[
    (
        "USER_PRIVILEGES",
        &[
            Text("GRANTEE", 292),
            Text("TABLE_CATALOG", 512),
            Text("PRIVILEGE_TYPE", 64),
            Text("IS_GRANTABLE", 3),
        ],
        user_privileges,
    ),
    (
        "SCHEMA_PRIVILEGES",
        &[
            Text("GRANTEE", 292),
            Text("TABLE_CATALOG", 512),
            Text("TABLE_SCHEMA", 64),
            Text("PRIVILEGE_TYPE", 64),
            Text("IS_GRANTABLE", 3),
        ],
        schema_privileges,
    ),
    (
        "TABLE_PRIVILEGES",
        &[
            Text("GRANTEE", 292),
            Text("TABLE_CATALOG", 512),
            Text("TABLE_SCHEMA", 64),
            Text("TABLE_NAME", 64),
            Text("PRIVILEGE_TYPE", 64),
            Text("IS_GRANTABLE", 3),
        ],
        table_privileges,
    ),
    (
        "COLUMN_PRIVILEGES",
        &[
            Text("GRANTEE", 292),
            Text("TABLE_CATALOG", 512),
            Text("TABLE_SCHEMA", 64),
            Text("TABLE_NAME", 64),
            Text("COLUMN_NAME", 64),
            Text("PRIVILEGE_TYPE", 64),
            Text("IS_GRANTABLE", 3),
        ],
        column_privileges,
    ),
    ("USER_ATTRIBUTES", &[Text("USER", 32), Text("HOST", 255), NullLongText("ATTRIBUTE")], user_attributes),
];

/// A row for each privilege of a place; USAGE where there is none.
fn push(rows: &mut Rows, account: &Arc<Account>, place: &[&str], set: PrivilegeSet, option: PrivilegeSet) {
    let grantable = option.has(Privilege::GrantOption.into());
    let plain = set.without(Privilege::GrantOption.into());
    let mut add = |name: &str| {
        let mut row = vec![grantee(account), Value::bytes("def")];
        row.extend(place.iter().map(Value::bytes));
        row.extend([Value::bytes(name), yes_no(grantable)]);
        rows.push(row);
    };
    if plain.is_empty() {
        add("USAGE");
    }
    plain.iter().for_each(|privilege| add(privilege.name()));
}

fn user_privileges(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in visible_accounts(instance, viewer) {
        push(&mut rows, &account, &[], account.grants.global, account.grants.global);
        for privilege in account.grants.dynamic.iter() {
            let grantable = account.grants.grantable.has(privilege.into());
            rows.push(vec![
                grantee(&account),
                Value::bytes("def"),
                Value::bytes(privilege.name()),
                yes_no(grantable),
            ]);
        }
    }
    rows
}

fn schema_privileges(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in visible_accounts(instance, viewer) {
        for (pattern, set) in &account.grants.databases {
            push(&mut rows, &account, &[pattern], *set, *set);
        }
    }
    rows
}

fn table_privileges(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in visible_accounts(instance, viewer) {
        for ((database, table), entry) in &account.grants.tables {
            // One that has columns only is listed there.
            if !entry.table.is_empty() {
                push(&mut rows, &account, &[database, table], entry.table, entry.table);
            }
        }
    }
    rows
}

fn column_privileges(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for account in visible_accounts(instance, viewer) {
        for ((database, table), entry) in &account.grants.tables {
            for &privilege in Privilege::ALL {
                for (column, set) in entry.columns.iter().filter(|(_, set)| set.has(privilege.into())) {
                    let one = set.common(privilege.into());
                    push(&mut rows, &account, &[database, table, column], one, entry.table);
                }
            }
        }
    }
    rows
}

fn user_attributes(instance: &Instance, viewer: &Viewer) -> Rows {
    let row = |account: Arc<Account>| {
        let [host, user] = host_and_user(&account.name);
        vec![user, host, account.attributes.as_ref().map_or(Value::Null, Value::bytes)]
    };
    visible_accounts(instance, viewer).into_iter().map(row).collect()
}
