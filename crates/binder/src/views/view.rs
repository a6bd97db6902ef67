//! Views in FROM: their text becomes a query of the statement, bound by itself and read as a query in FROM.
//!
//! Invariant: nothing of a view's text sees the statement around it, and what it needs is asked of whoever its
//! definition says. What is wrong below a view is told of the outermost view only.
use crate::binder::{Binder, not_supported};
use crate::block::{Origin, QuerySource, Source, SourceColumn, SourceKind};
use crate::bound::BoundQuery;
use crate::context::{BinderContext, Literals};
use crate::hints::StatementHints;
use crate::queries::common_table::named_columns;
use crate::queries::derived::mixed_columns;
use crate::queries::from::Joined;
use crate::scopes::ContextRef;
use crate::views::invalid;
use crate::views::view_definition::is_mergeable;
use collation::CollationId;
use datum::SqlError;
use expression::KnownValues;
use parser::ast;
use plan::{TableUsage, ViewUser};
use schema::{ViewAlgorithm, ViewDef};
use std::rc::Rc;
use std::sync::Arc;

/// What the statement around a view has for itself while the view is bound.
pub struct Outside<'p> {
    context: ContextRef<'p>,
    blocks: Vec<crate::block::Block>,
    common_tables: Vec<crate::scopes::CommonScope<'p>>,
    named_windows: &'p [(ast::Ident<'p>, ast::WindowSpecification<'p>)],
    names: Option<Box<crate::scopes::Names>>,
    view_user: Option<Arc<ViewUser>>,
    lock_reads: Option<ast::Locking<'p>>,
    outer_references: usize,
    hints: StatementHints,
    locking: &'p [ast::Locking<'p>],
}

impl<'p> Binder<'p> {
    /// A view as a table of the innermost block.
    pub fn bind_view(
        &mut self,
        view: &Arc<ViewDef>,
        alias: ast::Ident<'p>,
        is_renamed: bool,
        need: usize,
        usage: TableUsage,
    ) -> Result<Joined, SqlError> {
        let locking = self.locking_of(alias.name, usage);
        let query = self.view_query(view)?;
        // The rows of others are kept before anything changes.
        let is_kept = view.algorithm == ViewAlgorithm::TempTable || !is_mergeable(query);
        self.note_view_reference(view, alias.name);
        let bound = self.in_view(view, |binder| {
            binder.derived_depth += usize::from(is_kept);
            let bound = binder.bind_locked(query, locking);
            binder.derived_depth -= usize::from(is_kept);
            bound
        })?;
        let names: Vec<ast::Ident<'_>> = view.column_names.iter().map(|name| ident(name)).collect();
        let merges = view.algorithm != ViewAlgorithm::TempTable && self.merges(&bound.logical, alias.name);
        let mixed = mixed_columns(&bound.strengths);
        let columns = named_columns(bound.columns, &names).map_err(|error| hidden(view, error))?;
        let columns = columns.into_iter().map(|(name, column_type)| SourceColumn {
            name,
            column_type,
            hidden: false,
            invisible: false,
        });
        let source = QuerySource { query: bound.logical, correlation: Vec::new(), slots: Vec::new(), merges };
        self.add_source(Source {
            alias: alias.name.to_owned(),
            database: view.database.clone(),
            columns: columns.collect(),
            names_results: merges,
            mixed,
            kind: SourceKind::Query(Box::new(source)),
            optional: false,
            lock: None,
            need: Some(need),
            origin: Origin { is_renamed, is_inner: false, view: Some(view.clone()) },
        })
    }

    /// The tree of a view's text.
    pub fn view_query(&self, view: &ViewDef) -> Result<&'p ast::Query<'p>, SqlError> {
        let options = parser::ParseOptions { mode: parser::SqlMode::default(), parameters: false };
        let text = self.arena.alloc_slice_copy(view.query.as_bytes());
        let parsed = parser::parse(text, options, self.arena).map_err(|_| invalid(view))?;
        match parsed.statement.kind {
            ast::StatementKind::Query(query) => Ok(query),
            _ => Err(invalid(view)),
        }
    }

    /// Binds something of a view, apart from the statement around it.
    pub fn in_view<T>(
        &mut self,
        view: &Arc<ViewDef>,
        bind: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let is_same = |above: &Arc<ViewDef>| above.database == view.database && above.name == view.name;
        if self.view_path.iter().any(is_same) {
            let error = crate::error_codes::ER_VIEW_RECURSIVE.with(&[&view.database, &view.name]);
            return Err(error);
        }
        self.catalog.permit_view(view)?;
        if !self.views.iter().any(|known| Arc::ptr_eq(known, view)) {
            self.views.push(view.clone());
        }
        self.view_path.push(view.clone());
        let outside = self.leave_statement(view);
        let bound = bind(self);
        self.return_to(outside);
        self.view_path.pop();
        match self.view_path.is_empty() {
            true => bound.map_err(|error| hidden(view, error)),
            false => bound,
        }
    }

    fn leave_statement(&mut self, view: &Arc<ViewDef>) -> Outside<'p> {
        let context = self.view_context(view);
        let user = self.view_user(view);
        Outside {
            context: std::mem::replace(&mut self.context, context),
            blocks: std::mem::take(&mut self.blocks),
            common_tables: std::mem::take(&mut self.common_tables),
            named_windows: std::mem::take(&mut self.named_windows),
            names: self.names.take(),
            view_user: self.view_user.replace(user),
            lock_reads: self.lock_reads,
            outer_references: self.outer_references.len(),
            // They number the blocks of the statement's own text.
            hints: std::mem::take(&mut self.hints),
            locking: std::mem::take(&mut self.locking),
        }
    }

    fn return_to(&mut self, outside: Outside<'p>) {
        self.context = outside.context;
        self.blocks = outside.blocks;
        self.common_tables = outside.common_tables;
        self.named_windows = outside.named_windows;
        self.names = outside.names;
        self.view_user = outside.view_user;
        self.lock_reads = outside.lock_reads;
        self.hints = outside.hints;
        // Blocks of the view are none of the statement.
        self.outer_references.truncate(outside.outer_references);
        self.locking = outside.locking;
    }

    /// Literals of the view are none of the statement, and read as they did where the view was defined.
    fn view_context(&self, view: &ViewDef) -> ContextRef<'p> {
        let mut bind = self.context.bind.clone();
        bind.known = KnownValues::default();
        if let Some(collation) = CollationId::by_name(&view.collation_connection) {
            bind.connection_collation = collation;
        }
        ContextRef::Own(Rc::new(BinderContext {
            bind,
            current_database: None,
            literals: Literals::Inline,
            parameter_types: &[],
            session: self.context.session,
            switches: self.context.switches,
            lock_source_rows: self.context.lock_source_rows,
        }))
    }

    /// On whose behalf the view's query reads: its definer, or who uses the view.
    fn view_user(&self, view: &ViewDef) -> Arc<ViewUser> {
        let outermost = self.view_path.first().map_or(view, |outermost| &**outermost);
        let definer = match view.as_invoker {
            true => self.view_user.as_ref().and_then(|user| user.definer.clone()),
            false => Some((view.definer_user.clone(), view.definer_host.clone())),
        };
        Arc::new(ViewUser { database: outermost.database.clone(), view: outermost.name.clone(), definer })
    }

    /// The locking clause that reaches the rows below the view.
    fn locking_of(&self, alias: &str, usage: TableUsage) -> Option<ast::Locking<'p>> {
        if usage < TableUsage::ReadLocking {
            return None;
        }
        let reaches = |clause: &&ast::Locking<'p>| {
            clause.tables.is_empty() || clause.tables.iter().any(|table| table.name.name == alias)
        };
        self.locking.iter().find(reaches).map(|clause| ast::Locking { tables: &[], ..*clause })
    }

    fn bind_locked(
        &mut self,
        query: &'p ast::Query<'p>,
        locking: Option<ast::Locking<'p>>,
    ) -> Result<BoundQuery, SqlError> {
        match (query.body, locking) {
            (ast::QueryBody::Select(_), Some(clause)) if query.locking.is_empty() => {
                let locking = self.arena.alloc_slice_copy(&[clause]);
                let query = self.arena.alloc(ast::Query { locking, ..*query });
                self.bind_query(query)
            }
            _ => self.bind_query(query),
        }
    }

    pub fn check_view_depth(&self) -> Result<(), SqlError> {
        match self.view_path.len() < VIEW_DEPTH_MAX {
            true => Ok(()),
            false => Err(not_supported("views nested this deep")),
        }
    }
}

/// Each view is bound on the stack of the one above.
const VIEW_DEPTH_MAX: usize = 32;

fn ident(name: &str) -> ast::Ident<'_> {
    ast::Ident { name, span: ast::Span::default() }
}

/// What is missing or forbidden below a view is not told to those who use it.
fn hidden(view: &ViewDef, error: SqlError) -> SqlError {
    match error.errno {
        1049 | 1054 | 1100 | 1142 | 1143 | 1146 | 1304 | 1305 | 1353 | 1370 => invalid(view),
        _ => error,
    }
}
