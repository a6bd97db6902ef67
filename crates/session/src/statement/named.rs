//! PREPARE, EXECUTE and DEALLOCATE as SQL.
use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use datum::{SqlError, Value, error_code};
use expression::{ReadParameter, SessionServices};
use instance::{PreparedSight, TypedPlan};
use parser::ast::{Ident, PreparedSource};

use super::prepared::PreparedStatement;
use super::query::planned::PLAN_ATTEMPTS_MAX;
use super::work::{SavedPlan, StatementWork};
use super::{Done, Effects};
use crate::session::Session;
use session_state::guard::Shield;
use session_state::sink::ResultSink;

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
        let unknown = || error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&name, &"EXECUTE"]);
        let has_plan_alone = self.named_statements.get(&key).ok_or_else(unknown)?.statement.has_plan_alone();
        let mut parameters: Vec<Value> = using
            .iter()
            .map(|variable| self.shared.user_variable(variable))
            .map(|value| value.map_or(Value::Null, |(value, _)| value))
            .collect();
        let is_unlimited = self.programs.depth() > 0 || self.settings.max_execution_time_ms == 0;
        if has_plan_alone && is_unlimited && self.identifier.is_automatic() {
            return pin!(self.execute_plan_of(&key, parameters, shield, sink)).await;
        }
        let (key, mut named) = self.named_statements.remove_entry(&key).ok_or_else(unknown)?;
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

    /// Runs the plan of a prepared statement as the statement that names it, whose guard is enough for both.
    async fn execute_plan_of(
        &mut self,
        key: &str,
        mut parameters: Vec<Value>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        for attempt in 0..PLAN_ATTEMPTS_MAX {
            let (plan, sight) = self.plan_of_named(key, &mut parameters, attempt > 0)?;
            let traced = (attempt == 0 && self.settings.optimizer_trace).then_some(sight.text.as_ref());
            self.observed.prepared = Some(sight.clone());
            let (prepared, rows) = (plan.prepared.clone(), &plan.rows);
            let work = SavedPlan { prepared, rows, traced, parameters: &mut parameters };
            let result = pin!(work.run(self, shield, sink)).await;
            if result.is_ok() || !self.statements.plan_is_stale() {
                return result;
            }
        }
        Err(error_code::ER_TABLE_DEF_CHANGED.plain())
    }

    /// The plan for these parameters, to which values are added that the plan has read from them.
    fn plan_of_named(
        &mut self,
        key: &str,
        parameters: &mut Vec<Value>,
        kept_is_stale: bool,
    ) -> Result<(Arc<TypedPlan>, Arc<PreparedSight>), SqlError> {
        let unknown = || error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&key, &"EXECUTE"]);
        let statement = &self.named_statements.get(key).ok_or_else(unknown)?.statement;
        let sight = statement.sight.clone();
        if kept_is_stale {
            parameters.truncate(statement.parameter_count());
        }
        if parameters.len() != statement.parameter_count() {
            return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"EXECUTE"]));
        }
        let plan = match self.kept_plan(statement, parameters).filter(|_| !kept_is_stale) {
            Some(plan) => plan,
            None => {
                let mut named = self.named_statements.remove(key).ok_or_else(unknown)?;
                let plan = self.current_plan(&mut named.statement, parameters, kept_is_stale);
                self.named_statements.insert(key.to_owned(), named);
                plan?
            }
        };
        ReadParameter::extend(&plan.prepared.plan.readings, parameters);
        Ok((plan, sight))
    }

    pub(super) fn deallocate(&mut self, name: Ident<'_>) -> Result<Done, SqlError> {
        match self.named_statements.remove(&name.name.to_lowercase()) {
            Some(_) => Ok(Done::ok()),
            None => Err(error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&name.name, &"DEALLOCATE PREPARE"])),
        }
    }
}
