//! The statements of replication: options are kept by name, for the server to judge.
use super::core::{Parser, Result};
use crate::ast::{
    ChangeReplicationFilter, ChangeReplicationSource, Expr, ExprKind, Ident, ObjectName, PurgeBinaryLogs,
    ReplicaControl, ReplicationFilterValues, StatementKind, UntilOption,
};
use crate::lexer::{Keyword as K, TokenKind as T};

/// The rules of replication filters.
const FILTER_RULES: [&str; 7] = [
    "REPLICATE_DO_DB",
    "REPLICATE_IGNORE_DB",
    "REPLICATE_DO_TABLE",
    "REPLICATE_IGNORE_TABLE",
    "REPLICATE_WILD_DO_TABLE",
    "REPLICATE_WILD_IGNORE_TABLE",
    "REPLICATE_REWRITE_DB",
];

impl<'a> Parser<'a> {
    /// CHANGE REPLICATION SOURCE TO, CHANGE REPLICATION FILTER. The words of MySQL 8.0 are errors, as in 9.7.
    pub fn change_replication(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.expect_keyword(K::Replication)?;
        if self.at_keyword(K::Filter) {
            return self.change_filter();
        }
        self.expect_keywords(&[K::Source, K::To])?;
        let options = self.comma_list(Self::replication_option)?;
        let channel = self.for_channel()?;
        let change = ChangeReplicationSource { options, channel };
        Ok(StatementKind::ChangeReplicationSource(self.alloc(change)))
    }

    fn change_filter(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let rules = self.comma_list(Self::filter_rule)?;
        self.literal_use.structural = true;
        let change = ChangeReplicationFilter { rules, channel: self.for_channel()? };
        Ok(StatementKind::ChangeReplicationFilter(self.alloc(change)))
    }

    /// `REPLICATE_DO_DB = (a, b)`; the list may be empty.
    fn filter_rule(&mut self) -> Result<(&'static str, ReplicationFilterValues<'a>)> {
        use ReplicationFilterValues::{Databases, Patterns, Renames, Tables};
        let token = self.peek();
        let word = self.ident()?;
        let known = FILTER_RULES.iter().find(|name| name.eq_ignore_ascii_case(word.name));
        let Some(&name) = known else { return Err(self.syntax_error_at(token)) };
        self.expect(T::Equal)?;
        let values = match name {
            "REPLICATE_DO_DB" | "REPLICATE_IGNORE_DB" => Databases(self.filter_list(Self::ident)?),
            "REPLICATE_REWRITE_DB" => Renames(self.filter_list(Self::filter_rename)?),
            "REPLICATE_DO_TABLE" | "REPLICATE_IGNORE_TABLE" => Tables(self.filter_list(Self::filter_table)?),
            _ => Patterns(self.filter_list(Self::string_text)?),
        };
        Ok((name, values))
    }

    fn filter_list<I: Copy + 'a>(&mut self, item: impl FnMut(&mut Self) -> Result<I>) -> Result<&'a [I]> {
        if self.at(T::LeftParen) && self.peek_at(1).kind == T::RightParen {
            self.advance();
            self.advance();
            return Ok(&[]);
        }
        self.paren_list(item)
    }

    fn filter_table(&mut self) -> Result<ObjectName<'a>> {
        let database = self.ident()?;
        self.expect(T::Dot)?;
        Ok(ObjectName { database: Some(database), name: self.ident_after_dot()? })
    }

    fn filter_rename(&mut self) -> Result<(Ident<'a>, Ident<'a>)> {
        self.expect(T::LeftParen)?;
        let from = self.ident()?;
        self.expect(T::Comma)?;
        let to = self.ident()?;
        self.expect(T::RightParen)?;
        Ok((from, to))
    }

    fn replication_option(&mut self) -> Result<(Ident<'a>, Expr<'a>)> {
        let name = self.ident()?;
        self.expect(T::Equal)?;
        if !self.at(T::LeftParen) {
            return Ok((name, self.expr()?));
        }
        // `IGNORE_SERVER_IDS = (1, 2)`, and the list may be empty.
        let start = self.start();
        self.advance();
        let members: &[Expr<'a>] = if self.at(T::RightParen) { &[] } else { self.comma_list(Self::expr)? };
        self.expect(T::RightParen)?;
        let below = super::primary::highest(members);
        Ok((name, self.node(ExprKind::Row(members), start, below)?))
    }

    /// After START, STOP or RESET, at REPLICA or GROUP_REPLICATION.
    pub fn replica_control(&mut self, action: &'static str) -> Result<StatementKind<'a>> {
        if self.at_keyword(K::GroupReplication) {
            return self.unsupported(if action == "START" {
                "START GROUP_REPLICATION"
            } else {
                "STOP GROUP_REPLICATION"
            });
        }
        self.expect_keyword(K::Replica)?;
        let start = self.start();
        let mut channel = None;
        while !self.at(T::End) {
            if self.at_keyword(K::For) && self.keyword_at(1) == K::Channel {
                break;
            }
            if action == "START" && self.at_keyword(K::Until) {
                break;
            }
            if self.at(T::Unknown) {
                return Err(self.syntax_error());
            }
            self.advance();
        }
        let rest_end = self.span_from(start).end;
        let rest = self.text_at(start, rest_end)?;
        let until = match self.accept_keyword(K::Until) {
            true => self.comma_list(Self::until_option)?,
            false => &[],
        };
        if self.at_keyword(K::For) {
            channel = self.for_channel()?;
        }
        self.literal_use.structural = true;
        let control = ReplicaControl { action, rest, until, channel };
        Ok(StatementKind::ReplicaControl(self.alloc(control)))
    }

    fn until_option(&mut self) -> Result<UntilOption<'a>> {
        let name = self.ident()?;
        let value = if self.accept(T::Equal) { Some(self.expr()?) } else { None };
        Ok((name, value))
    }

    pub fn reset(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        match (self.keyword(), self.keyword_at(1)) {
            (K::Replica, _) => self.replica_control("RESET"),
            (K::Binary, _) => self.reset_binary_logs(),
            (K::Persist, _) => self.reset_persist(),
            _ => Err(self.syntax_error()),
        }
    }

    /// `BINARY LOGS AND GTIDS [TO number]`
    fn reset_binary_logs(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.expect_keywords(&[K::Logs, K::And])?;
        self.expect_words(&["GTIDS"])?;
        let first = if self.accept_keyword(K::To) { Some(self.integer_option()?) } else { None };
        if self.at(T::Comma) {
            return self.unsupported("RESET of several things");
        }
        Ok(StatementKind::ResetBinaryLogs(first))
    }

    /// `PURGE BINARY LOGS TO 'name'` and `BEFORE moment`, which is in the session's time zone.
    pub fn purge(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.expect_keywords(&[K::Binary, K::Logs])?;
        let purge = match self.expect_one_of(&[K::To, K::Before])? {
            K::To => PurgeBinaryLogs::To(self.string_option()?),
            _ => {
                let start = self.start();
                let moment = self.expr()?;
                self.literal_use.structural = true;
                let name = Ident { name: "unix_timestamp", span: moment.span };
                PurgeBinaryLogs::Before(self.builtin(name, &[moment], start)?)
            }
        };
        Ok(StatementKind::PurgeBinaryLogs(self.alloc(purge)))
    }
}
