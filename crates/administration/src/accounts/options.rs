//! The clauses after the users of CREATE USER and ALTER USER.
use auth::{Account, TlsRequirement};
use datum::{Json, SqlError, error_code, json_text, parse_json};
use parser::ast::{AccountOption, ResourceLimitKind, TlsRequirement as AskedTls, UserDefinition};

/// The largest FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
const ATTEMPTS_MAX: u64 = 32_767;

pub(super) fn check_requirements(definition: &UserDefinition<'_>) -> Result<(), SqlError> {
    match definition.other_factors {
        Some(_) => Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"multi-factor authentication"])),
        None => Ok(()),
    }
}

pub(super) fn apply_options(account: &mut Account, options: &[AccountOption<'_>]) -> Result<(), SqlError> {
    for option in options {
        apply_option(account, option)?;
    }
    Ok(())
}

fn apply_option(account: &mut Account, option: &AccountOption<'_>) -> Result<(), SqlError> {
    let days = |number: &u64| u16::try_from(*number).map_err(|_| wrong_days(*number));
    let at_most = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
    let policy = &mut account.policy;
    match option {
        AccountOption::Require(asked) => account.tls = tls_of(asked),
        AccountOption::AccountLock(locked) => {
            account.locked = *locked;
            if !locked {
                account.usage.forget_failures();
            }
        }
        AccountOption::Resource(limit) => {
            let value = u32::try_from(limit.value).unwrap_or(u32::MAX);
            let limits = &mut account.limits;
            match limit.kind {
                ResourceLimitKind::QueriesPerHour => limits.queries_per_hour = value,
                ResourceLimitKind::UpdatesPerHour => limits.updates_per_hour = value,
                ResourceLimitKind::ConnectionsPerHour => limits.connections_per_hour = value,
                ResourceLimitKind::UserConnections => limits.user_connections = value,
            }
        }
        AccountOption::PasswordExpire => policy.expired = true,
        AccountOption::PasswordExpireDefault => policy.lifetime = None,
        AccountOption::PasswordExpireNever => policy.lifetime = Some(0),
        AccountOption::PasswordExpireInterval(0) => return Err(wrong_days(0)),
        AccountOption::PasswordExpireInterval(number) => policy.lifetime = Some(days(number)?),
        AccountOption::PasswordHistory(number) => {
            policy.history = number.map(at_most);
        }
        AccountOption::PasswordReuseInterval(number) => {
            policy.reuse_days = number.map(at_most);
        }
        AccountOption::PasswordRequireCurrent(required) => policy.require_current = *required,
        AccountOption::FailedLoginAttempts(number) => {
            policy.failed_attempts = small(*number, "FAILED_LOGIN_ATTEMPTS")?;
            account.usage.forget_failures();
        }
        AccountOption::PasswordLockTime(number) => {
            policy.lock_days = match number {
                Some(number) => small(*number, "PASSWORD_LOCK_TIME")? as i16,
                None => -1,
            };
            account.usage.forget_failures();
        }
        AccountOption::Comment(text) => {
            let comment = [("comment".into(), Json::String((*text).into()))].into_iter().collect();
            merge_attributes(account, Json::Object(comment));
        }
        AccountOption::Attribute(text) => {
            let invalid = || ER_INVALID_USER_ATTRIBUTE_JSON.plain();
            let given = parse_json(text.as_bytes()).map_err(|_| invalid())?;
            if !matches!(given, Json::Object(_)) {
                return Err(invalid());
            }
            merge_attributes(account, given);
        }
    }
    Ok(())
}

fn tls_of(asked: &AskedTls<'_>) -> TlsRequirement {
    let text = |part: &Option<&str>| part.unwrap_or_default().to_owned();
    match asked {
        AskedTls::None => TlsRequirement::None,
        AskedTls::Ssl => TlsRequirement::Ssl,
        AskedTls::X509 => TlsRequirement::X509,
        AskedTls::Specified { cipher, issuer, subject } => {
            TlsRequirement::Specified { cipher: text(cipher), issuer: text(issuer), subject: text(subject) }
        }
    }
}

/// A new value takes the place of the old one, NULL takes it away.
fn merge_attributes(account: &mut Account, given: Json) {
    let present = account.attributes.as_deref().and_then(|text| parse_json(text.as_bytes()).ok());
    let mut merged = match present {
        Some(Json::Object(members)) => members,
        _ => Default::default(),
    };
    if let Json::Object(members) = given {
        for (name, value) in members {
            match value {
                Json::Null => {
                    merged.remove(&name);
                }
                value => {
                    merged.insert(name, value);
                }
            }
        }
    }
    account.attributes = (!merged.is_empty()).then(|| json_text(&Json::Object(merged)));
}

fn small(number: u64, what: &str) -> Result<u16, SqlError> {
    match number <= ATTEMPTS_MAX {
        true => Ok(number as u16),
        false => Err(error_code::ER_WRONG_VALUE.with(&[&what, &number])),
    }
}

fn wrong_days(number: u64) -> SqlError {
    error_code::ER_WRONG_VALUE.with(&[&"DAY", &number])
}

const ER_INVALID_USER_ATTRIBUTE_JSON: datum::ErrorCode =
    datum::ErrorCode::new(3982, "HY000", "The user attribute must be a valid JSON object");
