//! The privilege tables of `mysql` and of `information_schema`, made from the accounts when somebody reads them.
//!
//! Invariant: columns and rows are MySQL's, so what reads or copies its tables reads these. `grants` and `user` are the
//! tables of `mysql`, `listing` those of `information_schema`, `roles` what both tell of roles.
mod columns;
mod grants;
mod listing;
mod roles;
mod user;

use std::sync::Arc;

use auth::{Account, AccountName};
use catalog::{INFORMATION_SCHEMA, Viewer};
use datum::Value;
use instance::Instance;
use schema::TableDef;

use crate::view::view_definition;

type Rows = Vec<Vec<Value>>;
/// What makes the rows of a table.
pub type RowMaker = fn(&Instance, &Viewer) -> Rows;

/// Database, definition and rows of each.
pub fn all() -> Vec<(&'static str, Arc<TableDef>, RowMaker)> {
    let stored: [(Arc<TableDef>, RowMaker); 10] = [
        (user::definition(), user::rows),
        (grants::database_definition(), grants::databases),
        (grants::table_definition(), grants::tables),
        (grants::column_definition(), grants::columns),
        (grants::routine_definition(), grants::routines),
        (grants::proxy_definition(), grants::proxies),
        (grants::dynamic_definition(), grants::dynamic),
        (roles::edge_definition(), roles::edges),
        (roles::default_definition(), roles::defaults),
        (user::history_definition(), user::history),
    ];
    let listed = listing::VIEWS.iter().chain(roles::VIEWS).map(|(name, columns, rows)| {
        (INFORMATION_SCHEMA, view_definition(INFORMATION_SCHEMA, name, columns), *rows)
    });
    stored.into_iter().map(|(definition, rows)| ("mysql", definition, rows)).chain(listed).collect()
}

fn yes_no(condition: bool) -> Value {
    Value::bytes(if condition { "YES" } else { "NO" })
}

/// Host and user, as most tables of `mysql` begin.
fn host_and_user(name: &AccountName) -> [Value; 2] {
    [Value::bytes(name.host.as_str()), Value::bytes(&name.user)]
}

fn grantee(account: &Account) -> Value {
    Value::bytes(format!("'{}'@'{}'", account.name.user, account.name.host.as_str()))
}

/// The accounts that the viewer may look at: all with access to `mysql`, else the own one.
fn visible_accounts(instance: &Instance, viewer: &Viewer) -> Vec<Arc<Account>> {
    let accounts = instance.accounts().all().into_iter();
    accounts
        .filter(|account| viewer.sees_all_accounts || account.name.to_string() == viewer.account)
        .collect()
}

/// Microseconds since 1970, as a TIMESTAMP in the viewer's time zone.
fn moment(viewer: &Viewer, micros: u64, fraction: bool) -> Value {
    if micros == 0 {
        return Value::Null;
    }
    let micros = if fraction { micros } else { micros / 1_000_000 * 1_000_000 };
    viewer.time_zone.to_local(micros as i64).map_or(Value::Null, Value::DateTime)
}
