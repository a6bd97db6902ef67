//! CREATE, ALTER, DROP and RENAME USER, roles, and SET PASSWORD and SET ROLE.
use super::core::{Parser, Result};
use crate::ast::{
    AccountName, AlterUser, AuthenticationClause, CreateRole, CreateUser, DropUser, SetDefaultRole,
    SetPassword, SetRole, StatementKind, User, UserDefinition,
};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// After CREATE, at USER.
    pub fn create_user(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let if_not_exists = self.accept_if_not_exists()?;
        let users = self.comma_list(Self::user_definition)?;
        let mut default_roles: &[AccountName<'a>] = &[];
        if self.accept_keyword(K::Default) {
            self.expect_keyword(K::Role)?;
            default_roles = self.account_names()?;
        }
        let options = self.account_options()?;
        let create = CreateUser { if_not_exists, users, default_roles, options };
        Ok(StatementKind::CreateUser(self.alloc(create)))
    }

    /// After ALTER, at USER.
    pub fn alter_user(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let if_exists = self.accept_if_exists()?;
        let users = self.comma_list(Self::user_definition)?;
        let mut default_role = None;
        if self.accept_keyword(K::Default) {
            self.expect_keyword(K::Role)?;
            default_role = Some(self.role_choice(false)?);
        }
        let options = self.account_options()?;
        Ok(StatementKind::AlterUser(self.alloc(AlterUser { if_exists, users, default_role, options })))
    }

    fn user_definition(&mut self) -> Result<UserDefinition<'a>> {
        // `ALTER USER USER() ..` is the current user.
        let user = if self.at_keyword(K::User) && self.peek_at(1).kind == T::LeftParen {
            self.advance();
            self.advance();
            self.expect(T::RightParen)?;
            User::Current
        } else {
            self.user()?
        };
        let mut definition =
            UserDefinition { user, authentication: None, discard_old_password: false, other_factors: None };
        if self.accept_keywords(&[K::Discard, K::Old, K::Password]) {
            definition.discard_old_password = true;
            return Ok(definition);
        }
        if self.at_keyword(K::Identified) {
            definition.authentication = Some(self.authentication()?);
        }
        let start = self.start();
        let has_factors = match self.keyword() {
            K::And => self.keyword_at(1) == K::Identified,
            K::Add | K::Modify | K::Drop => self.keyword_at(2) == K::Factor,
            K::Initial => self.keyword_at(1) == K::Authentication,
            _ => self.at(T::Integer) && self.keyword_at(1) == K::Factor,
        };
        if has_factors {
            while !matches!(self.kind(), T::Comma | T::End) {
                self.advance();
            }
            self.literal_use.structural = true;
            let span = self.span_from(start);
            definition.other_factors = Some(self.text_at(span.start, span.end)?);
        }
        Ok(definition)
    }

    /// `IDENTIFIED [WITH plugin] [BY 'password' | BY RANDOM PASSWORD | AS 'hash']`
    pub fn authentication(&mut self) -> Result<AuthenticationClause<'a>> {
        self.expect_keyword(K::Identified)?;
        let mut clause = AuthenticationClause {
            plugin: None,
            password: None,
            random_password: false,
            hash: None,
            replace: None,
            retain_current: false,
        };
        if self.accept_keyword(K::With) {
            clause.plugin = Some(self.ident_or_string()?.name);
        }
        if self.accept_keyword(K::By) {
            if self.accept_keyword(K::Random) {
                self.expect_keyword(K::Password)?;
                clause.random_password = true;
            } else {
                clause.password = Some(self.string_option()?);
            }
        } else if clause.plugin.is_some() && self.accept_keyword(K::As) {
            clause.hash = Some(self.string_option()?);
        } else if clause.plugin.is_none() {
            return Err(self.syntax_error());
        }
        if self.accept_keyword(K::Replace) {
            clause.replace = Some(self.string_option()?);
        }
        clause.retain_current = self.retain_current_password()?;
        Ok(clause)
    }

    fn retain_current_password(&mut self) -> Result<bool> {
        if !self.accept_keyword(K::Retain) {
            return Ok(false);
        }
        self.expect_keywords(&[K::Current, K::Password])?;
        Ok(true)
    }

    /// DROP USER and DROP ROLE; at the object's word.
    pub fn drop_user(&mut self) -> Result<DropUser<'a>> {
        self.advance();
        Ok(DropUser { if_exists: self.accept_if_exists()?, users: self.users()? })
    }

    /// After RENAME, at USER.
    pub fn rename_user(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        Ok(StatementKind::RenameUser(self.comma_list(|parser| {
            let from = parser.user()?;
            parser.expect_keyword(K::To)?;
            Ok((from, parser.user()?))
        })?))
    }

    /// After CREATE, at ROLE.
    pub fn create_role(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let if_not_exists = self.accept_if_not_exists()?;
        Ok(StatementKind::CreateRole(CreateRole { if_not_exists, roles: self.account_names()? }))
    }

    /// After SET, at ROLE.
    pub fn set_role(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        Ok(StatementKind::SetRole(self.role_choice(true)?))
    }

    /// `NONE`, `ALL`, `ALL EXCEPT ..`, `DEFAULT`, or names.
    fn role_choice(&mut self, default_allowed: bool) -> Result<SetRole<'a>> {
        match self.keyword() {
            K::None_ => {
                self.advance();
                Ok(SetRole::None)
            }
            K::Default if default_allowed => {
                self.advance();
                Ok(SetRole::Default)
            }
            K::All => {
                self.advance();
                if default_allowed && self.accept_keyword(K::Except) {
                    return Ok(SetRole::AllExcept(self.account_names()?));
                }
                Ok(SetRole::All)
            }
            _ => Ok(SetRole::Roles(self.account_names()?)),
        }
    }

    /// After SET, at DEFAULT ROLE.
    pub fn set_default_role(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keywords(&[K::Default, K::Role])?;
        let role = self.role_choice(false)?;
        self.expect_keyword(K::To)?;
        let users = self.users()?;
        Ok(StatementKind::SetDefaultRole(self.alloc(SetDefaultRole { role, users })))
    }

    /// After SET, at PASSWORD.
    pub fn set_password(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Password)?;
        let user = if self.accept_keyword(K::For) { Some(self.user()?) } else { None };
        let mut set =
            SetPassword { user, password: None, replace: None, retain_current: false, by_function: false };
        if self.accept_keyword(K::To) {
            self.expect_keyword(K::Random)?;
        } else {
            if !self.accept(T::Assign) {
                self.expect(T::Equal)?;
            }
            set.by_function = self.at_keyword(K::Password) && self.peek_at(1).kind == T::LeftParen;
            if set.by_function {
                self.advance();
                self.advance();
            }
            self.literal_use.structural = true;
            set.password = Some(self.primary()?);
            if set.by_function {
                self.expect(T::RightParen)?;
            }
        }
        if self.accept_keyword(K::Replace) {
            set.replace = Some(self.string_option()?);
        }
        set.retain_current = self.retain_current_password()?;
        Ok(StatementKind::SetPassword(self.alloc(set)))
    }
}
