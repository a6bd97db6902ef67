//! ALTER TABLE.
use super::core::{Parser, Result};
use crate::ast::{
    AlterSpecification, AlterTable, ColumnPosition, Ident, PartitionChange, PartitionSelection,
    SchemaChangeOption, StatementKind, TableElement,
};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    /// After ALTER, at TABLE.
    pub fn alter_table(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Table)?;
        let table = self.object_name()?;
        let mut specifications = Vec::new_in(self.arena);
        let mut change = SchemaChangeOption::default();
        let mut validation = None;
        while !self.at(T::End) {
            if matches!(self.keyword(), K::With | K::Without) && self.keyword_at(1) == K::Validation {
                validation = Some(self.advance().keyword == K::With);
                self.advance();
            } else if !self.schema_change_option(&mut change)? {
                specifications.push(self.alter_specification()?);
            }
            // A change of partitions stands alone, and PARTITION BY comes after the last comma.
            if self.at_keyword(K::Partition) || self.at_keyword(K::Remove) {
                continue;
            }
            if !self.accept(T::Comma) {
                break;
            }
            let is_partitioning = self.keyword_at(1) == K::By || self.keyword_at(1) == K::Partitioning;
            if self.at(T::End) || (is_partitioning && matches!(self.keyword(), K::Partition | K::Remove)) {
                return Err(self.syntax_error());
            }
        }
        let specifications = specifications.into_bump_slice();
        let has_partition_change = specifications
            .iter()
            .any(|specification| matches!(specification, AlterSpecification::Partition(_)));
        if has_partition_change && specifications.len() > 1 {
            return Err(self.syntax_error());
        }
        Ok(StatementKind::AlterTable(self.alloc(AlterTable { table, specifications, change, validation })))
    }

    fn alter_specification(&mut self) -> Result<AlterSpecification<'a>> {
        if self.is_table_option(0) {
            return Ok(AlterSpecification::Options(self.table_options()?));
        }
        match self.keyword() {
            K::Add => self.alter_add(),
            K::Drop => self.alter_drop(),
            K::Alter => self.alter_alter(),
            K::Rename => self.alter_rename(),
            K::Modify => {
                self.advance();
                self.accept_keyword(K::Column);
                let column = self.changed_column()?;
                Ok(AlterSpecification::ModifyColumn { column, position: self.column_position()? })
            }
            K::Change => {
                self.advance();
                self.accept_keyword(K::Column);
                let old_name = self.ident()?;
                let column = self.changed_column()?;
                Ok(AlterSpecification::ChangeColumn { old_name, column, position: self.column_position()? })
            }
            K::Convert => self.alter_convert(),
            K::Order => {
                let items = self.order_by()?;
                Ok(AlterSpecification::OrderBy(items))
            }
            K::Partition => {
                let partitioning = self.partitioning()?.ok_or_else(|| self.syntax_error())?;
                Ok(AlterSpecification::PartitionBy(partitioning))
            }
            _ => self.short_specification(),
        }
    }

    /// Those made of a few words, and the changes of partitions.
    fn short_specification(&mut self) -> Result<AlterSpecification<'a>> {
        let word = self.keyword();
        let next = self.keyword_at(1);
        let specification = match (word, next) {
            (K::Disable, K::Keys) => AlterSpecification::DisableKeys,
            (K::Enable, K::Keys) => AlterSpecification::EnableKeys,
            (K::Discard, K::Tablespace) => AlterSpecification::DiscardTablespace,
            (K::Import, K::Tablespace) => AlterSpecification::ImportTablespace,
            (K::Remove, K::Partitioning) => AlterSpecification::RemovePartitioning,
            (K::Force, _) => {
                self.advance();
                return Ok(AlterSpecification::Force);
            }
            (K::SecondaryLoad, _) => {
                self.advance();
                return Ok(AlterSpecification::SecondaryLoad);
            }
            (K::SecondaryUnload, _) => {
                self.advance();
                return Ok(AlterSpecification::SecondaryUnload);
            }
            (_, K::Partition) => return Ok(AlterSpecification::Partition(self.partition_change()?)),
            _ => return Err(self.syntax_error()),
        };
        self.advance();
        self.advance();
        Ok(specification)
    }

    fn alter_add(&mut self) -> Result<AlterSpecification<'a>> {
        self.expect_keyword(K::Add)?;
        if self.accept_keyword(K::Partition) {
            self.accept_one_of(&[K::NoWriteToBinlog, K::Local]);
            if self.accept_keyword(K::Partitions) {
                return Ok(AlterSpecification::Partition(PartitionChange::AddCount(self.integer_option()?)));
            }
            return Ok(AlterSpecification::Partition(PartitionChange::Add(self.partition_definitions()?)));
        }
        if let Some(element) = self.table_constraint()? {
            return Ok(match element {
                TableElement::Index(index) => AlterSpecification::AddIndex(index),
                TableElement::ForeignKey(key) => AlterSpecification::AddForeignKey(key),
                TableElement::Check(check) => AlterSpecification::AddCheck(check),
                TableElement::Column(_) => return Err(self.syntax_error()),
            });
        }
        self.accept_keyword(K::Column);
        if self.at(T::LeftParen) {
            return Ok(AlterSpecification::AddElements(self.paren_list(Self::table_element)?));
        }
        let column = self.column_definition()?;
        Ok(AlterSpecification::AddColumn { column, position: self.column_position()? })
    }

    fn column_position(&mut self) -> Result<ColumnPosition<'a>> {
        if self.accept_keyword(K::First) {
            return Ok(ColumnPosition::First);
        }
        if self.accept_keyword(K::After) {
            return Ok(ColumnPosition::After(self.ident()?));
        }
        Ok(ColumnPosition::Last)
    }

    fn alter_drop(&mut self) -> Result<AlterSpecification<'a>> {
        self.expect_keyword(K::Drop)?;
        let word = self.keyword();
        match word {
            K::Primary => {
                self.advance();
                self.expect_keyword(K::Key)?;
                return Ok(AlterSpecification::DropPrimaryKey);
            }
            K::Foreign => {
                self.advance();
                self.expect_keyword(K::Key)?;
                return Ok(AlterSpecification::DropForeignKey(self.ident()?));
            }
            K::Partition => {
                self.advance();
                let names = self.comma_list(Self::ident)?;
                return Ok(AlterSpecification::Partition(PartitionChange::Drop(names)));
            }
            K::Index | K::Key | K::Check | K::Constraint | K::Column => {
                self.advance();
            }
            _ => {}
        }
        let name: Ident<'a> = match word {
            K::Index | K::Key if self.at_keyword(K::Primary) => self.ident_after_dot()?,
            _ => self.ident()?,
        };
        Ok(match word {
            K::Index | K::Key => AlterSpecification::DropIndex(name),
            K::Check => AlterSpecification::DropCheck(name),
            K::Constraint => AlterSpecification::DropConstraint(name),
            _ => {
                self.accept_one_of(&[K::Restrict, K::Cascade]);
                AlterSpecification::DropColumn(name)
            }
        })
    }

    fn alter_alter(&mut self) -> Result<AlterSpecification<'a>> {
        self.expect_keyword(K::Alter)?;
        let word = self.keyword();
        if matches!(word, K::Index | K::Check | K::Constraint | K::Column) {
            self.advance();
        }
        let name = self.ident()?;
        match word {
            K::Index => {
                let visible = self.expect_one_of(&[K::Visible, K::Invisible])? == K::Visible;
                return Ok(AlterSpecification::AlterIndexVisible { index: name, visible });
            }
            K::Check | K::Constraint => {
                let enforced = !self.accept_keyword(K::Not);
                self.expect_keyword(K::Enforced)?;
                return Ok(AlterSpecification::AlterCheckEnforced { constraint: name, enforced });
            }
            _ => {}
        }
        if self.accept_keyword(K::Drop) {
            self.expect_keyword(K::Default)?;
            return Ok(AlterSpecification::AlterColumnDropDefault(name));
        }
        self.expect_keyword(K::Set)?;
        if let Some(word) = self.accept_one_of(&[K::Visible, K::Invisible]) {
            return Ok(AlterSpecification::AlterColumnVisible { column: name, visible: word == K::Visible });
        }
        self.expect_keyword(K::Default)?;
        let (expr, parenthesized) = self.default_value()?;
        Ok(AlterSpecification::AlterColumnSetDefault { column: name, expr, parenthesized })
    }

    fn alter_rename(&mut self) -> Result<AlterSpecification<'a>> {
        self.expect_keyword(K::Rename)?;
        match self.accept_one_of(&[K::Column, K::Index, K::Key, K::To, K::As]) {
            Some(word @ (K::Column | K::Index | K::Key)) => {
                let from = self.ident()?;
                self.expect_keyword(K::To)?;
                let to = self.ident()?;
                Ok(match word {
                    K::Column => AlterSpecification::RenameColumn { from, to },
                    _ => AlterSpecification::RenameIndex { from, to },
                })
            }
            Some(_) => Ok(AlterSpecification::RenameTable(self.object_name()?)),
            None => {
                self.accept(T::Equal);
                Ok(AlterSpecification::RenameTable(self.object_name()?))
            }
        }
    }

    fn alter_convert(&mut self) -> Result<AlterSpecification<'a>> {
        self.expect_keywords(&[K::Convert, K::To])?;
        if !self.accept_keyword(K::Charset) {
            self.expect_one_of(&[K::Character, K::Char])?;
            self.expect_keyword(K::Set)?;
        }
        let charset = if self.accept_keyword(K::Default) { None } else { Some(self.charset_name()?) };
        let mut collation = None;
        if self.accept_keyword(K::Collate) {
            self.accept(T::Equal);
            collation = Some(self.collation_name()?);
        }
        Ok(AlterSpecification::ConvertTo { charset, collation })
    }

    /// `verb PARTITION ..`
    fn partition_change(&mut self) -> Result<PartitionChange<'a>> {
        let verb = self.keyword();
        if !matches!(
            verb,
            K::Discard
                | K::Import
                | K::Truncate
                | K::Coalesce
                | K::Reorganize
                | K::Exchange
                | K::Analyze
                | K::Check
                | K::Optimize
                | K::Rebuild
                | K::Repair
        ) {
            return Err(self.syntax_error());
        }
        self.advance();
        self.expect_keyword(K::Partition)?;
        match verb {
            K::Exchange => {
                let partition = self.ident()?;
                self.expect_keywords(&[K::With, K::Table])?;
                let table = self.object_name()?;
                let without = self.at_keyword(K::Without);
                if self.accept_one_of(&[K::With, K::Without]).is_some() {
                    self.expect_keyword(K::Validation)?;
                }
                return Ok(PartitionChange::Exchange { partition, table, validation: !without });
            }
            K::Discard | K::Import | K::Truncate => {}
            _ => {
                self.accept_one_of(&[K::NoWriteToBinlog, K::Local]);
            }
        }
        if verb == K::Coalesce {
            return Ok(PartitionChange::Coalesce(self.integer_option()?));
        }
        if verb == K::Reorganize {
            if !self.at_ident() {
                return Ok(PartitionChange::Reorganize { names: &[], into: &[] });
            }
            let names = self.comma_list(Self::ident)?;
            self.expect_keyword(K::Into)?;
            return Ok(PartitionChange::Reorganize { names, into: self.partition_definitions()? });
        }
        let selection = if self.accept_keyword(K::All) {
            PartitionSelection::All
        } else {
            PartitionSelection::Names(self.comma_list(Self::ident)?)
        };
        self.partition_maintenance(verb, selection)
    }

    fn partition_maintenance(
        &mut self,
        verb: K,
        selection: PartitionSelection<'a>,
    ) -> Result<PartitionChange<'a>> {
        Ok(match verb {
            K::Discard | K::Import => {
                self.expect_keyword(K::Tablespace)?;
                if verb == K::Discard {
                    PartitionChange::Discard(selection)
                } else {
                    PartitionChange::Import(selection)
                }
            }
            K::Truncate => PartitionChange::Truncate(selection),
            K::Analyze => PartitionChange::Analyze(selection),
            K::Check => {
                self.maintenance_options();
                PartitionChange::Check(selection)
            }
            K::Optimize => PartitionChange::Optimize(selection),
            K::Rebuild => PartitionChange::Rebuild(selection),
            _ => {
                self.maintenance_options();
                PartitionChange::Repair(selection)
            }
        })
    }
}
