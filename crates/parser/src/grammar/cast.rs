//! CAST, CONVERT and the names of character sets and collations.
use super::core::{Parser, Result};
use crate::ast::{CastTarget, CastType, Expr, ExprKind, Ident, Span, TypeName};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// `CAST(x AS type)`; `CAST(x AT TIME ZONE ..)` is refused by name.
    pub fn cast(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let expr = self.expr()?;
        if self.at_keyword(K::At) {
            return Err(self.not_supported("CAST(.. AT TIME ZONE ..)"));
        }
        self.expect_keyword(K::As)?;
        let mut target = self.cast_type()?;
        target.array = self.accept_keyword(K::Array);
        self.expect(T::RightParen)?;
        self.cast_node(expr, target, start)
    }

    /// `CONVERT(x, type)` and `CONVERT(x USING charset)`.
    pub fn convert(&mut self) -> Result<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect(T::LeftParen)?;
        let expr = self.expr()?;
        if self.accept_keyword(K::Using) {
            let charset = self.charset_name()?;
            self.expect(T::RightParen)?;
            let operand = self.alloc(expr);
            return self.node(ExprKind::ConvertUsing { operand, charset }, start, expr.height);
        }
        self.expect(T::Comma)?;
        let target = self.cast_type()?;
        self.expect(T::RightParen)?;
        self.cast_node(expr, target, start)
    }

    fn cast_node(&mut self, expr: Expr<'a>, target: CastType<'a>, start: u32) -> Result<Expr<'a>> {
        let (operand, target) = (self.alloc(expr), self.alloc(target));
        self.node(ExprKind::Cast { operand, target }, start, expr.height)
    }

    pub fn cast_type(&mut self) -> Result<CastType<'a>> {
        let word = self.keyword();
        let target = match word {
            K::Signed => CastTarget::Signed,
            K::Unsigned => CastTarget::Unsigned,
            K::Char | K::Character => CastTarget::Char,
            K::Nchar | K::National => CastTarget::NationalChar,
            K::Binary => CastTarget::Binary,
            K::Date => CastTarget::Date,
            K::Time => CastTarget::Time,
            K::Datetime => CastTarget::DateTime,
            K::Year => CastTarget::Year,
            K::Decimal | K::Dec => CastTarget::Decimal,
            K::Float | K::Float4 => CastTarget::Float,
            K::Real if self.mode.real_as_float => CastTarget::Float,
            K::Double | K::Real | K::Float8 => CastTarget::Double,
            K::Json => CastTarget::Json,
            _ => CastTarget::Geometry(geometry_type(word).ok_or_else(|| self.syntax_error())?),
        };
        self.advance();
        let mut cast =
            CastType { target, length: None, decimals: None, charset: None, binary: false, array: false };
        match target {
            CastTarget::Signed | CastTarget::Unsigned => {
                self.accept_one_of(&[K::Int, K::Integer]);
            }
            CastTarget::Double if word == K::Double => {
                self.accept_keyword(K::Precision);
            }
            CastTarget::NationalChar if word == K::National => {
                self.expect_one_of(&[K::Char, K::Character])?;
            }
            _ => {}
        }
        let takes_length = matches!(
            target,
            CastTarget::Char
                | CastTarget::NationalChar
                | CastTarget::Binary
                | CastTarget::Time
                | CastTarget::DateTime
                | CastTarget::Decimal
                | CastTarget::Float
        );
        if takes_length && self.accept(T::LeftParen) {
            cast.length = Some(self.type_length()?);
            if target == CastTarget::Decimal && self.accept(T::Comma) {
                cast.decimals = Some(self.type_length()?);
            }
            self.expect(T::RightParen)?;
        }
        if target == CastTarget::Char {
            (cast.charset, cast.binary) = self.charset_attribute()?;
        }
        Ok(cast)
    }

    /// `CHARACTER SET x`, `CHARSET x`, `ASCII`, `UNICODE`, `BYTE`, each with BINARY before or after it: the
    /// character set and whether BINARY was written.
    pub fn charset_attribute(&mut self) -> Result<(Option<Ident<'a>>, bool)> {
        let mut binary = self.accept_keyword(K::Binary);
        let token = self.peek();
        let span = Span::new(token.start, token.end);
        let charset = match token.keyword {
            K::Charset => {
                self.advance();
                Some(self.charset_name()?)
            }
            K::Character | K::Char if self.keyword_at(1) == K::Set => {
                self.advance();
                self.advance();
                Some(self.charset_name()?)
            }
            K::Ascii => Some(Ident { name: "latin1", span }),
            K::Unicode => Some(Ident { name: "ucs2", span }),
            K::Byte => Some(Ident { name: "binary", span }),
            _ => None,
        };
        if matches!(token.keyword, K::Ascii | K::Unicode | K::Byte) {
            self.advance();
        }
        binary |= self.accept_keyword(K::Binary);
        Ok((charset, binary))
    }

    /// A character set's name: a word, a string, or the keyword BINARY.
    pub fn charset_name(&mut self) -> Result<Ident<'a>> {
        if self.at_keyword(K::Binary) {
            return self.ident_after_dot();
        }
        self.ident_or_string()
    }

    /// A collation's name: a word, a string, or the keyword BINARY.
    pub fn collation_name(&mut self) -> Result<Ident<'a>> {
        self.charset_name()
    }
}

pub fn geometry_type(word: K) -> Option<TypeName> {
    let name = match word {
        K::Geometry => TypeName::Geometry,
        K::Point => TypeName::Point,
        K::Linestring => TypeName::LineString,
        K::Polygon => TypeName::Polygon,
        K::Multipoint => TypeName::MultiPoint,
        K::Multilinestring => TypeName::MultiLineString,
        K::Multipolygon => TypeName::MultiPolygon,
        K::Geometrycollection | K::Geomcollection => TypeName::GeometryCollection,
        _ => return None,
    };
    Some(name)
}
