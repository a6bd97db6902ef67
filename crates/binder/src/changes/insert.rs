//! INSERT and REPLACE.
use crate::binder::{Binder, not_supported};
use crate::block::{Block, Clause, Source, SourceColumn, SourceKind};
use crate::bound::BoundQuery;
use crate::bound_statement::{BoundDuplicates, BoundInsert, BoundSource};
use crate::changes::insert_target::Target;
use crate::same_name::{same_name, same_table};
use datum::{SqlError, error_code};
use parser::ast::{self, ExprKind as Kind};
use plan::{Assignment, InsertValue, OutputColumn, Rights, TableUsage, TableUse};
use schema::TableDef;
use std::sync::Arc;

/// The name under which the new row's columns are found while ON DUPLICATE KEY UPDATE is bound. A space at its end
/// keeps it apart from every name MySQL allows.
const NEW_ROW_SOURCE: &str = "new row ";
/// The name of its columns that an alias does not reach, kept apart in the same way.
const NOT_GIVEN: &str = "not given ";

/// What a value of VALUES costs to bind.
const TICKS_PER_VALUE: usize = 256;

impl<'p> Binder<'p> {
    pub fn bind_insert(&mut self, insert: &ast::Insert<'p>) -> Result<BoundInsert, SqlError> {
        if !insert.partitions.is_empty() {
            return Err(not_supported("PARTITION"));
        }
        self.insert_also = match insert.replace {
            true => Rights::DELETE,
            false if insert.on_duplicate.is_empty() => Rights::NONE,
            false => Rights::UPDATE,
        };
        let listed = listed_columns(insert);
        let target = self.insert_target(&insert.table, listed.as_deref())?;
        let table = target.table.clone();
        self.hints.target = Some(table.name.clone());
        let columns = self.insert_columns(insert, &target, listed.as_deref())?;
        let (mut source_columns, mut reads_target) = (Vec::new(), false);
        // MySQL: subqueries among values are locked at every level.
        self.share_reads(!matches!(insert.source, ast::InsertSource::Query(_)));
        let source = match insert.source {
            ast::InsertSource::Values(rows) => self.insert_rows(&target, &columns, rows)?,
            ast::InsertSource::Set(assignments) => self.insert_set(&target, &columns, assignments)?,
            ast::InsertSource::Query(query) => {
                let (query, added) = self.with_duplicate_reads(query, insert.on_duplicate, &target);
                let bound = self.bind_source_query(query)?;
                if insert.columns.is_none() {
                    self.need_unnamed_columns(&target, &columns)?;
                }
                if bound.columns.len() != columns.len() + added {
                    return Err(error_code::ER_WRONG_VALUE_COUNT_ON_ROW.with(&[&1]));
                }
                source_columns = bound.columns;
                columns.iter().try_for_each(|&column| check_assignable(&table, column))?;
                let is_target = |used: &TableUse| used.id == table.id && used.usage < TableUsage::Insert;
                reads_target = self.tables.iter().any(is_target);
                BoundSource::Query(Box::new(bound.logical))
            }
        };
        let new_row = new_row_source(&target, &columns, insert.row_alias.as_ref())?;
        let mut omitted = Vec::new();
        for column in (0..table.columns.len()).filter(|column| !columns.contains(column)) {
            omitted.push((column, self.default_source(&table, column)?));
        }
        let duplicates = if insert.replace {
            BoundDuplicates::Replace
        } else if insert.on_duplicate.is_empty() {
            BoundDuplicates::Fail
        } else {
            self.on_duplicate(&target, new_row, insert, source_columns)?
        };
        if !matches!(insert.source, ast::InsertSource::Query(_)) {
            self.check_not_read_as(&target)?;
        }
        let initialisers = std::mem::take(&mut self.value_initialisers);
        let row_initialisers = std::mem::take(&mut self.row_initialisers);
        let rules = self.target_rules(&target)?;
        Ok(BoundInsert {
            view: target.view(),
            table,
            columns,
            omitted,
            source,
            reads_target,
            duplicates,
            initialisers,
            row_initialisers,
            rules,
            ignore: insert.ignore,
        })
    }

    /// Whatever a change reads besides its target is locked in share mode, subqueries included: at the levels that
    /// lock source rows always, below only where `always` says so.
    pub fn share_reads(&mut self, always: bool) {
        if always || self.context.lock_source_rows {
            self.lock_reads = Some(ast::Locking {
                strength: ast::LockStrength::Share,
                tables: &[],
                wait: ast::LockWait::Wait,
            });
        }
    }

    /// The query's rows are locked in share mode where the isolation level asks for it.
    fn bind_source_query(&mut self, query: &'p ast::Query<'p>) -> Result<BoundQuery, SqlError> {
        if query.into.is_some() {
            return Err(not_supported("INTO in INSERT .. SELECT"));
        }
        let is_plain = matches!(query.body, ast::QueryBody::Select(_)) && query.locking.is_empty();
        if !is_plain {
            self.lock_reads = None;
        }
        let bound = self.bind_query(query);
        self.lock_reads = None;
        bound
    }

    fn insert_columns(
        &mut self,
        insert: &ast::Insert<'p>,
        target: &Target,
        listed: Option<&[&ast::ColumnReference<'p>]>,
    ) -> Result<Vec<usize>, SqlError> {
        let Some(references) = listed else {
            let columns = target.columns();
            // A query is asked for first.
            if !matches!(insert.source, ast::InsertSource::Query(_)) {
                self.need_unnamed_columns(target, &columns)?;
            }
            return Ok(columns);
        };
        let mut columns = Vec::with_capacity(references.len());
        for reference in references {
            let column = target.column(reference)?;
            self.need_target(target, column, Rights::INSERT, false)?;
            if columns.contains(&column) {
                return Err(error_code::ER_FIELD_SPECIFIED_TWICE.with(&[&target.table.columns[column].name]));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn need_unnamed_columns(&mut self, target: &Target, columns: &[usize]) -> Result<(), SqlError> {
        columns.iter().try_for_each(|&column| self.need_target(target, column, Rights::INSERT, true))
    }

    fn insert_rows(
        &mut self,
        target: &Target,
        columns: &[usize],
        rows: &[&[ast::Expr<'p>]],
    ) -> Result<BoundSource, SqlError> {
        let table = &target.table;
        self.push_row_block(target);
        let mut bound = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            env::tick(row.len() * TICKS_PER_VALUE);
            // `VALUES ()` takes every default.
            if row.len() != columns.len() && !row.is_empty() {
                return Err(error_code::ER_WRONG_VALUE_COUNT_ON_ROW.with(&[&(number + 1)]));
            }
            if row.is_empty() {
                let defaults: Result<Vec<InsertValue>, SqlError> = columns
                    .iter()
                    .map(|&column| Ok(InsertValue::Default(self.default_source(table, column)?)))
                    .collect();
                bound.push(defaults?);
                continue;
            }
            let mut values = Vec::with_capacity(row.len());
            for (expr, &column) in row.iter().zip(columns) {
                values.push(self.insert_value(table, column, expr)?);
            }
            if self.reads_in_subquery(table.id) {
                self.initialise_before_row(number);
            }
            bound.push(values);
        }
        self.pop_row_block();
        Ok(BoundSource::Rows(bound))
    }

    fn insert_set(
        &mut self,
        target: &Target,
        columns: &[usize],
        assignments: &[ast::Assignment<'p>],
    ) -> Result<BoundSource, SqlError> {
        let table = &target.table;
        self.push_row_block(target);
        let mut values = Vec::with_capacity(assignments.len());
        for (assignment, &column) in assignments.iter().zip(columns) {
            values.push(self.insert_value(table, column, &assignment.value)?);
        }
        self.pop_row_block();
        Ok(BoundSource::Rows(vec![values]))
    }

    pub fn insert_value(
        &mut self,
        table: &Arc<TableDef>,
        column: usize,
        expr: &ast::Expr<'p>,
    ) -> Result<InsertValue, SqlError> {
        if matches!(expr.kind, Kind::DefaultValue) {
            return Ok(InsertValue::Default(self.default_source(table, column)?));
        }
        let value = self.assigned_value(table, column, expr)?;
        Ok(InsertValue::Expr(self.settle_subqueries(value)?))
    }

    /// A value that is not DEFAULT; its subqueries wait in the block.
    pub fn assigned_value(
        &mut self,
        table: &Arc<TableDef>,
        column: usize,
        expr: &ast::Expr<'p>,
    ) -> Result<expression::Expr, SqlError> {
        check_assignable(table, column)?;
        let mut bound = self.bind(expr)?;
        self.context.bind.marker_beside(&mut bound, &table.columns[column].column_type);
        Ok(bound)
    }

    /// A block whose frame is the row of the table, every column at its own position.
    pub fn push_row_block(&mut self, target: &Target) {
        let mut block = Block { clause: Some(Clause::FieldList), is_change: true, ..Block::default() };
        block.sources.push(target.row_source(target.name()));
        for column in 0..target.table.columns.len() {
            block.position(0, column);
        }
        self.blocks.push(block);
    }

    /// Values are not computed by a plan: what they need of queries runs before the first row. Aggregates of a changed row are
    /// refused where they are bound.
    pub fn pop_row_block(&mut self) {
        let block = self.blocks.pop().expect("pushed before");
        self.value_initialisers.extend(block.initialisers);
    }

    /// The row's subqueries read the target with the rows before it.
    fn initialise_before_row(&mut self, number: usize) {
        let initialisers = std::mem::take(&mut self.block().initialisers);
        self.row_initialisers.extend(initialisers.into_iter().map(|initialiser| (number, initialiser)));
    }

    /// The frame: the existing row, the new row, and with INSERT .. SELECT the query's row, whose plain columns are
    /// found under their tables' names.
    fn on_duplicate(
        &mut self,
        target: &Target,
        new_row: Source,
        insert: &ast::Insert<'p>,
        source_columns: Vec<OutputColumn>,
    ) -> Result<BoundDuplicates, SqlError> {
        let table = &target.table;
        let mut block = Block { clause: Some(Clause::FieldList), is_change: true, ..Block::default() };
        block.sources.push(target.row_source(target.name()));
        block.new_row = Some(block.sources.len());
        block.sources.push(new_row);
        for source in 0..2 {
            for column in 0..table.columns.len() {
                block.position(source, column);
            }
        }
        for column in source_columns {
            add_query_column(&mut block, column);
        }
        self.blocks.push(block);
        let mut assignments = Vec::with_capacity(insert.on_duplicate.len());
        self.row_subqueries = Some((0, Vec::new()));
        for assignment in insert.on_duplicate {
            let column = target.column(&assignment.column)?;
            self.need_target(target, column, Rights::UPDATE, false)?;
            self.row_subqueries.as_mut().expect("begun above").0 = assignments.len();
            let value = self.insert_value(table, column, &assignment.value)?;
            // DEFAULT is what a generated column gets in any case.
            if table.columns[column].generated.is_none() {
                assignments.push(Assignment { column, value });
            }
        }
        self.pop_row_block();
        let subqueries = self.row_subqueries.take().map_or_else(Vec::new, |(_, made)| made);
        Ok(BoundDuplicates::Update { assignments, subqueries })
    }
}

/// The row that was to be inserted. Its alias reaches the columns that the statement gives values for, in their order
/// and under the alias's names for them; without an alias only VALUES() reaches it.
fn new_row_source(
    target: &Target,
    columns: &[usize],
    alias: Option<&ast::RowAlias<'_>>,
) -> Result<Source, SqlError> {
    let mut source = target.row_source(alias.map_or(NEW_ROW_SOURCE, |alias| alias.name.name));
    source.database = String::new();
    source.columns.iter_mut().for_each(|column| column.hidden = true);
    let Some(alias) = alias else { return Ok(source) };
    if same_table(alias.name.name, target.name()) {
        return Err(error_code::ER_NONUNIQ_TABLE.with(&[&alias.name.name]));
    }
    for (_, column) in source.columns.iter_mut().enumerate().filter(|(index, _)| !columns.contains(index)) {
        NOT_GIVEN.clone_into(&mut column.name);
    }
    if alias.columns.is_empty() {
        return Ok(source);
    }
    if alias.columns.len() != columns.len() {
        return Err(crate::error_codes::ER_VIEW_WRONG_LIST.plain());
    }
    for (index, (&column, name)) in columns.iter().zip(alias.columns).enumerate() {
        if let Some(earlier) =
            alias.columns[..index].iter().find(|earlier| same_name(earlier.name, name.name))
        {
            return Err(error_code::ER_DUP_FIELDNAME.with(&[&earlier.name]));
        }
        let column = &mut source.columns[column];
        name.name.clone_into(&mut column.name);
        column.hidden = false;
    }
    Ok(source)
}

/// A column of the source query at the next frame position. One that is no table's column has no name here.
fn add_query_column(block: &mut Block, column: OutputColumn) {
    let alias = match column.table_alias.is_empty() {
        true => "query row ".to_owned(),
        false => column.table_alias,
    };
    // The target and the new row come first and are never meant.
    let known = block.sources.iter().skip(2).position(|source| same_table(&source.alias, &alias));
    let source = known.map_or(block.sources.len(), |position| position + 2);
    if known.is_none() {
        block.sources.push(Source {
            database: column.database,
            ..Source::made(alias, Vec::new(), SourceKind::Derived(None))
        });
    }
    let columns = &mut block.sources[source].columns;
    let is_known = columns.iter().any(|known| !known.hidden && same_name(&known.name, &column.original_name));
    let is_named = !column.original_name.is_empty() && !is_known;
    columns.push(SourceColumn {
        name: if is_named { column.original_name } else { "query column ".to_owned() },
        column_type: column.column_type,
        hidden: !is_named,
        invisible: false,
    });
    let position = columns.len() - 1;
    block.position(source, position);
}

/// The columns that the statement lists, one way or the other.
fn listed_columns<'s, 'p>(insert: &'s ast::Insert<'p>) -> Option<Vec<&'s ast::ColumnReference<'p>>> {
    match (insert.columns, insert.source) {
        (_, ast::InsertSource::Set(assignments)) => {
            Some(assignments.iter().map(|assignment| &assignment.column).collect())
        }
        (Some(columns), _) => Some(columns.iter().collect()),
        (None, _) => None,
    }
}

/// Error 3105: nobody but its expression gives a generated column a value.
fn check_assignable(table: &TableDef, column: usize) -> Result<(), SqlError> {
    let column = &table.columns[column];
    match column.generated {
        None => Ok(()),
        Some(_) => {
            Err(error_code::ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN.with(&[&column.name, &table.name]))
        }
    }
}
