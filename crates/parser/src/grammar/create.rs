//! CREATE TABLE, and DROP, TRUNCATE and RENAME of tables.
use super::core::{Parser, Result};
use crate::ast::{
    CreateTable, DropTable, DuplicateHandling, ObjectName, RenameTable, StatementKind, TableElement,
    TableRename, TruncateTable,
};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// After `CREATE [TEMPORARY]`, at TABLE.
    pub fn create_table(&mut self, temporary: bool) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Table)?;
        let if_not_exists = self.accept_if_not_exists()?;
        let name = self.object_name()?;
        let mut create = CreateTable {
            temporary,
            if_not_exists,
            name,
            like: None,
            elements: &[],
            options: &[],
            partitioning: None,
            duplicates: None,
            query: None,
        };
        if self.accept_keyword(K::Like) {
            create.like = Some(self.object_name()?);
        } else if self.at(T::LeftParen) && self.keyword_at(1) == K::Like {
            self.advance();
            self.advance();
            create.like = Some(self.object_name()?);
            self.expect(T::RightParen)?;
        } else {
            self.create_table_body(&mut create)?;
        }
        Ok(StatementKind::CreateTable(self.alloc(create)))
    }

    fn create_table_body(&mut self, create: &mut CreateTable<'a>) -> Result<()> {
        let mut is_described = false;
        if self.at(T::LeftParen) && !self.at_query_start(1) && self.peek_at(1).kind != T::LeftParen {
            create.elements = self.paren_list(Self::table_element)?;
            is_described = true;
        }
        create.options = self.table_options()?;
        create.partitioning = self.partitioning()?;
        create.duplicates = match self.accept_one_of(&[K::Ignore, K::Replace]) {
            Some(K::Ignore) => Some(DuplicateHandling::Ignore),
            Some(_) => Some(DuplicateHandling::Replace),
            None => None,
        };
        let has_as = self.accept_keyword(K::As);
        if has_as || self.at_query_start(0) || self.at(T::LeftParen) {
            create.query = Some(self.subquery()?);
        } else if !is_described || create.duplicates.is_some() {
            return match self.kind() {
                // MySQL's grammar lets the table be empty and complains afterwards.
                T::End if create.duplicates.is_none() => Err(self.rule_error(
                    self.start(),
                    4028,
                    "HY000",
                    "A table must have at least one visible column.".to_owned(),
                )),
                _ => Err(self.syntax_error()),
            };
        }
        Ok(())
    }

    pub fn table_element(&mut self) -> Result<TableElement<'a>> {
        match self.table_constraint()? {
            Some(element) => Ok(element),
            None => Ok(TableElement::Column(self.column_definition()?)),
        }
    }

    /// DROP TABLE, and DROP VIEW, which has the same form. After `DROP [TEMPORARY]`, at the word TABLE or VIEW.
    pub fn drop_table(&mut self, temporary: bool) -> Result<DropTable<'a>> {
        self.advance();
        let if_exists = self.accept_if_exists()?;
        let tables: &[ObjectName<'a>] = self.comma_list(Self::object_name)?;
        self.accept_one_of(&[K::Restrict, K::Cascade]);
        Ok(DropTable { temporary, if_exists, tables })
    }

    pub fn truncate_table(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        self.accept_keyword(K::Table);
        Ok(StatementKind::TruncateTable(TruncateTable { table: self.object_name()? }))
    }

    /// RENAME TABLE, after RENAME.
    pub fn rename_table(&mut self) -> Result<StatementKind<'a>> {
        self.expect_one_of(&[K::Table, K::Tables])?;
        let renames = self.comma_list(|parser| {
            let from = parser.object_name()?;
            parser.expect_keyword(K::To)?;
            Ok(TableRename { from, to: parser.object_name()? })
        })?;
        Ok(StatementKind::RenameTable(RenameTable { renames }))
    }
}
