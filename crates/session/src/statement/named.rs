//! PREPARE, EXECUTE and DEALLOCATE as SQL.
use std::borrow::Cow;

use datum::{SqlError, Value, error_code};
use expression::SessionServices;
use parser::ast::{Ident, PreparedSource};

use super::guard::Shield;
use super::prepared::PreparedStatement;
use super::{Done, Effects};
use crate::session::Session;
use crate::sink::ResultSink;

/// A statement prepared by SQL; names ignore letter case.
pub struct NamedStatement {
    statement: PreparedStatement,
}

impl Session {
    pub(super) fn prepare_named(
        &mut self,
        name: Ident<'_>,
        source: PreparedSource<'_>,
    ) -> Result<Done, SqlError> {
        let key = name.name.to_lowercase();
        // A name that is prepared again is forgotten even when the new text is wrong.
        self.named_statements.remove(&key);
        let text: Cow<'_, [u8]> = match source {
            PreparedSource::Text(text) => text.into(),
            PreparedSource::UserVariable(variable) => {
                let value = self.shared.user_variable(&variable.name.to_lowercase());
                match value {
                    Some((Value::Bytes(bytes), _)) => bytes.into(),
                    // MySQL reads the text "NULL", or the number's digits: neither is a statement.
                    _ => b"NULL"[..].into(),
                }
            }
        };
        let statement = self.prepare_text(&text)?;
        statement.sight.set_name(&key);
        self.named_statements.insert(key, NamedStatement { statement });
        Ok(Done::Ok(Effects { info: "Statement prepared".into(), ..Effects::default() }))
    }

    /// `using` are names of user variables in lower case.
    pub(crate) async fn execute_named(
        &mut self,
        name: &str,
        using: &[String],
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let key = name.to_lowercase();
        let Some((key, mut named)) = self.named_statements.remove_entry(&key) else {
            return Err(error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&name, &"EXECUTE"]));
        };
        let mut parameters: Vec<Value> = using
            .iter()
            .map(|variable| self.shared.user_variable(variable))
            .map(|value| value.map_or(Value::Null, |(value, _)| value))
            .collect();
        // The executed statement has a guard of its own, which knows what of it must not be left half-way; this one
        // would drop it in the middle of that, and the name with it.
        self.observed.prepared = Some(named.statement.sight.clone());
        shield.raise();
        // It may be anything but another EXECUTE, so this goes one level deep.
        let result = Box::pin(self.run_prepared(&mut named.statement, &mut parameters, sink)).await;
        shield.lower();
        self.named_statements.insert(key, named);
        result
    }

    pub(super) fn deallocate(&mut self, name: Ident<'_>) -> Result<Done, SqlError> {
        match self.named_statements.remove(&name.name.to_lowercase()) {
            Some(_) => Ok(Done::ok()),
            None => Err(error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&name.name, &"DEALLOCATE PREPARE"])),
        }
    }
}
