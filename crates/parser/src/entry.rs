//! The entry points.
use crate::ast::Statement;
use crate::grammar::Parser;
use crate::lexer::{TokenKind, tokenize};
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
    let tokens = tokenize(text, options.mode, arena);
    let mut parser = Parser::new(text, options, &tokens, arena);
    let statement = parser.complete_statement().map_err(|error| *error)?;
    let consumed = if parser.takes_all_text { text.len() } else { tokens.consumed };
    Ok(Parsed {
        statement,
        consumed,
        literal_count: tokens.literal_count,
        parameter_count: tokens.parameter_count,
        literal_use: parser.literal_use,
    })
}
