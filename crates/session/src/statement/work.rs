//! What is run under the guard of a statement: a parsed statement, or a plan that was kept.
//!
//! Called through `run_guarded_statement`, by texts, prepared statements and events.
use std::pin::pin;

use datum::SqlError;

use super::{Done, IdentifierUse, Request};
use crate::session::Session;
use instance::PieceRows;
use session_state::guard::Shield;
use session_state::sink::ResultSink;

/// A statement that is ready to run: parsed, or found in the plan cache.
pub(crate) trait StatementWork {
    /// What it does with an identifier that `gtid_next` has given.
    fn identifier_use(&self) -> IdentifierUse;

    async fn run(
        self,
        session: &mut Session,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError>;
}

pub(crate) struct ParsedStatement<'a> {
    pub request: Request<'a>,
    /// Under which the plan may be kept.
    pub digest: Option<parser::Digest>,
}

impl StatementWork for ParsedStatement<'_> {
    fn identifier_use(&self) -> IdentifierUse {
        IdentifierUse::of(&self.request.statement.kind)
    }

    async fn run(
        self,
        session: &mut Session,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        match session.before_change(self.identifier_use())? {
            Some(done) => Ok(done),
            None => session.dispatch(self.request, self.digest, shield, sink).await,
        }
    }
}

pub(crate) struct SavedPlan<'p> {
    pub prepared: std::sync::Arc<instance::PreparedPlan>,
    pub rows: &'p PieceRows,
    /// The statement that the optimizer's trace is to tell of.
    pub traced: Option<&'p instance::StatementText>,
    /// See `Session::run_plan`.
    pub parameters: &'p mut Vec<datum::Value>,
}

impl StatementWork for SavedPlan<'_> {
    fn identifier_use(&self) -> IdentifierUse {
        if self.prepared.plan.is_change() { IdentifierUse::Change } else { IdentifierUse::Other }
    }

    async fn run(
        self,
        session: &mut Session,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if let Some(done) = session.before_change(self.identifier_use())? {
            return Ok(done);
        }
        session.check_password_age(None)?;
        session.count_for_account(self.prepared.plan.is_change())?;
        if let Some(text) = self.traced {
            // Values that the plan has read from others follow those of the markers.
            let values = &self.parameters[..text.parameter_count.min(self.parameters.len())];
            Box::pin(session.trace_execute(&text.bytes, values)).await;
        }
        match self.rows {
            PieceRows::Given => pin!(session.run_plan(&self.prepared, self.parameters, shield, sink)).await,
            rows => {
                let parameters = self.parameters.clone();
                pin!(session.run_assigning(&self.prepared, rows, parameters, shield)).await
            }
        }
    }
}
