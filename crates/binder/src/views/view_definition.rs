//! The query of CREATE VIEW: what it means, and how the view keeps it. Called by the planner for whoever defines a view, and by
//! those who describe views.
use crate::binder::Binder;
use crate::bound_statement::{BoundKind, BoundStatement};
use crate::catalog_view::CatalogView;
use crate::context::BinderContext;
use datum::{SqlError, error_code};
use parser::{RestoreOptions, ViewText, ast, restore_query};
use plan::OutputColumn;
use schema::ViewDef;
use std::sync::Arc;

/// What a view's query is.
pub struct BoundView {
    pub statement: BoundStatement,
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

/// Binds the query of a view with a list of column names, which may be empty.
pub fn bind_view_query<'p>(
    query: &'p ast::Query<'p>,
    column_names: &[ast::Ident<'_>],
    catalog: &'p dyn CatalogView,
    context: &'p BinderContext<'p>,
) -> Result<BoundView, SqlError> {
    let arena = bumpalo::Bump::new();
    bind_in(&arena, query, column_names, catalog, context)
}

fn bind_in<'p>(
    arena: &'p bumpalo::Bump,
    query: &'p ast::Query<'p>,
    column_names: &[ast::Ident<'_>],
    catalog: &'p dyn CatalogView,
    context: &'p BinderContext<'p>,
) -> Result<BoundView, SqlError> {
    let mut binder = Binder::new(catalog, context, arena);
    binder.names = Some(Box::new(crate::scopes::Names::of_view()));
    let mut bound = binder.bind_query(query)?;
    let mut names = binder.names.take().expect("set above, and views give it back");
    let mut columns = bound.columns;
    if column_names.is_empty() {
        name_columns(query, &mut columns, &mut names)?;
    } else {
        if column_names.len() != columns.len() {
            return Err(crate::error_codes::ER_VIEW_WRONG_LIST.plain());
        }
        for (column, name) in columns.iter_mut().zip(column_names) {
            name.name.clone_into(&mut column.name);
        }
        check_different(&columns)?;
    }
    let view = ViewText { names: Some(&names.resolved), ..ViewText::default() };
    let options = RestoreOptions { string_charset: None, resolved: true, view: Some(view) };
    let text = restore_query(query, options).to_string();
    let reads_itself = binder.subqueries_read_again();
    // The plan is for its locks and rights only.
    (bound.count_found_rows, bound.counted_limit) = (false, None);
    bound.columns = columns.clone();
    let statement = binder.into_bound(BoundKind::Query(Box::new(bound)));
    Ok(BoundView {
        statement,
        text,
        columns,
        uses: names.uses,
        is_mergeable: is_mergeable(query),
        reads_itself,
    })
}

/// An expression whose own text is no name for a column, or is one that another column has, gets a name of its own.
fn name_columns(
    query: &ast::Query<'_>,
    columns: &mut [OutputColumn],
    names: &mut crate::scopes::Names,
) -> Result<(), SqlError> {
    let texts = own_texts(query, columns.len(), names);
    for (position, text) in texts.iter().enumerate() {
        if let Some(text) = text
            && !is_column_name(text)
        {
            columns[position].name = format!("Name_exp_{}", position + 1);
            names.resolved.note_item(text, columns[position].name.clone());
        }
    }
    for position in 0..columns.len() {
        let is_taken = |columns: &[OutputColumn], name: &str, own: usize| {
            let same = |other: &OutputColumn| crate::same_name::same_name(&other.name, name);
            columns
                .iter()
                .enumerate()
                .find(|(other, column)| *other != own && same(column))
                .map(|found| found.0)
        };
        let earlier = is_taken(&columns[..position], &columns[position].name, position);
        let Some(earlier) = earlier else { continue };
        let renamed =
            [position, earlier].into_iter().find(|place| texts.get(*place).is_some_and(Option::is_some));
        let Some((renamed, text)) = renamed.and_then(|place| Some((place, texts[place]?))) else {
            return Err(error_code::ER_DUP_FIELDNAME.with(&[&columns[position].name]));
        };
        let mut name = format!("Name_exp_{}", columns[renamed].name);
        let mut attempt = 0;
        while is_taken(columns, &name, renamed).is_some() {
            attempt += 1;
            name = format!("Name_exp_{attempt}_{}", columns[renamed].name);
        }
        names.resolved.note_item(text, name.clone());
        columns[renamed].name = name;
    }
    Ok(())
}

fn check_different(columns: &[OutputColumn]) -> Result<(), SqlError> {
    for (position, column) in columns.iter().enumerate() {
        if columns[..position].iter().any(|earlier| crate::same_name::same_name(&earlier.name, &column.name))
        {
            return Err(error_code::ER_DUP_FIELDNAME.with(&[&column.name]));
        }
    }
    Ok(())
}

/// For each column the text of its expression, where that is its name.
fn own_texts<'q>(query: &ast::Query<'q>, count: usize, names: &crate::scopes::Names) -> Vec<Option<&'q str>> {
    let mut texts = Vec::with_capacity(count);
    let items = first_select(&query.body).map(|select| select.items).unwrap_or_default();
    for item in items {
        match item {
            ast::SelectItem::Expression { expr, alias: None, name }
                if !matches!(expr.kind, ast::ExprKind::Column(_)) =>
            {
                texts.push(Some(*name));
            }
            ast::SelectItem::Expression { .. } => texts.push(None),
            ast::SelectItem::Wildcard(span) => {
                texts.resize(texts.len() + names.resolved.star_width(span.start), None);
            }
            ast::SelectItem::QualifiedWildcard(name) => {
                texts.resize(texts.len() + names.resolved.star_width(name.name.span.start), None);
            }
        }
    }
    texts.resize(count, None);
    texts
}

fn first_select<'q>(body: &ast::QueryBody<'q>) -> Option<&'q ast::Select<'q>> {
    match body {
        ast::QueryBody::Select(select) => Some(select),
        ast::QueryBody::Parenthesized(query) => first_select(&query.body),
        ast::QueryBody::Set(chain) => first_select(&chain.first),
        ast::QueryBody::Table(_) | ast::QueryBody::Values(_) => None,
    }
}

const NAME_LENGTH_MAX: usize = 64;

fn is_column_name(name: &str) -> bool {
    !name.is_empty() && !name.ends_with(' ') && name.chars().count() <= NAME_LENGTH_MAX
}

/// Whether a query's rows can be the rows of its tables, one for one.
pub fn is_mergeable(query: &ast::Query<'_>) -> bool {
    if query.limit.is_some() {
        return false;
    }
    match query.body {
        ast::QueryBody::Parenthesized(inner) => is_mergeable(inner),
        ast::QueryBody::Table(_) => true,
        ast::QueryBody::Values(_) | ast::QueryBody::Set(_) => false,
        ast::QueryBody::Select(select) => {
            let is_grouping = |item: &ast::SelectItem<'_>| match item {
                ast::SelectItem::Expression { expr, .. } => has_aggregate(expr),
                _ => false,
            };
            !select.from.is_empty()
                && select.group_by.is_none()
                && select.having.is_none()
                && !select.options.distinct
                && select.windows.is_empty()
                && !select.items.iter().any(is_grouping)
        }
    }
}

/// Whether an aggregate or window function is part of the expression.
pub fn has_aggregate(expr: &ast::Expr<'_>) -> bool {
    if matches!(expr.kind, ast::ExprKind::Aggregate(_) | ast::ExprKind::Window(_)) {
        return true;
    }
    let mut found = false;
    expr.for_each_operand(&mut |operand| found |= has_aggregate(operand));
    found
}

/// The columns of a view as its tables are now; error 1356 when it means nothing any more.
pub fn view_columns<'p>(
    view: &Arc<ViewDef>,
    catalog: &'p dyn CatalogView,
    context: &'p BinderContext<'p>,
) -> Result<Vec<OutputColumn>, SqlError> {
    let arena = bumpalo::Bump::new();
    let mut binder = Binder::new(catalog, context, &arena);
    let query = binder.view_query(view)?;
    let mut columns = binder.in_view(view, |binder| binder.bind_query(query))?.columns;
    if !view.column_names.is_empty() && view.column_names.len() != columns.len() {
        return Err(crate::views::invalid(view));
    }
    for (column, name) in columns.iter_mut().zip(&view.column_names) {
        column.name.clone_from(name);
    }
    Ok(columns)
}

/// Asks of every name that stands for a table in FROM of the query, subqueries apart, until the answer is no.
pub fn for_each_table(query: &ast::Query<'_>, ask: &mut dyn FnMut(&ast::ObjectName<'_>) -> bool) -> bool {
    match query.body {
        ast::QueryBody::Select(select) => select.from.iter().all(|reference| ask_reference(reference, ask)),
        ast::QueryBody::Table(name) => ask(&name),
        ast::QueryBody::Parenthesized(inner) => for_each_table(inner, ask),
        ast::QueryBody::Values(_) | ast::QueryBody::Set(_) => true,
    }
}

fn ask_reference(
    reference: &ast::TableReference<'_>,
    ask: &mut dyn FnMut(&ast::ObjectName<'_>) -> bool,
) -> bool {
    match reference {
        ast::TableReference::Table(table) => ask(&table.name),
        ast::TableReference::Derived(_) | ast::TableReference::JsonTable(_) => true,
        ast::TableReference::Join(join) => ask_reference(&join.left, ask) && ask_reference(&join.right, ask),
        ast::TableReference::List(members) => members.iter().all(|member| ask_reference(member, ask)),
    }
}

/// Whether FROM has an outer join: rows of such a query cannot be changed.
pub fn has_outer_join(query: &ast::Query<'_>) -> bool {
    match query.body {
        ast::QueryBody::Select(select) => select.from.iter().any(is_outer_join),
        ast::QueryBody::Parenthesized(inner) => has_outer_join(inner),
        ast::QueryBody::Table(_) | ast::QueryBody::Values(_) | ast::QueryBody::Set(_) => false,
    }
}

fn is_outer_join(reference: &ast::TableReference<'_>) -> bool {
    match reference {
        ast::TableReference::Join(join) => {
            matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Right)
                || is_outer_join(&join.left)
                || is_outer_join(&join.right)
        }
        ast::TableReference::List(members) => members.iter().any(is_outer_join),
        _ => false,
    }
}
