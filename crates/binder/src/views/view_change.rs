//! Views whose rows are changed: their tables stand in the joins of the statement, and their columns are what the tables'
//! columns make of them.
//!
//! Invariant: what a view brought is reached through the view's columns only, and its conditions hold for every row. What
//! WITH CHECK OPTION demands of new rows is kept beside. Called for tables of UPDATE and DELETE and the target of INSERT.
use crate::binder::{Binder, not_supported};
use crate::block::{Block, MergedView, Origin, Position, Source, SourceColumn, SourceKind};
use crate::bound::JoinTree;
use crate::bound_exprs::{move_over, shift};
use crate::queries::from::Joined;
use crate::walk::{has_subquery, replace};
use datum::{SqlError, error_code};
use expression::{Expr, ExprKind};
use parser::ast;
use plan::{RowRules, RowViewCheck, TableUsage};
use schema::{TableDef, ViewCheck, ViewDef};
use std::sync::Arc;

/// A view's query over a block of its own.
struct Inner {
    block: Block,
    tree: JoinTree,
    merged: MergedView,
    columns: Vec<SourceColumn>,
}

impl<'p> Binder<'p> {
    /// A view of which rows may be changed, as tables of the innermost block.
    pub fn bind_changed_view(
        &mut self,
        view: &Arc<ViewDef>,
        alias: &str,
        is_renamed: bool,
        need: usize,
        usage: TableUsage,
    ) -> Result<Joined, SqlError> {
        let query = self.view_query(view)?;
        let ast::QueryBody::Select(select) = query.body else {
            return Err(crate::views::invalid(view));
        };
        let mut tables = 0;
        let mut count = |_: &ast::ObjectName<'_>| {
            tables += 1;
            true
        };
        crate::views::view_definition::for_each_table(query, &mut count);
        self.is_joined_change |= tables > 1;
        self.note_view_reference(view, alias);
        let inner = self.in_view(view, |binder| binder.bind_view_block(view, select, usage))?;
        let Inner { block, mut tree, mut merged, columns } = inner;
        let first = self.absorb_view(block, &mut tree, &mut merged);
        merged.sources = tree.sources();
        let joined = self.add_source(Source {
            alias: alias.to_owned(),
            database: view.database.clone(),
            columns,
            kind: SourceKind::Derived(None),
            optional: false,
            lock: None,
            names_results: true,
            mixed: Vec::new(),
            need: Some(need),
            origin: Origin { is_renamed, is_inner: false, view: Some(view.clone()) },
        })?;
        let JoinTree::Source(place) = joined.tree else { return Err(crate::views::invalid(view)) };
        merged.source = place;
        let block = self.block();
        block.sources[first..place].iter_mut().for_each(|source| source.origin.is_inner = true);
        block.merged.push(merged);
        Ok(Joined { tree, star: joined.star })
    }

    fn bind_view_block(
        &mut self,
        view: &Arc<ViewDef>,
        select: &'p ast::Select<'p>,
        usage: TableUsage,
    ) -> Result<Inner, SqlError> {
        self.blocks.push(Block::default());
        let joined = self.bind_from(select.from, usage)?;
        let joined = joined.ok_or_else(|| crate::views::invalid(view))?;
        let items = self.bind_select_items(select.items, Some(&joined.star))?;
        let own = self.bind_where(select.filter)?;
        let block = self.blocks.pop().expect("pushed above");
        if items.iter().any(|item| has_subquery(&item.expr)) {
            return Err(not_supported("changes through a view with a subquery in its select list"));
        }
        let names = view.column_names.iter().map(Some).chain(std::iter::repeat(None));
        let named = |(item, name): (&crate::bound::SelectItem, Option<&String>)| SourceColumn {
            name: name.unwrap_or(&item.name).clone(),
            column_type: item.expr.ty.column.clone(),
            hidden: false,
            invisible: false,
        };
        let columns: Vec<SourceColumn> = items.iter().zip(names).map(named).collect();
        let is_direct = |below: &&MergedView| !block.sources[below.source].origin.is_inner;
        let below: Vec<&MergedView> = block.merged.iter().filter(is_direct).collect();
        let mut all = own.clone();
        all.extend(below.iter().flat_map(|below| below.all.iter().cloned()));
        let mut checked = match view.check {
            Some(ViewCheck::Cascaded) => all.clone(),
            Some(ViewCheck::Local) => own.clone(),
            None => Vec::new(),
        };
        if view.check != Some(ViewCheck::Cascaded) {
            checked.extend(below.iter().flat_map(|below| below.checked.iter().cloned()));
        }
        let merged = MergedView {
            reference: self.view_references.len(),
            source: 0,
            view: view.clone(),
            columns: items.into_iter().map(|item| item.expr).collect(),
            sources: 0,
            conditions: own,
            all,
            checked,
        };
        Ok(Inner { block, tree: joined.tree, merged, columns })
    }

    /// Takes the tables and subqueries of a view's block over; the place of the first table among the sources.
    fn absorb_view(&mut self, mut inner: Block, tree: &mut JoinTree, merged: &mut MergedView) -> usize {
        let block = self.block();
        let (first, first_subquery) = (block.sources.len(), block.subqueries.len());
        let positions: Vec<usize> = inner
            .frame
            .iter()
            .map(|position| match *position {
                Position::Column { source, column } => block.position(first + source, column),
                _ => unreachable!("positions that are no columns are given when a block is built"),
            })
            .collect();
        let mut moved = |expr: &mut Expr| move_over(expr, &positions, first_subquery);
        shift(tree, first);
        tree.conditions_mut().into_iter().for_each(&mut moved);
        for below in &mut inner.merged {
            below.source += first;
            below.sources <<= first;
            below.for_each_expr(&mut moved);
        }
        merged.for_each_expr(&mut moved);
        for subquery in &mut inner.subqueries {
            subquery.left.iter_mut().chain(&mut subquery.correlation).for_each(|(_, expr)| moved(expr));
        }
        block.sources.append(&mut inner.sources);
        block.subqueries.append(&mut inner.subqueries);
        block.initialisers.append(&mut inner.initialisers);
        block.merged.append(&mut inner.merged);
        first
    }

    /// The conditions of the views of a statement: those of one that an outer join may leave without a row go with that
    /// join, the others among the statement's.
    pub fn place_view_conditions(
        &mut self,
        tree: &mut JoinTree,
        conditions: &mut Vec<Expr>,
    ) -> Result<(), SqlError> {
        for number in 0..self.block().merged.len() {
            let merged = &mut self.block().merged[number];
            let (mut own, sources) = (std::mem::take(&mut merged.conditions), merged.sources);
            let is_plain = merged.columns.iter().all(|column| matches!(column.kind, ExprKind::Column(_)));
            if !is_plain && is_optional(tree, sources) {
                return Err(not_supported("an outer join of a changed view that has expressions"));
            }
            graft(tree, sources, &mut own);
            conditions.append(&mut own);
        }
        Ok(())
    }

    /// The table's column that a column of a source is, or error 1348.
    pub fn base_column(&mut self, source: usize, column: usize) -> Result<(usize, usize), SqlError> {
        let block = self.block();
        let Some(merged) = block.merged_at(source) else { return Ok((source, column)) };
        let behind = match merged.columns[column].kind {
            ExprKind::Column(position) => block.frame.get(position).copied(),
            _ => None,
        };
        match behind {
            Some(Position::Column { source, column }) => Ok((source, column)),
            _ => {
                let name = &block.sources[source].columns[column].name;
                Err(error_code::ER_NONUPDATEABLE_COLUMN.with(&[name]))
            }
        }
    }

    /// The only table of a view that rows are deleted from, or error 1395.
    pub fn base_table(&mut self, source: usize) -> Result<usize, SqlError> {
        match self.block().merged_at(source) {
            None => Ok(source),
            Some(merged) if merged.sources.count_ones() == 1 => Ok(merged.sources.trailing_zeros() as usize),
            Some(MergedView { view, .. }) => {
                Err(error_code::ER_VIEW_DELETE_MERGE_VIEW.with(&[&view.database, &view.name]))
            }
        }
    }

    /// The table's rules with what the view demands of new rows. Those that come from the view fulfil already what does
    /// not concern the table.
    pub fn checked_rules(
        &mut self,
        rules: Option<Arc<RowRules>>,
        merged: &MergedView,
        base: usize,
        rows_are_seen: bool,
    ) -> Result<Option<Arc<RowRules>>, SqlError> {
        if merged.checked.is_empty() {
            return Ok(rules);
        }
        let mut conditions = Vec::with_capacity(merged.checked.len());
        for condition in &merged.checked {
            let block = self.blocks.last().expect("the block of the change");
            let (reads, frame) = (block.sources_of(condition), &block.frame);
            if rows_are_seen && !has_subquery(condition) && reads >> base & 1 == 0 {
                continue;
            }
            let mut is_own = !has_subquery(condition);
            let mut condition = condition.clone();
            replace(&mut condition, &mut |part| {
                let Position::Column { source, column } = *frame.get(part.as_column()?)? else { return None };
                is_own &= source == base;
                Some(Expr { kind: ExprKind::Column(column), ty: part.ty.clone() })
            });
            if !is_own {
                return Err(not_supported("WITH CHECK OPTION over more than the row that is written"));
            }
            conditions.push(condition);
        }
        let mut rules = rules.map(|rules| (*rules).clone()).unwrap_or_default();
        rules.view_checks.push(RowViewCheck {
            database: merged.view.database.clone(),
            view: merged.view.name.clone(),
            conditions,
        });
        Ok(Some(Arc::new(rules)))
    }
}

impl MergedView {
    fn for_each_expr(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let lists = [&mut self.columns, &mut self.conditions, &mut self.all, &mut self.checked];
        lists.into_iter().flatten().for_each(visit);
    }

    /// For each column the table's column that it is, if it is one of the source `base`.
    pub fn columns_of(&self, block: &Block, base: usize) -> Vec<Option<usize>> {
        let of_base = |column: &Expr| match *block.frame.get(column.as_column()?)? {
            Position::Column { source, column } if source == base => Some(column),
            _ => None,
        };
        self.columns.iter().map(of_base).collect()
    }
}

impl Block {
    /// The view whose columns the source's are.
    pub fn merged_at(&self, source: usize) -> Option<&MergedView> {
        self.merged.iter().find(|merged| merged.source == source)
    }

    /// The reference to a view through which a source came.
    pub fn reference_of(&self, source: usize) -> Option<usize> {
        self.merged.iter().find(|merged| merged.sources >> source & 1 == 1).map(|merged| merged.reference)
    }

    /// A source that the statement names.
    pub fn first_named(&self) -> usize {
        self.sources.iter().position(|source| !source.origin.is_inner).unwrap_or(0)
    }
}

/// Whether an outer join may leave the tables without a row.
fn is_optional(tree: &JoinTree, sources: u64) -> bool {
    match tree {
        JoinTree::Source(_) => false,
        JoinTree::Inner { left, right, .. } => is_optional(left, sources) || is_optional(right, sources),
        JoinTree::Left { left, right, .. } | JoinTree::Semi { left, right, .. } => {
            right.sources() & sources == sources || is_optional(left, sources) || is_optional(right, sources)
        }
    }
}

fn graft(tree: &mut JoinTree, sources: u64, conditions: &mut Vec<Expr>) {
    let holds = |side: &JoinTree| side.sources() & sources == sources;
    match tree {
        JoinTree::Source(_) => {}
        JoinTree::Inner { left, right, .. } => {
            if holds(left) {
                graft(left, sources, conditions);
            } else if holds(right) {
                graft(right, sources, conditions);
            }
        }
        JoinTree::Left { left, right, on } | JoinTree::Semi { left, right, on, .. } => {
            if holds(left) {
                graft(left, sources, conditions);
            } else if holds(right) {
                graft(right, sources, conditions);
                on.append(conditions);
            }
        }
    }
}

/// The definition of a target's table, for those who hold it by its number.
pub fn stored_at(block: &Block, source: usize) -> Option<Arc<TableDef>> {
    match &block.sources[source].kind {
        SourceKind::Stored { table, .. } => Some(table.clone()),
        _ => None,
    }
}
