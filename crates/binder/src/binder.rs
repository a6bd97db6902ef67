//! The state of binding one statement. Made by `statement` and by those who bind an expression or a view by itself; every
//! family of syntax adds its methods in a file of its own.
use crate::block::Block;
use crate::bound::BoundInitialiser;
use crate::bound_statement::BoundRowSubquery;
use crate::catalog_view::{CatalogView, ResolvedTable};
use crate::context::BinderContext;
use crate::hints::StatementHints;
use crate::scopes::{CommonScope, ContextRef, Names, SubqueryRead, ViewReference};
use bumpalo::Bump;
use datum::{ColumnType, Condition, SqlError, error_code};
use parser::ast;
use plan::{Rights, TableNeed, TableUsage, TableUse, ViewUser};
use schema::ViewDef;
use std::sync::Arc;

pub struct Binder<'p> {
    pub catalog: &'p dyn CatalogView,
    pub context: ContextRef<'p>,
    /// The trees of views.
    pub arena: &'p Bump,
    /// Every view that the statement reads.
    pub views: Vec<Arc<ViewDef>>,
    /// The views being bound, the outermost first.
    pub view_path: Vec<Arc<ViewDef>>,
    /// On whose behalf names are resolved, below a view.
    pub view_user: Option<Arc<ViewUser>>,
    /// The locking clauses of the block being bound.
    pub locking: &'p [ast::Locking<'p>],
    /// Where a view is defined by the query: what its names mean.
    pub names: Option<Box<Names>>,
    /// The blocks being bound, outermost first; names are looked up from the last one outwards.
    pub blocks: Vec<Block>,
    pub slot_count: usize,
    pub tables: Vec<TableUse>,
    pub needs: Vec<TableNeed>,
    pub functions: Vec<plan::FunctionUse>,
    /// What INSERT needs besides: UPDATE for ON DUPLICATE KEY, DELETE for REPLACE.
    pub insert_also: Rights,
    /// UPDATE or DELETE of several tables.
    pub is_joined_change: bool,
    pub parameter_types: Vec<Option<ColumnType>>,
    pub shareable: bool,
    /// As `Plan::user_variables`.
    pub user_variables: Vec<(String, Option<ColumnType>)>,
    /// As `BoundStatement::assigns_variables`.
    pub assigns_variables: bool,
    /// See `Plan::is_guess`.
    pub is_guess: bool,
    pub conditions: Vec<Condition>,
    /// WITH clauses in scope, innermost last.
    pub common_tables: Vec<CommonScope<'p>>,
    /// (block, slot) of every column that was carried into an inner query, as they were met.
    pub outer_references: Vec<(usize, usize)>,
    /// The block of the last aggregate that belongs to a block around the one it stands in.
    pub outer_aggregate: Option<usize>,
    /// Numbers of kept rows given out.
    pub kept_count: usize,
    /// The WINDOW clause of the block being bound.
    pub named_windows: &'p [(ast::Ident<'p>, ast::WindowSpecification<'p>)],
    /// Derived tables and subqueries being bound, to bound recursion through WITH.
    pub depth: usize,
    pub hints: StatementHints,
    /// Plain reads of blocks bound now lock their rows (INSERT .. SELECT).
    pub lock_reads: Option<ast::Locking<'p>>,
    /// Subqueries among the values of an INSERT: run once before it.
    pub value_initialisers: Vec<BoundInitialiser>,
    /// Those that run before a certain row of VALUES.
    pub row_initialisers: Vec<(usize, BoundInitialiser)>,
    /// While ON DUPLICATE KEY UPDATE is bound: the assignment's number, and the subqueries that read the row.
    pub row_subqueries: Option<(usize, Vec<BoundRowSubquery>)>,
    /// Tables read by subqueries (not inside derived tables, which are read before anything changes).
    pub subquery_reads: Vec<SubqueryRead>,
    /// The views that the statement itself names, in the order of binding.
    pub view_references: Vec<ViewReference>,
    /// Subqueries around the block being bound, and derived tables among them.
    pub subquery_depth: usize,
    pub derived_depth: usize,
    /// The number of the block that is bound next, of which it is only asked whether it has rows.
    pub existence_block: Option<u32>,
}

/// Nesting of query blocks, as deep as MySQL allows.
const BLOCK_DEPTH_MAX: usize = 63;

impl<'p> Binder<'p> {
    pub fn new(catalog: &'p dyn CatalogView, context: &'p BinderContext<'p>, arena: &'p Bump) -> Binder<'p> {
        Binder {
            catalog,
            context: ContextRef::Given(context),
            arena,
            views: Vec::new(),
            view_path: Vec::new(),
            view_user: None,
            locking: &[],
            names: None,
            blocks: Vec::new(),
            slot_count: 0,
            tables: Vec::new(),
            needs: Vec::new(),
            functions: Vec::new(),
            insert_also: Rights::NONE,
            is_joined_change: false,
            parameter_types: Vec::new(),
            shareable: true,
            user_variables: Vec::new(),
            assigns_variables: false,
            is_guess: false,
            conditions: Vec::new(),
            common_tables: Vec::new(),
            outer_references: Vec::new(),
            outer_aggregate: None,
            kept_count: 0,
            named_windows: &[],
            depth: 0,
            hints: StatementHints::default(),
            lock_reads: None,
            value_initialisers: Vec::new(),
            row_initialisers: Vec::new(),
            row_subqueries: None,
            subquery_reads: Vec::new(),
            view_references: Vec::new(),
            subquery_depth: 0,
            derived_depth: 0,
            existence_block: None,
        }
    }

    /// The innermost block.
    pub fn block(&mut self) -> &mut Block {
        self.blocks.last_mut().expect("a block is pushed before anything is bound")
    }

    pub fn new_slot(&mut self) -> usize {
        self.slot_count += 1;
        self.slot_count - 1
    }

    /// Finds a table in the catalog and notes its use; the number is the place of what that needs.
    pub fn resolve_table(
        &mut self,
        name: &ast::ObjectName<'_>,
        alias: &str,
        usage: TableUsage,
    ) -> Result<(ResolvedTable, usize), SqlError> {
        let database = self.database_of(name)?;
        let need = self.need_table(usage, database, name.name.name)?;
        let resolved = match self.view_path.is_empty() {
            true => self.catalog.table(database, name.name.name)?,
            false => self.catalog.base_table(database, name.name.name)?,
        };
        if let ResolvedTable::Stored { table, .. } = &resolved {
            self.shareable &= !table.temporary;
            if self.subquery_depth > 0 && self.derived_depth == 0 {
                self.note_subquery_read(table.id, alias);
            }
            let alias = alias.to_owned();
            let is_below_view = !self.view_path.is_empty();
            self.tables.push(TableUse { id: table.id, table: table.clone(), alias, usage, is_below_view });
        }
        Ok((resolved, need))
    }

    pub fn database_of<'n>(&self, name: &ast::ObjectName<'n>) -> Result<&'n str, SqlError>
    where
        'p: 'n,
    {
        match (name.database, self.context.current_database) {
            (Some(database), _) => Ok(database.name),
            (None, Some(current)) => Ok(current),
            (None, None) => Err(error_code::ER_NO_DB_ERROR.plain()),
        }
    }

    pub fn enter(&mut self) -> Result<(), SqlError> {
        self.depth += 1;
        if self.depth > BLOCK_DEPTH_MAX {
            return Err(not_supported("query blocks nested this deep"));
        }
        Ok(())
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// Error 1235 naming what is missing.
pub fn not_supported(what: &str) -> SqlError {
    error_code::ER_NOT_SUPPORTED_YET.with(&[&what])
}
