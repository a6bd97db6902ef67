//! The entry points: a whole statement, or expressions by themselves. Called by the planner, and `bind_view_query` besides.
use crate::binder::{Binder, not_supported};
use crate::block::Block;
use crate::bound::{BoundSelect, SelectItem};
use crate::bound_statement::{BoundKind, BoundStatement};
use crate::catalog_view::CatalogView;
use crate::context::BinderContext;
use crate::hints::StatementHints;
use bumpalo::Bump;
use datum::{SqlError, SqlMode};
use parser::ast;

/// Binds a SELECT, TABLE, VALUES, INSERT, REPLACE, LOAD DATA, UPDATE or DELETE.
pub fn bind_statement<'p>(
    statement: &ast::Statement<'p>,
    catalog: &'p dyn CatalogView,
    context: &'p BinderContext<'p>,
) -> Result<BoundStatement, SqlError> {
    let arena = Bump::new();
    let mut binder = Binder::new(catalog, context, &arena);
    let ansi_quotes = context.bind.sql_mode.contains(SqlMode::ANSI_QUOTES);
    binder.hints = StatementHints::read(statement.hints, ansi_quotes, &mut binder.conditions);
    let kind = match statement.kind {
        ast::StatementKind::Query(query) => {
            if query.into.is_some() {
                return Err(not_supported("SELECT .. INTO"));
            }
            BoundKind::Query(Box::new(binder.bind_query(query)?))
        }
        ast::StatementKind::Insert(insert) => BoundKind::Insert(Box::new(binder.bind_insert(insert)?)),
        ast::StatementKind::LoadData(load) => BoundKind::Insert(Box::new(binder.bind_load(load)?)),
        ast::StatementKind::Update(update) => BoundKind::Update(Box::new(binder.bind_update(update)?)),
        ast::StatementKind::Delete(delete) => BoundKind::Delete(Box::new(binder.bind_delete(delete)?)),
        _ => return Err(not_supported("this statement")),
    };
    Ok(binder.into_bound(kind))
}

/// Binds expressions that read no table (SET, DO, CALL arguments, LIMIT): a query of one row with a column for each.
/// Subqueries are allowed.
pub fn bind_expressions<'p>(
    expressions: &[ast::Expr<'p>],
    catalog: &'p dyn CatalogView,
    context: &'p BinderContext<'p>,
) -> Result<BoundStatement, SqlError> {
    let arena = Bump::new();
    let mut binder = Binder::new(catalog, context, &arena);
    // MySQL: what is no SELECT reads with share locks.
    binder.share_reads(true);
    binder.blocks.push(Block::default());
    let items = binder.bind_all(expressions)?;
    let block = binder.blocks.pop().expect("pushed above");
    let items =
        items.into_iter().map(|expr| SelectItem { expr, name: String::new(), is_alias: false }).collect();
    let bound = binder.bound_query(block, BoundSelect::of_items(items), None)?;
    Ok(binder.into_bound(BoundKind::Query(Box::new(bound))))
}

impl Binder<'_> {
    pub fn into_bound(self, kind: BoundKind) -> BoundStatement {
        BoundStatement {
            kind,
            tables: self.tables,
            views: self.views,
            needs: self.needs,
            functions: self.functions,
            slot_count: self.slot_count,
            parameter_types: self.parameter_types,
            user_variables: self.user_variables,
            assigns_variables: self.assigns_variables,
            shareable: self.shareable,
            is_guess: self.is_guess,
            conditions: self.conditions,
        }
    }
}
