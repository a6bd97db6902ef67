//! The entry points.
use crate::ast::{Span, Statement, StatementKind};
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
    /// A literal is part of the structure (a type's length, an alias, an option, adjacent strings): statements with
    /// the same digest can mean different things.
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
    parse_one(text, options, arena)
}

/// Parses the first statement of a text that may hold several. Literal ordinals, parameter indexes and spans count
/// from the start of `text`.
pub fn parse_one<'a>(
    text: &'a [u8],
    _options: ParseOptions,
    _arena: &'a Bump,
) -> Result<Parsed<'a>, ParseError> {
    if !text.trim_ascii().is_empty() {
        let kind = ParseErrorKind::NotSupported { what: "any statement".to_owned() };
        return Err(ParseError { kind, position: 0 });
    }
    let statement = Statement { kind: StatementKind::Empty, span: Span::default() };
    let literal_use = LiteralUse::default();
    Ok(Parsed { statement, consumed: text.len(), literal_count: 0, parameter_count: 0, literal_use })
}
