//! The parser's state and its steps: look at a token, take it, or fail at it.
use super::program::ProgramNames;
use crate::ast::Span;
use crate::entry::{LiteralUse, ParseOptions};
use crate::hints::HintText;
use crate::lexer::{Keyword, Token, TokenKind, Tokens};
use crate::limits::{NEAR_LENGTH_MAX, NESTING_MAX};
use crate::{ParseError, ParseErrorKind, SqlMode};
use bumpalo::Bump;
use bumpalo::collections::Vec;

/// Boxed, because an error is rare and every step returns a result.
pub type Result<T> = std::result::Result<T, Box<ParseError>>;

pub struct Parser<'a> {
    pub text: &'a [u8],
    /// The same text when all of it is UTF-8, so that names need no check of their own.
    pub utf8: Option<&'a str>,
    pub arena: &'a Bump,
    pub mode: SqlMode,
    pub parameters_allowed: bool,
    tokens: &'a [Token],
    /// Always less than `tokens.len()`: the last token is `End` and is never passed.
    index: usize,
    depth: u32,
    /// The greatest height of the expressions and joins of the query (or statement) at hand.
    pub height_max: u32,
    pub literal_use: LiteralUse,
    /// How many SELECT lists surround the current token.
    pub select_list_depth: u32,
    /// The INTO of a SELECT block, until the query around it takes it.
    pub pending_into: Option<&'a crate::ast::Into<'a>>,
    /// Where the statement's first token begins.
    pub statement_start: u32,
    /// Query blocks begun so far.
    pub block_count: u32,
    /// The hint comments of the statement at hand.
    pub hint_texts: Vec<'a, HintText<'a>>,
    /// Inside a stored program: what its names mean.
    pub program: Option<Box<ProgramNames<'a>>>,
}

/// The work of a long list is counted in pieces of so many items.
const ITEMS_COUNTED: usize = 64;
const TICKS_PER_ITEM: usize = 128;

impl<'a> Parser<'a> {
    pub fn new(text: &'a [u8], options: ParseOptions, tokens: &Tokens<'a>, arena: &'a Bump) -> Parser<'a> {
        assert!(tokens.tokens.last().is_some_and(|token| token.kind == TokenKind::End));
        Parser {
            text,
            utf8: std::str::from_utf8(text).ok(),
            arena,
            mode: options.mode,
            parameters_allowed: options.parameters,
            tokens: tokens.tokens,
            index: 0,
            depth: 0,
            height_max: 0,
            literal_use: LiteralUse::default(),
            select_list_depth: 0,
            pending_into: None,
            statement_start: tokens.tokens[0].start,
            block_count: 0,
            hint_texts: Vec::new_in(arena),
            program: None,
        }
    }

    pub fn peek(&self) -> Token {
        self.tokens[self.index]
    }

    pub fn kind(&self) -> TokenKind {
        self.tokens[self.index].kind
    }

    pub fn keyword(&self) -> Keyword {
        self.tokens[self.index].keyword
    }

    /// The token `ahead` of the current one; `End` when there are not so many.
    pub fn peek_at(&self, ahead: usize) -> Token {
        self.tokens[(self.index + ahead).min(self.tokens.len() - 1)]
    }

    pub fn keyword_at(&self, ahead: usize) -> Keyword {
        self.peek_at(ahead).keyword
    }

    /// Takes the current token. At the end this stays where it is.
    pub fn advance(&mut self) -> Token {
        let token = self.tokens[self.index];
        if token.kind != TokenKind::End {
            self.index += 1;
        }
        token
    }

    /// Passes the `;` between two statements of a program's body.
    pub fn pass_semicolon(&mut self) -> bool {
        let is_inner = self.kind() == TokenKind::End && self.index + 1 < self.tokens.len();
        if is_inner {
            self.index += 1;
        }
        is_inner
    }

    pub fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    pub fn at_keyword(&self, keyword: Keyword) -> bool {
        debug_assert!(keyword != Keyword::None);
        self.keyword() == keyword
    }

    pub fn accept(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.advance();
        }
        found
    }

    pub fn accept_keyword(&mut self, keyword: Keyword) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// Takes all of the keywords or none of them.
    pub fn accept_keywords(&mut self, keywords: &[Keyword]) -> bool {
        let found = keywords.iter().enumerate().all(|(ahead, &keyword)| self.keyword_at(ahead) == keyword);
        if found {
            self.index += keywords.len();
        }
        found
    }

    pub fn expect(&mut self, kind: TokenKind) -> Result<Token> {
        if self.kind() == kind { Ok(self.advance()) } else { Err(self.syntax_error()) }
    }

    pub fn expect_keyword(&mut self, keyword: Keyword) -> Result<()> {
        if self.accept_keyword(keyword) { Ok(()) } else { Err(self.syntax_error()) }
    }

    pub fn expect_keywords(&mut self, keywords: &[Keyword]) -> Result<()> {
        keywords.iter().try_for_each(|&keyword| self.expect_keyword(keyword))
    }

    /// Takes one of the keywords, or fails.
    pub fn expect_one_of(&mut self, keywords: &[Keyword]) -> Result<Keyword> {
        self.accept_one_of(keywords).ok_or_else(|| self.syntax_error())
    }

    pub fn accept_one_of(&mut self, keywords: &[Keyword]) -> Option<Keyword> {
        let keyword = self.keyword();
        (keyword != Keyword::None && keywords.contains(&keyword)).then(|| self.advance().keyword)
    }

    /// `item, item, ..`: one or more.
    pub fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<&'a [T]>
    where
        T: 'a + Copy,
    {
        let mut items = Vec::new_in(self.arena);
        loop {
            items.push(item(self)?);
            if items.len() % ITEMS_COUNTED == 0 {
                env::tick_long(ITEMS_COUNTED * TICKS_PER_ITEM);
            }
            if !self.accept(TokenKind::Comma) {
                return Ok(items.into_bump_slice());
            }
        }
    }

    /// `(item, item, ..)`: one or more.
    pub fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<&'a [T]>
    where
        T: 'a + Copy,
    {
        self.expect(TokenKind::LeftParen)?;
        let items = self.comma_list(item)?;
        self.expect(TokenKind::RightParen)?;
        Ok(items)
    }

    pub fn alloc<T: Copy>(&self, value: T) -> &'a T {
        self.arena.alloc(value)
    }

    /// Runs `inner` one level deeper, or fails when that is too deep.
    pub fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= NESTING_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// The height of a node above others of the height `below`.
    pub fn height_above(&mut self, below: u32) -> Result<u32> {
        let height = below + 1;
        if height > NESTING_MAX {
            return Err(self.too_deep());
        }
        self.height_max = self.height_max.max(height);
        Ok(height)
    }

    /// Where the current token begins.
    pub fn start(&self) -> u32 {
        self.peek().start
    }

    /// The span from `start` to the end of the last token taken.
    pub fn span_from(&self, start: u32) -> Span {
        let end = if self.index == 0 { start } else { self.tokens[self.index - 1].end };
        Span::new(start, end.max(start))
    }

    pub fn syntax_error(&self) -> Box<ParseError> {
        self.syntax_error_at(self.peek())
    }

    /// Takes a keyword, whichever it is; its token is there for the error when it is the wrong one.
    pub fn advance_keyword(&mut self) -> (Keyword, Token) {
        let token = self.advance();
        (token.keyword, token)
    }

    pub fn syntax_error_at(&self, token: Token) -> Box<ParseError> {
        self.syntax_error_from(token.start)
    }

    pub fn syntax_error_from(&self, position: u32) -> Box<ParseError> {
        let position = position as usize;
        let mut end = (position + NEAR_LENGTH_MAX).min(self.text.len());
        // A message never ends inside a character.
        while end < self.text.len() && end > position && self.text[end] & 0xC0 == 0x80 {
            end -= 1;
        }
        let near = String::from_utf8_lossy(&self.text[position..end]).into_owned();
        let line = 1 + self.text[..position].iter().filter(|&&byte| byte == b'\n').count() as u32;
        Box::new(ParseError { kind: ParseErrorKind::Syntax { near, line }, position })
    }

    pub fn too_deep(&self) -> Box<ParseError> {
        Box::new(ParseError { kind: ParseErrorKind::TooDeep, position: self.start() as usize })
    }

    pub fn not_supported(&self, what: &str) -> Box<ParseError> {
        let kind = ParseErrorKind::NotSupported { what: what.to_owned() };
        Box::new(ParseError { kind, position: self.start() as usize })
    }

    /// An error with a number of its own, at `position`.
    pub fn rule_error(
        &self,
        position: u32,
        errno: u16,
        sqlstate: &'static str,
        message: String,
    ) -> Box<ParseError> {
        let kind = ParseErrorKind::Rule { errno, sqlstate, message };
        Box::new(ParseError { kind, position: position as usize })
    }
}
