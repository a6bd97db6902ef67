//! UPDATE and DELETE: which rows of which tables they change, and what the columns get.
use crate::binder::Binder;
use crate::block::{Block, Clause, MergedView, SourceKind};
use crate::bound_statement::{BoundDelete, BoundRows, BoundUpdate, BoundUpdateTarget};
use crate::changes::assigned::AssignedColumns;
use crate::error_codes::ER_MULTI_UPDATE_KEY_CONFLICT;
use crate::queries::from::Joined;
use datum::{SqlError, error_code};
use parser::ast;
use plan::{Assignment, DefaultSource, InsertValue, Rights, RowRules, SortKey, TableUsage};
use schema::{TableDef, TableId};
use std::sync::Arc;

/// The clauses that both statements have.
struct Clauses<'p> {
    filter: Option<&'p ast::Expr<'p>>,
    order_by: &'p [ast::OrderItem<'p>],
    limit: Option<ast::Limit<'p>>,
    is_single: bool,
}

impl<'p> Binder<'p> {
    pub fn bind_update(&mut self, update: &ast::Update<'p>) -> Result<BoundUpdate, SqlError> {
        if let Some(with) = update.with {
            self.enter_with(with)?;
        }
        let block = Block { is_change: true, ..self.hinted_block(update.number) };
        self.blocks.push(block);
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
        let targets = self.update_targets(update.assignments, is_single)?;
        let rules = self.target_checks(&targets)?;
        let clauses =
            Clauses { filter: update.filter, order_by: update.order_by, limit: update.limit, is_single };
        let sources: Vec<usize> = targets.iter().map(|(source, _)| *source).collect();
        self.only_read_others(known, &sources, "UPDATE")?;
        let rows = self.bind_changed_rows(joined, sources, clauses)?;
        check_moved_twice(&rows.block, &targets)?;
        for (source, _) in &targets {
            self.check_target_not_read(&rows.block, *source, "UPDATE")?;
        }
        let targets = targets.into_iter().zip(rules);
        let mut targets: Vec<BoundUpdateTarget> = targets
            .map(|((source, assignments), rules)| BoundUpdateTarget { source, assignments, rules })
            .collect();
        targets.sort_by_key(|target| target.source);
        // In an order of their own all rows are found before the first is changed, as in MySQL.
        let collect_first = !is_single || !update.order_by.is_empty();
        Ok(BoundUpdate { rows, targets, ignore: update.ignore, collect_first })
    }

    pub fn bind_delete(&mut self, delete: &ast::Delete<'p>) -> Result<BoundDelete, SqlError> {
        if let Some(with) = delete.with {
            self.enter_with(with)?;
        }
        let block = Block { is_change: true, ..self.hinted_block(delete.number) };
        self.blocks.push(block);
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
            stored_table(self.block(), source, "DELETE")?;
        }
        let clauses =
            Clauses { filter: delete.filter, order_by: delete.order_by, limit: delete.limit, is_single };
        let rows = self.bind_changed_rows(joined, sources, clauses)?;
        for &source in &rows.targets {
            self.check_target_not_read(&rows.block, source, "DELETE")?;
        }
        // One table is read and deleted row by row, whichever way the statement is written.
        let collect_first = match delete.target {
            ast::DeleteTarget::Single(_) => false,
            ast::DeleteTarget::Multiple { from, .. } => !matches!(from, [ast::TableReference::Table(_)]),
        };
        Ok(BoundDelete { rows, ignore: delete.ignore, collect_first })
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

    /// The rows to change; takes the statement's block.
    fn bind_changed_rows(
        &mut self,
        mut joined: Joined,
        targets: Vec<usize>,
        clauses: Clauses<'p>,
    ) -> Result<BoundRows, SqlError> {
        if !clauses.is_single && (!clauses.order_by.is_empty() || clauses.limit.is_some()) {
            let word = if clauses.limit.is_some() { "LIMIT" } else { "ORDER BY" };
            return Err(error_code::ER_WRONG_USAGE.with(&[&"UPDATE", &word]));
        }
        let mut conditions = self.bind_where(clauses.filter)?;
        self.place_view_conditions(&mut joined.tree, &mut conditions)?;
        let mut order_by = Vec::with_capacity(clauses.order_by.len());
        self.block().clause = Some(Clause::Order);
        for item in clauses.order_by {
            let expr = self.bind(&item.expr)?;
            order_by.push(SortKey { expr, descending: item.descending });
        }
        let limit = self.bind_limit(clauses.limit)?;
        for &source in &targets {
            stored_table(self.block(), source, "UPDATE")?;
        }
        Ok(BoundRows {
            block: self.blocks.pop().expect("the statement's block"),
            tree: joined.tree,
            conditions,
            order_by,
            limit,
            targets,
            locks_others: self.lock_reads.is_some(),
        })
    }

    /// Error 1093 where a subquery reads the target.
    fn check_target_not_read(&self, block: &Block, source: usize, verb: &str) -> Result<(), SqlError> {
        let table = stored_table(block, source, verb)?;
        self.check_not_read(&table, &block.sources[source].alias, block.reference_of(source), verb)
    }
}

/// The table that a source is, or error 1288.
pub fn stored_table(block: &Block, source: usize, verb: &str) -> Result<Arc<TableDef>, SqlError> {
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
