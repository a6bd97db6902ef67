//! Column types and column definitions.
use super::cast::geometry_type;
use super::core::{Parser, Result};
use crate::ast::{CheckConstraint, ColumnAttribute, ColumnDefinition, DataType, Expr, Ident, Span, TypeName};
use crate::lexer::{Keyword as K, TokenKind as T, scan};
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    /// A column of CREATE TABLE and ADD COLUMN: REFERENCES may stand at its end.
    pub fn column_definition(&mut self) -> Result<ColumnDefinition<'a>> {
        self.column(true)
    }

    /// A column of MODIFY and CHANGE.
    pub fn changed_column(&mut self) -> Result<ColumnDefinition<'a>> {
        self.column(false)
    }

    fn column(&mut self, may_reference: bool) -> Result<ColumnDefinition<'a>> {
        let name = self.ident()?;
        let mut data_type = self.data_type()?;
        if self.accept_keyword(K::Collate) {
            data_type.collation = Some(self.collation_name()?);
        }
        let mut attributes = Vec::new_in(self.arena);
        while let Some(attribute) = self.column_attribute()? {
            if let ColumnAttribute::Collate(collation) = attribute {
                data_type.collation = Some(collation);
            }
            attributes.push(attribute);
        }
        if may_reference && self.at_keyword(K::References) {
            attributes.push(ColumnAttribute::References(self.references()?));
        }
        Ok(ColumnDefinition { name, data_type, attributes: attributes.into_bump_slice() })
    }

    pub fn data_type(&mut self) -> Result<DataType<'a>> {
        let mut data_type = DataType {
            name: TypeName::Int,
            length: None,
            decimals: None,
            unsigned: false,
            zerofill: false,
            charset: None,
            binary: false,
            collation: None,
            members: &[],
        };
        self.type_name(&mut data_type)?;
        self.type_size(&mut data_type)?;
        if is_numeric(data_type.name) {
            self.numeric_attributes(&mut data_type);
        } else if has_charset(data_type.name) {
            let (charset, binary) = self.charset_attribute()?;
            data_type.charset = charset.or(data_type.charset);
            data_type.binary = binary;
        }
        Ok(data_type)
    }

    /// Reads the words of a type. NATIONAL types and LONG may need several.
    fn type_name(&mut self, data_type: &mut DataType<'a>) -> Result<()> {
        let token = self.peek();
        let national = Ident { name: "utf8mb3", span: Span::new(token.start, token.end) };
        data_type.name = match token.keyword {
            K::National => {
                self.advance();
                data_type.charset = Some(national);
                return self.national_type(data_type);
            }
            K::Nchar => {
                data_type.charset = Some(national);
                if matches!(self.keyword_at(1), K::Varchar | K::Varcharacter | K::Varying) {
                    self.advance();
                    TypeName::VarChar
                } else {
                    TypeName::Char
                }
            }
            K::Nvarchar => {
                data_type.charset = Some(national);
                TypeName::VarChar
            }
            K::Char | K::Character if self.keyword_at(1) == K::Varying => {
                self.advance();
                TypeName::VarChar
            }
            K::Long => {
                self.advance();
                return self.long_type(data_type);
            }
            K::Double if self.keyword_at(1) == K::Precision => {
                self.advance();
                TypeName::Double
            }
            K::Real if self.mode.real_as_float => TypeName::Float,
            word => simple_type(word).or_else(|| geometry_type(word)).ok_or_else(|| self.syntax_error())?,
        };
        self.advance();
        Ok(())
    }

    fn national_type(&mut self, data_type: &mut DataType<'a>) -> Result<()> {
        data_type.name = match self.expect_one_of(&[K::Char, K::Character, K::Varchar, K::Varcharacter])? {
            K::Varchar | K::Varcharacter => TypeName::VarChar,
            _ if self.accept_keyword(K::Varying) => TypeName::VarChar,
            _ => TypeName::Char,
        };
        Ok(())
    }

    /// LONG, LONG VARCHAR, LONG CHAR VARYING, LONG VARBINARY.
    fn long_type(&mut self, data_type: &mut DataType<'a>) -> Result<()> {
        let takes_char = matches!(self.keyword(), K::Char | K::Character) && self.keyword_at(1) == K::Varying;
        data_type.name = match self.accept_one_of(&[K::Varbinary, K::Varchar, K::Varcharacter]) {
            Some(K::Varbinary) => TypeName::MediumBlob,
            _ => TypeName::MediumText,
        };
        if takes_char {
            self.advance();
            self.advance();
        }
        Ok(())
    }

    /// The parentheses after a type's name.
    fn type_size(&mut self, data_type: &mut DataType<'a>) -> Result<()> {
        use TypeName::*;
        let required = matches!(data_type.name, VarChar | VarBinary | Enum | Set);
        if !self.at(T::LeftParen) {
            return if required { Err(self.syntax_error()) } else { Ok(()) };
        }
        let token = self.peek();
        self.advance();
        match data_type.name {
            Enum | Set => data_type.members = self.comma_list(Self::string_text)?,
            Decimal | Float | Double => {
                data_type.length = Some(self.type_length()?);
                if self.accept(T::Comma) {
                    data_type.decimals = Some(self.type_length()?);
                }
            }
            TinyInt | SmallInt | MediumInt | Int | BigInt | Bit | Char | VarChar | Binary | VarBinary
            | Text | Blob | Time | DateTime | Timestamp | Year | Vector => {
                data_type.length = Some(self.type_length()?)
            }
            _ => return Err(self.syntax_error_at(token)),
        }
        self.expect(T::RightParen)?;
        Ok(())
    }

    /// A length; one beyond 64 bits becomes the greatest number, which is out of every type's range.
    pub fn type_length(&mut self) -> Result<u64> {
        let token = self.peek();
        let digits = &self.text[token.start as usize..token.end as usize];
        if token.kind != T::Integer || scan::integer_value(digits).is_some() {
            return self.integer_option();
        }
        self.advance();
        self.literal_use.structural = true;
        Ok(u64::MAX)
    }

    fn numeric_attributes(&mut self, data_type: &mut DataType<'a>) {
        while let Some(word) = self.accept_one_of(&[K::Signed, K::Unsigned, K::Zerofill]) {
            data_type.unsigned |= word != K::Signed;
            data_type.zerofill |= word == K::Zerofill;
        }
    }

    fn column_attribute(&mut self) -> Result<Option<ColumnAttribute<'a>>> {
        let attribute = match self.keyword() {
            K::Null => ColumnAttribute::Null,
            K::AutoIncrement => ColumnAttribute::AutoIncrement,
            K::Key => ColumnAttribute::PrimaryKey,
            K::Visible => ColumnAttribute::Visible(true),
            K::Invisible => ColumnAttribute::Visible(false),
            _ => return self.longer_column_attribute(),
        };
        self.advance();
        Ok(Some(attribute))
    }

    fn longer_column_attribute(&mut self) -> Result<Option<ColumnAttribute<'a>>> {
        let word = self.keyword();
        if matches!(word, K::Constraint | K::Check) {
            return self.column_check();
        }
        if matches!(word, K::Generated | K::As) {
            return self.generated_column().map(Some);
        }
        if !begins_longer_attribute(word) {
            return Ok(None);
        }
        self.advance();
        let attribute = match word {
            K::Not if self.accept_keyword(K::Secondary) => ColumnAttribute::NotSecondary,
            K::Not => {
                self.expect_keyword(K::Null)?;
                ColumnAttribute::NotNull
            }
            K::Default => {
                let (expr, parenthesized) = self.column_default()?;
                ColumnAttribute::Default { expr, parenthesized }
            }
            K::On => {
                self.expect_keyword(K::Update)?;
                ColumnAttribute::OnUpdate(self.current_timestamp()?)
            }
            K::Primary => {
                self.expect_keyword(K::Key)?;
                ColumnAttribute::PrimaryKey
            }
            K::Unique => {
                self.accept_keyword(K::Key);
                ColumnAttribute::Unique
            }
            K::Comment => ColumnAttribute::Comment(self.string_text()?),
            K::Collate => ColumnAttribute::Collate(self.collation_name()?),
            K::Srid => ColumnAttribute::Srid(self.integer_option()?),
            K::ColumnFormat => {
                ColumnAttribute::ColumnFormat(self.word_of(&[K::Default, K::Fixed, K::Dynamic])?)
            }
            K::Storage => ColumnAttribute::Storage(self.word_of(&[K::Default, K::Disk, K::Memory])?),
            K::Serial => {
                self.expect_keywords(&[K::Default, K::Value])?;
                ColumnAttribute::SerialDefaultValue
            }
            K::EngineAttribute => {
                self.accept(T::Equal);
                ColumnAttribute::EngineAttribute(self.string_text()?)
            }
            _ => {
                self.accept(T::Equal);
                ColumnAttribute::SecondaryEngineAttribute(self.string_text()?)
            }
        };
        Ok(Some(attribute))
    }

    /// One of the words, as written.
    pub fn word_of(&mut self, words: &[K]) -> Result<Ident<'a>> {
        if words.contains(&self.keyword()) { self.ident_after_dot() } else { Err(self.syntax_error()) }
    }

    /// What follows a column's DEFAULT, and whether it was an expression in parentheses.
    fn column_default(&mut self) -> Result<(Expr<'a>, bool)> {
        if matches!(self.keyword(), K::CurrentTimestamp | K::Localtime | K::Localtimestamp | K::Now) {
            return Ok((self.current_timestamp()?, false));
        }
        self.default_value()
    }

    /// A literal with an optional sign, or an expression in parentheses (then the second is true).
    pub fn default_value(&mut self) -> Result<(Expr<'a>, bool)> {
        if self.accept(T::LeftParen) {
            let expr = self.expr()?;
            self.expect(T::RightParen)?;
            return Ok((expr, true));
        }
        let first = self.peek();
        let is_signed_literal = match first.kind {
            T::Plus | T::Minus => matches!(self.peek_at(1).kind, T::Integer | T::Decimal | T::Float),
            T::Introducer => true,
            T::Word => {
                matches!(first.keyword, K::Null | K::True | K::False)
                    || (matches!(first.keyword, K::Date | K::Time | K::Timestamp)
                        && self.peek_at(1).kind == T::String)
            }
            kind => kind.is_literal(),
        };
        if !is_signed_literal {
            return Err(self.syntax_error());
        }
        let expr = self.operators(super::expression::power::ANY)?;
        Ok((expr, false))
    }

    /// NOW() and its synonyms, with an optional precision.
    fn current_timestamp(&mut self) -> Result<Expr<'a>> {
        if !matches!(self.keyword(), K::CurrentTimestamp | K::Localtime | K::Localtimestamp | K::Now) {
            return Err(self.syntax_error());
        }
        self.clock_function()
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`
    fn generated_column(&mut self) -> Result<ColumnAttribute<'a>> {
        if self.accept_keyword(K::Generated) {
            self.expect_keyword(K::Always)?;
        }
        self.expect_keyword(K::As)?;
        self.expect(T::LeftParen)?;
        let expr = self.expr()?;
        self.expect(T::RightParen)?;
        let stored = self.accept_one_of(&[K::Virtual, K::Stored]) == Some(K::Stored);
        Ok(ColumnAttribute::Generated { expr, stored })
    }

    /// `[CONSTRAINT [name]] CHECK (expr)` as an attribute of a column.
    fn column_check(&mut self) -> Result<Option<ColumnAttribute<'a>>> {
        let constraint = self.constraint_name()?;
        if !self.at_keyword(K::Check) {
            return Err(self.syntax_error());
        }
        let check: CheckConstraint<'a> = self.check_constraint(constraint)?;
        Ok(Some(ColumnAttribute::Check(check)))
    }
}

fn begins_longer_attribute(word: K) -> bool {
    matches!(
        word,
        K::Not
            | K::Default
            | K::On
            | K::Primary
            | K::Unique
            | K::Comment
            | K::Collate
            | K::Srid
            | K::ColumnFormat
            | K::Storage
            | K::Serial
            | K::EngineAttribute
            | K::SecondaryEngineAttribute
    )
}

fn is_numeric(name: TypeName) -> bool {
    use TypeName::*;
    matches!(name, TinyInt | SmallInt | MediumInt | Int | BigInt | Decimal | Float | Double | Year)
}

fn has_charset(name: TypeName) -> bool {
    use TypeName::*;
    matches!(name, Char | VarChar | TinyText | Text | MediumText | LongText | Enum | Set)
}

fn simple_type(word: K) -> Option<TypeName> {
    use TypeName::*;
    let name = match word {
        K::Tinyint | K::Int1 => TinyInt,
        K::Smallint | K::Int2 => SmallInt,
        K::Mediumint | K::Int3 | K::Middleint => MediumInt,
        K::Int | K::Integer | K::Int4 => Int,
        K::Bigint | K::Int8 => BigInt,
        K::Serial => Serial,
        K::Bool | K::Boolean => Bool,
        K::Decimal | K::Dec | K::Numeric | K::Fixed => Decimal,
        K::Float | K::Float4 => Float,
        K::Double | K::Real | K::Float8 => Double,
        K::Bit => Bit,
        K::Char | K::Character => Char,
        K::Varchar | K::Varcharacter => VarChar,
        K::Binary => Binary,
        K::Varbinary => VarBinary,
        K::Tinytext => TinyText,
        K::Text => Text,
        K::Mediumtext => MediumText,
        K::Longtext => LongText,
        K::Tinyblob => TinyBlob,
        K::Blob => Blob,
        K::Mediumblob => MediumBlob,
        K::Longblob => LongBlob,
        K::Date => Date,
        K::Time => Time,
        K::Datetime => DateTime,
        K::Timestamp => Timestamp,
        K::Year => Year,
        K::Enum => Enum,
        K::Set => Set,
        K::Json => Json,
        K::Vector => Vector,
        _ => return None,
    };
    Some(name)
}
