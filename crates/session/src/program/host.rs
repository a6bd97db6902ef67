//! What runs inside of a statement: stored functions and triggers.
//!
//! Invariant: they use the statement's transaction and never end it; what they do is undone with the statement, and their
//! rows go to no client. Called by the executor, between two rows.
use std::sync::Arc;

use binder::StoredFunction;
use catalog::LiveProgram;
use datum::{ColumnType, SqlError, Value, error_code};
use engine::Transaction;
use executor::{Firing, LeftOutRows, NewRow, StatementHost};
use instance::{ResultShape, SharedProgram};
use plan::{FunctionUse, Plan, TableUsage};
use schema::{LocalFuture, ProgramKind, TableId};
use table::ReadyTable;

use super::context::{BusyStatement, Strictness};
use super::run::Run;
use super::store::Taking;
use crate::session::Session;
use session_state::guard::Shield;
use session_state::sink::{ClientGone, FlushFuture, OkInfo, ResultSink, StatusInfo};

impl StatementHost for Session {
    fn transaction(&mut self) -> &mut Transaction {
        self.transaction.current.as_mut().expect("a statement runs in a transaction")
    }

    fn seen_transaction(&self) -> &Transaction {
        self.transaction.current.as_ref().expect("a statement runs in a transaction")
    }

    fn call_function(
        &mut self,
        function: u64,
        name: Option<Arc<str>>,
        arguments: Vec<Value>,
    ) -> LocalFuture<'_, Result<Value, SqlError>> {
        Box::pin(async move {
            let live = self.instance.catalog().program_by_id(function);
            let shared =
                self.shared_program(&live.ok_or_else(|| error_code::ER_TABLE_DEF_CHANGED.plain())?)?;
            let mut run = Run::new(shared.clone());
            run.result_name = name;
            // Arguments are taken as the caller's mode takes values.
            let is_strict = self.settings.sql_mode.is_strict() && !self.programs.makes_arguments_fit();
            for (slot, value) in arguments.into_iter().enumerate() {
                let from = super::call::type_of(&value);
                self.take(&mut run, slot, (value, &from), Taking { is_strict, is_copy: false })?;
            }
            self.run_called(&mut run, &Shield::default(), &mut NoClient).await?;
            let name = &shared.live.definition.name;
            run.returned.ok_or_else(|| error_code::ER_SP_NORETURNEND.with(&[&name]))
        })
    }

    fn load_file(&mut self, name: String, bytes_max: u64) -> LocalFuture<'_, Result<Value, SqlError>> {
        Box::pin(async move {
            if !self.privileges.has_global(auth::Privilege::File) {
                return Ok(Value::Null);
            }
            let allowed = self.instance.global_variable("secure_file_priv");
            let Ok(path) = self.instance.files.path_of(&name, self.database.as_deref()) else {
                return Ok(Value::Null);
            };
            let (file, length) = match self.instance.files.open(&path, &allowed).await {
                Ok(opened) => opened,
                Err(error) if error.errno == error_code::ER_TEXTFILE_NOT_READABLE.number => {
                    return Err(error);
                }
                Err(_) => return Ok(Value::Null),
            };
            if length > bytes_max {
                return Ok(Value::UInt(length));
            }
            if length == 0 {
                return Ok(Value::Bytes(Vec::new()));
            }
            let buffer = env::IoBuf::for_overwriting(length as usize);
            let (buffer, read) = file.read_at(0, buffer).await;
            read.map_err(|error| instance::read_error(&path.shown, &error))?;
            Ok(Value::Bytes(buffer.as_slice().to_vec()))
        })
    }

    fn fire<'a>(&'a mut self, firing: Firing<'a>) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async move {
            let Some(table) = self.instance.catalog().table_by_id(firing.table) else {
                return Err(error_code::ER_TABLE_DEF_CHANGED.plain());
            };
            let definition = table.definition();
            let mut firing = firing;
            for live in self.instance.catalog().triggers(&definition.database, &definition.name) {
                let fires = live.definition.trigger.as_ref().is_some_and(|trigger| {
                    trigger.is_before == firing.is_before && trigger.event == firing.event
                });
                if fires {
                    self.fire_one(&live, &mut firing).await?;
                }
            }
            Ok(())
        })
    }

    fn may_fill(&self, table: &ReadyTable) -> bool {
        self.may_fill && !table.definition().temporary
    }

    fn begin_fill<'a>(
        &'a mut self,
        table: &'a ReadyTable,
        ignores: bool,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(self.begin_filling(table, ignores))
    }

    fn fill(&mut self, rows: Vec<Vec<Value>>) -> LocalFuture<'_, Result<(), SqlError>> {
        Box::pin(self.fill_rows(rows))
    }

    fn end_fill(&mut self) -> LocalFuture<'_, Result<LeftOutRows, SqlError>> {
        Box::pin(self.end_filling())
    }
}

impl Session {
    async fn fire_one(&mut self, live: &Arc<LiveProgram>, firing: &mut Firing<'_>) -> Result<(), SqlError> {
        let shared = self.shared_program(live)?;
        let mut run = Run::new(shared.clone());
        let columns = shared.program.row_columns.iter().zip(&shared.row_positions);
        for (column, &position) in columns.clone() {
            let value = match (column.is_new, &firing.new, firing.old) {
                (false, _, Some(old)) => old.get(position),
                (true, Some(NewRow::Changeable { row, .. }), _) => row.get(position),
                (true, Some(NewRow::Final(new)), _) => new.get(position),
                _ => None,
            };
            let value = value.cloned().unwrap_or(Value::Null);
            // A number that is still to be generated is 0, as in MySQL.
            let is_due =
                value.is_null() && column.is_new && firing.old.is_none() && shared.generates(position);
            run.values[column.slot] = if is_due { Value::Int(0) } else { value };
        }
        self.run_called(&mut run, &Shield::default(), &mut NoClient).await?;
        if let Some(NewRow::Changeable { row, given }) = &mut firing.new {
            for (column, &position) in columns.filter(|(column, _)| column.is_new && column.is_assigned) {
                row[position] = std::mem::take(&mut run.values[column.slot]);
                if run.given.contains(&column.slot) && !given.contains(&position) {
                    given.push(position);
                }
            }
        }
        Ok(())
    }

    /// The stored function of a name, as a statement calls it.
    pub(crate) fn stored_function(
        &self,
        database: &str,
        name: &str,
    ) -> Result<Option<StoredFunction>, SqlError> {
        let Some(live) = self.instance.catalog().program(ProgramKind::Function, database, name) else {
            return Ok(None);
        };
        self.require_routine(auth::Privilege::Execute, ProgramKind::Function, database, name)?;
        let shared: Arc<SharedProgram> = self.shared_program(&live)?;
        let returns = shared.program.returns.clone();
        Ok(Some(StoredFunction {
            is_deterministic: live.definition.is_deterministic,
            id: live.id,
            parameter_count: shared.program.parameters.len(),
            returns: returns.unwrap_or(ColumnType::bigint()),
        }))
    }

    /// Whether the functions of a kept plan are those that their names mean, and may be called.
    pub(crate) fn means_the_same_functions(&self, functions: &[FunctionUse]) -> bool {
        let catalog = self.instance.catalog();
        functions.iter().all(|used| {
            let present = catalog.program(ProgramKind::Function, &used.database, &used.name);
            present.is_some_and(|program| program.id == used.id)
        })
    }

    /// The columns that the triggers before a change give values to. One that cannot be read stops its statement when it
    /// fires.
    pub(crate) fn columns_of_triggers(&self, table: TableId, event: schema::TriggerEvent) -> Vec<usize> {
        let Some(handle) = self.instance.catalog().table_by_id(table) else { return Vec::new() };
        let definition = handle.definition();
        let mut columns = Vec::new();
        for live in self.instance.catalog().triggers(&definition.database, &definition.name) {
            let trigger = live.definition.trigger.as_ref();
            let fires = trigger.is_some_and(|trigger| trigger.is_before && trigger.event == event);
            if let (true, Ok(shared)) = (fires, self.shared_program(&live)) {
                let slots = shared.program.row_columns.iter().zip(&shared.row_positions);
                columns.extend(slots.filter(|(slot, _)| slot.is_new && slot.is_assigned).map(|(_, at)| *at));
            }
        }
        columns
    }

    /// Notes a statement that may call programs while it runs. `is_strict`: what it computes is kept.
    pub(crate) fn occupy_tables(&mut self, plan: &Plan, is_strict: bool) {
        let makes_fit = std::mem::take(&mut self.programs.drops_values) || plan.ignores_errors();
        if !plan.functions.is_empty() || !plan.triggers.is_empty() {
            let strictness = match (is_strict, plan.is_change()) {
                (true, true) => Strictness::Change,
                (true, false) => Strictness::Assignment,
                (false, _) => Strictness::None,
            };
            let tables = plan.tables.iter().map(|used| used.id).collect();
            self.programs.busy.push(BusyStatement { tables, strictness, makes_fit });
        }
    }

    /// Error 1442 for a change of a table that the statement around the program uses.
    pub(crate) fn check_not_busy(&self, plan: &Plan) -> Result<(), SqlError> {
        for used in plan.tables.iter().filter(|used| used.usage > TableUsage::ReadForUpdate) {
            if self.programs.busy.iter().any(|statement| statement.tables.contains(&used.id)) {
                return Err(error_code::ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG.with(&[&used.table.name]));
            }
        }
        Ok(())
    }
}

/// Nobody gets rows of what runs inside a statement; those that would come are refused before.
pub(super) struct NoClient;

impl ResultSink for NoClient {
    fn columns(&mut self, _: &Arc<ResultShape>) {}
    fn row(&mut self, _: &[Value]) {}
    fn end_rows(&mut self, _: &StatusInfo) {}
    fn cursor_opened(&mut self, _: &StatusInfo) {}
    fn ok(&mut self, _: &OkInfo) {}
    fn error(&mut self, _: &SqlError) {}
    fn needs_flush(&self) -> bool {
        false
    }
    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Err(ClientGone) })
    }
}
