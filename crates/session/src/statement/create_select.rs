//! CREATE TABLE .. SELECT: the query's columns join those of the list, its rows go into the new table within the
//! same schema change, so the table exists with all its rows or not at all.
use std::sync::Arc;

use catalog::{RowConverter, SchemaChange};
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use engine::WaitPolicy;
use executor::RowSink;
use parser::ast::{CreateTable, LockStrength, LockWait, Locking, Query, QueryBody, Statement, StatementKind};
use plan::{OutputColumn, PlanKind};
use planner::Literals;
use schema::{ColumnDef, ColumnDefault, LocalFuture, TableDef};
use table::{ChangeOutcome, ReadyTable};

use super::Request;
use super::default_value::Conversion;
use crate::session::Session;
use definition::{ColumnDraft, ColumnSource, TableDraft};
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
        let source = Statement { kind: StatementKind::Query(query), span: query.span };
        let request = Request { statement: &source, ..request };
        let make = |session: &Session| session.plan_request(request, Literals::Inline, Vec::new());
        let plan = self.plan_knowing(make).await?;
        Ok(Some(self.prepare_plan(plan)))
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
        let mut targets = SourceColumns::new(&definition, &query.columns, conversion)?;
        let mut rows = TableFiller { change, table, targets: &mut targets, waiting: Vec::new(), count: 0 };
        self.execute_plan(&source.plan, parameters, &mut rows).await?;
        rows.flush().await?;
        Ok(rows.count)
    }
}

/// Adds the query's columns to a draft; one that the list names already takes its values instead.
pub(super) fn add_query_columns(
    session: &Session,
    draft: &mut TableDraft,
    source: &PreparedPlan,
) -> Result<(), SqlError> {
    let PlanKind::Query(query) = &source.plan.kind else { return Ok(()) };
    let listed_count = draft.columns.len();
    for column in &query.columns {
        if draft.column_position(&column.name).is_some_and(|position| position < listed_count) {
            continue;
        }
        catalog::check_column_name(&column.name)?;
        draft.columns.push(ColumnDraft {
            definition: column_of(session, column),
            written_nullable: None,
            primary: false,
            unique: false,
            source: ColumnSource::New,
        });
    }
    Ok(())
}

/// A plain column keeps its default, a computed one that is never NULL gets its type's.
fn column_of(session: &Session, output: &OutputColumn) -> ColumnDef {
    let mut column_type = output.column_type.clone();
    if column_type.kind == TypeKind::Null {
        column_type = ColumnType { nullable: true, ..ColumnType::new(TypeKind::Binary) };
    }
    let mut column = ColumnDef::new(output.name.clone(), column_type);
    let is_computed = output.original_name.is_empty();
    if let Some(table) = session.instance.catalog().table(&output.database, &output.table)
        && let Some(position) = table.definition().column_named(&output.original_name)
    {
        column.default = table.definition().columns[position].default.clone();
    }
    if is_computed && !column.nullable() && !column.is_large_object() {
        let value = column.column_type.implicit_default();
        let text = String::from_utf8_lossy(&value.to_text(&column.column_type)).into_owned();
        column.default = ColumnDefault::Value { value, text };
    }
    column
}

/// Where each column of the new table gets its value from.
struct SourceColumns<'a> {
    table: &'a TableDef,
    conversion: Conversion<'a>,
    /// For each column: the query's column and its type, or the default.
    sources: Vec<Result<(usize, ColumnType), Value>>,
    next_number: u64,
    row_number: u64,
}

impl<'a> SourceColumns<'a> {
    fn new(
        table: &'a TableDef,
        columns: &[OutputColumn],
        conversion: Conversion<'a>,
    ) -> Result<SourceColumns<'a>, SqlError> {
        let mut sources = Vec::with_capacity(table.columns.len());
        for column in &table.columns {
            let from = columns.iter().position(|output| output.name.eq_ignore_ascii_case(&column.name));
            sources.push(match (from, &column.default) {
                (Some(position), _) => Ok((position, columns[position].column_type.clone())),
                (None, ColumnDefault::None) => Err(column.column_type.implicit_default()),
                (None, ColumnDefault::Null) => Err(Value::Null),
                (None, ColumnDefault::Value { value, .. }) => Err(value.clone()),
                (None, ColumnDefault::CurrentTimestamp { .. }) => Err(conversion.now(&column.column_type)),
                (None, ColumnDefault::Expression { .. }) => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET
                        .with(&[&"a default expression in CREATE TABLE .. SELECT"]));
                }
            });
        }
        let next_number = table.auto_increment_start.max(1);
        Ok(SourceColumns { table, conversion, sources, next_number, row_number: 0 })
    }
}

impl RowConverter for SourceColumns<'_> {
    fn convert(&mut self, row: &[Value], converted: &mut Vec<Value>) -> Result<(), SqlError> {
        self.row_number += 1;
        for (column, source) in self.table.columns.iter().zip(&self.sources) {
            let value = match source {
                Ok((position, from)) => match &row[*position] {
                    Value::Null if column.nullable() => Value::Null,
                    Value::Null => return Err(error_code::ER_BAD_NULL_ERROR.with(&[&column.name])),
                    value => self.conversion.column_value(value, from, column, self.row_number)?.0,
                },
                Err(_) if column.auto_increment => {
                    self.next_number += 1;
                    let number = self.next_number - 1;
                    if column.column_type.unsigned { Value::UInt(number) } else { Value::Int(number as i64) }
                }
                Err(default) => default.clone(),
            };
            converted.push(value);
        }
        Ok(())
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
