//! Names, strings and other literals as text.
use super::Restorer;
use crate::ast::{Literal, LiteralValue};
use std::fmt::{Formatter, Result, Write};

pub fn write_quoted_name(out: &mut Formatter<'_>, name: &str) -> Result {
    out.write_char('`')?;
    for (index, part) in name.split('`').enumerate() {
        if index > 0 {
            out.write_str("``")?;
        }
        out.write_str(part)?;
    }
    out.write_char('`')
}

/// A string in single quotes, with backslash escapes.
pub fn write_string(out: &mut Formatter<'_>, text: &str) -> Result {
    out.write_char('\'')?;
    for character in text.chars() {
        match character {
            '\'' => out.write_str("\\'")?,
            '\\' => out.write_str("\\\\")?,
            '\0' => out.write_str("\\0")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\u{1A}' => out.write_str("\\Z")?,
            other => out.write_char(other)?,
        }
    }
    out.write_char('\'')
}

fn write_hex(out: &mut Formatter<'_>, bytes: &[u8]) -> Result {
    out.write_str("x'")?;
    for byte in bytes {
        write!(out, "{byte:02x}")?;
    }
    out.write_char('\'')
}

fn write_bits(out: &mut Formatter<'_>, bytes: &[u8]) -> Result {
    out.write_str("b'")?;
    for byte in bytes {
        write!(out, "{byte:08b}")?;
    }
    out.write_char('\'')
}

impl Restorer<'_, '_, '_> {
    pub fn literal(&mut self, literal: &Literal<'_>) -> Result {
        match literal.value {
            LiteralValue::Integer(value) => write!(self.out, "{value}"),
            LiteralValue::Decimal(digits) | LiteralValue::Float(digits) => self.text(digits),
            LiteralValue::String { bytes, charset } => {
                let charset = charset.or(self.options.string_charset);
                match std::str::from_utf8(bytes) {
                    Ok(text) => {
                        self.introducer(charset, "")?;
                        write_string(self.out, text)
                    }
                    Err(_) => {
                        self.introducer(charset, " ")?;
                        write_hex(self.out, bytes)
                    }
                }
            }
            LiteralValue::Hex { bytes, charset } => {
                self.introducer(charset, " ")?;
                write_hex(self.out, bytes)
            }
            LiteralValue::Bit { bytes, charset } => {
                self.introducer(charset, " ")?;
                write_bits(self.out, bytes)
            }
        }
    }

    /// `after` keeps the introducer apart from a literal that begins with a letter.
    fn introducer(&mut self, charset: Option<&str>, after: &str) -> Result {
        match charset {
            // MySQL shows the set by the name that it has today.
            Some(charset) if charset.eq_ignore_ascii_case("utf8") => write!(self.out, "_utf8mb3{after}"),
            Some(charset) => write!(self.out, "_{}{after}", charset.to_ascii_lowercase()),
            None => Ok(()),
        }
    }

    /// A string that takes no introducer: a path, a separator, a date.
    pub fn plain_literal(&mut self, literal: &Literal<'_>) -> Result {
        match literal.value {
            LiteralValue::String { bytes, .. } => match std::str::from_utf8(bytes) {
                Ok(text) => write_string(self.out, text),
                Err(_) => write_hex(self.out, bytes),
            },
            _ => self.literal(literal),
        }
    }

    pub fn string(&mut self, text: &str) -> Result {
        write_string(self.out, text)
    }
}
