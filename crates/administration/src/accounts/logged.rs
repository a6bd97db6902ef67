//! Statements that set passwords as the binary log has them: with what the server keeps instead of the password.
//!
//! Invariant: no text that goes to the binary log has a password in it; applied elsewhere it makes the same account. Called by
//! `users` and `password` when the accounts are changed; other statements are logged as they are written.
use auth::{AccountName, Credential, Plugin};
use datum::{SqlError, SqlMode};
use parser::ast::{
    AccountOption, AlterUser, AuthenticationClause, CreateUser, ResourceLimitKind, TlsRequirement,
};

use super::password::Generated;
use crate::caller::Caller;
use crate::show::{put_hexadecimal, put_quoted};

/// A statement's text that grows.
struct LoggedText {
    out: Vec<u8>,
    /// `NO_BACKSLASH_ESCAPES`
    is_plain: bool,
}

impl LoggedText {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn put_literal(&mut self, bytes: &[u8]) {
        match (self.is_plain, std::str::from_utf8(bytes)) {
            (false, _) => put_quoted(&mut self.out, bytes),
            (true, Ok(text)) if !text.contains('\0') => self.put(&format!("'{}'", text.replace('\'', "''"))),
            (true, _) => put_hexadecimal(&mut self.out, bytes),
        }
    }

    fn put_word(&mut self, word: &str, text: &str) {
        self.put(word);
        self.put_literal(text.as_bytes());
    }

    fn put_account(&mut self, name: &AccountName) {
        self.put_literal(name.user.as_bytes());
        self.put("@");
        self.put_literal(name.host.as_str().as_bytes());
    }

    fn put_identified(&mut self, plugin: Plugin, stored: Option<&[u8]>) {
        self.put_word(" IDENTIFIED WITH ", plugin.name());
        if let Some(stored) = stored {
            self.put(" AS ");
            self.put_literal(stored);
        }
    }

    fn put_credential(&mut self, credential: &Credential) {
        self.put_identified(credential.plugin(), Some(credential.stored()));
    }

    fn put_options(&mut self, options: &[AccountOption<'_>]) {
        let mut is_limited = false;
        for option in options {
            if let AccountOption::Resource(limit) = option {
                let word = match limit.kind {
                    ResourceLimitKind::QueriesPerHour => "MAX_QUERIES_PER_HOUR",
                    ResourceLimitKind::UpdatesPerHour => "MAX_UPDATES_PER_HOUR",
                    ResourceLimitKind::ConnectionsPerHour => "MAX_CONNECTIONS_PER_HOUR",
                    ResourceLimitKind::UserConnections => "MAX_USER_CONNECTIONS",
                };
                let with = if is_limited { "" } else { " WITH" };
                is_limited = true;
                self.put(&format!("{with} {word} {}", limit.value));
            } else {
                self.put_option(option);
            }
        }
    }

    fn put_option(&mut self, option: &AccountOption<'_>) {
        let text = match option {
            AccountOption::Require(asked) => return self.put_requirement(asked),
            AccountOption::Comment(text) => return self.put_word(" COMMENT ", text),
            AccountOption::Attribute(text) => return self.put_word(" ATTRIBUTE ", text),
            // Those stand behind one word, and are together.
            AccountOption::Resource(_) => return,
            AccountOption::PasswordExpire => " PASSWORD EXPIRE".to_owned(),
            AccountOption::PasswordExpireDefault => " PASSWORD EXPIRE DEFAULT".to_owned(),
            AccountOption::PasswordExpireNever => " PASSWORD EXPIRE NEVER".to_owned(),
            AccountOption::PasswordExpireInterval(days) => format!(" PASSWORD EXPIRE INTERVAL {days} DAY"),
            AccountOption::PasswordHistory(None) => " PASSWORD HISTORY DEFAULT".to_owned(),
            AccountOption::PasswordHistory(Some(count)) => format!(" PASSWORD HISTORY {count}"),
            AccountOption::PasswordReuseInterval(None) => " PASSWORD REUSE INTERVAL DEFAULT".to_owned(),
            AccountOption::PasswordReuseInterval(Some(days)) => {
                format!(" PASSWORD REUSE INTERVAL {days} DAY")
            }
            AccountOption::PasswordRequireCurrent(None) => " PASSWORD REQUIRE CURRENT DEFAULT".to_owned(),
            AccountOption::PasswordRequireCurrent(Some(true)) => " PASSWORD REQUIRE CURRENT".to_owned(),
            AccountOption::PasswordRequireCurrent(Some(false)) => {
                " PASSWORD REQUIRE CURRENT OPTIONAL".to_owned()
            }
            AccountOption::FailedLoginAttempts(count) => format!(" FAILED_LOGIN_ATTEMPTS {count}"),
            AccountOption::PasswordLockTime(None) => " PASSWORD_LOCK_TIME UNBOUNDED".to_owned(),
            AccountOption::PasswordLockTime(Some(days)) => format!(" PASSWORD_LOCK_TIME {days}"),
            AccountOption::AccountLock(true) => " ACCOUNT LOCK".to_owned(),
            AccountOption::AccountLock(false) => " ACCOUNT UNLOCK".to_owned(),
        };
        self.put(&text);
    }

    fn put_requirement(&mut self, asked: &TlsRequirement<'_>) {
        self.put(" REQUIRE");
        match asked {
            TlsRequirement::None => self.put(" NONE"),
            TlsRequirement::Ssl => self.put(" SSL"),
            TlsRequirement::X509 => self.put(" X509"),
            TlsRequirement::Specified { cipher, issuer, subject } => {
                for (word, text) in [(" SUBJECT ", subject), (" ISSUER ", issuer), (" CIPHER ", cipher)] {
                    if let Some(text) = text {
                        self.put_word(word, text);
                    }
                }
            }
        }
    }
}

impl Caller<'_> {
    fn logged_text(&self, begin: &str) -> LoggedText {
        let is_plain = self.settings().sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES);
        LoggedText { out: begin.as_bytes().to_vec(), is_plain }
    }

    /// Takes the place of what was written.
    fn log_instead(&mut self, text: LoggedText) {
        self.replace_definition_text(text.out);
    }

    pub(super) fn log_created_users(&mut self, statement: &CreateUser<'_>, generated: &Generated) {
        let exists = if statement.if_not_exists { "IF NOT EXISTS " } else { "" };
        let mut text = self.logged_text(&format!("CREATE USER {exists}"));
        for (number, definition) in statement.users.iter().enumerate() {
            let name = self.account_of(definition.user);
            text.put(if number > 0 { ", " } else { "" });
            text.put_account(&name);
            match generated.credential_of(&name) {
                Some(credential) => text.put_credential(credential),
                None => text.put_identified(Plugin::default(), None),
            }
        }
        for (number, role) in statement.default_roles.iter().enumerate() {
            text.put(if number > 0 { ", " } else { " DEFAULT ROLE " });
            text.put_account(&AccountName::new(role.user, role.host));
        }
        text.put_options(statement.options);
        self.log_instead(text);
    }

    /// One that sets no password is logged as it is written.
    pub(super) fn log_altered_users(
        &mut self,
        statement: &AlterUser<'_>,
        generated: &Generated,
    ) -> Result<(), SqlError> {
        let sets = |clause: Option<AuthenticationClause<'_>>| clause.is_some();
        if !statement.users.iter().any(|definition| sets(definition.authentication)) {
            return Ok(());
        }
        let exists = if statement.if_exists { "IF EXISTS " } else { "" };
        let mut text = self.logged_text(&format!("ALTER USER {exists}"));
        for (number, definition) in statement.users.iter().enumerate() {
            let name = self.account_of(definition.user);
            text.put(if number > 0 { ", " } else { "" });
            text.put_account(&name);
            if let Some(clause) = definition.authentication {
                // An account that is not here may be elsewhere.
                let mut unknown = Generated::default();
                if generated.credential_of(&name).is_none() {
                    self.new_password(&clause, &name, Plugin::default(), &mut unknown)?;
                }
                if let Some(credential) = generated.credential_of(&name).or(unknown.credential_of(&name)) {
                    text.put_credential(credential);
                }
                text.put(if clause.retain_current { " RETAIN CURRENT PASSWORD" } else { "" });
            }
            text.put(if definition.discard_old_password { " DISCARD OLD PASSWORD" } else { "" });
        }
        text.put_options(statement.options);
        self.log_instead(text);
        Ok(())
    }

    /// SET PASSWORD is an ALTER USER.
    pub(super) fn log_new_password(&mut self, name: &AccountName, credential: &Credential, retains: bool) {
        let mut text = self.logged_text("ALTER USER ");
        text.put_account(name);
        text.put_credential(credential);
        text.put(if retains { " RETAIN CURRENT PASSWORD" } else { "" });
        self.log_instead(text);
    }
}
