//! What a handler is asked for: an error or warning that a statement has raised.
use datum::{Severity, SqlError};
use parser::ast::{ConditionValue, HandledCondition};

/// The class of an SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Warning,
    NotFound,
    Exception,
}

impl Class {
    pub fn of(sqlstate: &[u8; 5]) -> Class {
        match &sqlstate[..2] {
            b"01" => Class::Warning,
            b"02" => Class::NotFound,
            _ => Class::Exception,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RaisedCondition<'e> {
    pub error: &'e SqlError,
    pub severity: Severity,
}

impl RaisedCondition<'_> {
    /// How well what a handler is declared for fits: the less, the better; `None` when it does not.
    pub fn fit(&self, handled: HandledCondition) -> Option<u8> {
        let class = Class::of(&self.error.sqlstate);
        let fits = match handled {
            HandledCondition::Value(ConditionValue::Errno(errno)) => {
                return (errno == self.error.errno).then_some(0);
            }
            HandledCondition::Value(ConditionValue::SqlState(state)) => {
                return (state == self.error.sqlstate).then_some(1);
            }
            HandledCondition::Warning => class == Class::Warning || self.severity == Severity::Warning,
            HandledCondition::NotFound => class == Class::NotFound,
            HandledCondition::Exception => class == Class::Exception && self.severity == Severity::Error,
        };
        fits.then_some(2)
    }
}
