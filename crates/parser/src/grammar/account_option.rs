//! The clauses after the users of CREATE USER and ALTER USER.
use super::core::{Parser, Result};
use crate::ast::{AccountOption, ResourceLimit, ResourceLimitKind, TlsRequirement};
use crate::lexer::Keyword as K;
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    pub fn account_options(&mut self) -> Result<&'a [AccountOption<'a>]> {
        let mut options = Vec::new_in(self.arena);
        if self.at_keyword(K::Require) {
            options.push(AccountOption::Require(self.tls_requirement()?));
        }
        if self.accept_keyword(K::With) {
            let first = self.resource_limit()?.ok_or_else(|| self.syntax_error())?;
            options.push(AccountOption::Resource(first));
            while let Some(limit) = self.resource_limit()? {
                options.push(AccountOption::Resource(limit));
            }
        }
        loop {
            let option = match self.keyword() {
                K::Password => self.password_option()?,
                K::FailedLoginAttempts => {
                    self.advance();
                    AccountOption::FailedLoginAttempts(self.integer_option()?)
                }
                K::PasswordLockTime => {
                    self.advance();
                    AccountOption::PasswordLockTime(self.integer_unless(K::Unbounded)?)
                }
                K::Account => {
                    self.advance();
                    AccountOption::AccountLock(self.expect_one_of(&[K::Lock, K::Unlock])? == K::Lock)
                }
                K::Comment => {
                    self.advance();
                    AccountOption::Comment(self.string_text()?)
                }
                K::Attribute => {
                    self.advance();
                    AccountOption::Attribute(self.string_text()?)
                }
                _ => return Ok(options.into_bump_slice()),
            };
            options.push(option);
        }
    }

    fn tls_requirement(&mut self) -> Result<TlsRequirement<'a>> {
        self.expect_keyword(K::Require)?;
        match self.accept_one_of(&[K::None_, K::Ssl, K::X509]) {
            Some(K::None_) => return Ok(TlsRequirement::None),
            Some(K::Ssl) => return Ok(TlsRequirement::Ssl),
            Some(_) => return Ok(TlsRequirement::X509),
            None => {}
        }
        let (mut cipher, mut issuer, mut subject) = (None, None, None);
        let mut count = 0;
        loop {
            let slot = match self.keyword() {
                K::Cipher => &mut cipher,
                K::Issuer => &mut issuer,
                K::Subject => &mut subject,
                _ if count > 0 => return Ok(TlsRequirement::Specified { cipher, issuer, subject }),
                _ => return Err(self.syntax_error()),
            };
            if slot.is_some() {
                return Err(self.syntax_error());
            }
            self.advance();
            *slot = Some(self.string_text()?);
            self.accept_keyword(K::And);
            count += 1;
        }
    }

    fn resource_limit(&mut self) -> Result<Option<ResourceLimit>> {
        let kind = match self.keyword() {
            K::MaxQueriesPerHour => ResourceLimitKind::QueriesPerHour,
            K::MaxUpdatesPerHour => ResourceLimitKind::UpdatesPerHour,
            K::MaxConnectionsPerHour => ResourceLimitKind::ConnectionsPerHour,
            K::MaxUserConnections => ResourceLimitKind::UserConnections,
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(ResourceLimit { kind, value: self.integer_option()? }))
    }

    /// A number, or the word that stands for none.
    fn integer_unless(&mut self, word: K) -> Result<Option<u64>> {
        if self.accept_keyword(word) {
            return Ok(None);
        }
        self.integer_option().map(Some)
    }

    /// `PASSWORD EXPIRE ..`, `HISTORY ..`, `REUSE INTERVAL ..`, `REQUIRE CURRENT ..`
    fn password_option(&mut self) -> Result<AccountOption<'a>> {
        self.expect_keyword(K::Password)?;
        match self.expect_one_of(&[K::Expire, K::History, K::Reuse, K::Require])? {
            K::Expire => match self.accept_one_of(&[K::Default, K::Never, K::Interval]) {
                Some(K::Default) => Ok(AccountOption::PasswordExpireDefault),
                Some(K::Never) => Ok(AccountOption::PasswordExpireNever),
                Some(_) => {
                    let days = self.integer_option()?;
                    self.expect_keyword(K::Day)?;
                    Ok(AccountOption::PasswordExpireInterval(days))
                }
                None => Ok(AccountOption::PasswordExpire),
            },
            K::History => Ok(AccountOption::PasswordHistory(self.integer_unless(K::Default)?)),
            K::Reuse => {
                self.expect_keyword(K::Interval)?;
                let days = self.integer_unless(K::Default)?;
                if days.is_some() {
                    self.expect_keyword(K::Day)?;
                }
                Ok(AccountOption::PasswordReuseInterval(days))
            }
            _ => {
                self.expect_keyword(K::Current)?;
                let required = match self.accept_one_of(&[K::Default, K::Optional]) {
                    Some(K::Default) => None,
                    Some(_) => Some(false),
                    None => Some(true),
                };
                Ok(AccountOption::PasswordRequireCurrent(required))
            }
        }
    }
}
