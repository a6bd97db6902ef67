//! GRANT and REVOKE.
//!
//! Roles and privileges look alike until ON, TO or FROM: each item is read as both and judged at the end.
use super::core::{Parser, Result};
use crate::ast::{
    AccountName, Grant, GrantRole, GrantTarget, Ident, ObjectKind, Privilege, PrivilegeKind, Revoke,
    RevokeRole, StatementKind,
};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

/// A member of the list after GRANT or REVOKE.
#[derive(Clone, Copy)]
struct Item<'a> {
    privilege: Option<Privilege<'a>>,
    role: Option<AccountName<'a>>,
}

impl<'a> Parser<'a> {
    pub fn grant(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        if self.at_keyword(K::Proxy) && self.keyword_at(1) == K::On {
            return self.grant_proxy();
        }
        let items = self.grant_items()?;
        if self.at_keyword(K::To) {
            let roles = self.roles_of(&items)?;
            self.advance();
            let users = self.users()?;
            let admin_option = self.accept_keyword(K::With);
            if admin_option {
                self.expect_keywords(&[K::Admin, K::Option])?;
            }
            return Ok(StatementKind::GrantRole(self.alloc(GrantRole { roles, users, admin_option })));
        }
        let privileges = self.privileges_of(&items)?;
        self.expect_keyword(K::On)?;
        let target = self.grant_target()?;
        self.expect_keyword(K::To)?;
        let users = self.users()?;
        let mut grant = Grant { privileges, target, users, grant_option: false, as_clause: None };
        if self.accept_keyword(K::With) {
            self.expect_keywords(&[K::Grant, K::Option])?;
            grant.grant_option = true;
        }
        if self.at_keyword(K::As) {
            let start = self.start();
            while !self.at(T::End) {
                self.advance();
            }
            let span = self.span_from(start);
            grant.as_clause = Some(self.text_at(span.start, span.end)?);
        }
        Ok(StatementKind::Grant(self.alloc(grant)))
    }

    fn grant_proxy(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.advance();
        let target = GrantTarget::Proxy(self.user()?);
        self.expect_keyword(K::To)?;
        let users = self.users()?;
        let grant_option = self.accept_keyword(K::With);
        if grant_option {
            self.expect_keywords(&[K::Grant, K::Option])?;
        }
        let privileges = self.proxy_privilege();
        Ok(StatementKind::Grant(self.alloc(Grant {
            privileges,
            target,
            users,
            grant_option,
            as_clause: None,
        })))
    }

    fn proxy_privilege(&self) -> &'a [Privilege<'a>] {
        self.arena.alloc_slice_copy(&[Privilege { kind: PrivilegeKind::Proxy, columns: &[] }])
    }

    pub fn revoke(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let if_exists = self.accept_if_exists()?;
        if self.at_keyword(K::Proxy) && self.keyword_at(1) == K::On {
            self.advance();
            self.advance();
            let target = Some(GrantTarget::Proxy(self.user()?));
            return self.revoke_rest(if_exists, self.proxy_privilege(), target);
        }
        let items = self.grant_items()?;
        if self.accept_keyword(K::On) {
            let privileges = self.privileges_of(&items)?;
            let target = Some(self.grant_target()?);
            return self.revoke_rest(if_exists, privileges, target);
        }
        let is_all = matches!(
            items.as_slice(),
            [first, second] if first.privilege.is_some_and(|privilege| privilege.kind == PrivilegeKind::All)
                && second.privilege.is_some_and(|privilege| privilege.kind == PrivilegeKind::GrantOption)
        );
        if is_all {
            let privileges = self.privileges_of(&items)?;
            return self.revoke_rest(if_exists, privileges, None);
        }
        let roles = self.roles_of(&items)?;
        self.expect_keyword(K::From)?;
        let users = self.users()?;
        let ignore_unknown_user = self.ignore_unknown_user()?;
        let revoke = RevokeRole { if_exists, ignore_unknown_user, roles, users };
        Ok(StatementKind::RevokeRole(self.alloc(revoke)))
    }

    fn revoke_rest(
        &mut self,
        if_exists: bool,
        privileges: &'a [Privilege<'a>],
        target: Option<GrantTarget<'a>>,
    ) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::From)?;
        let users = self.users()?;
        let ignore_unknown_user = self.ignore_unknown_user()?;
        let revoke = Revoke { if_exists, ignore_unknown_user, privileges, target, users };
        Ok(StatementKind::Revoke(self.alloc(revoke)))
    }

    fn ignore_unknown_user(&mut self) -> Result<bool> {
        if !self.accept_keyword(K::Ignore) {
            return Ok(false);
        }
        self.expect_keywords(&[K::Unknown, K::User])?;
        Ok(true)
    }

    fn grant_items(&mut self) -> Result<Vec<'a, Item<'a>>> {
        let mut items = Vec::new_in(self.arena);
        loop {
            items.push(self.grant_item()?);
            if !self.accept(T::Comma) {
                return Ok(items);
            }
        }
    }

    fn grant_item(&mut self) -> Result<Item<'a>> {
        if let Some(kind) = self.static_privilege()? {
            let columns: &[Ident<'a>] = if self.at(T::LeftParen) { self.ident_list()? } else { &[] };
            // EVENT, FILE, PROCESS and others are no reserved words, so a role can have such a name.
            return Ok(Item { privilege: Some(Privilege { kind, columns }), role: None });
        }
        let is_word = self.at(T::Word);
        let role = self.account_name()?;
        let privilege = (is_word && role.host == "%")
            .then_some(Privilege { kind: PrivilegeKind::Dynamic(role.user), columns: &[] });
        Ok(Item { privilege, role: Some(role) })
    }

    fn roles_of(&mut self, items: &[Item<'a>]) -> Result<&'a [AccountName<'a>]> {
        let mut roles = Vec::with_capacity_in(items.len(), self.arena);
        for item in items {
            roles.push(item.role.ok_or_else(|| self.syntax_error())?);
        }
        Ok(roles.into_bump_slice())
    }

    fn privileges_of(&mut self, items: &[Item<'a>]) -> Result<&'a [Privilege<'a>]> {
        let mut privileges = Vec::with_capacity_in(items.len(), self.arena);
        for item in items {
            privileges.push(item.privilege.ok_or_else(|| self.syntax_error())?);
        }
        Ok(privileges.into_bump_slice())
    }

    /// A privilege that is named by keywords, if one stands here.
    fn static_privilege(&mut self) -> Result<Option<PrivilegeKind<'a>>> {
        use PrivilegeKind::*;
        let next = self.keyword_at(1);
        let (kind, words) = match (self.keyword(), next) {
            (K::All, K::Privileges) => (All, 2),
            (K::All, _) => (All, 1),
            (K::Alter, K::Routine) => (AlterRoutine, 2),
            (K::Alter, _) => (Alter, 1),
            (K::Create, K::Routine) => (CreateRoutine, 2),
            (K::Create, K::Role) => (CreateRole, 2),
            (K::Create, K::Tablespace) => (CreateTablespace, 2),
            (K::Create, K::Temporary) if self.keyword_at(2) == K::Tables => (CreateTemporaryTables, 3),
            (K::Create, K::User) => (CreateUser, 2),
            (K::Create, K::View) => (CreateView, 2),
            (K::Create, _) => (Create, 1),
            (K::Delete, _) => (Delete, 1),
            (K::Drop, K::Role) => (DropRole, 2),
            (K::Drop, _) => (Drop, 1),
            (K::Event, _) => (Event, 1),
            (K::Execute, _) => (Execute, 1),
            (K::File, _) => (File, 1),
            (K::Grant, K::Option) => (GrantOption, 2),
            (K::Index, _) => (Index, 1),
            (K::Insert, _) => (Insert, 1),
            (K::Lock, K::Tables) => (LockTables, 2),
            (K::Process, _) => (Process, 1),
            (K::References, _) => (References, 1),
            (K::Reload, _) => (Reload, 1),
            (K::Replication, K::Client) => (ReplicationClient, 2),
            (K::Replication, K::Slave | K::Replica) => (ReplicationSlave, 2),
            (K::Select, _) => (Select, 1),
            (K::Show, K::Databases) => (ShowDatabases, 2),
            (K::Show, K::View) => (ShowView, 2),
            (K::Shutdown, _) => (Shutdown, 1),
            (K::Super, _) => (Super, 1),
            (K::Trigger, _) => (Trigger, 1),
            (K::Update, _) => (Update, 1),
            (K::Usage, _) => (Usage, 1),
            _ => return Ok(None),
        };
        for _ in 0..words {
            self.advance();
        }
        Ok(Some(kind))
    }

    fn grant_target(&mut self) -> Result<GrantTarget<'a>> {
        let kind = match self.keyword() {
            K::Table => Some(ObjectKind::Table),
            K::Function => Some(ObjectKind::Function),
            K::Procedure => Some(ObjectKind::Procedure),
            K::Library if self.peek_at(1).kind != T::Dot => Some(ObjectKind::Library),
            _ => None,
        };
        if kind.is_some() {
            self.advance();
        }
        if self.accept(T::Star) {
            if !self.accept(T::Dot) {
                return Ok(GrantTarget::CurrentDatabase);
            }
            self.expect(T::Star)?;
            return Ok(GrantTarget::Global);
        }
        if self.peek_at(1).kind == T::Dot && self.peek_at(2).kind == T::Star {
            let database = self.ident()?;
            self.advance();
            self.advance();
            return Ok(GrantTarget::Database(database));
        }
        Ok(GrantTarget::Object { kind: kind.unwrap_or(ObjectKind::Table), name: self.object_name()? })
    }
}
