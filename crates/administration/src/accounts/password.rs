//! Passwords: IDENTIFIED .., SET PASSWORD, random ones, and the policies that a new one has to keep.
//!
//! Called by `users`; what SET PASSWORD does, ALTER USER could have done.
use auth::{Account, AccountName, Credential, DynamicPrivilege, FormerPassword, Plugin, Privilege};
use datum::{SqlError, Value, error_code};
use parser::ast::{AuthenticationClause, SetPassword, User};

use super::{now_us, quoted};
use crate::caller::Caller;
use session::{Done, Request, Shield};
use session::{MadeColumn, MadeRows};

const DAY_US: u64 = 24 * 3_600_000_000;
/// What random passwords are made of.
const RANDOM_CHARACTERS: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,;:-_!@#%&/()=+*[]{}<>^";

/// A password as a statement gives it.
pub(super) struct NewPassword {
    credential: Credential,
    /// `None` when only its hash is known.
    text: Option<Vec<u8>>,
}

/// The random passwords that the client is told, and what is kept of all passwords of a statement.
#[derive(Default)]
pub(super) struct Generated {
    rows: Vec<[String; 3]>,
    credentials: Vec<(AccountName, Credential)>,
}

impl Generated {
    fn add(&mut self, name: &AccountName, length: usize) -> Vec<u8> {
        let password: String = auth::random_text(RANDOM_CHARACTERS, length);
        self.rows.push([name.user.clone(), name.host.as_str().to_owned(), password.clone()]);
        password.into_bytes()
    }

    /// What is kept of the account's new password.
    pub fn credential_of(&self, name: &AccountName) -> Option<&Credential> {
        self.credentials.iter().rfind(|(of, _)| of == name).map(|(_, credential)| credential)
    }

    pub fn finish(self) -> Done {
        if self.rows.is_empty() {
            return Done::ok();
        }
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("user", 32),
            MadeColumn::Text("host", 255),
            MadeColumn::Text("generated password", 255),
            MadeColumn::Number("auth_factor"),
        ]);
        for [user, host, password] in &self.rows {
            rows.push(vec![Value::bytes(user), Value::bytes(host), Value::bytes(password), Value::UInt(1)]);
        }
        Done::Made(rows)
    }
}

impl Caller<'_> {
    pub(super) fn new_password(
        &self,
        clause: &AuthenticationClause<'_>,
        name: &AccountName,
        default: Plugin,
        generated: &mut Generated,
    ) -> Result<NewPassword, SqlError> {
        let plugin = match clause.plugin {
            Some(name) => {
                Plugin::from_name(name.as_bytes()).ok_or_else(|| ER_PLUGIN_IS_NOT_LOADED.with(&[&name]))?
            }
            None => default,
        };
        let new = match clause.hash {
            Some(hash) => {
                let credential = Credential::from_stored(plugin, hash);
                let credential = credential.ok_or_else(|| error_code::ER_PASSWORD_FORMAT.plain())?;
                NewPassword { credential, text: None }
            }
            None => {
                let text = match clause.random_password {
                    true => generated.add(name, self.random_password_length()),
                    false => clause.password.unwrap_or_default().to_vec(),
                };
                NewPassword { credential: Credential::of_bytes(plugin, &text), text: Some(text) }
            }
        };
        generated.credentials.push((name.clone(), new.credential.clone()));
        Ok(new)
    }

    fn random_password_length(&self) -> usize {
        self.variables().by_name("generated_random_password_length").as_unsigned() as usize
    }

    /// PASSWORD REQUIRE CURRENT, which administrators are free of; a password that is told must be the right one.
    pub(super) fn require_current_password(
        &self,
        account: &Account,
        told: Option<&[u8]>,
    ) -> Result<(), SqlError> {
        let is_own = self.is_own(&account.name);
        if let Some(told) = told {
            if !is_own {
                return Err(ER_CURRENT_PASSWORD_NOT_REQUIRED.plain());
            }
            return match account.credential.fits(told) {
                true => Ok(()),
                false => Err(ER_INCORRECT_CURRENT_PASSWORD.plain()),
            };
        }
        let is_required = account
            .policy
            .require_current
            .unwrap_or_else(|| self.instance().globals.by_name("password_require_current").as_boolean());
        let is_free =
            self.privileges().has_global(Privilege::CreateUser) || account.credential.is_passwordless();
        match is_own && is_required && !is_free {
            true => Err(ER_MISSING_CURRENT_PASSWORD.plain()),
            false => Ok(()),
        }
    }

    /// Gives the account its new password, unless the policies of history and reuse forbid it.
    pub(super) fn put_password(
        &self,
        account: &mut Account,
        new: NewPassword,
        retains_current: bool,
    ) -> Result<(), SqlError> {
        let now = now_us();
        let globals = &self.instance().globals;
        let policy = account.policy;
        let history =
            policy.history.map_or_else(|| globals.by_name("password_history").as_unsigned(), u64::from);
        let days = policy
            .reuse_days
            .map_or_else(|| globals.by_name("password_reuse_interval").as_unsigned(), u64::from);
        let since = now.saturating_sub(days.saturating_mul(DAY_US));
        let is_remembered = |place: usize, former: &FormerPassword| {
            (place as u64) < history || (days > 0 && former.moment_us > since)
        };
        account.former_passwords = std::mem::take(&mut account.former_passwords)
            .into_iter()
            .enumerate()
            .filter(|(place, former)| is_remembered(*place, former))
            .map(|(_, former)| former)
            .collect();
        let same = |former: &FormerPassword| match &new.text {
            Some(text) => former.credential.fits(text),
            None => former.credential == new.credential,
        };
        let is_empty = new.credential.is_passwordless();
        if !is_empty && account.former_passwords.iter().any(same) {
            let name = format!("{}@{}", account.name.user, account.name.host.as_str());
            return Err(ER_CREDENTIALS_CONTRADICT_TO_HISTORY.with(&[&name]));
        }
        let second = match retains_current {
            true if account.credential.is_passwordless() => {
                return Err(ER_SECOND_PASSWORD_CANNOT_BE_EMPTY.with(&[&quoted(&account.name)]));
            }
            true if is_empty => {
                return Err(ER_CURRENT_PASSWORD_CANNOT_BE_RETAINED.with(&[&quoted(&account.name)]));
            }
            true if account.credential.plugin() != new.credential.plugin() => {
                return Err(ER_PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE.with(&[&quoted(&account.name)]));
            }
            true => Some(account.credential.clone()),
            // A new plugin leaves no password of the old one behind.
            false if is_empty || account.credential.plugin() != new.credential.plugin() => None,
            false => account.second_credential.take(),
        };
        if !is_empty && (history > 0 || days > 0) {
            let former = FormerPassword { moment_us: now, credential: new.credential.clone() };
            account.former_passwords.insert(0, former);
        }
        account.set_credentials(new.credential, second);
        account.password_changed_us = now;
        account.policy.expired = false;
        Ok(())
    }

    pub(super) async fn set_password(
        &mut self,
        statement: &SetPassword<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = self.named_account(statement.user.unwrap_or(User::Current))?;
        self.require_set_password(&name, statement.retain_current)?;
        if statement.by_function {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"PASSWORD()"]));
        }
        let mut generated = Generated::default();
        let text = match &statement.password {
            None => generated.add(&name, self.random_password_length()),
            Some(expr) => match self.evaluate_one(expr, request, shield).await?.0 {
                Value::Bytes(password) => password.to_vec(),
                _ => return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"SET PASSWORD"])),
            },
        };
        let unknown = || error_code::ER_PASSWORD_NO_MATCH.plain();
        let present = self.changeable(&name)?.ok_or_else(unknown)?;
        self.require_current_password(&present, statement.replace)?;
        let mut changed = (*present).clone();
        let credential = Credential::of_bytes(present.credential.plugin(), &text);
        self.log_new_password(&name, &credential, statement.retain_current);
        self.put_password(
            &mut changed,
            NewPassword { credential, text: Some(text) },
            statement.retain_current,
        )?;
        self.instance().accounts().change(&name, |account| *account = changed).map_err(|_| unknown())?;
        Ok(generated.finish())
    }

    fn require_set_password(&self, name: &AccountName, retains_current: bool) -> Result<(), SqlError> {
        if !self.is_own(name) {
            return self.require_database(Privilege::Update, "mysql");
        }
        let may_retain = self.privileges().has_global(Privilege::CreateUser)
            || self.privileges().has_dynamic(DynamicPrivilege::ApplicationPasswordAdmin);
        match retains_current && !may_retain {
            true => Err(session::Session::privilege_missing("CREATE USER or APPLICATION_PASSWORD_ADMIN")),
            false => Ok(()),
        }
    }
}

const ER_CREDENTIALS_CONTRADICT_TO_HISTORY: datum::ErrorCode = datum::ErrorCode::new(
    3638,
    "HY000",
    "Cannot use these credentials for '%s' because they contradict the password history policy",
);
const ER_SECOND_PASSWORD_CANNOT_BE_EMPTY: datum::ErrorCode = datum::ErrorCode::new(
    3878,
    "HY000",
    "Empty password can not be retained as second password for user %s.",
);
const ER_CURRENT_PASSWORD_CANNOT_BE_RETAINED: datum::ErrorCode = datum::ErrorCode::new(
    3895,
    "HY000",
    "Current password can not be retained for user %s because new password is empty.",
);
const ER_PASSWORD_CANNOT_BE_RETAINED_ON_PLUGIN_CHANGE: datum::ErrorCode = datum::ErrorCode::new(
    3894,
    "HY000",
    "Current password can not be retained for user %s because authentication plugin is being changed.",
);
const ER_INCORRECT_CURRENT_PASSWORD: datum::ErrorCode = datum::ErrorCode::new(
    3891,
    "HY000",
    "Incorrect current password. Specify the correct password which has to be replaced.",
);
const ER_MISSING_CURRENT_PASSWORD: datum::ErrorCode = datum::ErrorCode::new(
    3892,
    "HY000",
    "Current password needs to be specified in the REPLACE clause in order to change it.",
);
const ER_CURRENT_PASSWORD_NOT_REQUIRED: datum::ErrorCode = datum::ErrorCode::new(
    3893,
    "HY000",
    "Do not specify the current password while changing it for other users.",
);
const ER_PLUGIN_IS_NOT_LOADED: datum::ErrorCode =
    datum::ErrorCode::new(1524, "HY000", "Plugin '%s' is not loaded");
