//! The entry points.
use crate::catalog_view::CatalogView;
use crate::context::PlannerContext;
use datum::{SqlError, error_code};
use expression::Expr;
use parser::ast;
use plan::Plan;

/// Whether `plan_statement` is for statements of this kind (errors aside).
pub fn is_plannable(statement: &ast::Statement<'_>) -> bool {
    use ast::StatementKind::*;
    matches!(statement.kind, Query(_) | Insert(_) | Update(_) | Delete(_))
}

/// Plans a SELECT, TABLE, VALUES, INSERT, REPLACE, UPDATE or DELETE.
pub fn plan_statement(
    statement: &ast::Statement<'_>,
    catalog: &dyn CatalogView,
    context: &PlannerContext<'_>,
) -> Result<Plan, SqlError> {
    let _ = (statement, catalog, context);
    Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"this statement"]))
}

/// Binds expressions that read no table (SET, DO, CALL arguments, LIMIT). The plan's rows has one row with a value for
/// each; run it as any query (subqueries are allowed).
pub fn plan_expressions(
    expressions: &[ast::Expr<'_>],
    catalog: &dyn CatalogView,
    context: &PlannerContext<'_>,
) -> Result<Plan, SqlError> {
    let _ = (expressions, catalog, context);
    let _: Option<Expr> = None;
    Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"this statement"]))
}
