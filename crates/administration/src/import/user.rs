//! Rows of `mysql.user`: accounts with their stored passwords.
use auth::{Account, AccountStore, Credential, Plugin, TlsRequirement};
use datum::{SqlError, error_code};

use super::row::Row;

/// Accounts that MySQL has for its own parts.
const INTERNAL: [&str; 3] = ["mysql.infoschema", "mysql.session", "mysql.sys"];

/// What the account had before is replaced, but for its grants on databases, tables and roles, whose rows follow.
pub fn apply(accounts: &AccountStore, row: &Row) -> Result<(), SqlError> {
    let name = row.account();
    if INTERNAL.contains(&name.user.as_str()) {
        return Ok(());
    }
    let plugin_name = row.text("plugin");
    let refused = || ER_PLUGIN_IS_NOT_LOADED.with(&[&plugin_name]);
    let plugin = Plugin::from_name(plugin_name.as_bytes()).ok_or_else(refused)?;
    let stored = row.bytes("authentication_string");
    let credential = match stored.is_empty() {
        true => Credential::from_password(plugin, ""),
        false => {
            Credential::from_stored(plugin, &stored).ok_or_else(|| error_code::ER_PASSWORD_FORMAT.plain())?
        }
    };
    let mut account = accounts
        .get(&name)
        .map_or_else(|| Account::new(name.clone(), credential.clone()), |account| Account::clone(&account));
    account.set_credentials(credential, None);
    account.grants.global = row.chosen_privileges();
    account.locked = row.is_yes("account_locked");
    account.tls = tls_of(row);
    let limit = |column| row.number(column).and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    account.limits.queries_per_hour = limit("max_questions");
    account.limits.updates_per_hour = limit("max_updates");
    account.limits.connections_per_hour = limit("max_connections");
    account.limits.user_connections = limit("max_user_connections");
    let small = |column| row.number(column).and_then(|number| u16::try_from(number).ok());
    account.policy.expired = row.is_yes("password_expired");
    account.policy.lifetime = small("password_lifetime");
    let _ = accounts.remove(&name);
    accounts.create(account).map_err(|_| error_code::ER_CANNOT_USER.with(&[&"CREATE USER", &name]))
}

const ER_PLUGIN_IS_NOT_LOADED: datum::ErrorCode =
    datum::ErrorCode::new(1524, "HY000", "Plugin '%s' is not loaded");

fn tls_of(row: &Row) -> TlsRequirement {
    match row.text("ssl_type").as_str() {
        "ANY" => TlsRequirement::Ssl,
        "X509" => TlsRequirement::X509,
        "SPECIFIED" => TlsRequirement::Specified {
            cipher: row.text("ssl_cipher"),
            issuer: row.text("x509_issuer"),
            subject: row.text("x509_subject"),
        },
        _ => TlsRequirement::None,
    }
}
