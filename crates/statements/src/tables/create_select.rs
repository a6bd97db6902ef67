//! CREATE TABLE .. SELECT: the query's columns join those of the list, its rows go into the new table within the
//! same schema change, so the table exists with all its rows or not at all.
use std::sync::Arc;

use binder::Literals;
use catalog::{RowConverter, SchemaChange, TableFill};
use datum::{Condition, SqlError, SqlMode, Value};
use engine::{LockMode, ReadMode, WaitPolicy};
use executor::RowSink;
use expression::SessionServices;
use parser::ast::{
    CreateTable, DuplicateHandling, LockStrength, LockWait, Locking, Query, QueryBody, Statement,
    StatementKind,
};
use plan::PlanKind;
use schema::{LocalFuture, TableDef};
use table::{ChangeOutcome, ReadyTable, note_loaded};

use crate::caller::Caller;
use definition::SourceColumns;
use instance::PreparedPlan;
use session::Request;

impl Caller<'_> {
    /// Plans the query of a CREATE TABLE .. SELECT.
    pub(crate) async fn plan_source(
        &mut self,
        statement: &CreateTable<'_>,
        request: Request<'_>,
    ) -> Result<Option<PreparedPlan>, SqlError> {
        let Some(query) = statement.query else { return Ok(None) };
        // The copied rows stay as they are until the table is there, as in INSERT .. SELECT.
        let share = [Locking { strength: LockStrength::Share, tables: &[], wait: LockWait::Wait }];
        let is_plain = matches!(query.body, QueryBody::Select(_)) && query.locking.is_empty();
        let locking: &[Locking<'_>] =
            if is_plain && self.locks_source_rows() { &share } else { query.locking };
        let query = &Query { locking, ..*query };
        let source =
            Statement { kind: StatementKind::Query(query), span: query.span, hints: request.statement.hints };
        let request = Request { statement: &source, ..request };
        let make = |session: &session::Session| session.plan_request(request, Literals::Inline, Vec::new());
        let plan = self.plan_knowing(make).await?;
        Ok(Some(self.prepare_plan(plan)?))
    }

    /// Runs the query into the table that `change` has created.
    pub(crate) async fn fill_from(
        &mut self,
        change: &mut SchemaChange,
        table: &ReadyTable,
        (source, duplicates): (&PreparedPlan, Option<DuplicateHandling>),
        parameters: Vec<Value>,
    ) -> Result<Filled, SqlError> {
        let PlanKind::Query(query) = &source.plan.kind else { return Ok(Filled::default()) };
        let definition = table.definition().clone();
        let mut settings = (*self.settings()).clone();
        let ignores = duplicates == Some(DuplicateHandling::Ignore);
        if ignores {
            settings.sql_mode = settings.sql_mode.without(STRICT);
        }
        let conversion = self.conversion_of(&settings);
        let maker = self.row_maker(&definition)?;
        let mut targets = SourceColumns::new(&definition, &query.columns, conversion, &maker)?;
        if ignores {
            targets = targets.adjusting();
        }
        let shared = self.shared().clone();
        let mut rows = TableFiller {
            change,
            table,
            targets: &mut targets,
            waiting: Vec::new(),
            duplicates,
            fill: duplicates.is_none().then(|| TableFill::new(table, self.instance().temporary())),
            session: &*shared,
            filled: Filled::default(),
        };
        match ignores {
            true => self.execute_plan(&source.plan, parameters, &mut rows).await?,
            false => self.execute_source(&source.plan, parameters, &mut rows).await?,
        };
        rows.flush().await?;
        if let Some(fill) = rows.fill.take() {
            (rows.filled.affected, _) = fill.finish(rows.change).await?;
        }
        Ok(rows.filled)
    }
}

const STRICT: SqlMode = SqlMode(SqlMode::STRICT_TRANS_TABLES.0 | SqlMode::STRICT_ALL_TABLES.0);

/// How many rows came.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    pub records: u64,
    /// Those that were there already.
    pub duplicates: u64,
    /// With those that REPLACE has taken away again.
    pub affected: u64,
}

/// Takes rows from the executor and puts them into the table whenever enough have gathered.
struct TableFiller<'a, 'c> {
    change: &'a mut SchemaChange,
    table: &'a ReadyTable,
    targets: &'a mut SourceColumns<'c>,
    /// Rows with what was adjusted in them.
    waiting: Vec<(Vec<Value>, Vec<Condition>)>,
    duplicates: Option<DuplicateHandling>,
    /// Where the rows go if no row may be there already.
    fill: Option<TableFill>,
    session: &'a dyn SessionServices,
    filled: Filled,
}

impl TableFiller<'_, '_> {
    /// Nobody else knows the new trees, so nothing is waited for.
    async fn insert(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.filled.records += 1;
        if let Some(fill) = &mut self.fill {
            fill.push(self.change, row).await?;
            return note_loaded(self.change.transaction(), self.table.definition(), row).await;
        }
        let table = self.table;
        loop {
            let transaction = self.change.transaction();
            let (index, row_key) = match table.insert_row(transaction, row, WaitPolicy::NoWait).await? {
                ChangeOutcome::Done => {
                    self.filled.affected += 1;
                    return Ok(());
                }
                ChangeOutcome::Duplicate { index, row_key } => (index, row_key),
            };
            let error = table.duplicate_error(index, row);
            match self.duplicates {
                None => return Err(error),
                Some(DuplicateHandling::Ignore) => {
                    self.filled.duplicates += 1;
                    self.session.warn(error.into_warning());
                    return Ok(());
                }
                // Each unique index can refuse once more.
                Some(DuplicateHandling::Replace) => {
                    let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::NoWait);
                    let old = table.handle().read_row_at(self.change.transaction(), &row_key, mode).await?;
                    let old = old.ok_or(error)?;
                    let transaction = self.change.transaction();
                    table.delete_row(transaction, &row_key, &old, WaitPolicy::NoWait).await?;
                    self.filled.duplicates += 1;
                    self.filled.affected += 1;
                }
            }
        }
    }
}

const WAITING_ROWS_MAX: usize = 256;

impl RowSink for TableFiller<'_, '_> {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let mut converted = Vec::with_capacity(self.table.definition().columns.len());
        self.targets.convert(row, &mut converted)?;
        self.waiting.push((converted, self.targets.take_conditions()));
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_ROWS_MAX
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<(), SqlError>> {
        Box::pin(async {
            for (row, conditions) in std::mem::take(&mut self.waiting) {
                conditions.into_iter().for_each(|condition| self.session.warn(condition));
                self.insert(&row).await?;
            }
            Ok(())
        })
    }
}

/// The table that rows enter before it is published.
pub(crate) fn unpublished(definition: &TableDef) -> ReadyTable {
    ReadyTable::of_new_trees(Arc::new(definition.clone()))
}
