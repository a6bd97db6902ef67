//! The entry points.
use crate::block::Block;
use crate::catalog_view::CatalogView;
use crate::context::PlannerContext;
use crate::hints::StatementHints;
use crate::planner::{Planner, not_supported};
use datum::{SqlError, SqlMode};
use parser::ast;
use plan::{NodeKind, OutputColumn, Plan, PlanKind, QueryPlan, TableUsage};

/// Whether `plan_statement` is for statements of this kind (errors aside).
pub fn is_plannable(statement: &ast::Statement<'_>) -> bool {
    use ast::StatementKind::*;
    matches!(statement.kind, Query(_) | Insert(_) | Update(_) | Delete(_))
}

/// Plans a SELECT, TABLE, VALUES, INSERT, REPLACE, UPDATE or DELETE. The session handles INTO before: it passes the
/// query without it.
pub fn plan_statement<'p>(
    statement: &ast::Statement<'p>,
    catalog: &'p dyn CatalogView,
    context: &'p PlannerContext<'p>,
) -> Result<Plan, SqlError> {
    let arena = bumpalo::Bump::new();
    let mut planner = Planner::new(catalog, context, &arena);
    let ansi_quotes = context.bind.sql_mode.contains(SqlMode::ANSI_QUOTES);
    planner.hints = StatementHints::read(statement.hints, ansi_quotes, &mut planner.conditions);
    let kind = match statement.kind {
        ast::StatementKind::Query(query) => {
            if query.into.is_some() {
                return Err(not_supported("SELECT .. INTO"));
            }
            let planned = planner.plan_query(query)?;
            PlanKind::Query(QueryPlan {
                root: planned.node,
                columns: planned.columns,
                count_found_rows: planned.count_found_rows,
                counted_limit: planned.counted_limit,
                locking: planner.tables.iter().any(|used| used.usage > TableUsage::Read),
            })
        }
        ast::StatementKind::Insert(insert) => PlanKind::Insert(Box::new(planner.plan_insert(insert)?)),
        ast::StatementKind::LoadData(load) => PlanKind::Insert(Box::new(planner.plan_load(load)?)),
        ast::StatementKind::Update(update) => PlanKind::Update(Box::new(planner.plan_update(update)?)),
        ast::StatementKind::Delete(delete) => PlanKind::Delete(Box::new(planner.plan_delete(delete)?)),
        _ => return Err(not_supported("this statement")),
    };
    Ok(planner.into_plan(kind))
}

/// Binds expressions that read no table (SET, DO, CALL arguments, LIMIT): a query of one row with a column for each.
/// Subqueries are allowed.
pub fn plan_expressions<'p>(
    expressions: &[ast::Expr<'p>],
    catalog: &'p dyn CatalogView,
    context: &'p PlannerContext<'p>,
) -> Result<Plan, SqlError> {
    let arena = bumpalo::Bump::new();
    let mut planner = Planner::new(catalog, context, &arena);
    // MySQL: what is no SELECT reads with share locks.
    planner.share_reads(true);
    planner.blocks.push(Block::default());
    let items = planner.bind_all(expressions)?;
    let block = planner.blocks.pop().expect("pushed above");
    let items = items
        .into_iter()
        .map(|expr| crate::queries::select_items::SelectItem { expr, name: String::new(), is_alias: false })
        .collect();
    let bound =
        planner.bound_query(block, crate::queries::select_build::BoundSelect::of_items(items), None)?;
    let planned = planner.build_query(bound)?;
    let columns: Vec<OutputColumn> = planned.columns;
    let locking = !planner.tables.is_empty();
    debug_assert!(!matches!(planned.node.kind, NodeKind::Nothing));
    Ok(planner.into_plan(PlanKind::Query(QueryPlan {
        root: planned.node,
        columns,
        count_found_rows: false,
        counted_limit: None,
        locking,
    })))
}

impl Planner<'_> {
    pub fn into_plan(self, kind: PlanKind) -> Plan {
        let checks = self.checks();
        let mut conditions = self.conditions;
        let mut parameter_types = self.parameter_types;
        for (noted, derived) in parameter_types.iter_mut().zip(self.context.bind.markers.types()) {
            *noted = derived.or(noted.take());
        }
        conditions.append(&mut self.context.bind.conditions.take());
        Plan {
            kind,
            tables: self.tables,
            views: self.views,
            cascade_rules: Vec::new(),
            needs: self.needs,
            functions: self.functions,
            triggers: Vec::new(),
            parameter_count: parameter_types.len(),
            slot_count: self.slot_count,
            parameter_types,
            literals_are_parameters: self.context.literals == crate::context::Literals::Parameters,
            readings: self.context.bind.known.readings(),
            user_variables: self.user_variables,
            shareable: self.shareable && !self.is_guess && !self.context.bind.known.is_decided(),
            is_guess: self.is_guess,
            checks,
            conditions,
        }
    }
}
