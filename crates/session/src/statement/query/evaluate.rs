//! Expressions outside of queries: the values of SET, DO, KILL and of DEFAULT clauses.
use datum::{ColumnType, SqlError, Value};
use executor::CollectRows;
use parser::ast::Expr;
use planner::Literals;

use crate::session::Session;
use crate::statement::Request;
use crate::statement::guard::Shield;

impl Session {
    /// The values of the expressions; they may hold subqueries.
    pub async fn evaluate(
        &mut self,
        expressions: &[Expr<'_>],
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Vec<(Value, ColumnType)>, SqlError> {
        let make = |session: &Session| {
            let context = session.planner_context(Literals::Inline, request.parameter_types);
            planner::plan_expressions(expressions, session, &context)
        };
        let mut rows = CollectRows::default();
        let types = self.run_nested_plan(make, |_, _| {}, request.parameters, shield, &mut rows).await?;
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
        Ok(values.into_iter().next().unwrap_or((Value::Null, ColumnType::new(datum::TypeKind::Null))))
    }
}
