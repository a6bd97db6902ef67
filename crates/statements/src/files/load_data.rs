//! LOAD DATA and LOAD XML: the lines of a file of the client or of the host become rows.
//!
//! Invariant: a file that a client was asked for is read to its end, whatever becomes of the statement, since the client
//! sends all of it before it listens again.
use std::sync::Arc;

use binder::{Literals, LoadTarget, load_targets};
use datum::{ColumnType, ErrorCode, SqlError, TypeKind, Value, error_code};
use executor::CollectRows;
use expression::SessionServices;
use parser::ast::{LoadColumn, LoadData};
use plan::{InsertPlan, PlanKind};
use schema::TableDef;

use crate::caller::Caller;
use crate::files::load_format::LineFormat;
use crate::files::load_source::{FileBytes, FileFormat, FileRows};
use crate::files::load_xml::XmlRows;
use crate::files::outfile_format::check_separators;
use session::ResultSink;
use session::Session;
use session::Shield;
use session::{Done, Effects, Request};

const ER_CLIENT_LOCAL_FILES_DISABLED: ErrorCode = ErrorCode::new(
    3948,
    "42000",
    "Loading local data is disabled; this must be enabled on both the client and server sides",
);

impl Caller<'_> {
    pub(crate) async fn load_data(
        &mut self,
        load: &LoadData<'_>,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if load.local {
            let is_allowed = self.read_variable(parser::ast::VariableScope::Global, "local_infile")?;
            if is_allowed.0 != Value::Int(1) || !sink.sends_files() {
                return Err(ER_CLIENT_LOCAL_FILES_DISABLED.plain());
            }
        }
        let warn = |condition: SqlError| self.shared().warning(condition);
        check_separators(&load.fields, &load.lines, self.settings().client_charset, &warn)?;
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
        let plan = self.plan_knowing(make).await.map_err(as_load_error)?;
        let prepared = self.prepare_plan(plan)?;
        let PlanKind::Insert(insert) = &prepared.plan.kind else { return Ok(Done::ok()) };
        let targets = load_targets(load, &insert.table, insert.view.as_ref())?;
        let format = self.load_format(load, &insert.table, &targets)?;
        self.lock_plan(&prepared).await?;
        let bytes = self.open_load(load, &insert.table, sink).await?;
        let mut source = FileRows::new(bytes, format, insert.table.clone(), targets, skipped);
        let mut no_rows = CollectRows::default();
        let loaded =
            self.execute_plan_from(&prepared.plan, Vec::new(), &mut no_rows, Some(&mut source)).await;
        source.read_to_end().await?;
        let variables = std::mem::take(&mut source.last_variables);
        let outcome = loaded?;
        for (name, value) in variables {
            self.shared().set_user_variable(&name, value, types[0].clone())?;
        }
        self.end_statement_transaction(shield).await?;
        Ok(self.load_effects(insert, &outcome))
    }

    fn load_effects(&self, insert: &InsertPlan, outcome: &executor::Outcome) -> Done {
        let warnings = self.shared().diagnostics.lock().count();
        let (records, affected) = (outcome.records, outcome.affected_rows);
        let (deleted, left_out) = match insert.duplicates_replace() {
            true => (affected.saturating_sub(records), 0),
            false => (0, records.saturating_sub(affected)),
        };
        let info =
            format!("Records: {records}  Deleted: {deleted}  Skipped: {left_out}  Warnings: {warnings}");
        Done::Ok(Effects {
            affected_rows: affected,
            last_insert_id: outcome.last_insert_id,
            info: info.into(),
        })
    }

    /// How the file is read; errors 1084 and 1409 for rows of fixed size that cannot be.
    fn load_format(
        &self,
        load: &LoadData<'_>,
        table: &TableDef,
        targets: &[LoadTarget],
    ) -> Result<FileFormat, SqlError> {
        if load.xml {
            return Ok(FileFormat::Xml(
                XmlRows::new(load.rows_identified_by),
                field_names(load, table, targets),
            ));
        }
        let escapes = !self.settings().sql_mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES);
        let lines = LineFormat::of(load, escapes);
        if !lines.is_fixed() {
            return Ok(FileFormat::Lines(lines));
        }
        let Some((widths, has_large)) = FileFormat::widths(table, targets) else {
            return Err(error_code::ER_LOAD_FROM_FIXED_SIZE_ROWS_TO_VAR.plain());
        };
        if has_large && !lines.has_line_end() {
            return Err(error_code::ER_BLOBS_AND_NO_TERMINATED.plain());
        }
        Ok(FileFormat::Fixed(lines, widths))
    }

    /// Asks the client for its file, or opens that of the host.
    async fn open_load<'s>(
        &self,
        load: &LoadData<'_>,
        table: &Arc<TableDef>,
        sink: &'s mut dyn ResultSink,
    ) -> Result<FileBytes<'s>, SqlError> {
        if load.local {
            let gone = |_| error_code::ER_QUERY_INTERRUPTED.plain();
            sink.ask_for_file(load.path).await.map_err(gone)?;
            return Ok(FileBytes::Client(sink));
        }
        let database = self.database().unwrap_or(&table.database);
        let path = self.instance().files.path_of(load.path, Some(database))?;
        let allowed = self.instance().global_variable("secure_file_priv");
        let (file, length) = self.instance().files.open(&path, &allowed).await?;
        Ok(FileBytes::Host { file, shown: path.shown, at: 0, length })
    }

    /// `character_set_database`.
    fn database_charset(&self) -> collation::Charset {
        let database = self.database().and_then(|name| self.instance().catalog().database(name));
        database.map_or(self.settings().server_collation, |database| database.collation).charset()
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

/// A view that takes no rows is told as one that cannot be changed.
fn as_load_error(error: SqlError) -> SqlError {
    if error.errno != ER_NON_INSERTABLE_TABLE {
        return error;
    }
    let message =
        error.message.replace("of the INSERT is not insertable-into", "of the LOAD is not updatable");
    SqlError { message, ..ER_NON_UPDATABLE_TABLE.plain() }
}

const ER_NON_INSERTABLE_TABLE: u16 = 1471;
const ER_NON_UPDATABLE_TABLE: ErrorCode = ErrorCode::new(1288, "HY000", "The target table is not updatable");

/// What the fields are called in XML: as the statement writes them.
fn field_names(load: &LoadData<'_>, table: &TableDef, targets: &[LoadTarget]) -> Vec<Vec<u8>> {
    let own = |target: &LoadTarget| match target {
        LoadTarget::Column(column) => table.columns[*column].name.as_bytes().to_vec(),
        LoadTarget::Variable(name) => name.as_bytes().to_vec(),
    };
    let written = |(place, target): (usize, &LoadTarget)| match load.columns.get(place) {
        Some(LoadColumn::Column(reference)) => reference.name.as_bytes().to_vec(),
        Some(LoadColumn::UserVariable(name)) => name.name.as_bytes().to_vec(),
        _ => own(target),
    };
    targets.iter().enumerate().map(written).collect()
}
