//! Tokens: a kind and a place in the text. Values are taken from the text when the parser wants them.
use super::Keyword;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The end of the statement: a `;` or the end of the text.
    End,
    /// An unquoted word; `Token::keyword` says which keyword it is, if any.
    Word,
    /// `name` in backticks, or in double quotes under ANSI_QUOTES.
    QuotedIdent,
    Integer,
    Decimal,
    Float,
    String,
    /// `N'..'`
    NationalString,
    /// `x'..'` or `0x..`
    Hex,
    /// `b'..'` or `0b..`
    Bit,
    /// `_utf8mb4` and the like.
    Introducer,
    /// `@name`, `@'name'`, `@`name``; also the host part of an account name.
    AtName,
    /// `@@`
    AtAt,
    /// `?`
    Question,
    /// `/*+ .. */` where hints are allowed.
    Hint,
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    Comma,
    Dot,
    Colon,
    /// `:=`
    Assign,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Ampersand,
    /// `&&`
    AndAnd,
    Pipe,
    /// `||`
    PipePipe,
    Tilde,
    Bang,
    Equal,
    /// `<=>`
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    /// `->`
    Arrow,
    /// `->>`
    LongArrow,
    /// A character that begins no token, or a string or comment that is not closed.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
pub struct Token {
    pub kind: TokenKind,
    pub keyword: Keyword,
    pub start: u32,
    pub end: u32,
    /// For literals the literal's ordinal, for `?` the parameter's index.
    pub ordinal: u32,
}

impl TokenKind {
    pub fn is_literal(self) -> bool {
        use TokenKind::*;
        matches!(self, Integer | Decimal | Float | String | NationalString | Hex | Bit)
    }
}
