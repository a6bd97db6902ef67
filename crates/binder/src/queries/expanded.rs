//! A query as EXPLAIN and the optimizer's trace show it: every name with what it belongs to, `*` written out, each block with
//! its number. It is the query as it was written, before anything is rewritten.
use crate::binder::Binder;
use crate::catalog_view::CatalogView;
use crate::context::BinderContext;
use crate::scopes::Names;
use datum::SqlError;
use parser::{RestoreOptions, ViewText, ast, restore_query};

/// The text; names of `current_database` are written without it.
pub fn expanded_query<'p>(
    query: &'p ast::Query<'p>,
    current_database: Option<&str>,
    catalog: &'p dyn CatalogView,
    context: &'p BinderContext<'p>,
) -> Result<String, SqlError> {
    let arena = bumpalo::Bump::new();
    text_in(&arena, query, current_database, catalog, context)
}

fn text_in<'p>(
    arena: &'p bumpalo::Bump,
    query: &'p ast::Query<'p>,
    current_database: Option<&str>,
    catalog: &'p dyn CatalogView,
    context: &'p BinderContext<'p>,
) -> Result<String, SqlError> {
    let mut binder = Binder::new(catalog, context, arena);
    binder.names = Some(Box::default());
    binder.bind_query(query)?;
    let names: Names = *binder.names.take().expect("set above, and views give it back");
    let view = ViewText { names: Some(&names.resolved), current_database, numbered: true };
    Ok(restore_query(query, RestoreOptions { string_charset: None, resolved: true, view: Some(view) })
        .to_string())
}
