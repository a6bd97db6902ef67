//! What a binder keeps of the scopes that it is in and of the names that it has met. Read and written by the files that bind
//! what each is about.
use crate::bound::BoundCommon;
use crate::context::BinderContext;
use datum::ColumnType;
use parser::{ResolvedNames, ast};
use schema::{TableId, ViewDef};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// What binding knows of the session: for the statement, or for the text of a view.
#[derive(Clone)]
pub enum ContextRef<'p> {
    Given(&'p BinderContext<'p>),
    Own(Rc<BinderContext<'p>>),
}

impl<'p> Deref for ContextRef<'p> {
    type Target = BinderContext<'p>;
    fn deref(&self) -> &BinderContext<'p> {
        match self {
            ContextRef::Given(context) => context,
            ContextRef::Own(context) => context,
        }
    }
}

/// A table of WITH in scope.
pub struct CommonScope<'p> {
    pub table: &'p ast::CommonTable<'p>,
    /// The blocks around the WITH clause.
    pub block_count: usize,
    /// WITH RECURSIVE was written.
    pub may_recurse: bool,
    /// Its references so far share this.
    pub bound: Option<Rc<BoundCommon>>,
    /// Its own definition is being planned.
    pub recursion: Option<Recursion>,
}

/// The definition of a table that may name itself.
pub struct Recursion {
    /// Columns of the seed; `None` until it is planned.
    pub columns: Option<Vec<(String, ColumnType)>>,
    pub is_union: bool,
    pub round: usize,
    pub references: usize,
    /// Where a branch's FROM is: deeper references stand in subqueries.
    pub block_count: usize,
    pub derived_depth: usize,
}

/// The names of a query.
#[derive(Default)]
pub struct Names {
    pub resolved: ResolvedNames,
    /// Database and name of what stands in FROM, each once.
    pub uses: Vec<(String, String)>,
    /// They are to be a view's, which may name no variables.
    pub is_view: bool,
}

impl Names {
    pub fn of_view() -> Names {
        Names { is_view: true, ..Names::default() }
    }
}

/// A table that a subquery reads.
pub struct SubqueryRead {
    pub table: TableId,
    pub alias: String,
    /// The statement's reference to the view above it.
    pub reference: Option<usize>,
}

/// A view that the statement names.
pub struct ViewReference {
    pub view: Arc<ViewDef>,
    pub alias: String,
}
