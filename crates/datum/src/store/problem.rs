//! What can go wrong when a value is stored, and its MySQL error.
use crate::error::{Condition, Severity, SqlError};
use crate::error_code::{
    ER_BAD_NULL_ERROR, ER_DATA_TOO_LONG, ER_INCORRECT_VALUE_FOR_COLUMN, ER_INVALID_JSON_CHARSET,
    ER_INVALID_JSON_TEXT, ER_INVALID_JSON_VALUE_FOR_CAST, ER_TRUNCATED_WRONG_VALUE,
    ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_WARN_DATA_OUT_OF_RANGE, ER_WARN_INVALID_TIMESTAMP,
    WARN_DATA_TRUNCATED,
};
use crate::json::InvalidJson;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversionProblem {
    /// NULL for a NOT NULL column.
    Null,
    OutOfRange,
    /// Part of the value was ignored.
    Truncated,
    /// Digits or spaces that do not matter were cut.
    Shortened,
    TooLong,
    /// Not a value of the type at all.
    Incorrect {
        type_name: &'static str,
        text: String,
    },
    /// A text of which a number was read, and not to its end.
    Truncating {
        type_name: &'static str,
        text: String,
    },
    /// Not a date or time, or one that sql_mode forbids.
    IncorrectMoment {
        type_name: &'static str,
        text: String,
        /// Written as a moment is, but none of the calendar, the clock or the type.
        is_beyond: bool,
    },
    /// A moment that clocks of the session's zone skip.
    SkippedByZone {
        text: String,
    },
    /// The date or time part of a moment was dropped.
    PartDropped {
        type_name: &'static str,
        text: String,
    },
    InvalidJson(InvalidJson),
    JsonCharset {
        charset: &'static str,
    },
    /// A document that is no number.
    JsonValue {
        type_name: &'static str,
    },
}

/// A problem and how serious it is for this statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionError {
    pub problem: ConversionProblem,
    pub severity: Severity,
}

impl ConversionProblem {
    /// Problems that are notes whatever the mode.
    pub(super) fn is_note(&self) -> bool {
        matches!(self, ConversionProblem::Shortened | ConversionProblem::PartDropped { .. })
    }

    /// Problems for which there is no nearest value.
    pub(super) fn is_always_error(&self) -> bool {
        matches!(
            self,
            ConversionProblem::Null
                | ConversionProblem::InvalidJson(_)
                | ConversionProblem::JsonCharset { .. }
        )
    }
}

impl ConversionError {
    pub(super) fn error(problem: ConversionProblem) -> ConversionError {
        ConversionError { problem, severity: Severity::Error }
    }

    pub(super) fn warning(problem: ConversionProblem) -> ConversionError {
        ConversionError { problem, severity: Severity::Warning }
    }

    pub(super) fn note(problem: ConversionProblem) -> ConversionError {
        ConversionError { problem, severity: Severity::Note }
    }

    /// The MySQL error for a column (JSON errors want `table.column`) and the row's number in the statement, from 1.
    pub fn to_error(&self, column: &str, row: u64) -> SqlError {
        let is_error = self.severity == Severity::Error;
        match &self.problem {
            ConversionProblem::Null => ER_BAD_NULL_ERROR.with(&[&column]),
            ConversionProblem::OutOfRange => ER_WARN_DATA_OUT_OF_RANGE.with(&[&column, &row]),
            ConversionProblem::TooLong if is_error => ER_DATA_TOO_LONG.with(&[&column, &row]),
            ConversionProblem::Truncated | ConversionProblem::Shortened | ConversionProblem::TooLong => {
                WARN_DATA_TRUNCATED.with(&[&column, &row])
            }
            ConversionProblem::Incorrect { type_name, text } => {
                ER_TRUNCATED_WRONG_VALUE_FOR_FIELD.with(&[type_name, text, &column, &row])
            }
            ConversionProblem::Truncating { type_name, text } => {
                ER_TRUNCATED_WRONG_VALUE.with(&[type_name, text])
            }
            ConversionProblem::SkippedByZone { text } if is_error => {
                ER_INCORRECT_VALUE_FOR_COLUMN.with(&[&"datetime", text, &column, &row])
            }
            ConversionProblem::SkippedByZone { .. } => ER_WARN_INVALID_TIMESTAMP.with(&[&column, &row]),
            ConversionProblem::IncorrectMoment { is_beyond: true, .. } if !is_error => {
                ER_WARN_DATA_OUT_OF_RANGE.with(&[&column, &row])
            }
            ConversionProblem::IncorrectMoment { .. } if !is_error => {
                WARN_DATA_TRUNCATED.with(&[&column, &row])
            }
            ConversionProblem::IncorrectMoment { type_name, text, .. }
            | ConversionProblem::PartDropped { type_name, text } => {
                ER_INCORRECT_VALUE_FOR_COLUMN.with(&[type_name, text, &column, &row])
            }
            ConversionProblem::InvalidJson(invalid) => {
                ER_INVALID_JSON_TEXT.with(&[&invalid.reason, &invalid.position, &column])
            }
            ConversionProblem::JsonCharset { charset } => ER_INVALID_JSON_CHARSET.with(&[charset]),
            ConversionProblem::JsonValue { type_name } => {
                ER_INVALID_JSON_VALUE_FOR_CAST.with(&[type_name, &column, &row])
            }
        }
    }

    /// The same as a line of SHOW WARNINGS.
    pub fn to_condition(&self, column: &str, row: u64) -> Condition {
        Condition { severity: self.severity, error: self.to_error(column, row) }
    }
}
