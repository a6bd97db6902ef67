//! UPDATE and DELETE: the rows come from a plan like a query's, with their clustered keys. Called by `statement`.
use crate::changes::moved_rows::{moves_rows, reads_assigned};
use crate::planner::Planner;
use crate::queries::nodes::{apply_all, limit, order};
use crate::queries::select_build::{RowSource, wanted_order};
use crate::queries::select_subquery::place_subqueries;
use binder::block::{Block, PendingSubquery, Position, Source, SourceKind, SubqueryPlan};
use binder::bound::{BoundBlock, BoundSelect, JoinTree, Logical, SelectItem};
use binder::{BoundDelete, BoundRows, BoundUpdate, BoundUpdateTarget, stored_table};
use datum::SqlError;
use expression::Expr;
use plan::{
    Assignment, DeletePlan, DeleteTarget, InsertValue, LockClause, LockWait, Node, NodeKind, SortKey,
    UpdatePlan, UpdateTarget,
};
use schema::{TableDef, TableId};

/// Whether the query reads one of the tables, as far as that can be told.
pub fn reads_any(query: &Logical, tables: &[TableId]) -> bool {
    let Logical::Select(select) = query else { return true };
    let in_source = |source: &Source| match &source.kind {
        SourceKind::Stored { table, .. } => tables.contains(&table.id),
        SourceKind::Query(inner) => reads_any(&inner.query, tables),
        _ => true,
    };
    let in_subquery = |subquery: &PendingSubquery| match &subquery.query {
        SubqueryPlan::Bound(query) => reads_any(query, tables),
        SubqueryPlan::Built { .. } => true,
    };
    select.block.sources.iter().any(in_source)
        || select.block.subqueries.iter().any(in_subquery)
        || !select.block.initialisers.is_empty()
}

impl Planner<'_> {
    pub fn build_update(&mut self, update: BoundUpdate) -> Result<UpdatePlan, SqlError> {
        let BoundUpdate { rows, mut targets, ignore, mut collect_first } = update;
        let assignments = targets.iter_mut().flat_map(|target| &mut target.assignments);
        let values = assignments.filter_map(|assignment| match &mut assignment.value {
            InsertValue::Expr(expr) => Some(expr),
            InsertValue::Default(_) => None,
        });
        let (node, block) = self.build_changed_rows(rows, values.collect())?;
        let first = first_row_key(&node);
        let mut planned = Vec::with_capacity(targets.len());
        for BoundUpdateTarget { source, assignments, rules } in targets {
            let table = stored_table(&block, source, "UPDATE")?;
            let is_assigned =
                |column: usize| assignments.iter().any(|assignment: &Assignment| assignment.column == column);
            collect_first |= reads_assigned(&node, &table, &is_assigned);
            let row_key_position = place_of(&block, Position::RowKey { source });
            planned.push(UpdateTarget {
                is_seen: first == Some(row_key_position) && !moves_rows(&table, &is_assigned),
                row_key_position,
                column_positions: (0..table.columns.len())
                    .map(|column| place_of(&block, Position::Column { source, column }))
                    .collect(),
                rules,
                table,
                assignments,
            });
        }
        Ok(UpdatePlan { input: node, targets: planned, ignore, collect_first })
    }

    pub fn build_delete(&mut self, delete: BoundDelete) -> Result<DeletePlan, SqlError> {
        let BoundDelete { mut rows, ignore, collect_first } = delete;
        let sources = rows.targets.clone();
        for &source in &sources {
            for column in columns_of_indexes(&*stored_table(&rows.block, source, "DELETE")?) {
                rows.block.position(source, column);
            }
        }
        let (node, block) = self.build_changed_rows(rows, Vec::new())?;
        let mut targets = Vec::with_capacity(sources.len());
        for source in sources {
            let table = stored_table(&block, source, "DELETE")?;
            targets.push(DeleteTarget {
                row_key_position: place_of(&block, Position::RowKey { source }),
                index_columns: columns_of_indexes(&table)
                    .into_iter()
                    .map(|column| (column, place_of(&block, Position::Column { source, column })))
                    .collect(),
                table,
            });
        }
        Ok(DeletePlan { input: node, targets, ignore, collect_first })
    }

    /// The rows to change, locked, with the clustered key of each table that is changed; subqueries in `values` get their
    /// positions in the rows.
    fn build_changed_rows(
        &mut self,
        rows: BoundRows,
        mut values: Vec<&mut Expr>,
    ) -> Result<(Node, Block), SqlError> {
        let BoundRows { block, tree, conditions, order_by, limit, targets, locks_others } = rows;
        let items = values.iter().map(|value| SelectItem {
            expr: (**value).clone(),
            name: String::new(),
            is_alias: true,
        });
        let mut bound = BoundSelect::of_items(items.collect());
        bound.conditions = conditions;
        let mut select = BoundBlock { block, bound, tree: Some(tree), is_correlated: false };
        self.merge_into_change(&mut select, &targets)?;
        for (value, item) in values.iter_mut().zip(select.bound.items) {
            **value = item.expr;
        }
        let (mut block, mut conditions) = (select.block, select.bound.conditions);
        let mut tree = select.tree.expect("it has been given");
        lock_rows(&mut block, &targets, locks_others);
        self.unnest(&mut block, &mut tree, &mut conditions);
        // A trigger may assign what later rows are compared with.
        let mut tables = targets.iter().filter_map(|&target| stored_table(&block, target, "UPDATE").ok());
        if !tables.any(|table| self.catalog.has_triggers(&table)) {
            self.read_variables_once(&mut block, &mut conditions, Some(&mut tree));
        }
        self.build_inner(&mut block)?;
        let applies = place_subqueries(&mut block, values);
        let node = self.sorted_rows(&mut block, tree, conditions, order_by, limit)?;
        let initialisers = std::mem::take(&mut block.initialisers);
        Ok((self.initialised(apply_all(node, applies), initialisers)?, block))
    }

    /// Queries in FROM become part of the block as in a query, but for those that read a table that is changed.
    fn merge_into_change(&mut self, select: &mut BoundBlock, targets: &[usize]) -> Result<(), SqlError> {
        let mut changed = Vec::with_capacity(targets.len());
        for &target in targets {
            changed.push(stored_table(&select.block, target, "UPDATE")?.id);
        }
        for source in &mut select.block.sources {
            if let SourceKind::Query(query) = &mut source.kind {
                query.merges &= !reads_any(&query.query, &changed);
            }
        }
        self.merge_sources(select);
        self.push_conditions(select);
        Ok(())
    }

    fn sorted_rows(
        &mut self,
        block: &mut Block,
        tree: JoinTree,
        conditions: Vec<Expr>,
        mut keys: Vec<SortKey>,
        count: Option<(Expr, Option<Expr>)>,
    ) -> Result<Node, SqlError> {
        let wanted = wanted_order(block, &keys, &count);
        let applies = place_subqueries(block, keys.iter_mut().map(|key| &mut key.expr).collect());
        let RowSource { mut node, ordered } =
            self.build_row_source(block, Some(tree), conditions, wanted, false)?;
        node = apply_all(node, applies);
        if !ordered {
            node = order(node, keys, count.clone());
        }
        Ok(limit(node, count))
    }
}

/// Rows that change are locked for it, others where `locks_others` says so in share mode.
fn lock_rows(block: &mut Block, targets: &[usize], locks_others: bool) {
    for &source in targets {
        block.sources[source].lock = Some(LockClause { exclusive: true, wait: LockWait::Session });
        block.row_key_position(source);
    }
    let share = LockClause { exclusive: false, wait: LockWait::Session };
    for source in &mut block.sources {
        if source.lock.is_none() && locks_others && matches!(source.kind, SourceKind::Stored { .. }) {
            source.lock = Some(share);
        }
    }
}

fn place_of(block: &Block, wanted: Position) -> usize {
    let place = block.frame.iter().position(|position| *position == wanted);
    place.expect("every position of a target was placed before the rows were planned")
}

/// Columns whose values the index entries of a row are made from.
fn columns_of_indexes(table: &TableDef) -> Vec<usize> {
    let secondary = table.indexes.iter().filter(|index| table.clustered_by != Some(index.id));
    let mut columns: Vec<usize> =
        secondary.flat_map(|index| index.parts.iter().map(|part| part.column)).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The position of the row keys of the table that the rows are read from first.
fn first_row_key(node: &Node) -> Option<usize> {
    match &node.kind {
        NodeKind::Table(access) => access.row_key_position,
        NodeKind::Filter { input, .. } => first_row_key(input),
        NodeKind::NestedLoop(join) => first_row_key(&join.outer),
        NodeKind::HashJoin(join) => first_row_key(&join.outer),
        NodeKind::Initialise(initialise) => first_row_key(&initialise.input),
        NodeKind::Apply(apply) => first_row_key(&apply.input),
        _ => None,
    }
}
