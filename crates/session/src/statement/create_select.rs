//! CREATE TABLE .. SELECT: the query's columns join those of the list, its rows go into the new table within the
//! same schema change, so the table exists with all its rows or not at all.
use std::sync::Arc;

use catalog::{RowConverter, SchemaChange};
use datum::{SqlError, Value, error_code};
use engine::WaitPolicy;
use executor::RowSink;
use parser::ast::{CreateTable, LockStrength, LockWait, Locking, Query, QueryBody, Statement, StatementKind};
use plan::PlanKind;
use planner::Literals;
use schema::{LocalFuture, TableDef};
use table::{ChangeOutcome, ReadyTable};

use super::Request;
use crate::session::Session;
use definition::SourceColumns;
use instance::PreparedPlan;

impl Session {
    /// Plans the query of a CREATE TABLE .. SELECT.
    pub(super) async fn plan_source(
        &mut self,
        statement: &CreateTable<'_>,
        request: Request<'_>,
    ) -> Result<Option<PreparedPlan>, SqlError> {
        let Some(query) = statement.query else { return Ok(None) };
        if statement.duplicates.is_some() {
            return Err(
                error_code::ER_NOT_SUPPORTED_YET.with(&[&"IGNORE and REPLACE in CREATE TABLE .. SELECT"])
            );
        }
        // The copied rows stay as they are until the table is there, as in INSERT .. SELECT.
        let share = [Locking { strength: LockStrength::Share, tables: &[], wait: LockWait::Wait }];
        let is_plain = matches!(query.body, QueryBody::Select(_)) && query.locking.is_empty();
        let locking: &[Locking<'_>] =
            if is_plain && self.locks_source_rows() { &share } else { query.locking };
        let query = &Query { locking, ..*query };
        let source =
            Statement { kind: StatementKind::Query(query), span: query.span, hints: request.statement.hints };
        let request = Request { statement: &source, ..request };
        let make = |session: &Session| session.plan_request(request, Literals::Inline, Vec::new());
        let plan = self.plan_knowing(make).await?;
        Ok(Some(self.prepare_plan(plan)?))
    }

    /// Runs the query into the table that `change` has created; gives the number of rows.
    pub(super) async fn fill_from(
        &mut self,
        change: &mut SchemaChange,
        table: &ReadyTable,
        source: &PreparedPlan,
        parameters: Vec<Value>,
    ) -> Result<u64, SqlError> {
        let PlanKind::Query(query) = &source.plan.kind else { return Ok(0) };
        let definition = table.definition().clone();
        let settings = self.settings.clone();
        let conversion = self.conversion_of(&settings);
        let maker = self.row_maker(&definition)?;
        let mut targets = SourceColumns::new(&definition, &query.columns, conversion, &maker)?;
        let mut rows = TableFiller { change, table, targets: &mut targets, waiting: Vec::new(), count: 0 };
        self.execute_source(&source.plan, parameters, &mut rows).await?;
        rows.flush().await?;
        Ok(rows.count)
    }
}

/// Takes rows from the executor and puts them into the table whenever enough have gathered.
struct TableFiller<'a, 'c> {
    change: &'a mut SchemaChange,
    table: &'a ReadyTable,
    targets: &'a mut SourceColumns<'c>,
    waiting: Vec<Vec<Value>>,
    count: u64,
}

const WAITING_ROWS_MAX: usize = 256;

impl RowSink for TableFiller<'_, '_> {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let mut converted = Vec::with_capacity(self.table.definition().columns.len());
        self.targets.convert(row, &mut converted)?;
        self.waiting.push(converted);
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_ROWS_MAX
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<(), SqlError>> {
        Box::pin(async {
            for row in std::mem::take(&mut self.waiting) {
                // Nobody else knows the new trees.
                let inserted =
                    self.table.insert_row(self.change.transaction(), &row, WaitPolicy::NoWait).await?;
                match inserted {
                    ChangeOutcome::Done => self.count += 1,
                    ChangeOutcome::Duplicate { index, .. } => {
                        return Err(self.table.duplicate_error(index, &row));
                    }
                }
            }
            Ok(())
        })
    }
}

/// The table that rows enter before it is published.
pub(super) fn unpublished(definition: &TableDef) -> ReadyTable {
    ReadyTable::of_new_trees(Arc::new(definition.clone()))
}
