//! RESTORE TABLE, which is ours: a table as it was, from a backup and the archived log.
use super::core::{Parser, Result};
use crate::ast::{RestoreMoment, RestoreTable, StatementKind};
use crate::lexer::Keyword as K;

impl<'a> Parser<'a> {
    /// `RESTORE TABLE table [AS OF moment] [INTO new] [FROM 'backup']`, at RESTORE.
    pub fn restore_table(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.expect_keyword(K::Table)?;
        let table = self.object_name()?;
        let moment = match self.accept_keywords(&[K::As, K::Of]) {
            true => self.restore_moment()?,
            false => RestoreMoment::End,
        };
        let new = if self.accept_keyword(K::Into) { Some(self.object_name()?) } else { None };
        let from = if self.accept_keyword(K::From) { Some(self.string_text()?) } else { None };
        Ok(StatementKind::RestoreTable(self.alloc(RestoreTable { table, moment, new, from })))
    }

    /// `'time'`, `LSN number`, `[BEFORE] GTID 'identifier'`
    fn restore_moment(&mut self) -> Result<RestoreMoment<'a>> {
        if self.at_word("LSN") {
            self.advance();
            return Ok(RestoreMoment::Lsn(self.integer_option()?));
        }
        let is_wanted = !self.accept_keyword(K::Before);
        if !is_wanted || self.at_word("GTID") {
            self.expect_words(&["GTID"])?;
            return Ok(RestoreMoment::Transaction { gtid: self.string_text()?, is_wanted });
        }
        Ok(RestoreMoment::Time(self.string_text()?))
    }
}
