//! Why a text could not be parsed, with MySQL's error number, SQLSTATE and message.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    pub kind: ParseErrorKind,
    /// The byte offset in the text that `parse` was given.
    pub position: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// `near`: up to 80 bytes of the text from the offending token on; `line`: counted from 1.
    Syntax { near: String, line: u32 },
    /// Correct MySQL that this server does not know.
    NotSupported { what: String },
    /// Expressions or queries nest deeper than `NESTING_MAX`.
    TooDeep,
    /// A string that must be text is not valid UTF-8; its first bytes in hexadecimal.
    InvalidText { bytes: String },
    /// A rule that MySQL's parser checks itself, with its own error number.
    Rule { errno: u16, sqlstate: &'static str, message: String },
}

impl ParseError {
    pub fn errno(&self) -> u16 {
        match &self.kind {
            ParseErrorKind::Syntax { .. } => 1064,
            ParseErrorKind::NotSupported { .. } => 1235,
            ParseErrorKind::TooDeep => 1436,
            ParseErrorKind::InvalidText { .. } => 1300,
            ParseErrorKind::Rule { errno, .. } => *errno,
        }
    }

    pub fn sqlstate(&self) -> &'static str {
        match &self.kind {
            ParseErrorKind::Syntax { .. } | ParseErrorKind::NotSupported { .. } => "42000",
            ParseErrorKind::TooDeep | ParseErrorKind::InvalidText { .. } => "HY000",
            ParseErrorKind::Rule { sqlstate, .. } => sqlstate,
        }
    }

    pub fn message(&self) -> String {
        match &self.kind {
            ParseErrorKind::Syntax { near, line } => format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                 version for the right syntax to use near '{near}' at line {line}"
            ),
            ParseErrorKind::NotSupported { what } => {
                format!("This version of MySQL doesn't yet support '{what}'")
            }
            ParseErrorKind::TooDeep => format!(
                "Thread stack overrun: the statement nests more than {} levels deep",
                crate::limits::NESTING_MAX
            ),
            ParseErrorKind::InvalidText { bytes } => format!("Invalid utf8mb4 character string: '{bytes}'"),
            ParseErrorKind::Rule { message, .. } => message.clone(),
        }
    }
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ERROR {} ({}): {}", self.errno(), self.sqlstate(), self.message())
    }
}

impl std::error::Error for ParseError {}
