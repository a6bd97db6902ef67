//! Names of users and roles.
use super::core::{Parser, Result};
use crate::ast::{AccountName, User};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// A user, or CURRENT_USER.
    pub fn user(&mut self) -> Result<User<'a>> {
        if self.accept_keyword(K::CurrentUser) {
            if self.accept(T::LeftParen) {
                self.expect(T::RightParen)?;
            }
            return Ok(User::Current);
        }
        Ok(User::Named(self.account_name()?))
    }

    /// `user`, `'user'@'host'`; also the name of a role.
    pub fn account_name(&mut self) -> Result<AccountName<'a>> {
        let user = self.ident_or_string()?.name;
        if !self.at(T::AtName) {
            return Ok(AccountName { user, host: "%" });
        }
        let token = self.peek();
        // Nothing behind the sign is a host without a name.
        if token.end == token.start + 1 {
            self.advance();
            return Ok(AccountName { user, host: "" });
        }
        Ok(AccountName { user, host: self.at_name()? })
    }

    pub fn users(&mut self) -> Result<&'a [User<'a>]> {
        self.comma_list(Self::user)
    }

    pub fn account_names(&mut self) -> Result<&'a [AccountName<'a>]> {
        self.comma_list(Self::account_name)
    }
}
