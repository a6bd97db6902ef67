//! SET TRANSACTION.
use super::core::{Parser, Result};
use crate::ast::{IsolationLevel, StatementKind, TransactionCharacteristic, VariableScope};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// At TRANSACTION: an isolation level, an access mode, or both in any order.
    pub fn set_transaction(&mut self, scope: VariableScope) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Transaction)?;
        let mut characteristic =
            TransactionCharacteristic { scope, isolation: None, read_only: None, consistent_snapshot: false };
        loop {
            if self.at_keyword(K::Isolation) && characteristic.isolation.is_none() {
                self.advance();
                self.expect_keyword(K::Level)?;
                characteristic.isolation = Some(self.isolation_level()?);
            } else if self.at_keyword(K::Read) && characteristic.read_only.is_none() {
                self.advance();
                characteristic.read_only = Some(self.expect_one_of(&[K::Only, K::Write])? == K::Only);
            } else {
                return Err(self.syntax_error());
            }
            if !self.accept(T::Comma) {
                return Ok(StatementKind::SetTransaction(characteristic));
            }
        }
    }

    fn isolation_level(&mut self) -> Result<IsolationLevel> {
        match self.expect_one_of(&[K::Read, K::Repeatable, K::Serializable])? {
            K::Serializable => Ok(IsolationLevel::Serializable),
            K::Repeatable => {
                self.expect_keyword(K::Read)?;
                Ok(IsolationLevel::RepeatableRead)
            }
            _ => match self.expect_one_of(&[K::Committed, K::Uncommitted])? {
                K::Committed => Ok(IsolationLevel::ReadCommitted),
                _ => Ok(IsolationLevel::ReadUncommitted),
            },
        }
    }
}
