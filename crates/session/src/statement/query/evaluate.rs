//! Expressions outside of queries: the values of SET, DO, KILL and of DEFAULT clauses.
use binder::Literals;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use executor::CollectRows;
use parser::ast::Expr;

use crate::session::Session;
use crate::statement::Request;
use session_state::guard::Shield;

impl Session {
    /// The values of the expressions; they may hold subqueries.
    pub async fn evaluate(
        &mut self,
        expressions: &[Expr<'_>],
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Vec<(Value, ColumnType)>, SqlError> {
        self.evaluate_all(expressions, false, request, shield).await
    }

    /// The value and the type of an expression whose value is assigned.
    pub(crate) async fn evaluate_kept(
        &mut self,
        expression: &Expr<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<(Value, ColumnType), SqlError> {
        let values = self.evaluate_all(std::slice::from_ref(expression), true, request, shield).await?;
        Ok(first_of(values))
    }

    async fn evaluate_all(
        &mut self,
        expressions: &[Expr<'_>],
        is_kept: bool,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Vec<(Value, ColumnType)>, SqlError> {
        let make = |session: &Session| {
            let context = session.planner_context(Literals::Inline, request.parameter_types);
            planner::plan_expressions(expressions, session, &context)
        };
        let mut rows = CollectRows::default();
        let types =
            self.run_nested_plan(make, |_, _| {}, (request.parameters, is_kept), shield, &mut rows).await?;
        self.end_statement_transaction(shield).await?;
        let row = rows.rows.pop().unwrap_or_default();
        Ok(row.into_iter().zip(types).collect())
    }

    /// The value and the type of one expression, evaluated as a query without tables.
    pub async fn evaluate_one(
        &mut self,
        expression: &Expr<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<(Value, ColumnType), SqlError> {
        let values = self.evaluate(std::slice::from_ref(expression), request, shield).await?;
        Ok(first_of(values))
    }

    /// The value of an expression of an event's schedule: error 1235 for one that needs a table or a stored function.
    pub async fn evaluate_without_tables(
        &mut self,
        expr: &Expr<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<(Value, ColumnType), SqlError> {
        let refused = || error_code::ER_NOT_SUPPORTED_YET.with(&[&SCHEDULES_WITH_QUERIES]);
        let make = |session: &Session| {
            let context = session.planner_context(Literals::Inline, request.parameter_types);
            let plan = planner::plan_expressions(std::slice::from_ref(expr), session, &context)?;
            if plan.tables.is_empty() && plan.functions.is_empty() { Ok(plan) } else { Err(refused()) }
        };
        let mut rows = CollectRows::default();
        let types =
            self.run_nested_plan(make, |_, _| {}, (request.parameters, false), shield, &mut rows).await;
        let is_refused = |error: &SqlError| {
            error.is(&error_code::ER_SP_DOES_NOT_EXIST) || error.is(&error_code::ER_NO_SUCH_TABLE)
        };
        let types = types.map_err(|error| if is_refused(&error) { refused() } else { error })?;
        self.end_statement_transaction(shield).await?;
        let value = rows.rows.pop().and_then(|row| row.into_iter().next()).unwrap_or(Value::Null);
        Ok((value, types.into_iter().next().unwrap_or(ColumnType::new(TypeKind::Null))))
    }
}

const SCHEDULES_WITH_QUERIES: &str =
    "Event schedule expressions which contain subqueries or stored function calls";

fn first_of(values: Vec<(Value, ColumnType)>) -> (Value, ColumnType) {
    values.into_iter().next().unwrap_or((Value::Null, ColumnType::new(TypeKind::Null)))
}
