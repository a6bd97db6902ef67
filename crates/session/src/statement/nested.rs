//! Statements inside statements: what each has for itself, and the way to run an inner one.
//!
//! Invariant: an inner statement begins and ends within its outer one's transaction and never commits it. One that fails
//! is undone alone (unless the error takes the whole transaction), and what becomes of the outer one is for that to say.
//! However the outermost one ends, KILL in the middle of an inner one included, no inner one is left.
use std::pin::pin;

use binder::Literals;
use datum::{ColumnType, SqlError, Value, error_code};
use engine::Savepoint;
use executor::RowSink;
use plan::{Plan, PlanKind};

use super::Request;
use crate::session::Session;
use crate::statement::query::planned::PLAN_ATTEMPTS_MAX;
use instance::{PreparedPlan, count};
use session_state::command_counters::counter_of_plan;
use session_state::guard::Shield;

/// What a statement has for itself while it runs.
#[derive(Debug, Default)]
struct Running {
    /// Where it began, to undo it alone; `None` before it has used the transaction.
    savepoint: Option<Savepoint>,
    /// It failed before it did anything because its plan's tables have changed: plan again.
    plan_is_stale: bool,
}

/// The statements that run in a session.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    innermost: Running,
    /// Those that wait for an inner one, the client's first.
    outer: Vec<Running>,
}

impl Statements {
    /// A statement of the client begins.
    pub fn begin(&mut self) {
        debug_assert!(self.outer.is_empty(), "no inner statement outlives the client's");
        self.innermost = Running::default();
    }

    /// How many statements wait for the innermost.
    pub fn depth(&self) -> usize {
        self.outer.len()
    }

    /// An inner statement begins.
    pub fn enter(&mut self) {
        self.outer.push(std::mem::take(&mut self.innermost));
    }

    /// Inner statements have ended, or were dropped. One that had not used the transaction before has begun where its
    /// inner one did.
    pub fn leave_to(&mut self, depth: usize) {
        while self.outer.len() > depth
            && let Some(outer) = self.outer.pop()
        {
            let inner = std::mem::replace(&mut self.innermost, outer);
            self.innermost.savepoint = self.innermost.savepoint.or(inner.savepoint);
        }
    }

    pub fn savepoint(&self) -> Option<Savepoint> {
        self.innermost.savepoint
    }

    /// The innermost statement uses the transaction from here on.
    pub fn begin_at(&mut self, savepoint: Savepoint) {
        self.innermost.savepoint = Some(savepoint);
    }

    /// The transaction has ended: nothing of it can be undone any more.
    pub fn forget_savepoints(&mut self) {
        self.innermost.savepoint = None;
        self.outer.iter_mut().for_each(|outer| outer.savepoint = None);
    }

    pub fn plan_is_stale(&self) -> bool {
        self.innermost.plan_is_stale
    }

    pub fn set_plan_is_stale(&mut self, is_stale: bool) {
        self.innermost.plan_is_stale = is_stale;
    }
}

impl Session {
    /// Runs a query or a change of rows inside the running statement. Its rows go to `rows`; gives the types of their
    /// columns. `accept` may refuse the plan before anything has happened.
    pub async fn run_nested(
        &mut self,
        request: Request<'_>,
        accept: impl Fn(&Plan) -> Result<(), SqlError>,
        shield: &Shield,
        rows: &mut dyn RowSink,
    ) -> Result<Vec<ColumnType>, SqlError> {
        let make = |session: &Session| {
            let plan = session.plan_request(request, Literals::Inline, Vec::new())?;
            accept(&plan).map(|()| plan)
        };
        let counted = |session: &Session, prepared: &PreparedPlan| {
            count(counter_of_plan(&prepared.plan, &session.process.counters));
            prepared.counted.count(&session.process.counters);
        };
        self.run_nested_plan(make, counted, (request.parameters, false), shield, rows).await
    }

    /// The same for what is no statement of its own: `make` plans it. `counted` is told the plan that is about to run. What
    /// `is_kept` is assigned, and strict modes refuse values that do not fit.
    pub(crate) async fn run_nested_plan(
        &mut self,
        make: impl Fn(&Session) -> Result<Plan, SqlError>,
        counted: impl Fn(&Session, &PreparedPlan),
        (parameters, is_kept): (&[Value], bool),
        shield: &Shield,
        rows: &mut dyn RowSink,
    ) -> Result<Vec<ColumnType>, SqlError> {
        let depth = self.statements.depth();
        self.statements.enter();
        let result = pin!(self.run_made(make, counted, (parameters, is_kept), rows)).await;
        let result = match result {
            Ok(types) => Ok(types),
            Err(error) => {
                // Half undone it would be neither the statement's rows nor those before it.
                shield.raise();
                let error = self.undo_statement(error).await;
                shield.lower();
                Err(error)
            }
        };
        self.statements.leave_to(depth);
        result
    }

    async fn run_made(
        &mut self,
        make: impl Fn(&Session) -> Result<Plan, SqlError>,
        counted: impl Fn(&Session, &PreparedPlan),
        (parameters, is_kept): (&[Value], bool),
        rows: &mut dyn RowSink,
    ) -> Result<Vec<ColumnType>, SqlError> {
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let plan = self.plan_knowing(&make).await?;
            let prepared = self.prepare_plan(plan)?;
            let locked = self.enter_plan(&prepared).await;
            if locked.is_err() && self.statements.plan_is_stale() {
                continue;
            }
            counted(self, &prepared);
            locked?;
            let parameters = parameters.to_vec();
            match is_kept {
                true => pin!(self.execute_source(&prepared.plan, parameters, rows)).await?,
                false => pin!(self.execute_plan(&prepared.plan, parameters, rows)).await?,
            };
            return Ok(match &prepared.plan.kind {
                PlanKind::Query(query) => {
                    query.columns.iter().map(|column| column.column_type.clone()).collect()
                }
                _ => Vec::new(),
            });
        }
        Err(error_code::ER_TABLE_DEF_CHANGED.plain())
    }
}

#[cfg(test)]
mod tests;
