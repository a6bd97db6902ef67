//! The entry points.
use crate::ast::{CodeKind, Expr, Statement};
use crate::grammar::{Parser, ProgramNames};
use crate::lexer::{Keyword, Token, TokenKind, tokenize, tokenize_all};
use crate::limits::TEXT_LENGTH_MAX;
use crate::{ParseError, ParseErrorKind, SqlMode};
use bumpalo::Bump;

/// How the text is to be read. The text must be UTF-8 outside of string literals: a session whose
/// `character_set_client` is another one converts the text first.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParseOptions {
    pub mode: SqlMode,
    /// `?` is a parameter; otherwise it is a syntax error.
    pub parameters: bool,
}

/// What the text of a statement lets the session do with its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiteralUse {
    /// A literal is part of the structure (a type's length, an alias, an option, a date, a path, adjacent strings):
    /// statements with the same digest can mean different things. All other literals are `ExprKind::Literal`.
    pub structural: bool,
    /// `ORDER BY 1` or `GROUP BY 1`: the literal names a column.
    pub ordinal: bool,
    /// A literal stands in a SELECT list: the result column's name or type depends on its text.
    pub in_select_list: bool,
}

impl LiteralUse {
    /// Whether a plan may be kept under the digest and bound to the literals of another text.
    pub fn is_shareable(self) -> bool {
        !(self.structural || self.ordinal || self.in_select_list)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Parsed<'a> {
    pub statement: Statement<'a>,
    /// Where the next statement begins: after the `;`, or the text's length.
    pub consumed: usize,
    pub literal_count: u32,
    pub parameter_count: u32,
    pub literal_use: LiteralUse,
}

/// Parses a text that holds one statement; a `;` may end it, and a second statement is a syntax error.
pub fn parse<'a>(text: &'a [u8], options: ParseOptions, arena: &'a Bump) -> Result<Parsed<'a>, ParseError> {
    let parsed = parse_one(text, options, arena)?;
    if parsed.consumed == text.len() {
        return Ok(parsed);
    }
    // What follows may be white space and comments only.
    let rest = tokenize(&text[parsed.consumed..], options.mode, arena);
    match rest.tokens[0].kind {
        TokenKind::End if parsed.consumed + rest.consumed == text.len() => Ok(parsed),
        _ => {
            let tokens = tokenize(text, options.mode, arena);
            let parser = Parser::new(text, options, &tokens, arena);
            Err(*parser.syntax_error_from(parsed.consumed as u32 + rest.tokens[0].start))
        }
    }
}

/// Parses the first statement of a text that may hold several. Literal ordinals, parameter indexes and spans count
/// from the start of `text`.
pub fn parse_one<'a>(
    text: &'a [u8],
    options: ParseOptions,
    arena: &'a Bump,
) -> Result<Parsed<'a>, ParseError> {
    if text.len() > TEXT_LENGTH_MAX {
        let kind = ParseErrorKind::NotSupported { what: "a statement of 4 GiB or more".to_owned() };
        return Err(ParseError { kind, position: 0 });
    }
    let mut tokens = tokenize(text, options.mode, arena);
    let defines_program = may_define_program(tokens.tokens);
    if defines_program {
        tokens = tokenize_all(text, options.mode, arena);
    }
    let mut parser = Parser::new(text, options, &tokens, arena);
    let statement = parser.complete_statement().map_err(|error| *error)?;
    let consumed = if defines_program { parser.peek().end as usize } else { tokens.consumed };
    Ok(Parsed {
        statement,
        consumed,
        literal_count: tokens.literal_count,
        parameter_count: tokens.parameter_count,
        literal_use: parser.literal_use,
    })
}

/// Whether the statement may have a body, whose `;` do not end it.
fn may_define_program(tokens: &[Token]) -> bool {
    /// As long as the words before the object's get, with a definer among them.
    const HEAD_TOKENS: usize = 12;
    let names_program = |token: &Token| {
        matches!(token.keyword, Keyword::Procedure | Keyword::Function | Keyword::Trigger | Keyword::Event)
    };
    matches!(tokens[0].keyword, Keyword::Create | Keyword::Alter)
        && tokens.iter().take(HEAD_TOKENS).any(names_program)
}

/// A piece of SQL of a stored program's body, read by itself.
#[derive(Debug, Clone, Copy)]
pub enum Piece<'a> {
    Statement(Statement<'a>),
    Expression(Expr<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct ParsedPiece<'a> {
    pub piece: Piece<'a>,
    /// The slots that it reads, by the index of the parameter that stands for each.
    pub used: &'a [u32],
}

/// Reads a piece of SQL again whose program was read before: `text` is the piece's own, the scope and the row's columns
/// are those that it had there.
pub fn parse_piece<'a>(
    text: &'a [u8],
    mode: SqlMode,
    kind: CodeKind,
    names: ProgramNames<'a>,
    arena: &'a Bump,
) -> Result<ParsedPiece<'a>, ParseError> {
    let tokens = tokenize_all(text, mode, arena);
    let options = ParseOptions { mode, parameters: false };
    let mut parser = Parser::new(text, options, &tokens, arena);
    parser.program = Some(Box::new(names));
    let piece = parser.piece(kind).map_err(|error| *error)?;
    let used = arena.alloc_slice_copy(&parser.names().used);
    Ok(ParsedPiece { piece, used })
}
