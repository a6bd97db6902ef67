//! UPDATE and DELETE: the rows come from a plan like a query's, with their clustered keys.
use crate::block::{Block, Clause, PendingSubquery, Position, Source, SourceKind, SubqueryPlan};
use crate::bound::{BoundBlock, Logical};
use crate::changes::assigned::AssignedColumns;
use crate::changes::moved_rows::{moves_rows, reads_assigned};
use crate::error_codes::ER_MULTI_UPDATE_KEY_CONFLICT;
use crate::planner::Planner;
use crate::queries::from::{JoinTree, Joined};
use crate::queries::select_build::{BoundSelect, RowSource};
use crate::queries::select_items::SelectItem;
use crate::queries::select_subquery::{apply_all, place_subqueries};
use crate::views::view_change::MergedView;
use crate::walk::has_aggregate;
use datum::{SqlError, error_code};
use expression::Expr;
use parser::ast;
use plan::{
    Assignment, DefaultSource, DeletePlan, DeleteTarget, InsertValue, LockClause, LockWait, Node, NodeKind,
    Rights, RowRules, SortKey, TableUsage, UpdatePlan, UpdateTarget,
};
use schema::{TableDef, TableId};
use std::sync::Arc;

/// The clauses that both statements have.
struct Clauses<'p> {
    filter: Option<&'p ast::Expr<'p>>,
    order_by: &'p [ast::OrderItem<'p>],
    limit: Option<ast::Limit<'p>>,
    is_single: bool,
}

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

impl<'p> Planner<'p> {
    pub fn plan_update(&mut self, update: &ast::Update<'p>) -> Result<UpdatePlan, SqlError> {
        if let Some(with) = update.with {
            self.enter_with(with)?;
        }
        self.blocks.push(self.hinted_block(update.number));
        let mut is_single = update.single_table().is_some();
        self.is_joined_change = !is_single;
        let known = self.tables.len();
        let joined = self.bind_from(update.tables, TableUsage::Update)?;
        let joined = joined.ok_or_else(|| error_code::ER_NO_TABLES_USED.plain())?;
        self.check_hinted_names();
        // A view may join tables.
        is_single &= joined.tree.sources().count_ones() == 1;
        // MySQL: at READ COMMITTED an UPDATE of one table reads others without locks, every other change with.
        self.share_reads(!is_single);
        let mut targets = self.update_targets(update.assignments, is_single)?;
        let rules = self.target_checks(&targets)?;
        let clauses =
            Clauses { filter: update.filter, order_by: update.order_by, limit: update.limit, is_single };
        let sources: Vec<usize> = targets.iter().map(|(source, _)| *source).collect();
        self.only_read_others(known, &sources, "UPDATE")?;
        let values = targets.iter_mut().flat_map(|(_, assignments)| assignments);
        let values = values.filter_map(|assignment| match &mut assignment.value {
            InsertValue::Expr(expr) => Some(expr),
            InsertValue::Default(_) => None,
        });
        let node = self.plan_changed_rows(joined, &sources, clauses, values.collect())?;
        let block = self.blocks.pop().expect("pushed above");
        check_moved_twice(&block, &targets)?;
        let mut targets: Vec<_> = targets.into_iter().zip(rules).collect();
        targets.sort_by_key(|((source, _), _)| *source);
        let first = first_row_key(&node);
        let mut collect_first = !is_single;
        let mut plan_targets = Vec::with_capacity(targets.len());
        for ((source, assignments), rules) in targets {
            let table = stored_table(&block, source, "UPDATE")?;
            self.check_not_read(&table, &block.sources[source].alias, block.reference_of(source), "UPDATE")?;
            let is_assigned =
                |column: usize| assignments.iter().any(|assignment| assignment.column == column);
            collect_first |= reads_assigned(&node, &table, &is_assigned);
            let row_key_position = place_of(&block, Position::RowKey { source });
            plan_targets.push(UpdateTarget {
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
        Ok(UpdatePlan { input: node, targets: plan_targets, ignore: update.ignore, collect_first })
    }

    pub fn plan_delete(&mut self, delete: &ast::Delete<'p>) -> Result<DeletePlan, SqlError> {
        if let Some(with) = delete.with {
            self.enter_with(with)?;
        }
        self.blocks.push(self.hinted_block(delete.number));
        let (joined, sources, mut is_single) = match delete.target {
            ast::DeleteTarget::Single(table) => {
                let reference = ast::TableReference::Table(table);
                let joined = self.bind_from(&[reference], TableUsage::Delete)?;
                let named = self.block().first_named();
                (joined.expect("one table"), vec![self.base_table(named)?], true)
            }
            ast::DeleteTarget::Multiple { targets, from } => {
                self.is_joined_change = true;
                let known = self.tables.len();
                let joined = self.bind_from(from, TableUsage::Delete)?;
                let joined = joined.ok_or_else(|| error_code::ER_NO_TABLES_USED.plain())?;
                let sources = self.delete_sources(targets)?;
                self.only_read_others(known, &sources, "DELETE")?;
                for &source in &sources {
                    self.need_more(source, Rights::DELETE)?;
                }
                (joined, sources, false)
            }
        };
        self.check_hinted_names();
        is_single &= joined.tree.sources().count_ones() == 1;
        self.share_reads(true);
        for &source in &sources {
            let table = stored_table(self.block(), source, "DELETE")?;
            for column in columns_of_indexes(&table) {
                self.block().position(source, column);
            }
        }
        let clauses =
            Clauses { filter: delete.filter, order_by: delete.order_by, limit: delete.limit, is_single };
        let node = self.plan_changed_rows(joined, &sources, clauses, Vec::new())?;
        let block = self.blocks.pop().expect("pushed above");
        let mut targets = Vec::with_capacity(sources.len());
        for source in sources {
            let table = stored_table(&block, source, "DELETE")?;
            self.check_not_read(&table, &block.sources[source].alias, block.reference_of(source), "DELETE")?;
            targets.push(DeleteTarget {
                row_key_position: place_of(&block, Position::RowKey { source }),
                index_columns: columns_of_indexes(&table)
                    .into_iter()
                    .map(|column| (column, place_of(&block, Position::Column { source, column })))
                    .collect(),
                table,
            });
        }
        // One table is read and deleted row by row, whichever way the statement is written.
        let collect_first = match delete.target {
            ast::DeleteTarget::Single(_) => false,
            ast::DeleteTarget::Multiple { from, .. } => !matches!(from, [ast::TableReference::Table(_)]),
        };
        Ok(DeletePlan { input: node, targets, ignore: delete.ignore, collect_first })
    }

    /// Tables that a change joins without changing them, among those in use from `known` on, are only read.
    fn only_read_others(&mut self, known: usize, sources: &[usize], word: &str) -> Result<(), SqlError> {
        let targets = sources.iter().map(|&source| Ok(stored_table(self.block(), source, word)?.id));
        let targets = targets.collect::<Result<Vec<TableId>, SqlError>>()?;
        let joined = self.tables[known..]
            .iter_mut()
            .filter(|used| matches!(used.usage, TableUsage::Update | TableUsage::Delete));
        for used in joined.filter(|used| !targets.contains(&used.id)) {
            used.usage = TableUsage::ReadLocking;
        }
        Ok(())
    }

    fn delete_sources(&mut self, targets: &[ast::ObjectName<'_>]) -> Result<Vec<usize>, SqlError> {
        let mut sources = Vec::with_capacity(targets.len());
        for target in targets {
            let database = target.database.map(|database| database.name);
            let block = self.block();
            let named = |source: &crate::block::Source| source.is_named(database, Some(target.name.name));
            let Some(source) = block.sources.iter().position(named) else {
                return Err(error_code::ER_UNKNOWN_TABLE.with(&[&target.name.name, &"MULTI DELETE"]));
            };
            self.need_more(source, Rights::DELETE)?;
            let source = self.base_table(source)?;
            if sources.contains(&source) {
                return Err(error_code::ER_NONUNIQ_TABLE.with(&[&target.name.name]));
            }
            sources.push(source);
        }
        Ok(sources)
    }

    /// The assignments by table, in the order written; every column of a changed table is read.
    fn update_targets(
        &mut self,
        assignments: &[ast::Assignment<'p>],
        is_single: bool,
    ) -> Result<Vec<(usize, Vec<Assignment>)>, SqlError> {
        let mut targets: Vec<(usize, Vec<Assignment>)> = Vec::new();
        let mut assigned = AssignedColumns::default();
        for assignment in assignments {
            let reference = &assignment.column;
            let database = reference.qualifier.and_then(|qualifier| qualifier.database).map(|name| name.name);
            let table = reference.qualifier.map(|qualifier| qualifier.name.name);
            let block = self.block();
            block.clause = Some(Clause::FieldList);
            let Some((source, column)) = block.find_column(database, table, reference.name)? else {
                let name = crate::bind::full_name(database, table, reference.name);
                return Err(error_code::ER_BAD_FIELD_ERROR.with(&[&name, &"field list"]));
            };
            self.need_column(self.blocks.len() - 1, source, column, Rights::UPDATE, false)?;
            let (source, column) = self.base_column(source, column)?;
            let block = self.block();
            let definition = stored_table(block, source, "UPDATE")?;
            for column in 0..definition.columns.len() {
                block.position(source, column);
            }
            if block.sources[source].origin.is_inner {
                self.need_column(self.blocks.len() - 1, source, column, Rights::UPDATE, false)?;
            }
            let known_subqueries = self.block().subqueries.len();
            let mut value = match assignment.value.kind {
                ast::ExprKind::DefaultValue => self.insert_value(&definition, column, &assignment.value)?,
                _ => InsertValue::Expr(self.assigned_value(&definition, column, &assignment.value)?),
            };
            if let InsertValue::Default(DefaultSource::Expr(expr)) = &mut value {
                self.block().read_row_of(source, expr);
            }
            if is_single {
                self.read_assigned(known_subqueries, &assigned)?;
                let position = self.block().position(source, column);
                assigned.assign(
                    &self.context.bind,
                    position,
                    &definition.columns[column].column_type,
                    &value,
                )?;
            }
            if let InsertValue::Expr(expr) = &value
                && has_aggregate(expr)
            {
                return Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain());
            }
            // DEFAULT is what a generated column gets in any case.
            let is_given = definition.columns[column].generated.is_none();
            let given = is_given.then_some(Assignment { column, value });
            match targets.iter_mut().find(|(known, _)| *known == source) {
                Some((_, list)) => list.extend(given),
                None => targets.push((source, given.into_iter().collect())),
            }
        }
        Ok(targets)
    }

    /// Subqueries since `known_subqueries` read the columns that the statement has assigned as they are then.
    fn read_assigned(&mut self, known_subqueries: usize, assigned: &AssignedColumns) -> Result<(), SqlError> {
        let subqueries = self.block().subqueries[known_subqueries..].iter_mut();
        let mut taken =
            subqueries.flat_map(|subquery| subquery.left.iter_mut().chain(&mut subquery.correlation));
        taken.try_for_each(|(_, expr)| assigned.put_into(expr))
    }

    /// What rows of each target need before they are written. Error 1393 where the statement changes more than one table
    /// through a view.
    fn target_checks(
        &mut self,
        targets: &[(usize, Vec<Assignment>)],
    ) -> Result<Vec<Option<Arc<RowRules>>>, SqlError> {
        let merged = self.block().merged.clone();
        for view in &merged {
            let is_through = |source: &&(usize, Vec<Assignment>)| view.sources >> source.0 & 1 == 1;
            if targets.iter().filter(is_through).count() > 1 {
                let view = &view.view;
                return Err(error_code::ER_VIEW_MULTIUPDATE.with(&[&view.database, &view.name]));
            }
        }
        let mut all = Vec::with_capacity(targets.len());
        for (source, _) in targets {
            let table = stored_table(self.block(), *source, "UPDATE")?;
            let mut rules = crate::row_expression::row_rules(&table, self.catalog, &self.context)?;
            let is_named = |view: &&MergedView| !self.blocks[0].sources[view.source].origin.is_inner;
            let above = merged.iter().filter(is_named).find(|view| view.sources >> source & 1 == 1);
            if let Some(view) = above {
                rules = self.checked_rules(rules, view, *source, true)?;
            }
            all.push(rules);
        }
        Ok(all)
    }

    /// The rows to change, locked, with the clustered key of each table in `sources`; subqueries in `values` get their
    /// positions in the rows.
    fn plan_changed_rows(
        &mut self,
        mut joined: Joined,
        sources: &[usize],
        clauses: Clauses<'p>,
        values: Vec<&mut Expr>,
    ) -> Result<Node, SqlError> {
        if !clauses.is_single && (!clauses.order_by.is_empty() || clauses.limit.is_some()) {
            let word = if clauses.limit.is_some() { "LIMIT" } else { "ORDER BY" };
            return Err(error_code::ER_WRONG_USAGE.with(&[&"UPDATE", &word]));
        }
        let mut conditions = self.bind_where(clauses.filter)?;
        self.place_view_conditions(&mut joined.tree, &mut conditions)?;
        let mut keys = Vec::with_capacity(clauses.order_by.len());
        self.block().clause = Some(Clause::Order);
        for item in clauses.order_by {
            let expr = self.bind(&item.expr)?;
            keys.push(SortKey { expr, descending: item.descending });
        }
        let limit = self.bind_limit(clauses.limit)?;
        let mut values = values;
        (joined.tree, conditions) = self.merge_into_change(joined.tree, conditions, sources, &mut values)?;
        let lock = LockClause { exclusive: true, wait: LockWait::Session };
        for &source in sources {
            stored_table(self.block(), source, "UPDATE")?;
            self.block().sources[source].lock = Some(lock);
            self.block().row_key_position(source);
        }
        let share = LockClause { exclusive: false, wait: LockWait::Session };
        let lock_others = self.lock_reads.is_some();
        for source in &mut self.block().sources {
            if source.lock.is_none() && lock_others && matches!(source.kind, SourceKind::Stored { .. }) {
                source.lock = Some(share);
            }
        }
        let mut block = self.blocks.pop().expect("the statement's block");
        let (mut tree, mut conditions) = (joined.tree, conditions);
        self.unnest(&mut block, &mut tree, &mut conditions);
        self.build_inner(&mut block)?;
        let applies = place_subqueries(&mut block, values);
        let rows = self.changed_rows(&mut block, Some(tree), conditions, keys, limit);
        let initialisers = std::mem::take(&mut block.initialisers);
        self.blocks.push(block);
        self.initialised(apply_all(rows?, applies), initialisers)
    }

    /// Queries in FROM become part of the block as in a query, but for those that read a table that is changed.
    fn merge_into_change(
        &mut self,
        tree: JoinTree,
        conditions: Vec<Expr>,
        targets: &[usize],
        values: &mut [&mut Expr],
    ) -> Result<(JoinTree, Vec<Expr>), SqlError> {
        let mut block = self.blocks.pop().expect("the statement's block");
        let mut changed = Vec::with_capacity(targets.len());
        for &target in targets {
            changed.push(stored_table(&block, target, "UPDATE")?.id);
        }
        for source in &mut block.sources {
            if let SourceKind::Query(query) = &mut source.kind {
                query.merges &= !reads_any(&query.query, &changed);
            }
        }
        let items = values.iter().map(|value| SelectItem {
            expr: (**value).clone(),
            name: String::new(),
            is_alias: true,
        });
        let mut bound = BoundSelect::of_items(items.collect());
        bound.conditions = conditions;
        let mut select = BoundBlock { block, bound, tree: Some(tree), is_correlated: false };
        self.merge_sources(&mut select);
        self.push_conditions(&mut select);
        self.blocks.push(select.block);
        for (value, item) in values.iter_mut().zip(select.bound.items) {
            **value = item.expr;
        }
        Ok((select.tree.expect("it has been given"), select.bound.conditions))
    }

    fn changed_rows(
        &mut self,
        block: &mut Block,
        tree: Option<JoinTree>,
        conditions: Vec<Expr>,
        keys: Vec<SortKey>,
        limit: Option<(Expr, Option<Expr>)>,
    ) -> Result<Node, SqlError> {
        let wanted = crate::queries::select_build::wanted_order(block, &keys, &limit);
        let mut keys = keys;
        let applies = place_subqueries(block, keys.iter_mut().map(|key| &mut key.expr).collect());
        let RowSource { mut node, ordered } =
            self.build_row_source(block, tree, conditions, wanted, false)?;
        node = apply_all(node, applies);
        if !ordered {
            node = crate::queries::select_build::sort(node, keys, limit.clone());
        }
        Ok(crate::queries::select_build::limit(node, limit))
    }
}

fn stored_table(block: &Block, source: usize, verb: &str) -> Result<Arc<TableDef>, SqlError> {
    match &block.sources[source].kind {
        SourceKind::Stored { table, .. } => Ok(table.clone()),
        _ => Err(error_code::ER_NON_UPDATABLE_TABLE.with(&[&block.sources[source].alias, &verb])),
    }
}

/// A table that is changed under two names must not give its rows new keys under one of them.
fn check_moved_twice(block: &Block, targets: &[(usize, Vec<Assignment>)]) -> Result<(), SqlError> {
    for (number, (first, assignments)) in targets.iter().enumerate() {
        let table = stored_table(block, *first, "UPDATE")?;
        for (second, others) in &targets[number + 1..] {
            let is_same = stored_table(block, *second, "UPDATE")?.id == table.id;
            let mut assigned = assignments.iter().chain(others);
            let key = table.clustering_index().filter(|_| is_same);
            let is_key =
                |column: usize| key.is_some_and(|key| key.parts.iter().any(|part| part.column == column));
            if assigned.any(|assignment| is_key(assignment.column)) {
                let alias = |source: usize| &block.sources[source].alias;
                return Err(ER_MULTI_UPDATE_KEY_CONFLICT.with(&[alias(*first), alias(*second)]));
            }
        }
    }
    Ok(())
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
