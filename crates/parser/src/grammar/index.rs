//! Indexes, foreign keys and checks.
use super::core::{Parser, Result};
use crate::ast::{
    AlgorithmOption, CheckConstraint, CreateIndex, DropIndex, ForeignKey, Ident, IndexDefinition, IndexKind,
    IndexOption, IndexPart, IndexPartTarget, IndexType, LockOption, MatchKind, References, ReferentialAction,
    SchemaChangeOption, StatementKind, TableElement,
};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    /// An index, foreign key or check, if one begins here.
    pub fn table_constraint(&mut self) -> Result<Option<TableElement<'a>>> {
        let has_constraint = self.at_keyword(K::Constraint);
        let constraint = match self.keyword() {
            K::Constraint => self.constraint_name()?,
            K::Primary | K::Unique | K::Foreign | K::Check | K::Index | K::Key | K::Fulltext | K::Spatial => {
                None
            }
            _ => return Ok(None),
        };
        let element = match self.keyword() {
            K::Primary => {
                self.advance();
                self.expect_keyword(K::Key)?;
                TableElement::Index(self.index_rest(IndexKind::Primary, constraint)?)
            }
            K::Unique => {
                self.advance();
                self.accept_one_of(&[K::Index, K::Key]);
                TableElement::Index(self.index_rest(IndexKind::Unique, constraint)?)
            }
            K::Foreign => TableElement::ForeignKey(self.foreign_key(constraint)?),
            K::Check => TableElement::Check(self.check_constraint(constraint)?),
            _ if has_constraint => return Err(self.syntax_error()),
            K::Index | K::Key => {
                self.advance();
                TableElement::Index(self.index_rest(IndexKind::Plain, None)?)
            }
            word @ (K::Fulltext | K::Spatial) => {
                self.advance();
                self.accept_one_of(&[K::Index, K::Key]);
                let kind = if word == K::Fulltext { IndexKind::FullText } else { IndexKind::Spatial };
                TableElement::Index(self.index_rest(kind, None)?)
            }
            _ => return Err(self.syntax_error()),
        };
        Ok(Some(element))
    }

    /// `[CONSTRAINT [name]]`
    pub fn constraint_name(&mut self) -> Result<Option<Ident<'a>>> {
        if !self.accept_keyword(K::Constraint) || !self.at_ident() {
            return Ok(None);
        }
        self.ident().map(Some)
    }

    /// `[name] [USING type] (parts) options`
    fn index_rest(&mut self, kind: IndexKind, constraint: Option<Ident<'a>>) -> Result<IndexDefinition<'a>> {
        // TYPE is no reserved word, but `KEY TYPE BTREE (a)` has not been accepted since MySQL 8.0.
        let name = if self.at_ident() { Some(self.ident()?) } else { None };
        self.index_body(kind, constraint, name)
    }

    fn index_body(
        &mut self,
        kind: IndexKind,
        constraint: Option<Ident<'a>>,
        name: Option<Ident<'a>>,
    ) -> Result<IndexDefinition<'a>> {
        let mut options = Vec::new_in(self.arena);
        if matches!(self.keyword(), K::Using | K::Type) {
            options.push(self.index_type()?);
        }
        let parts = self.paren_list(Self::index_part)?;
        while let Some(option) = self.index_option()? {
            options.push(option);
        }
        Ok(IndexDefinition { kind, constraint, name, parts, options: options.into_bump_slice() })
    }

    fn index_type(&mut self) -> Result<IndexOption<'a>> {
        self.advance();
        let index_type = match self.expect_one_of(&[K::Btree, K::Hash, K::Rtree])? {
            K::Btree => IndexType::Btree,
            K::Hash => IndexType::Hash,
            _ => IndexType::Rtree,
        };
        Ok(IndexOption::Using(index_type))
    }

    pub fn index_part(&mut self) -> Result<IndexPart<'a>> {
        let target = if self.accept(T::LeftParen) {
            let expr = self.expr()?;
            self.expect(T::RightParen)?;
            IndexPartTarget::Expression(expr)
        } else {
            let name = self.ident()?;
            let mut prefix_length = None;
            if self.accept(T::LeftParen) {
                prefix_length = Some(self.integer_option()?);
                self.expect(T::RightParen)?;
            }
            IndexPartTarget::Column { name, prefix_length }
        };
        let descending = self.accept_one_of(&[K::Asc, K::Desc]) == Some(K::Desc);
        Ok(IndexPart { target, descending })
    }

    fn index_option(&mut self) -> Result<Option<IndexOption<'a>>> {
        let word = self.keyword();
        let option = match word {
            K::Using | K::Type => return self.index_type().map(Some),
            K::With => {
                self.advance();
                self.expect_keyword(K::Parser)?;
                IndexOption::WithParser(self.ident()?)
            }
            K::Visible | K::Invisible => {
                self.advance();
                IndexOption::Visible(word == K::Visible)
            }
            K::Comment => {
                self.advance();
                IndexOption::Comment(self.string_text()?)
            }
            K::KeyBlockSize => {
                self.advance();
                self.accept(T::Equal);
                IndexOption::KeyBlockSize(self.integer_option()?)
            }
            K::EngineAttribute | K::SecondaryEngineAttribute => {
                self.advance();
                self.accept(T::Equal);
                let text = self.string_text()?;
                if word == K::EngineAttribute {
                    IndexOption::EngineAttribute(text)
                } else {
                    IndexOption::SecondaryEngineAttribute(text)
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(option))
    }

    fn foreign_key(&mut self, constraint: Option<Ident<'a>>) -> Result<ForeignKey<'a>> {
        self.expect_keywords(&[K::Foreign, K::Key])?;
        let index_name = if self.at_ident() { Some(self.ident()?) } else { None };
        let columns = self.paren_list(Self::foreign_key_column)?;
        Ok(ForeignKey { constraint, index_name, columns, references: self.references()? })
    }

    /// The grammar lets a length and a direction stand here, which mean nothing.
    fn foreign_key_column(&mut self) -> Result<Ident<'a>> {
        match self.index_part()?.target {
            IndexPartTarget::Column { name, .. } => Ok(name),
            IndexPartTarget::Expression(_) => Err(self.syntax_error()),
        }
    }

    pub fn references(&mut self) -> Result<References<'a>> {
        self.expect_keyword(K::References)?;
        let table = self.object_name()?;
        let columns: &[Ident<'a>] = if self.at(T::LeftParen) { self.ident_list()? } else { &[] };
        let mut references =
            References { table, columns, match_kind: None, on_delete: None, on_update: None };
        if self.accept_keyword(K::Match) {
            references.match_kind = Some(match self.expect_one_of(&[K::Full, K::Partial, K::Simple])? {
                K::Full => MatchKind::Full,
                K::Partial => MatchKind::Partial,
                _ => MatchKind::Simple,
            });
        }
        while self.at_keyword(K::On) && matches!(self.keyword_at(1), K::Delete | K::Update) {
            let word = self.keyword_at(1);
            let slot = if word == K::Delete { &mut references.on_delete } else { &mut references.on_update };
            if slot.is_some() {
                break;
            }
            self.advance();
            self.advance();
            *slot = Some(self.referential_action()?);
        }
        Ok(references)
    }

    fn referential_action(&mut self) -> Result<ReferentialAction> {
        let action = match self.expect_one_of(&[K::Restrict, K::Cascade, K::Set, K::No])? {
            K::Restrict => ReferentialAction::Restrict,
            K::Cascade => ReferentialAction::Cascade,
            K::No => {
                self.expect_keyword(K::Action)?;
                ReferentialAction::NoAction
            }
            _ => match self.expect_one_of(&[K::Null, K::Default])? {
                K::Null => ReferentialAction::SetNull,
                _ => ReferentialAction::SetDefault,
            },
        };
        Ok(action)
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`
    pub fn check_constraint(&mut self, constraint: Option<Ident<'a>>) -> Result<CheckConstraint<'a>> {
        self.expect_keyword(K::Check)?;
        self.expect(T::LeftParen)?;
        let expr = self.expr()?;
        self.expect(T::RightParen)?;
        Ok(CheckConstraint { constraint, expr, enforced: self.enforced() })
    }

    /// `[[NOT] ENFORCED]`, which does not take the NOT of `NOT NULL`.
    fn enforced(&mut self) -> bool {
        if self.accept_keywords(&[K::Not, K::Enforced]) {
            return false;
        }
        self.accept_keyword(K::Enforced);
        true
    }

    /// After CREATE, at the words before INDEX.
    pub fn create_index(&mut self) -> Result<StatementKind<'a>> {
        let kind = match self.accept_one_of(&[K::Unique, K::Fulltext, K::Spatial]) {
            Some(K::Unique) => IndexKind::Unique,
            Some(K::Fulltext) => IndexKind::FullText,
            Some(_) => IndexKind::Spatial,
            None => IndexKind::Plain,
        };
        self.expect_keyword(K::Index)?;
        let name = self.ident()?;
        let mut before = None;
        if matches!(self.keyword(), K::Using | K::Type) {
            before = Some(self.index_type()?);
        }
        self.expect_keyword(K::On)?;
        let table = self.object_name()?;
        let mut index = self.index_body(kind, None, Some(name))?;
        if let Some(before) = before {
            let mut options = Vec::new_in(self.arena);
            options.push(before);
            options.extend_from_slice_copy(index.options);
            index.options = options.into_bump_slice();
        }
        let change = self.schema_change_options()?;
        Ok(StatementKind::CreateIndex(self.alloc(CreateIndex { table, index, change })))
    }

    /// After DROP.
    pub fn drop_index(&mut self) -> Result<StatementKind<'a>> {
        self.expect_keyword(K::Index)?;
        let name = if self.at_keyword(K::Primary) { self.ident_after_dot()? } else { self.ident()? };
        self.expect_keyword(K::On)?;
        let table = self.object_name()?;
        let change = self.schema_change_options()?;
        Ok(StatementKind::DropIndex(self.alloc(DropIndex { name, table, change })))
    }

    /// `ALGORITHM = ..` and `LOCK = ..`, in any order.
    fn schema_change_options(&mut self) -> Result<SchemaChangeOption> {
        let mut change = SchemaChangeOption::default();
        while self.schema_change_option(&mut change)? {}
        Ok(change)
    }

    pub fn schema_change_option(&mut self, change: &mut SchemaChangeOption) -> Result<bool> {
        let word = self.keyword();
        if !matches!(word, K::Algorithm | K::Lock) {
            return Ok(false);
        }
        self.advance();
        self.accept(T::Equal);
        if word == K::Algorithm {
            change.algorithm =
                Some(match self.expect_one_of(&[K::Default, K::Instant, K::Inplace, K::Copy])? {
                    K::Default => AlgorithmOption::Default,
                    K::Instant => AlgorithmOption::Instant,
                    K::Inplace => AlgorithmOption::InPlace,
                    _ => AlgorithmOption::Copy,
                });
        } else {
            change.lock =
                Some(match self.expect_one_of(&[K::Default, K::None_, K::Shared, K::Exclusive])? {
                    K::Default => LockOption::Default,
                    K::None_ => LockOption::None,
                    K::Shared => LockOption::Shared,
                    _ => LockOption::Exclusive,
                });
        }
        Ok(true)
    }
}
