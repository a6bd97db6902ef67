//! The options of tables and partitions.
use super::core::{Parser, Result};
use crate::ast::{Ident, TableOption, TableOptionName, TableOptionValue};
use crate::lexer::{Keyword as K, TokenKind as T};
use bumpalo::collections::Vec;

/// What an option's value looks like.
#[derive(Clone, Copy)]
enum Shape {
    Integer,
    /// A number or DEFAULT.
    IntegerOrDefault,
    /// 0, 1 or DEFAULT.
    SwitchOrDefault,
    /// A number that may have a unit: `4M`.
    Size,
    String,
    Name,
    /// CHARACTER SET and COLLATE, which may also be DEFAULT or BINARY.
    Charset,
}

impl<'a> Parser<'a> {
    /// Options with or without commas between them.
    pub fn table_options(&mut self) -> Result<&'a [TableOption<'a>]> {
        let mut options = Vec::new_in(self.arena);
        while let Some(option) = self.table_option()? {
            options.push(option);
            if self.at(T::Comma) && self.is_table_option(1) {
                self.advance();
            }
        }
        Ok(options.into_bump_slice())
    }

    /// Whether the token `ahead` begins a table option.
    pub fn is_table_option(&self, ahead: usize) -> bool {
        let word = self.keyword_at(ahead);
        match word {
            K::Default => {
                matches!(self.keyword_at(ahead + 1), K::Character | K::Charset | K::Char | K::Collate)
            }
            K::Character | K::Char => self.keyword_at(ahead + 1) == K::Set,
            K::Index | K::Data => self.keyword_at(ahead + 1) == K::Directory,
            K::Start => self.keyword_at(ahead + 1) == K::Transaction,
            K::Charset | K::Collate | K::Union | K::Tablespace | K::Storage => true,
            _ => plain_option(word).is_some(),
        }
    }

    fn table_option(&mut self) -> Result<Option<TableOption<'a>>> {
        if !self.is_table_option(0) {
            return Ok(None);
        }
        self.accept_keyword(K::Default);
        if self.at_keyword(K::Storage) && self.keyword_at(1) == K::Engine {
            self.advance();
        }
        let word = self.advance().keyword;
        let (name, shape) = match word {
            K::Character | K::Char => {
                self.advance();
                (TableOptionName::CharacterSet, Shape::Charset)
            }
            K::Charset => (TableOptionName::CharacterSet, Shape::Charset),
            K::Collate => (TableOptionName::Collate, Shape::Charset),
            K::Data => {
                self.advance();
                (TableOptionName::DataDirectory, Shape::String)
            }
            K::Index => {
                self.advance();
                (TableOptionName::IndexDirectory, Shape::String)
            }
            K::Start => {
                self.advance();
                let name = TableOptionName::StartTransaction;
                return Ok(Some(TableOption { name, value: TableOptionValue::None }));
            }
            K::Storage => {
                let value = TableOptionValue::Name(self.word_of(&[K::Disk, K::Memory])?);
                return Ok(Some(TableOption { name: TableOptionName::Storage, value }));
            }
            K::Union => {
                self.accept(T::Equal);
                self.expect(T::LeftParen)?;
                let tables = if self.at(T::RightParen) { &[] } else { self.comma_list(Self::object_name)? };
                self.expect(T::RightParen)?;
                let value = TableOptionValue::Tables(tables);
                return Ok(Some(TableOption { name: TableOptionName::Union, value }));
            }
            K::Tablespace => (TableOptionName::Tablespace, Shape::Name),
            _ => plain_option(word).ok_or_else(|| self.syntax_error())?,
        };
        self.accept(T::Equal);
        Ok(Some(TableOption { name, value: self.table_option_value(shape)? }))
    }

    fn table_option_value(&mut self, shape: Shape) -> Result<TableOptionValue<'a>> {
        let value = match shape {
            Shape::IntegerOrDefault | Shape::SwitchOrDefault if self.accept_keyword(K::Default) => {
                TableOptionValue::Default
            }
            Shape::SwitchOrDefault => {
                let token = self.peek();
                let value = self.integer_option()?;
                if value > 1 {
                    return Err(self.syntax_error_at(token));
                }
                TableOptionValue::Integer(value)
            }
            Shape::Integer | Shape::IntegerOrDefault => TableOptionValue::Integer(self.integer_option()?),
            // `4M` is a word to the lexer.
            Shape::Size if self.at(T::Word) => TableOptionValue::Name(self.ident()?),
            Shape::Size => TableOptionValue::Integer(self.integer_option()?),
            Shape::String => TableOptionValue::String(self.string_text()?),
            Shape::Charset if self.accept_keyword(K::Default) => TableOptionValue::Default,
            Shape::Charset => TableOptionValue::Name(self.charset_name()?),
            Shape::Name if self.accept_keyword(K::Null) => TableOptionValue::None,
            Shape::Name => {
                let name: Ident<'a> = if self.at_keyword(K::Default) {
                    self.ident_after_dot()?
                } else {
                    self.ident_or_string()?
                };
                TableOptionValue::Name(name)
            }
        };
        Ok(value)
    }
}

fn plain_option(word: K) -> Option<(TableOptionName, Shape)> {
    use TableOptionName::*;
    let option = match word {
        K::Engine => (Engine, Shape::Name),
        K::SecondaryEngine => (SecondaryEngine, Shape::Name),
        K::AutoIncrement => (AutoIncrement, Shape::Integer),
        K::AutoextendSize => (AutoExtendSize, Shape::Size),
        K::AvgRowLength => (AverageRowLength, Shape::Integer),
        K::Checksum | K::TableChecksum => (Checksum, Shape::Integer),
        K::Comment => (Comment, Shape::String),
        K::Compression => (Compression, Shape::String),
        K::Connection => (Connection, Shape::String),
        K::DelayKeyWrite => (DelayKeyWrite, Shape::Integer),
        K::Encryption => (Encryption, Shape::String),
        K::EngineAttribute => (EngineAttribute, Shape::String),
        K::InsertMethod => (InsertMethod, Shape::Name),
        K::KeyBlockSize => (KeyBlockSize, Shape::Integer),
        K::MaxRows => (MaxRows, Shape::Integer),
        K::MinRows => (MinRows, Shape::Integer),
        K::Nodegroup => (NodeGroup, Shape::Integer),
        K::PackKeys => (PackKeys, Shape::SwitchOrDefault),
        K::Password => (Password, Shape::String),
        K::RowFormat => (RowFormat, Shape::Name),
        K::SecondaryEngineAttribute => (SecondaryEngineAttribute, Shape::String),
        K::StatsAutoRecalc => (StatsAutoRecalc, Shape::SwitchOrDefault),
        K::StatsPersistent => (StatsPersistent, Shape::SwitchOrDefault),
        K::StatsSamplePages => (StatsSamplePages, Shape::IntegerOrDefault),
        _ => return None,
    };
    Some(option)
}
