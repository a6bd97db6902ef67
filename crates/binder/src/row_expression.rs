//! Expressions that a table's definition keeps as text, bound over the table's row: defaults, generated columns, CHECK
//! constraints, index parts.
//!
//! Column n of the table stands at frame position n. The text is parsed for each plan: such columns are rare, and plans
//! are kept. Called by the plans of changes, and by the session where it defines or copies tables.
use crate::binder::{Binder, not_supported};
use crate::block::{Block, Clause};
use crate::catalog_view::CatalogView;
use crate::context::{BinderContext, Literals};
use datum::SqlError;
use expression::Expr;
use parser::ast;
use plan::{GeneratedColumn, RowCheck, RowRules};
use schema::{CheckDef, TableDef};
use std::sync::Arc;

/// Binds the expression of a generated column; `CAST(.. AS type ARRAY)` names the index that it is a part of.
pub fn bind_generated(
    column: usize,
    table: &Arc<TableDef>,
    catalog: &dyn CatalogView,
    context: &BinderContext<'_>,
) -> Result<Option<Expr>, SqlError> {
    let Some(generated) = &table.columns[column].generated else { return Ok(None) };
    let mut indexes = table.indexes.iter();
    let index = indexes.find(|index| index.parts.iter().any(|part| part.column == column));
    let index = index.map_or("", |index| index.name.as_str());
    bind_text(&generated.expression, index, table, catalog, context).map(Some)
}

/// Binds an expression of a definition over the row of its table.
pub fn bind_row_expression(
    text: &str,
    table: &Arc<TableDef>,
    catalog: &dyn CatalogView,
    context: &BinderContext<'_>,
) -> Result<Expr, SqlError> {
    bind_text(text, "", table, catalog, context)
}

fn bind_text(
    text: &str,
    index: &str,
    table: &Arc<TableDef>,
    catalog: &dyn CatalogView,
    context: &BinderContext<'_>,
) -> Result<Expr, SqlError> {
    let arena = bumpalo::Bump::new();
    let statement = format!("SELECT {text}");
    let options = parser::ParseOptions { mode: parser::SqlMode::default(), parameters: false };
    let unusable = || not_supported(&format!("the expression '{text}' in a table's definition"));
    let parsed = parser::parse(statement.as_bytes(), options, &arena).map_err(|_| unusable())?;
    let ast::StatementKind::Query(query) = parsed.statement.kind else { return Err(unusable()) };
    let ast::QueryBody::Select(select) = query.body else { return Err(unusable()) };
    let [ast::SelectItem::Expression { expr, .. }] = select.items else { return Err(unusable()) };
    // Literals of the stored text are no literals of the statement, so they must not become its parameters.
    let context = BinderContext {
        switches: crate::switches::Switches::default(),
        bind: context.bind.clone(),
        current_database: context.current_database,
        literals: Literals::Inline,
        parameter_types: &[],
        session: context.session,
        lock_source_rows: context.lock_source_rows,
    };
    let mut binder = Binder::new(catalog, &context, &arena);
    let mut block = Block { clause: Some(Clause::FieldList), ..Block::default() };
    block.sources.push(crate::queries::from::row_source(table, &table.name, None));
    for column in 0..table.columns.len() {
        block.position(0, column);
    }
    binder.blocks.push(block);
    match &expr.kind {
        ast::ExprKind::Cast { operand, target } if target.array => {
            let element = crate::bind::array_element_type(target)?;
            let document = binder.bind(operand)?;
            Ok(context.bind.cast_array(document, element, index))
        }
        _ => binder.bind(expr),
    }
}

/// Binds a column's default. Generated columns that it reads have no values yet: their expressions take their places.
pub fn bind_default_expression(
    text: &str,
    table: &Arc<TableDef>,
    catalog: &dyn CatalogView,
    context: &BinderContext<'_>,
) -> Result<Expr, SqlError> {
    let mut expr = bind_row_expression(text, table, catalog, context)?;
    // Each reads columns before it only.
    for (position, column) in table.columns.iter().enumerate().rev() {
        let is_it = |part: &Expr| part.as_column() == Some(position);
        let Some(generated) = column.generated.as_ref().filter(|_| crate::walk::any(&expr, &is_it)) else {
            continue;
        };
        let made = bind_row_expression(&generated.expression, table, catalog, context)?;
        let made = context.bind.cast(made, column.column_type.clone())?;
        crate::walk::replace(&mut expr, &mut |part| is_it(part).then(|| made.clone()));
    }
    Ok(expr)
}

/// What rows of the table need before they are written; nothing for most tables.
pub fn row_rules(
    table: &Arc<TableDef>,
    catalog: &dyn CatalogView,
    context: &BinderContext<'_>,
) -> Result<Option<Arc<RowRules>>, SqlError> {
    if !table.has_row_rules() {
        return Ok(None);
    }
    let mut rules = RowRules::default();
    // Index parts may read any column.
    for hidden in [false, true] {
        for (column, definition) in table.columns.iter().enumerate() {
            if definition.hidden == hidden
                && let Some(expr) = bind_generated(column, table, catalog, context)?
            {
                rules.generated.push(GeneratedColumn { column, expr });
            }
        }
    }
    // The first that is violated is the one that the error names.
    let mut checks: Vec<&CheckDef> = table.checks.iter().filter(|check| check.enforced).collect();
    checks.sort_by_key(|check| check.name.to_lowercase());
    for check in checks {
        let condition = bind_row_expression(&check.condition, table, catalog, context)?;
        rules.checks.push(RowCheck { name: check.name.clone(), condition });
    }
    Ok(Some(Arc::new(rules)))
}
