//! The lexer's rules.
//!
//! Versioned comments are dissolved here: the content of `/*!80000 .. */` becomes tokens when the version is not
//! beyond ours, and vanishes otherwise.
use super::{Keyword, Token, TokenKind, scan};
use crate::SqlMode;
use crate::limits::VERSION;
use bumpalo::Bump;
use bumpalo::collections::Vec;

/// All tokens of one statement; the last one is `End`.
pub struct Tokens<'a> {
    pub tokens: &'a [Token],
    /// Where the next statement begins: after the `;`.
    pub consumed: usize,
    pub literal_count: u32,
    pub parameter_count: u32,
    /// Where the dissolved comments were, each from its first byte to behind its last.
    pub versioned_comments: &'a [(usize, usize)],
}

pub fn tokenize<'a>(text: &[u8], mode: SqlMode, arena: &'a Bump) -> Tokens<'a> {
    tokens_of(text, mode, false, arena)
}

/// The tokens of the whole text, each `;` an `End` among them: for the bodies of stored programs.
pub fn tokenize_all<'a>(text: &[u8], mode: SqlMode, arena: &'a Bump) -> Tokens<'a> {
    tokens_of(text, mode, true, arena)
}

fn tokens_of<'a>(text: &[u8], mode: SqlMode, passes_semicolons: bool, arena: &'a Bump) -> Tokens<'a> {
    // A point select has one token for each 4 bytes or so; a bulk INSERT grows from here.
    let capacity = (text.len() / 4 + 4).min(256);
    let tokens = Vec::with_capacity_in(capacity, arena);
    let mut lexer = Lexer {
        text,
        mode,
        position: 0,
        tokens,
        in_versioned_comment: false,
        comment_start: 0,
        versioned_comments: Vec::new_in(arena),
        passes_semicolons,
        literal_count: 0,
        parameter_count: 0,
    };
    let consumed = lexer.run();
    let Lexer { tokens, literal_count, parameter_count, versioned_comments, .. } = lexer;
    let (tokens, versioned_comments) = (tokens.into_bump_slice(), versioned_comments.into_bump_slice());
    Tokens { tokens, consumed, literal_count, parameter_count, versioned_comments }
}

/// The work of a long text is counted in pieces of so many tokens.
const TOKENS_COUNTED: usize = 128;
const TICKS_PER_TOKEN: usize = 32;

struct Lexer<'a, 't> {
    text: &'t [u8],
    mode: SqlMode,
    position: usize,
    tokens: Vec<'a, Token>,
    in_versioned_comment: bool,
    /// Of the versioned comment that the lexer is in.
    comment_start: usize,
    versioned_comments: Vec<'a, (usize, usize)>,
    passes_semicolons: bool,
    literal_count: u32,
    parameter_count: u32,
}

impl Lexer<'_, '_> {
    fn run(&mut self) -> usize {
        loop {
            while self.byte(0).is_some_and(scan::is_space) {
                self.position += 1;
            }
            let Some(byte) = self.byte(0) else {
                self.end_of_text();
                return self.text.len();
            };
            match byte {
                b';' if self.passes_semicolons => self.push(TokenKind::End, self.position + 1),
                b';' => {
                    self.push(TokenKind::End, self.position);
                    return self.position + 1;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => self.word(byte),
                b'0'..=b'9' => self.number(),
                b'\'' => self.string(TokenKind::String, 0),
                b'"' if self.mode.ansi_quotes => self.quoted_ident(),
                b'"' => self.string(TokenKind::String, 0),
                b'`' => self.quoted_ident(),
                b'.' => self.dot(),
                b'@' => self.at(),
                b'?' => {
                    self.push(TokenKind::Question, self.position + 1);
                    self.parameter_count += 1;
                }
                b'#' => self.position = scan::line_comment_end(self.text, self.position),
                b'-' if scan::is_dash_comment(self.text, self.position) => {
                    self.position = scan::line_comment_end(self.text, self.position);
                }
                b'/' if self.byte(1) == Some(b'*') => self.block_comment(),
                b'*' if self.in_versioned_comment && self.byte(1) == Some(b'/') => {
                    self.in_versioned_comment = false;
                    self.position += 2;
                    self.versioned_comments.push((self.comment_start, self.position));
                }
                _ => self.sign(byte),
            }
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.position + ahead).copied()
    }

    fn end_of_text(&mut self) {
        if self.in_versioned_comment {
            self.push(TokenKind::Unknown, self.text.len());
        }
        self.push(TokenKind::End, self.text.len());
    }

    fn push(&mut self, kind: TokenKind, end: usize) {
        self.push_word(kind, end, Keyword::None);
    }

    fn push_word(&mut self, kind: TokenKind, end: usize, keyword: Keyword) {
        if self.tokens.len() % TOKENS_COUNTED == TOKENS_COUNTED - 1 {
            env::tick_long(TOKENS_COUNTED * TICKS_PER_TOKEN);
        }
        // Else the lexer could stand still. An unclosed versioned comment ends in an `Unknown` without text.
        debug_assert!(end > self.position || matches!(kind, TokenKind::End | TokenKind::Unknown));
        let ordinal = match kind {
            TokenKind::Question => self.parameter_count,
            kind if kind.is_literal() => {
                self.literal_count += 1;
                self.literal_count - 1
            }
            _ => 0,
        };
        self.tokens.push(Token { kind, keyword, start: self.position as u32, end: end as u32, ordinal });
        self.position = end;
    }

    /// The rest of the text is one unreadable token: the error that it causes quotes it from here.
    fn unreadable(&mut self) {
        self.push(TokenKind::Unknown, self.text.len());
    }

    /// A word right after `name.` is an identifier whatever it says.
    fn follows_dot(&self) -> bool {
        let [.., before, dot] = self.tokens.as_slice() else { return false };
        dot.kind == TokenKind::Dot
            && dot.end as usize == self.position
            && before.end == dot.start
            && is_name(before.kind)
    }

    fn word(&mut self, first: u8) {
        let follows_dot = self.follows_dot();
        if self.byte(1) == Some(b'\'') && !follows_dot {
            match first {
                b'x' | b'X' => return self.digits_in_quotes(TokenKind::Hex),
                b'b' | b'B' => return self.digits_in_quotes(TokenKind::Bit),
                b'n' | b'N' => return self.string(TokenKind::NationalString, 1),
                _ => {}
            }
        }
        let end = scan::word_end(self.text, self.position);
        let word = &self.text[self.position..end];
        if first == b'_' && is_charset(&word[1..]) && !follows_dot {
            return self.push(TokenKind::Introducer, end);
        }
        let keyword = if follows_dot { Keyword::None } else { self.keyword(word, end) };
        self.push_word(TokenKind::Word, end, keyword);
    }

    /// The keyword that a word is. A word before a point and another word is a name; the names of some functions are
    /// keywords only before a parenthesis.
    fn keyword(&self, word: &[u8], end: usize) -> Keyword {
        let names_a_table = self.text.get(end) == Some(&b'.')
            && self.text.get(end + 1).is_some_and(|&byte| scan::is_word_byte(byte))
            && self.tokens.last().is_none_or(|token| token.kind != TokenKind::AtAt);
        if names_a_table {
            return Keyword::None;
        }
        let keyword = Keyword::of(word);
        if keyword.is_function_name() && !self.paren_follows(end) {
            return Keyword::None;
        }
        keyword
    }

    fn paren_follows(&self, end: usize) -> bool {
        let mut rest = &self.text[end..];
        if self.mode.ignore_space {
            rest = rest.trim_ascii_start();
        }
        rest.first() == Some(&b'(')
    }

    /// What begins with a digit, or with a point before one.
    fn number(&mut self) {
        if self.byte(0) != Some(b'.') && self.follows_dot() {
            return self.push(TokenKind::Word, scan::word_end(self.text, self.position));
        }
        let (shape, end) = scan::number_end(self.text, self.position);
        let kind = match shape {
            scan::NumberShape::Integer => TokenKind::Integer,
            scan::NumberShape::Decimal => TokenKind::Decimal,
            scan::NumberShape::Float => TokenKind::Float,
            scan::NumberShape::Hex => TokenKind::Hex,
            scan::NumberShape::Bit => TokenKind::Bit,
            scan::NumberShape::Word => TokenKind::Word,
        };
        self.push(kind, end);
    }

    fn dot(&mut self) {
        let is_number = self.byte(1).is_some_and(|byte| byte.is_ascii_digit());
        // After an unquoted name even digits are a name: `t.1`.
        let after_name = self.tokens.last().is_some_and(|token| {
            token.end as usize == self.position && is_name(token.kind) && token.kind != TokenKind::QuotedIdent
        });
        if is_number && !after_name {
            return self.number();
        }
        self.push(TokenKind::Dot, self.position + 1);
    }

    /// A string after a prefix of `prefix` bytes.
    fn string(&mut self, kind: TokenKind, prefix: usize) {
        match scan::quoted_end(self.text, self.position + prefix, !self.mode.no_backslash_escapes) {
            Some((end, _)) => self.push(kind, end),
            None => self.unreadable(),
        }
    }

    fn quoted_ident(&mut self) {
        match scan::quoted_end(self.text, self.position, false) {
            Some((end, _)) => self.push(TokenKind::QuotedIdent, end),
            None => self.unreadable(),
        }
    }

    /// `x'4142'` and `b'01'`: whether the digits are right is for the parser to say.
    fn digits_in_quotes(&mut self, kind: TokenKind) {
        match scan::quoted_end(self.text, self.position + 1, false) {
            Some((end, _)) => self.push(kind, end),
            None => self.unreadable(),
        }
    }

    fn at(&mut self) {
        match self.byte(1) {
            Some(b'@') => self.push(TokenKind::AtAt, self.position + 2),
            Some(b'\'' | b'"' | b'`') => {
                let backslash = !self.mode.no_backslash_escapes && self.byte(1) != Some(b'`');
                match scan::quoted_end(self.text, self.position + 1, backslash) {
                    Some((end, _)) => self.push(TokenKind::AtName, end),
                    None => self.unreadable(),
                }
            }
            _ => {
                let mut end = self.position + 1;
                while self.text.get(end).is_some_and(|&byte| scan::is_word_byte(byte) || byte == b'.') {
                    end += 1;
                }
                self.push(TokenKind::AtName, end);
            }
        }
    }

    fn block_comment(&mut self) {
        match self.byte(2) {
            Some(b'!') => self.versioned_comment(),
            Some(b'+') if self.may_have_hints() => match scan::block_comment_end(self.text, self.position) {
                Some(end) => self.push(TokenKind::Hint, end),
                None => self.unreadable(),
            },
            _ => match scan::block_comment_end(self.text, self.position) {
                Some(end) => self.position = end,
                None => self.unreadable(),
            },
        }
    }

    fn may_have_hints(&self) -> bool {
        self.tokens.last().is_some_and(|token| {
            matches!(
                token.keyword,
                Keyword::Select | Keyword::Insert | Keyword::Replace | Keyword::Update | Keyword::Delete
            )
        })
    }

    /// `/*!`, `/*!50503`, `/*!080400`: five or six digits, or none, which always executes.
    fn versioned_comment(&mut self) {
        let digits = self.position + 3;
        let count = self.text[digits..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
        if count < 5 {
            self.enter_versioned_comment(digits);
            return;
        }
        let version =
            scan::integer_value(&self.text[digits..digits + count]).expect("six digits fit 64 bits");
        if version <= u64::from(VERSION) {
            self.enter_versioned_comment(digits + count);
            return;
        }
        match self.skipped_comment_end(digits) {
            Some(end) => self.position = end,
            None => self.unreadable(),
        }
    }

    fn enter_versioned_comment(&mut self, content: usize) {
        if !self.in_versioned_comment {
            self.comment_start = self.position;
        }
        self.in_versioned_comment = true;
        self.position = content;
    }

    /// A versioned comment that is skipped may hold comments of its own.
    fn skipped_comment_end(&self, mut position: usize) -> Option<usize> {
        loop {
            match (self.text.get(position)?, self.text.get(position + 1)) {
                (b'*', Some(b'/')) => return Some(position + 2),
                (b'/', Some(b'*')) => position = scan::block_comment_end(self.text, position)?,
                _ => position += 1,
            }
        }
    }

    fn sign(&mut self, byte: u8) {
        use TokenKind::*;
        let (kind, length) = match (byte, self.byte(1), self.byte(2)) {
            (b'(', ..) => (LeftParen, 1),
            (b')', ..) => (RightParen, 1),
            (b'{', ..) => (LeftBrace, 1),
            (b'}', ..) => (RightBrace, 1),
            (b',', ..) => (Comma, 1),
            (b':', Some(b'='), _) => (Assign, 2),
            (b':', ..) => (Colon, 1),
            (b'+', ..) => (Plus, 1),
            (b'-', Some(b'>'), Some(b'>')) => (LongArrow, 3),
            (b'-', Some(b'>'), _) => (Arrow, 2),
            (b'-', ..) => (Minus, 1),
            (b'*', ..) => (Star, 1),
            (b'/', ..) => (Slash, 1),
            (b'%', ..) => (Percent, 1),
            (b'^', ..) => (Caret, 1),
            (b'&', Some(b'&'), _) => (AndAnd, 2),
            (b'&', ..) => (Ampersand, 1),
            (b'|', Some(b'|'), _) => (PipePipe, 2),
            (b'|', ..) => (Pipe, 1),
            (b'~', ..) => (Tilde, 1),
            (b'!', Some(b'='), _) => (NotEqual, 2),
            (b'!', ..) => (Bang, 1),
            (b'=', ..) => (Equal, 1),
            (b'<', Some(b'='), Some(b'>')) => (NullSafeEqual, 3),
            (b'<', Some(b'='), _) => (LessOrEqual, 2),
            (b'<', Some(b'>'), _) => (NotEqual, 2),
            (b'<', Some(b'<'), _) => (ShiftLeft, 2),
            (b'<', ..) => (Less, 1),
            (b'>', Some(b'='), _) => (GreaterOrEqual, 2),
            (b'>', Some(b'>'), _) => (ShiftRight, 2),
            (b'>', ..) => (Greater, 1),
            _ => (Unknown, 1),
        };
        self.push(kind, self.position + length);
    }
}

/// Whether a point right after such a token belongs to a name.
fn is_name(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Word | TokenKind::QuotedIdent | TokenKind::Introducer)
}

/// The character sets that may be an introducer; another `_word` is an identifier.
fn is_charset(name: &[u8]) -> bool {
    const NAMES: [&str; 42] = [
        "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852",
        "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek",
        "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce",
        "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3",
        "utf8mb4",
    ];
    NAMES.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}
