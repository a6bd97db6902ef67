//! LOAD DATA LOCAL: the client is asked for its file, whose lines become rows.
//!
//! Invariant: a file that was asked for is read to its end, whatever becomes of the statement, since the client sends all
//! of it before it listens again.
use datum::{ColumnType, ErrorCode, SqlError, TypeKind, Value, error_code};
use executor::{CollectRows, LoadSource, LoadedRow};
use expression::SessionServices;
use parser::ast::LoadData;
use plan::PlanKind;
use planner::{Literals, LoadTarget, load_targets};
use schema::{ColumnDefault, LocalFuture, TableDef};
use std::sync::Arc;

use super::guard::Shield;
use super::load_format::{Cut, Field, LineFormat};
use super::{Done, Effects, Request};
use crate::session::Session;
use crate::sink::ResultSink;

const ER_CLIENT_LOCAL_FILES_DISABLED: ErrorCode = ErrorCode::new(
    3948,
    "42000",
    "Loading local data is disabled; this must be enabled on both the client and server sides",
);
const ER_OPTION_PREVENTS_STATEMENT: ErrorCode = ErrorCode::new(
    1290,
    "HY000",
    "The MySQL server is running with the %s option so it cannot execute this statement",
);
const ER_WARN_TOO_FEW_RECORDS: ErrorCode =
    ErrorCode::new(1261, "01000", "Row %d doesn't contain data for all columns");
const ER_WARN_TOO_MANY_RECORDS: ErrorCode = ErrorCode::new(
    1262,
    "01000",
    "Row %d was truncated; it contained more data than there were input columns",
);
const ER_WARN_NULL_TO_NOTNULL: ErrorCode = ErrorCode::new(
    1263,
    "22004",
    "Column set to default value; NULL supplied to NOT NULL column '%s' at row %d",
);

/// What the server may not do with files: `secure_file_priv` is NULL.
pub(super) fn files_are_forbidden() -> SqlError {
    ER_OPTION_PREVENTS_STATEMENT.with(&[&"--secure-file-priv"])
}

impl Session {
    pub(super) async fn load_data(
        &mut self,
        load: &LoadData<'_>,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let unsupported = |what: &str| error_code::ER_NOT_SUPPORTED_YET.with(&[&what]);
        if load.xml {
            return Err(unsupported("LOAD XML"));
        }
        if !load.local {
            return Err(files_are_forbidden());
        }
        let is_allowed = self.read_variable(parser::ast::VariableScope::Global, "local_infile")?;
        if is_allowed.0 != Value::Int(1) || !sink.sends_files() {
            return Err(ER_CLIENT_LOCAL_FILES_DISABLED.plain());
        }
        let format = LineFormat::of(load).ok_or_else(|| unsupported("LOAD DATA of fields without ends"))?;
        let skipped = match &load.ignore_lines {
            Some(_) => self.lines_to_skip(load)?,
            None => 0,
        };
        let charset = match load.charset {
            Some(name) => collation::Charset::by_name(name.name)
                .ok_or_else(|| error_code::ER_UNKNOWN_CHARACTER_SET.with(&[&name.name]))?,
            None => self.database_charset(),
        };
        let text =
            ColumnType { collation: charset.default_collation(), ..ColumnType::new(TypeKind::LongText) };
        // As many as a line can have targets.
        let types = vec![text; load.columns.len().max(FIELDS_MAX)];
        let make = |session: &Session| {
            let request = Request { parameter_types: &types, ..request };
            session.plan_request(request, Literals::Inline, Vec::new())
        };
        let plan = self.plan_knowing(make).await?;
        let prepared = self.prepare_plan(plan)?;
        let PlanKind::Insert(insert) = &prepared.plan.kind else { return Ok(Done::ok()) };
        let targets = load_targets(load, &insert.table, insert.view.as_ref())?;
        self.lock_plan(&prepared).await?;
        let gone = |_| error_code::ER_QUERY_INTERRUPTED.plain();
        sink.ask_for_file(load.path).await.map_err(gone)?;
        let mut source = FileRows {
            sink,
            format,
            table: insert.table.clone(),
            targets,
            input: Vec::new(),
            is_end: false,
            skipped,
            last_variables: Vec::new(),
        };
        let mut no_rows = CollectRows::default();
        let loaded =
            self.execute_plan_from(&prepared.plan, Vec::new(), &mut no_rows, Some(&mut source)).await;
        source.read_to_end().await?;
        let variables = std::mem::take(&mut source.last_variables);
        let outcome = loaded?;
        for (name, value) in variables {
            self.shared.set_user_variable(&name, value, types[0].clone())?;
        }
        self.end_statement_transaction(shield).await?;
        let warnings = self.shared.diagnostics.lock().count();
        let (records, affected) = (outcome.records, outcome.affected_rows);
        let (deleted, left_out) = match insert.duplicates_replace() {
            true => (affected.saturating_sub(records), 0),
            false => (0, records.saturating_sub(affected)),
        };
        let info =
            format!("Records: {records}  Deleted: {deleted}  Skipped: {left_out}  Warnings: {warnings}");
        Ok(Done::Ok(Effects {
            affected_rows: affected,
            last_insert_id: outcome.last_insert_id,
            info: info.into(),
        }))
    }

    /// `character_set_database`.
    fn database_charset(&self) -> collation::Charset {
        let database = self.database.as_deref().and_then(|name| self.instance.catalog().database(name));
        database.map_or(self.settings.server_collation, |database| database.collation).charset()
    }

    fn lines_to_skip(&self, load: &LoadData<'_>) -> Result<u64, SqlError> {
        let value = load.ignore_lines.as_ref().and_then(|expr| self.constant(expr));
        match value {
            Some((Value::Int(count), _)) if count >= 0 => Ok(count as u64),
            Some((Value::UInt(count), _)) => Ok(count),
            _ => {
                Err(error_code::ER_NOT_SUPPORTED_YET
                    .with(&[&"IGNORE of a number of lines that is no literal"]))
            }
        }
    }
}

/// A table has no more columns.
const FIELDS_MAX: usize = 4096;

/// The file of a client, line by line.
struct FileRows<'a> {
    sink: &'a mut dyn ResultSink,
    format: LineFormat,
    table: Arc<TableDef>,
    targets: Vec<LoadTarget>,
    /// What has arrived and is no row yet.
    input: Vec<u8>,
    is_end: bool,
    /// Lines to leave out first.
    skipped: u64,
    last_variables: Vec<(String, Value)>,
}

impl FileRows<'_> {
    async fn read_piece(&mut self) -> Result<(), SqlError> {
        let piece = self.sink.next_piece().await;
        let piece = piece.map_err(|_| error_code::ER_QUERY_INTERRUPTED.plain())?;
        self.is_end = piece.is_empty();
        self.input.extend_from_slice(&piece);
        Ok(())
    }

    async fn read_to_end(&mut self) -> Result<(), SqlError> {
        while !self.is_end {
            self.input.clear();
            self.read_piece().await?;
        }
        Ok(())
    }

    /// The next line's fields; `used` counts what has been taken of `input` and is still there.
    async fn next_fields(&mut self) -> Result<Option<Vec<Field>>, SqlError> {
        loop {
            let cut = match self.skipped {
                0 => self.format.record(&self.input, self.is_end),
                _ => match self.format.skip_line(&self.input, self.is_end) {
                    Cut::Whole((), length) => Cut::Whole(Vec::new(), length),
                    Cut::More => Cut::More,
                    Cut::Nothing => Cut::Nothing,
                },
            };
            match cut {
                Cut::Whole(fields, length) => {
                    self.input.drain(..length);
                    if self.skipped == 0 {
                        return Ok(Some(fields));
                    }
                    self.skipped -= 1;
                }
                Cut::More => self.read_piece().await?,
                Cut::Nothing => return Ok(None),
            }
        }
    }

    fn row_of(&mut self, fields: Vec<Field>, number: u64) -> LoadedRow {
        let mut row = LoadedRow::default();
        if fields.len() > self.targets.len() {
            row.late_problem = Some(ER_WARN_TOO_MANY_RECORDS.with(&[&number]));
        }
        self.last_variables.clear();
        let mut fields = fields.into_iter();
        for target in &self.targets {
            let field = fields.next();
            if field.is_none() {
                row.problems.push(ER_WARN_TOO_FEW_RECORDS.with(&[&number]));
            }
            let value = match target {
                LoadTarget::Variable(name) => {
                    let value = field.flatten().map_or(Value::Null, Value::Bytes);
                    self.last_variables.push((name.clone(), value.clone()));
                    value
                }
                LoadTarget::Column(column) => column_value(&self.table, *column, field, number, &mut row),
            };
            row.values.push(value);
        }
        row
    }
}

/// A field that is not there is the column's NULL or zero; NULL is that for a column that cannot be NULL.
fn column_value(
    table: &TableDef,
    column: usize,
    field: Option<Field>,
    number: u64,
    row: &mut LoadedRow,
) -> Value {
    let definition = &table.columns[column];
    let implicit = || {
        let value = definition.column_type.implicit_default();
        Value::bytes(value.to_text(&definition.column_type))
    };
    match field {
        Some(Some(bytes)) => Value::Bytes(bytes),
        Some(None) if definition.nullable() || definition.auto_increment => Value::Null,
        Some(None) => {
            row.problems.push(ER_WARN_NULL_TO_NOTNULL.with(&[&definition.name, &number]));
            implicit()
        }
        None if definition.auto_increment => Value::Null,
        None if definition.nullable() && definition.default == ColumnDefault::Null => Value::Null,
        None => implicit(),
    }
}

impl LoadSource for FileRows<'_> {
    fn next_row(&mut self, number: u64) -> LocalFuture<'_, Result<Option<LoadedRow>, SqlError>> {
        Box::pin(async move {
            let fields = self.next_fields().await?;
            Ok(fields.map(|fields| self.row_of(fields, number)))
        })
    }
}
