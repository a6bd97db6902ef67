//! What binding needs to know of the session. Made by the session for each statement.
use crate::switches::Switches;
use datum::{ColumnType, SqlError, Value};
use expression::BindContext;
use parser::ast::{DataType, VariableScope};

/// How the statement's literals get into the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literals {
    /// As constants: the plan is for this text only (or for a prepared statement).
    Inline,
    /// As parameters with the literal's ordinal as index: the plan can be kept by digest. Only for texts whose
    /// `LiteralUse::is_shareable`; they hold no `?`.
    Parameters,
}

/// Values of the session that statements name.
pub trait SessionValues {
    /// `@@name`; error 1193 for an unknown one. `name` is as written, with its instance prefix if any.
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<(Value, ColumnType), SqlError>;

    /// The type of a column as it is written, with the errors of CREATE TABLE.
    fn column_type(&self, data_type: &DataType<'_>, column: &str) -> Result<ColumnType, SqlError>;

    /// The type of `@name` (lower case) as it is set now, `None` when it never was.
    fn user_variable_type(&self, name: &str) -> Option<ColumnType>;
}

pub struct BinderContext<'a> {
    pub bind: BindContext,
    pub current_database: Option<&'a str>,
    pub literals: Literals,
    /// Types of the `?` parameters where a value was bound; missing ones are inferred.
    pub parameter_types: &'a [ColumnType],
    pub session: &'a dyn SessionValues,
    /// INSERT .. SELECT and the like lock the rows they read in share mode (REPEATABLE READ and above).
    pub lock_source_rows: bool,
    /// `optimizer_switch`.
    pub switches: Switches,
}
