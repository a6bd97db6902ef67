//! The entry points: each binds, and plans what is bound.
use crate::estimates::Estimates;
use crate::planner::{Planner, PlannerContext};
use binder::{BoundKind, BoundStatement, Literals};
use datum::SqlError;
use parser::ast;
use plan::{OutputColumn, Plan, PlanKind, QueryPlan, TableUsage};

/// Whether `plan_statement` is for statements of this kind (errors aside).
pub fn is_plannable(statement: &ast::Statement<'_>) -> bool {
    use ast::StatementKind::*;
    matches!(statement.kind, Query(_) | Insert(_) | Update(_) | Delete(_))
}

/// Plans a SELECT, TABLE, VALUES, INSERT, REPLACE, UPDATE or DELETE. The session handles INTO before: it passes the
/// query without it.
pub fn plan_statement<'p>(
    statement: &ast::Statement<'p>,
    catalog: &'p dyn Estimates,
    context: &'p PlannerContext<'p>,
) -> Result<Plan, SqlError> {
    let bound = binder::bind_statement(statement, catalog, &context.binder)?;
    plan_bound(bound, catalog, context)
}

/// Plans expressions that read no table, as `binder::bind_expressions` binds them.
pub fn plan_expressions<'p>(
    expressions: &[ast::Expr<'p>],
    catalog: &'p dyn Estimates,
    context: &'p PlannerContext<'p>,
) -> Result<Plan, SqlError> {
    let bound = binder::bind_expressions(expressions, catalog, &context.binder)?;
    let mut plan = plan_bound(bound, catalog, context)?;
    if let PlanKind::Query(query) = &mut plan.kind {
        query.locking = !plan.tables.is_empty();
    }
    Ok(plan)
}

/// What a view's query is.
pub struct ViewQuery {
    /// For the locks and rights that the definition needs.
    pub plan: Plan,
    /// Every name with what it belongs to.
    pub text: String,
    pub columns: Vec<OutputColumn>,
    /// Database and name of what stands in FROM, each once.
    pub uses: Vec<(String, String)>,
    /// The rows of the view can be those of its tables.
    pub is_mergeable: bool,
    /// A subquery reads a table that stands in FROM as well.
    pub reads_itself: bool,
}

/// Plans the query of a view with a list of column names, which may be empty: not all that is wrong with one shows when it
/// is bound.
pub fn plan_view<'p>(
    query: &'p ast::Query<'p>,
    column_names: &[ast::Ident<'_>],
    catalog: &'p dyn Estimates,
    context: &'p PlannerContext<'p>,
) -> Result<ViewQuery, SqlError> {
    let view = binder::bind_view_query(query, column_names, catalog, &context.binder)?;
    let binder::BoundView { statement, text, columns, uses, is_mergeable, reads_itself } = view;
    let mut plan = plan_bound(statement, catalog, context)?;
    if let PlanKind::Query(query) = &mut plan.kind {
        query.locking = false;
    }
    Ok(ViewQuery { plan, text, columns, uses, is_mergeable, reads_itself })
}

fn plan_bound<'p>(
    bound: BoundStatement,
    catalog: &'p dyn Estimates,
    context: &'p PlannerContext<'p>,
) -> Result<Plan, SqlError> {
    let mut planner = Planner::new(&bound, catalog, context);
    let kind = match bound.kind {
        BoundKind::Query(query) => PlanKind::Query(QueryPlan {
            root: planner.build_logical(query.logical)?,
            columns: query.columns,
            count_found_rows: query.count_found_rows,
            counted_limit: query.counted_limit,
            locking: bound.tables.iter().any(|used| used.usage > TableUsage::Read),
        }),
        BoundKind::Insert(insert) => PlanKind::Insert(Box::new(planner.build_insert(*insert)?)),
        BoundKind::Update(update) => PlanKind::Update(Box::new(planner.build_update(*update)?)),
        BoundKind::Delete(delete) => PlanKind::Delete(Box::new(planner.build_delete(*delete)?)),
    };
    let context = &context.binder;
    let mut parameter_types = bound.parameter_types;
    for (noted, derived) in parameter_types.iter_mut().zip(context.bind.markers.types()) {
        *noted = derived.or(noted.take());
    }
    let mut conditions = bound.conditions;
    conditions.append(&mut context.bind.conditions.take());
    Ok(Plan {
        kind,
        tables: bound.tables,
        views: bound.views,
        cascade_rules: Vec::new(),
        needs: bound.needs,
        functions: bound.functions,
        triggers: Vec::new(),
        parameter_count: parameter_types.len(),
        slot_count: planner.slot_count,
        parameter_types,
        literals_are_parameters: context.literals == Literals::Parameters,
        readings: context.bind.known.readings(),
        user_variables: bound.user_variables,
        shareable: bound.shareable && !bound.is_guess && !context.bind.known.is_decided(),
        is_guess: bound.is_guess,
        checks: planner.checks(),
        conditions,
    })
}
