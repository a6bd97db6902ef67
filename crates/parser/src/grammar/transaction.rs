//! Transactions, savepoints, XA, and locks of tables and of the instance.
use super::core::{Parser, Result};
use crate::ast::{
    LockTable, LockTableKind, StatementKind, TransactionCharacteristic, TransactionEnd, VariableScope,
    XaStatement, Xid,
};
use crate::lexer::{Keyword as K, TokenKind as T};

/// The X/Open limit of each part of a transaction's identifier.
const XID_PART_BYTES_MAX: usize = 64;

impl<'a> Parser<'a> {
    /// After START, at TRANSACTION.
    pub fn start_transaction(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Transaction)?;
        let mut characteristic = TransactionCharacteristic {
            scope: VariableScope::Unspecified,
            isolation: None,
            read_only: None,
            consistent_snapshot: false,
        };
        if self.at(T::End) {
            return Ok(StatementKind::StartTransaction(characteristic));
        }
        loop {
            let token = self.peek();
            if self.accept_keyword(K::With) {
                self.expect_keywords(&[K::Consistent, K::Snapshot])?;
                characteristic.consistent_snapshot = true;
            } else {
                self.expect_keyword(K::Read)?;
                let read_only = self.expect_one_of(&[K::Only, K::Write])? == K::Only;
                if characteristic.read_only.is_some_and(|earlier| earlier != read_only) {
                    return Err(self.syntax_error_at(token));
                }
                characteristic.read_only = Some(read_only);
            }
            if !self.accept(T::Comma) {
                return Ok(StatementKind::StartTransaction(characteristic));
            }
        }
    }

    pub fn commit(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.accept_keyword(K::Work);
        Ok(StatementKind::Commit(self.transaction_end()?))
    }

    pub fn rollback(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.accept_keyword(K::Work);
        if self.accept_keyword(K::To) {
            self.accept_keyword(K::Savepoint);
            return Ok(StatementKind::RollbackToSavepoint(self.ident()?));
        }
        Ok(StatementKind::Rollback(self.transaction_end()?))
    }

    fn transaction_end(&mut self) -> Result<TransactionEnd> {
        let mut end = TransactionEnd::default();
        if self.accept_keyword(K::And) {
            end.chain = Some(!self.accept_keyword(K::No));
            self.expect_keyword(K::Chain)?;
        }
        let token = self.peek();
        if self.accept_keywords(&[K::No, K::Release]) {
            end.release = Some(false);
        } else if self.accept_keyword(K::Release) {
            end.release = Some(true);
        }
        if end.chain == Some(true) && end.release == Some(true) {
            return Err(self.syntax_error_at(token));
        }
        Ok(end)
    }

    pub fn xa(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let (word, token) = self.advance_keyword();
        let statement = match word {
            K::Start | K::Begin => {
                let xid = self.xid()?;
                let word = self.accept_one_of(&[K::Join, K::Resume]);
                XaStatement::Start { xid, join: word == Some(K::Join), resume: word == Some(K::Resume) }
            }
            K::End => {
                let xid = self.xid()?;
                let suspend = self.accept_keyword(K::Suspend);
                let for_migrate = suspend && self.accept_keyword(K::For);
                if for_migrate {
                    self.expect_keyword(K::Migrate)?;
                }
                XaStatement::End { xid, suspend, for_migrate }
            }
            K::Prepare => XaStatement::Prepare(self.xid()?),
            K::Commit => {
                let xid = self.xid()?;
                let one_phase = self.accept_keyword(K::One);
                if one_phase {
                    self.expect_keyword(K::Phase)?;
                }
                XaStatement::Commit { xid, one_phase }
            }
            K::Rollback => XaStatement::Rollback(self.xid()?),
            K::Recover => {
                let convert = self.accept_keyword(K::Convert);
                if convert {
                    self.expect_keyword(K::Xid)?;
                }
                XaStatement::Recover { convert }
            }
            _ => return Err(self.syntax_error_at(token)),
        };
        Ok(StatementKind::Xa(statement))
    }

    /// `'global'[, 'branch'[, format]]`
    fn xid(&mut self) -> Result<Xid<'a>> {
        let global = self.string_option()?;
        if global.len() > XID_PART_BYTES_MAX {
            return Err(self.syntax_error());
        }
        let mut xid = Xid { global, branch: &[], format: 1 };
        if self.accept(T::Comma) {
            xid.branch = self.string_option()?;
            if xid.branch.len() > XID_PART_BYTES_MAX {
                return Err(self.syntax_error());
            }
            if self.accept(T::Comma) {
                let token = self.peek();
                xid.format = self.integer_option()?;
                if i64::try_from(xid.format).is_err() {
                    return Err(self.syntax_error_at(token));
                }
            }
        }
        Ok(xid)
    }

    /// LOCK TABLES and LOCK INSTANCE FOR BACKUP.
    pub fn lock(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        if self.accept_keyword(K::Instance) {
            self.expect_keywords(&[K::For, K::Backup])?;
            return Ok(StatementKind::LockInstance);
        }
        self.expect_one_of(&[K::Table, K::Tables])?;
        Ok(StatementKind::LockTables(self.comma_list(Self::lock_table)?))
    }

    fn lock_table(&mut self) -> Result<LockTable<'a>> {
        let table = self.object_name()?;
        let alias = self.alias(false)?;
        let kind = match self.expect_one_of(&[K::Read, K::Write, K::LowPriority])? {
            K::Read if self.accept_keyword(K::Local) => LockTableKind::ReadLocal,
            K::Read => LockTableKind::Read,
            K::Write => LockTableKind::Write,
            _ => {
                self.expect_keyword(K::Write)?;
                LockTableKind::LowPriorityWrite
            }
        };
        Ok(LockTable { table, alias, kind })
    }

    pub fn unlock(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        match self.expect_one_of(&[K::Table, K::Tables, K::Instance])? {
            K::Instance => Ok(StatementKind::UnlockInstance),
            _ => Ok(StatementKind::UnlockTables),
        }
    }
}
