//! The text format of SELECT .. INTO OUTFILE: what separates fields and lines, and what must be escaped for LOAD DATA to
//! read the same values.
//!
//! Invariant: the bytes are MySQL's for every combination of options, ambiguous ones included. Used by `outfile`.
use collation::Charset;
use datum::{ColumnType, SqlError, TypeKind, error_code};
use parser::ast::{FieldOptions, LineOptions};

use session::display_length;

/// Letters that mean something else behind an escape, and those that numbers are written with.
const ESCAPED_LETTERS: &[u8] = b"ntrb0ZN";
const NUMERIC_LETTERS: &[u8] = b".0123456789e+-";
/// A column that may be longer makes rows of fixed size impossible.
const FIXED_WIDTH_MAX: u32 = 1 << 24;

pub struct OutfileFormat {
    field_end: Vec<u8>,
    line_begin: Vec<u8>,
    line_end: Vec<u8>,
    quote: Option<u8>,
    quotes_text_only: bool,
    escape: Option<u8>,
    is_fixed: bool,
    /// A separator that an escaped letter, or a number, could be taken for.
    has_letter_separator: bool,
    has_numeric_separator: bool,
    is_ambiguous: bool,
}

/// What the format needs to know of a column.
pub struct OutfileColumn {
    pub is_text: bool,
    /// The character set of its text in the file.
    pub charset: Charset,
    /// In rows of fixed size.
    pub width: u32,
}

impl OutfileColumn {
    pub fn of(column_type: &ColumnType, charset: Option<Charset>) -> OutfileColumn {
        let own = column_type.collation.charset();
        OutfileColumn {
            is_text: is_text(&column_type.kind),
            charset: charset.filter(|_| own != Charset::Binary).unwrap_or(own),
            width: display_length(column_type, own),
        }
    }
}

/// Bits are text here.
fn is_text(kind: &TypeKind) -> bool {
    use TypeKind::*;
    !matches!(
        kind,
        Tiny | Short | Int24 | Long | LongLong | Decimal { .. } | Float { .. } | Double { .. } | Year
    )
}

/// Error 1083, and warning 1638 through `warn`: quotes and escapes are one character, and separators ASCII.
pub fn check_separators(
    fields: &FieldOptions<'_>,
    lines: &LineOptions<'_>,
    client: Charset,
    warn: &dyn Fn(SqlError),
) -> Result<(), SqlError> {
    let is_long = |text: Option<&[u8]>| text.is_some_and(|text| client.character_count(text) > 1);
    if is_long(fields.enclosed_by) || is_long(fields.escaped_by) {
        return Err(error_code::ER_WRONG_FIELD_TERMINATORS.plain());
    }
    let all =
        [fields.enclosed_by, fields.escaped_by, fields.terminated_by, lines.terminated_by, lines.starting_by];
    if all.into_iter().flatten().any(|text| !text.is_ascii()) {
        warn(error_code::WARN_NON_ASCII_SEPARATOR_NOT_IMPLEMENTED.plain());
    }
    Ok(())
}

impl OutfileFormat {
    /// `escapes` is whether a backslash escapes where nothing is said.
    pub fn new(
        fields: &FieldOptions<'_>,
        lines: &LineOptions<'_>,
        columns: &[OutfileColumn],
        escapes: bool,
    ) -> OutfileFormat {
        let text = |given: Option<&[u8]>, default: &[u8]| given.unwrap_or(default).to_vec();
        let field_end = text(fields.terminated_by, b"\t");
        let line_end = text(lines.terminated_by, b"\n");
        let quote = fields.enclosed_by.and_then(|quote| quote.first().copied());
        let escape = match fields.escaped_by {
            Some(escape) => escape.first().copied(),
            None => escapes.then_some(b'\\'),
        };
        // MySQL looks these up in C strings, whose end is found in all of them.
        let holds = |letters: &[u8], letter: Option<u8>| {
            letter.is_some_and(|letter| letter == 0 || letters.contains(&letter))
        };
        let separator = quote.or(field_end.first().copied());
        let quotes_text_only = match quote {
            None => true,
            Some(_) => fields.optionally_enclosed && !field_end.is_empty(),
        };
        let has_large = columns.iter().any(|column| column.width >= FIXED_WIDTH_MAX);
        // Nothing behind a large column is looked at.
        let seen = columns.iter().take_while(|column| column.width < FIXED_WIDTH_MAX);
        let (has_text, has_numbers) = seen.fold((false, false), |(text, numbers), column| {
            (text || column.is_text, numbers || !column.is_text)
        });
        let has_letter_separator = holds(ESCAPED_LETTERS, separator);
        let has_numeric_separator = holds(NUMERIC_LETTERS, separator);
        let is_ambiguous = has_letter_separator && quote.is_none() && (has_text || has_numeric_separator)
            || quotes_text_only && has_numbers && holds(NUMERIC_LETTERS, field_end.first().copied());
        OutfileFormat {
            is_fixed: field_end.is_empty() && quote.is_none() && !has_large,
            line_begin: text(lines.starting_by, b""),
            line_end: if line_end.is_empty() { field_end.clone() } else { line_end },
            field_end,
            quote,
            quotes_text_only,
            escape,
            has_letter_separator,
            has_numeric_separator,
            is_ambiguous,
        }
    }

    /// Warning 1475.
    pub fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    pub fn begin_line(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.line_begin);
    }

    pub fn end_line(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.line_end);
    }

    /// One field; `text` is in the column's character set, `None` is NULL.
    pub fn field(&self, text: Option<&[u8]>, column: &OutfileColumn, is_last: bool, out: &mut Vec<u8>) {
        let quote = self.quote.filter(|_| text.is_some() && (!self.quotes_text_only || column.is_text));
        out.extend(quote);
        let width = if self.is_fixed { column.width as usize } else { 0 };
        let used = match text {
            None if self.is_fixed => 0,
            None => {
                match self.escape {
                    Some(escape) => out.extend([escape, b'N']),
                    None => out.extend_from_slice(b"NULL"),
                }
                0
            }
            Some(text) => {
                let text = if self.is_fixed { &text[..text.len().min(width)] } else { text };
                match self.escape.filter(|_| column.is_text || self.has_numeric_separator) {
                    Some(escape) => self.escaped(text, column.charset, escape, quote.is_some(), out),
                    None => out.extend_from_slice(text),
                }
                text.len()
            }
        };
        out.resize(out.len() + width.saturating_sub(used), b' ');
        out.extend(quote);
        if !is_last {
            out.extend_from_slice(&self.field_end);
        }
    }

    fn escaped(&self, text: &[u8], charset: Charset, escape: u8, is_quoted: bool, out: &mut Vec<u8>) {
        let field_begin = self.field_end.first().copied();
        let separator = self.quote.or(field_begin);
        let ends_field = if is_quoted { separator } else { field_begin };
        let mut rest = text;
        while let Some(&byte) = rest.first() {
            let length = character_bytes(rest, charset);
            if length == 1 {
                let is_special = byte == escape
                    || Some(byte) == ends_field
                    || Some(byte) == self.line_end.first().copied()
                    || byte == 0;
                if is_special && (is_quoted || !self.is_ambiguous || Some(byte) != field_begin) {
                    let doubled = Some(byte) == separator && self.has_letter_separator;
                    out.push(if doubled { byte } else { escape });
                    out.push(if byte == 0 { b'0' } else { byte });
                } else {
                    out.push(byte);
                }
            } else {
                out.extend_from_slice(&rest[..length]);
            }
            rest = &rest[length..];
        }
    }
}

/// Of the first character; what is none counts byte by byte.
fn character_bytes(text: &[u8], charset: Charset) -> usize {
    if text[0] < 0x80 || !matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3) {
        return 1;
    }
    let length = match text[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let is_whole = text.get(..length).is_some_and(|bytes| std::str::from_utf8(bytes).is_ok());
    if is_whole { length } else { 1 }
}
