//! The error every SQL layer returns: MySQL's number, SQLSTATE and message, and the warnings made like it.
//!
//! Invariant: an `SqlError` is made from a registered `ErrorCode`, so number, state and wording agree.
use std::fmt;

/// One entry of the registry in `error_code`: `%s` and `%d` in the template are filled in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    pub number: u16,
    pub state: [u8; 5],
    pub template: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    pub errno: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// A line of SHOW WARNINGS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub severity: Severity,
    pub error: SqlError,
}

impl ErrorCode {
    pub const fn new(number: u16, state: &str, template: &'static str) -> ErrorCode {
        let state = state.as_bytes();
        assert!(state.len() == 5, "an SQLSTATE has five characters");
        ErrorCode { number, state: [state[0], state[1], state[2], state[3], state[4]], template }
    }

    /// The error with its message placeholders filled in order.
    pub fn with(&self, arguments: &[&dyn fmt::Display]) -> SqlError {
        let mut message = String::with_capacity(self.template.len() + 16);
        let mut remaining = arguments.iter();
        let mut rest = self.template;
        while let Some(at) = rest.find('%') {
            message.push_str(&rest[..at]);
            rest = &rest[at..];
            if rest.starts_with("%s") || rest.starts_with("%d") {
                match remaining.next() {
                    Some(argument) => message.push_str(&argument.to_string()),
                    None => message.push_str(&rest[..2]),
                }
                rest = &rest[2..];
            } else {
                message.push('%');
                rest = &rest[1..];
            }
        }
        message.push_str(rest);
        debug_assert!(remaining.next().is_none(), "too many arguments for error {}", self.number);
        SqlError { errno: self.number, sqlstate: self.state, message }
    }

    /// The error of a template without placeholders.
    pub fn plain(&self) -> SqlError {
        self.with(&[])
    }
}

impl SqlError {
    pub fn is(&self, code: &ErrorCode) -> bool {
        self.errno == code.number
    }

    pub fn state(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("HY000")
    }

    /// This error as a line of SHOW WARNINGS.
    pub fn into_warning(self) -> Condition {
        Condition { severity: Severity::Warning, error: self }
    }

    pub fn into_note(self) -> Condition {
        Condition { severity: Severity::Note, error: self }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ERROR {} ({}): {}", self.errno, self.state(), self.message)
    }
}

impl std::error::Error for SqlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in_order() {
        const CODE: ErrorCode = ErrorCode::new(1234, "HY000", "100% of '%s' at row %d");
        let error = CODE.with(&[&"abc", &7]);
        assert_eq!(error.message, "100% of 'abc' at row 7");
        assert_eq!(error.to_string(), "ERROR 1234 (HY000): 100% of 'abc' at row 7");
    }
}
