//! LOAD DATA and LOAD XML.
use super::core::{Parser, Result};
use crate::ast::{
    ColumnReference, DuplicateHandling, FieldOptions, LoadColumn, LoadData, Priority, StatementKind,
};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    pub fn load(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Load)?;
        if self.at_keyword(K::Index) {
            return self.unsupported("LOAD INDEX INTO CACHE");
        }
        let xml = self.expect_one_of(&[K::Data, K::Xml])? == K::Xml;
        if self.at_keyword(K::From) {
            return self.unsupported("LOAD DATA FROM");
        }
        let (mut priority, mut concurrent) = (None, false);
        match self.accept_one_of(&[K::LowPriority, K::Concurrent]) {
            Some(K::LowPriority) => priority = Some(Priority::Low),
            Some(_) => concurrent = true,
            None => {}
        }
        let local = self.accept_keyword(K::Local);
        self.expect_keyword(K::Infile)?;
        let path = self.string_text()?;
        let duplicates = match self.accept_one_of(&[K::Replace, K::Ignore]) {
            Some(K::Replace) => Some(DuplicateHandling::Replace),
            Some(_) => Some(DuplicateHandling::Ignore),
            None => None,
        };
        self.expect_keywords(&[K::Into, K::Table])?;
        let table = self.object_name()?;
        let partitions = self.partition_selection()?;
        let charset = self.load_charset()?;
        let mut rows_identified_by = None;
        let mut fields = FieldOptions::default();
        if xml {
            if self.accept_keyword(K::Rows) {
                self.expect_keywords(&[K::Identified, K::By])?;
                rows_identified_by = Some(self.string_option()?);
            }
        } else {
            fields = self.field_options()?;
        }
        let lines = if xml { Default::default() } else { self.line_options()? };
        let mut ignore_lines = None;
        if self.accept_keyword(K::Ignore) {
            ignore_lines = Some(self.limit_value()?);
            self.expect_one_of(&[K::Lines, K::Rows])?;
        }
        let columns = self.load_columns()?;
        let set = if self.accept_keyword(K::Set) { self.comma_list(Self::assignment)? } else { &[] };
        let load = LoadData {
            xml,
            priority,
            concurrent,
            local,
            path,
            duplicates,
            table,
            partitions,
            charset,
            rows_identified_by,
            fields,
            lines,
            ignore_lines,
            columns,
            set,
        };
        Ok(StatementKind::LoadData(self.alloc(load)))
    }

    /// `(a, @b, ..)`; empty without or with `()`.
    fn load_columns(&mut self) -> Result<&'a [LoadColumn<'a>]> {
        if !self.accept(T::LeftParen) {
            return Ok(&[]);
        }
        if self.accept(T::RightParen) {
            return Ok(&[]);
        }
        let columns = self.comma_list(Self::load_column)?;
        self.expect(T::RightParen)?;
        Ok(columns)
    }

    fn load_column(&mut self) -> Result<LoadColumn<'a>> {
        if self.at(T::AtName) {
            return Ok(LoadColumn::UserVariable(self.user_variable()?));
        }
        let column: ColumnReference<'a> = self.column_reference()?;
        Ok(LoadColumn::Column(column))
    }
}
