//! The target of INSERT, REPLACE and LOAD DATA: a table under its own name, or one that a view shows.
//!
//! Invariant: names of the statement are those of the table or of the view that it names, positions are the table's.
use crate::binder::Binder;
use crate::block::{Block, MergedView, Source, SourceKind};
use crate::catalog_view::{ResolvedTable, TableStatistics};
use crate::queries::from::columns_of;
use crate::same_name::{same_database, same_name, same_table};
use crate::views::view_change::stored_at;
use datum::{SqlError, error_code};
use parser::ast;
use plan::{InsertView, Rights, RowRules, TableUsage};
use schema::{TableDef, ViewDef};
use std::sync::Arc;

pub struct Target {
    pub table: Arc<TableDef>,
    /// What the table is called where it is named, in the statement or in a view.
    pub alias: String,
    /// The place of what the statement needs on the table.
    need: usize,
    view: Option<TargetView>,
}

struct TargetView {
    need: usize,
    shown: InsertView,
    rules: Option<Arc<RowRules>>,
    reference: usize,
}

/// A name that no statement can write: of a column that the view does not show.
const NOT_SHOWN: &str = "not shown ";

impl<'p> Binder<'p> {
    /// The target, given the columns that the statement lists.
    pub fn insert_target(
        &mut self,
        name: &ast::ObjectName<'p>,
        listed: Option<&[&ast::ColumnReference<'p>]>,
    ) -> Result<Target, SqlError> {
        let (resolved, need) = self.resolve_table(name, name.name.name, TableUsage::Insert)?;
        match resolved {
            ResolvedTable::Stored { table, .. } => {
                Ok(Target { alias: table.name.clone(), table, need, view: None })
            }
            ResolvedTable::Virtual(table) => {
                Err(error_code::ER_NON_UPDATABLE_TABLE.with(&[&table.definition().name, &"INSERT"]))
            }
            ResolvedTable::View(view) => self.view_target(&view, need, listed),
        }
    }

    fn view_target(
        &mut self,
        view: &Arc<ViewDef>,
        need: usize,
        listed: Option<&[&ast::ColumnReference<'p>]>,
    ) -> Result<Target, SqlError> {
        if !view.is_updatable {
            // What is wrong below it comes first.
            let query = self.view_query(view)?;
            self.in_view(view, |binder| binder.bind_query(query))?;
            return Err(not_insertable(view));
        }
        self.blocks.push(Block::default());
        let found = self.find_target(view, need, listed);
        let block = self.blocks.pop().expect("pushed above");
        // They run before the first row.
        self.value_initialisers.extend(block.initialisers);
        found
    }

    fn find_target(
        &mut self,
        view: &Arc<ViewDef>,
        need: usize,
        listed: Option<&[&ast::ColumnReference<'p>]>,
    ) -> Result<Target, SqlError> {
        self.bind_changed_view(view, &view.name, false, need, TableUsage::Insert)?;
        let source = self.block().first_named();
        let merged = self.block().merged_at(source).cloned();
        let merged = merged.ok_or_else(|| crate::views::invalid(view))?;
        let bases = self.listed_bases(source, view, listed)?;
        let is_join = merged.sources.count_ones() > 1;
        if is_join && listed.is_none() {
            return Err(error_code::ER_VIEW_NO_INSERT_FIELD_LIST.with(&[&view.database, &view.name]));
        }
        let base = bases.first().copied().unwrap_or(merged.sources.trailing_zeros() as usize);
        if bases.iter().any(|other| *other != base) {
            return Err(error_code::ER_VIEW_MULTIUPDATE.with(&[&view.database, &view.name]));
        }
        if listed.is_none() {
            (0..merged.columns.len()).try_for_each(|column| self.base_column(source, column).map(|_| ()))?;
        }
        let columns = self.shown_columns(view, &merged, base, is_join)?;
        let table = stored_at(self.block(), base).ok_or_else(|| not_insertable(view))?;
        let base_need = self.block().sources[base].need.unwrap_or(need);
        let rules = crate::row_expression::row_rules(&table, self.catalog, &self.context)?;
        let rules = self.checked_rules(rules, &merged, base, false)?;
        self.read_others(&table);
        let shown = InsertView { database: view.database.clone(), view: view.name.clone(), columns };
        Ok(Target {
            alias: self.block().sources[base].alias.clone(),
            table,
            need: base_need,
            view: Some(TargetView { need, shown, rules, reference: merged.reference }),
        })
    }

    /// Tables beside the target that a join view names are read, not written to.
    fn read_others(&mut self, target: &TableDef) {
        for used in self.tables.iter_mut().filter(|used| used.usage == TableUsage::Insert) {
            if used.table.id != target.id {
                used.usage = TableUsage::Read;
            }
        }
    }

    /// The tables whose columns the statement lists.
    fn listed_bases(
        &mut self,
        source: usize,
        view: &ViewDef,
        listed: Option<&[&ast::ColumnReference<'p>]>,
    ) -> Result<Vec<usize>, SqlError> {
        let mut bases = Vec::new();
        for reference in listed.unwrap_or_default() {
            let columns = &self.block().sources[source].columns;
            let column = columns.iter().position(|column| same_name(&column.name, reference.name));
            let column = column.filter(|_| is_of(reference, &view.database, &view.name));
            let column = column.ok_or_else(|| unknown(reference))?;
            bases.push(self.base_column(source, column)?.0);
        }
        Ok(bases)
    }

    /// The view's columns as columns of the table. Error 1471 where one of them is none, or two are the same.
    fn shown_columns(
        &mut self,
        view: &ViewDef,
        merged: &MergedView,
        base: usize,
        is_join: bool,
    ) -> Result<Vec<(usize, String)>, SqlError> {
        let block = self.block();
        let names = block.sources[merged.source].columns.iter().map(|column| column.name.clone());
        let mut shown: Vec<(usize, String)> = Vec::new();
        for (column, name) in merged.columns_of(block, base).into_iter().zip(names) {
            match column {
                Some(column) if shown.iter().any(|(known, _)| *known == column) => {
                    return Err(not_insertable(view));
                }
                Some(column) => shown.push((column, name)),
                None if is_join => {}
                None => return Err(not_insertable(view)),
            }
        }
        Ok(shown)
    }

    /// Asks for rights on a column of the target, by the name that the statement uses.
    pub fn need_target(
        &mut self,
        target: &Target,
        column: usize,
        rights: Rights,
        is_unnamed: bool,
    ) -> Result<(), SqlError> {
        if let Some(view) = &target.view
            && let Some((_, name)) = view.shown.columns.iter().find(|(shown, _)| *shown == column)
        {
            self.need_named(view.need, name, rights, is_unnamed)?;
        }
        self.need_named(target.need, &target.table.columns[column].name, rights, is_unnamed)
    }

    /// What rows need before they are written.
    pub fn target_rules(&self, target: &Target) -> Result<Option<Arc<RowRules>>, SqlError> {
        match &target.view {
            Some(view) => Ok(view.rules.clone()),
            None => crate::row_expression::row_rules(&target.table, self.catalog, &self.context),
        }
    }
}

impl Target {
    /// What the statement calls it.
    pub fn name(&self) -> &str {
        self.view.as_ref().map_or(&self.table.name, |view| &view.shown.view)
    }

    /// The reference to the view that it is seen through.
    pub fn reference(&self) -> Option<usize> {
        self.view.as_ref().map(|view| view.reference)
    }

    pub fn view(&self) -> Option<InsertView> {
        self.view.as_ref().map(|view| view.shown.clone())
    }

    /// The column an assignment or column list names; a qualifier must be the target's.
    pub fn column(&self, reference: &ast::ColumnReference<'_>) -> Result<usize, SqlError> {
        match &self.view {
            None => target_column(&self.table, reference),
            Some(view) => column_of_view(&view.shown, reference),
        }
    }

    /// The columns that stand for a list that is not given.
    pub fn columns(&self) -> Vec<usize> {
        match &self.view {
            Some(view) => view.shown.columns.iter().map(|(column, _)| *column).collect(),
            None => {
                let visible = |column: &usize| {
                    !self.table.columns[*column].invisible && !self.table.columns[*column].hidden
                };
                (0..self.table.columns.len()).filter(visible).collect()
            }
        }
    }

    /// The row of the table as a source under the names that the statement uses.
    pub fn row_source(&self, alias: &str) -> Source {
        let mut columns = columns_of(&self.table);
        let (mut database, mut need) = (&self.table.database, self.need);
        if let Some(view) = &self.view {
            (database, need) = (&view.shown.database, view.need);
            columns.iter_mut().for_each(|column| NOT_SHOWN.clone_into(&mut column.name));
            for (column, name) in &view.shown.columns {
                columns[*column].name.clone_from(name);
            }
        }
        Source {
            alias: alias.to_owned(),
            database: database.clone(),
            columns,
            kind: SourceKind::Stored {
                table: self.table.clone(),
                statistics: TableStatistics::default(),
                hints: Box::default(),
            },
            optional: false,
            lock: None,
            names_results: false,
            mixed: Vec::new(),
            need: Some(need),
            origin: Default::default(),
        }
    }
}

/// The column an assignment or column list names; a qualifier must be the table's.
pub fn target_column(table: &TableDef, reference: &ast::ColumnReference<'_>) -> Result<usize, SqlError> {
    let fits = reference.qualifier.is_none_or(|qualifier| {
        same_table(qualifier.name.name, &table.name)
            && qualifier.database.is_none_or(|database| same_database(database.name, &table.database))
    });
    let column = if fits { table.column_named(reference.name) } else { None };
    column.ok_or_else(|| {
        let table = reference.qualifier.map(|qualifier| qualifier.name.name);
        let name = crate::bind::full_name(None, table, reference.name);
        error_code::ER_BAD_FIELD_ERROR.with(&[&name, &"field list"])
    })
}

/// The table's column that a name means through a view.
pub fn column_of_view(view: &InsertView, reference: &ast::ColumnReference<'_>) -> Result<usize, SqlError> {
    let found = view.columns.iter().find(|(_, name)| same_name(name, reference.name));
    let found = found.filter(|_| is_of(reference, &view.database, &view.view));
    found.map(|(column, _)| *column).ok_or_else(|| unknown(reference))
}

fn is_of(reference: &ast::ColumnReference<'_>, database: &str, name: &str) -> bool {
    reference.qualifier.is_none_or(|qualifier| {
        same_table(qualifier.name.name, name)
            && qualifier.database.is_none_or(|written| same_database(written.name, database))
    })
}

fn unknown(reference: &ast::ColumnReference<'_>) -> SqlError {
    let table = reference.qualifier.map(|qualifier| qualifier.name.name);
    let name = crate::bind::full_name(None, table, reference.name);
    error_code::ER_BAD_FIELD_ERROR.with(&[&name, &"field list"])
}

fn not_insertable(view: &ViewDef) -> SqlError {
    error_code::ER_NON_INSERTABLE_TABLE.with(&[&view.name, &"INSERT"])
}
