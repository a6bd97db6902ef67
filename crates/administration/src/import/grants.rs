//! Rows of the tables of grants. A row of an account that does not exist is left out, as MySQL leaves it out when it reads
//! them.
use auth::{
    AccountStore, DynamicPrivilege, DynamicSet, Grants, Origin, ProxyGrant, RoutineGrants, RoutineKind,
};
use datum::SqlError;

use super::row::Row;

fn change(accounts: &AccountStore, row: &Row, change: impl FnOnce(&mut Grants)) -> Result<(), SqlError> {
    // An absent account is the error that is left out.
    let _ = accounts.change(&row.account(), |account| change(&mut account.grants));
    Ok(())
}

fn origin(row: &Row) -> Origin {
    Origin { grantor: row.text("grantor"), moment_us: instance::unix_now_us() }
}

pub fn database(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let privileges = row.chosen_privileges();
    change(accounts, row, |grants| {
        grants.databases.insert(row.text("db"), privileges);
    })
}

pub fn table(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let key = (row.text("db"), row.text("table_name"));
    change(accounts, row, |grants| {
        grants.change_table(&key, |table| {
            table.table = row.privileges("table_priv");
            table.origin = origin(row);
        });
    })
}

pub fn column(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let key = (row.text("db"), row.text("table_name"));
    change(accounts, row, |grants| {
        grants.change_table(&key, |table| {
            table.grant_column(&row.text("column_name"), row.privileges("column_priv"));
        });
    })
}

pub fn routine(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let kind = match row.text("routine_type").to_uppercase().as_str() {
        "PROCEDURE" => RoutineKind::Procedure,
        _ => RoutineKind::Function,
    };
    let key = (kind, (row.text("db"), row.text("routine_name")));
    change(accounts, row, |grants| {
        let grant = RoutineGrants { privileges: row.privileges("proc_priv"), origin: origin(row) };
        grants.routines.insert(key, grant);
    })
}

pub fn proxy(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let proxied = row.account_of("proxied_user", "proxied_host");
    let with_grant = row.number("with_grant").unwrap_or(0) != 0;
    change(accounts, row, |grants| {
        grants.proxies.insert(proxied, ProxyGrant { with_grant, origin: origin(row) });
    })
}

/// A dynamic privilege that this server does not know permits nothing here.
pub fn dynamic(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let Some(privilege) = DynamicPrivilege::from_name(&row.text("priv").to_uppercase()) else {
        return Ok(());
    };
    let set: DynamicSet = privilege.into();
    change(accounts, row, |grants| {
        grants.dynamic |= set;
        if row.is_yes("with_grant_option") {
            grants.grantable |= set;
        }
    })
}

pub fn role(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let role = row.account_of("from_user", "from_host");
    let may_pass_on = row.is_yes("with_admin_option");
    let _ = accounts.change(&row.account_of("to_user", "to_host"), |account| {
        account.grants.roles.insert(role, may_pass_on);
    });
    Ok(())
}

pub fn default_role(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let role = row.account_of("default_role_user", "default_role_host");
    let _ = accounts.change(&row.account(), |account| {
        if !account.default_roles.contains(&role) {
            account.default_roles.push(role);
        }
    });
    Ok(())
}
