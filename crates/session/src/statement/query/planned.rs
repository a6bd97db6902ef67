//! Queries and changes: planned or taken from the plan cache, locked, run in a transaction.
//!
//! A plan is made without locks from the catalog's present copy, then its tables are locked and looked at again: if one
//! of them is another one now, the plan is made anew. So no lock is held on a guess.
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use binder::Literals;
use datum::{SqlError, Value, error_code};
use executor::{ExecContext, LoadSource, MemoryBudget, Outcome, RowSink, StrictSession, Work};
use expression::{EvalContext, ReadParameter};
use parser::Digest;
use plan::{Plan, PlanKind, TableUsage};
use telemetry::RowCounts;
use telemetry::instruments::stages;

use crate::program::Strictness;
use crate::session::Session;
use crate::statement::logs::binary_log::names_identifiers;
use crate::statement::query::optimizer_trace::Occasion;
use crate::statement::{Done, Effects, Request};
use instance::{PreparedPlan, count, is_kept};
use session_state::command_counters::counter_of_plan;
use session_state::guard::Shield;
use session_state::result::ClientRows;
use session_state::sink::ResultSink;
use session_state::transaction_control::transaction_error;

/// What the sorts, groups and hash tables of one statement may take.
pub(in crate::statement) const STATEMENT_MEMORY_BYTES: usize = 256 << 20;
/// A catalog that changes under every attempt to plan is being changed faster than statements can run.
pub const PLAN_ATTEMPTS_MAX: usize = 10;

impl Session {
    /// Plans and runs a SELECT, INSERT, UPDATE, DELETE or REPLACE.
    pub async fn run_planned(
        &mut self,
        request: Request<'_>,
        digest: Option<Digest>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if self.settings.optimizer_trace {
            let text = Session::own_text(request);
            Box::pin(self.trace_plan(request, None, &text, Occasion::Run)).await;
        }
        let digest = digest.filter(|_| is_kept(request.text) && !names_identifiers(request.text));
        let values = digest.and_then(|_| self.literal_values(request.text));
        if let (Some(digest), Some(mut values)) = (digest, values) {
            count(&self.process.counters.plan_cache_misses);
            let literal_count = values.len();
            // A plan with literals as parameters may be refused where the literal itself matters.
            let mut planned = self.plan_request(request, Literals::Parameters, values.clone());
            if planned.is_ok() && self.read_cold_ranges().await {
                planned = self.plan_request(request, Literals::Parameters, values.clone());
            }
            if let Ok(plan) = planned
                && plan.shareable
                && plan.user_variables.is_empty()
                && plan.parameter_count == literal_count
                && ReadParameter::extend(&plan.readings, &mut values)
            {
                let prepared = Arc::new(self.prepare_plan(plan)?);
                let version = self.instance.catalog().version();
                self.instance.plan_cache.put(digest, request.text.len(), prepared.clone(), version);
                let result = self.run_plan(&prepared, &mut values, shield, sink).await;
                if result.is_ok() || !self.statements.plan_is_stale() {
                    return result;
                }
            }
        }
        let mut parameters = request.parameters.to_vec();
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let mut prepared = self.prepare_request(request)?;
            if self.read_cold_ranges().await {
                prepared = self.prepare_request(request)?;
            }
            let result = self.run_plan(&prepared, &mut parameters, shield, sink).await;
            if result.is_ok() || !self.statements.plan_is_stale() {
                return result;
            }
        }
        Err(error_code::ER_TABLE_DEF_CHANGED.plain())
    }

    /// Runs a plan and writes its rows; a plan made from an outdated catalog is error 1412 here, because the
    /// callers that can plan again do so before they come here. It takes the parameters when the plan has proved to be
    /// right, so they are still there for another attempt.
    pub(crate) async fn run_plan(
        &mut self,
        prepared: &PreparedPlan,
        parameters: &mut Vec<Value>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        self.observe_plan(prepared);
        self.enter_stage(stages::OPENING_TABLES);
        let locked = self.enter_plan(prepared).await;
        self.profile_execution();
        self.enter_execution(&prepared.plan);
        if locked.is_ok() || !self.statements.plan_is_stale() {
            // Once: a plan that is made anew comes here again.
            let counters = &self.process.counters;
            count(counter_of_plan(&prepared.plan, counters));
            prepared.counted.count(counters);
        }
        locked?;
        let parameters = std::mem::take(parameters);
        match (&prepared.plan.kind, &prepared.shape) {
            (PlanKind::Query(_), Some(shape)) => {
                sink.columns(shape);
                let settings = self.settings.clone();
                let mut rows = ClientRows::new(sink, &prepared.conversions, &settings);
                let outcome = pin!(self.execute_plan(&prepared.plan, parameters, &mut rows)).await?;
                pin!(self.end_statement_transaction(shield)).await?;
                Ok(Done::Rows { found: outcome.found_rows })
            }
            _ => {
                let mut no_rows = executor::CollectRows::default();
                let before = self.shared.last_insert_id.load(Relaxed);
                let outcome = pin!(self.execute_plan(&prepared.plan, parameters, &mut no_rows)).await?;
                pin!(self.end_statement_transaction(shield)).await?;
                Ok(Done::Ok(self.effects_of(&prepared.plan, &outcome, before)))
            }
        }
    }

    /// Runs a plan inside the session's transaction, which begins here if none is open.
    pub async fn execute_plan(
        &mut self,
        plan: &Plan,
        parameters: Vec<Value>,
        rows: &mut dyn RowSink,
    ) -> Result<Outcome, SqlError> {
        let is_change = plan.is_change() && !plan.ignores_errors();
        self.execute_strictly(plan, parameters, rows, None, is_change).await
    }

    /// The same for a query whose rows are put into a table.
    pub async fn execute_source(
        &mut self,
        plan: &Plan,
        parameters: Vec<Value>,
        rows: &mut dyn RowSink,
    ) -> Result<Outcome, SqlError> {
        self.execute_strictly(plan, parameters, rows, None, true).await
    }

    /// The same, of a LOAD DATA with the source of its rows.
    pub async fn execute_plan_from(
        &mut self,
        plan: &Plan,
        parameters: Vec<Value>,
        rows: &mut dyn RowSink,
        source: Option<&mut dyn LoadSource>,
    ) -> Result<Outcome, SqlError> {
        let is_change = plan.is_change() && !plan.ignores_errors();
        self.execute_strictly(plan, parameters, rows, source, is_change).await
    }

    async fn execute_strictly(
        &mut self,
        plan: &Plan,
        parameters: Vec<Value>,
        rows: &mut dyn RowSink,
        source: Option<&mut dyn LoadSource>,
        is_change: bool,
    ) -> Result<Outcome, SqlError> {
        self.begin_statement_transaction(!plan.tables.is_empty());
        self.may_fill = self.plan_may_fill(plan);
        let settings = self.statement_settings();
        let is_inside_strict = self.programs.strictness() > Strictness::None;
        let is_strict = settings.sql_mode.is_strict() && (is_change || plan.is_change() && is_inside_strict);
        let mut eval = EvalContext::new(settings, self.shared.clone());
        eval.set_parameters(parameters);
        eval.shows_parameters = plan.literals_are_parameters;
        eval.is_strict_change = is_strict;
        let exec_settings = self.exec_settings(plan);
        let viewer = self.viewer();
        self.tell_conditions(plan, is_strict)?;
        let is_inside_program = self.programs.is_inside_statement();
        if is_inside_program {
            self.check_not_busy(plan)?;
        }
        let busy = self.programs.busy.len();
        self.occupy_tables(plan, is_strict);
        let (instance, process) = (self.instance.clone(), self.process.clone());
        let thread = u64::from(process.id.0);
        let keeping =
            self.observed.is_watched.then(|| instance.telemetry.keeping(thread, process.has_history()));
        let strict = self.strict_session(is_inside_program);
        let memory = MemoryBudget::new(STATEMENT_MEMORY_BYTES, self.shared.memory.clone());
        let mut context = ExecContext {
            host: self,
            triggers: executor::Triggers(&plan.triggers),
            eval: &mut eval,
            strict: &strict,
            tables: &**instance.catalog(),
            cascade_rules: &plan.cascade_rules,
            viewer: &*viewer,
            interrupt: &process.kill.interrupt,
            settings: exec_settings,
            memory,
            temporary: instance.temporary(),
            kept: executor::KeptRows::default(),
            work: Work::default(),
            uses: executor::TableUses::default(),
        };
        let outcome = match source {
            None => pin!(executor::execute(plan, &mut context, rows)).await,
            Some(source) => Box::pin(executor::load(plan, &mut context, source)).await,
        };
        process.counters.add_work(&context.work);
        count_tables(&process, &context.uses, keeping);
        self.programs.busy.truncate(busy);
        let outcome = outcome?;
        if plan.is_change() {
            self.renew_statistics(plan);
        }
        let transaction = self.transaction.current.as_mut().expect("it is still open");
        if matches!(&plan.kind, PlanKind::Query(query) if query.locking) {
            // A locking read sees commits that are not durable yet; what it saw must not be lost after it is told.
            transaction
                .settle_reads()
                .await
                .map_err(session_state::transaction_control::transaction_error)?;
        }
        Ok(outcome)
    }

    /// The statement around a program has its own, which must not be asked for this one's warnings.
    fn strict_session(&self, is_inside_program: bool) -> Arc<StrictSession> {
        match is_inside_program {
            true => Arc::new(StrictSession::new(self.shared.clone())),
            false => self.strict.clone(),
        }
    }

    /// The conditions that planning has met; one that a strict change raises ends the statement.
    fn tell_conditions(&self, plan: &Plan, is_strict: bool) -> Result<(), SqlError> {
        for condition in &plan.conditions {
            if is_strict && executor::is_raised(condition) {
                return Err(condition.error.clone());
            }
            self.shared.diagnostics.lock().add(condition.clone());
        }
        Ok(())
    }

    /// Has new statistics made of the tables that the plan has changed, where enough has been.
    fn renew_statistics(&self, plan: &Plan) {
        for used in plan.tables.iter().filter(|used| used.usage >= TableUsage::Insert) {
            if let Some(table) = self.instance.catalog().table_by_id(used.id) {
                self.instance.catalog().renew_statistics_if_due(&table, self.now_utc_micros());
            }
        }
    }

    /// Opens the statement's transaction: its own with autocommit, else one that stays open. A statement without
    /// tables begins none that lasts, and leaves SET TRANSACTION to the next one that has.
    pub(crate) fn begin_statement_transaction(&mut self, uses_tables: bool) {
        if self.transaction.current.is_none() {
            let (engine, next) = (self.instance.engine(), self.transaction.next);
            let explicit = uses_tables && !self.settings.autocommit;
            self.transaction.begin(engine, self.settings.isolation, self.settings.access, explicit);
            if !uses_tables {
                self.transaction.next = next;
            }
        }
        self.transaction.touched |= uses_tables;
        if self.programs.is_inside_statement() && uses_tables && !self.settings.autocommit {
            self.transaction.explicit = true;
        }
        let is_part = self.programs.is_inside_statement();
        self.note_statement();
        let transaction = self.transaction.current.as_mut().expect("a transaction was just begun");
        // What runs inside a statement sees what that sees.
        if !is_part {
            transaction.begin_statement();
            transaction.set_snapshot_isolation(self.settings.snapshot_isolation);
        }
        let savepoint = transaction.savepoint();
        self.statements.begin_at(savepoint);
    }

    /// Commits the transaction of an autocommit statement.
    pub async fn end_statement_transaction(&mut self, shield: &Shield) -> Result<(), SqlError> {
        if self.programs.is_inside_statement() {
            return Ok(());
        }
        if self.filled.is_some() {
            Box::pin(self.commit_filled(shield)).await?;
        }
        self.statements.forget_savepoints();
        if self.transaction.explicit {
            return Ok(());
        }
        if self.transaction.touched {
            count(&self.process.counters.handler_commit);
        }
        if self.transaction.touched {
            self.enter_stage(stages::COMMIT);
        }
        shield.raise();
        let result = pin!(self.transaction.commit()).await.map_err(transaction_error);
        shield.lower();
        self.enter_stage(stages::QUERY_END);
        result
    }

    fn effects_of(&mut self, plan: &Plan, outcome: &Outcome, insert_id_before: u64) -> Effects {
        if outcome.last_insert_id > 0 {
            self.shared.last_insert_id.store(outcome.last_insert_id, Relaxed);
        }
        // LAST_INSERT_ID(expr) in the statement is told to the client as well.
        let set_id = self.shared.last_insert_id.load(Relaxed);
        let explicit = if set_id != insert_id_before { set_id } else { outcome.explicit_insert_id };
        let last_insert_id = if outcome.last_insert_id > 0 { outcome.last_insert_id } else { explicit };
        let warnings = self.shared.diagnostics.lock().count();
        match &plan.kind {
            PlanKind::Insert(insert) => {
                let found_rows = self.connection.capabilities.found_rows;
                let untouched = if found_rows { 0 } else { outcome.unchanged_rows };
                let affected_rows = outcome.affected_rows + outcome.unchanged_rows - untouched;
                let counts = match &insert.source {
                    plan::InsertSource::Rows(rows) => rows.len() > 1,
                    plan::InsertSource::Query(_) => true,
                };
                let info = match counts {
                    true => format!(
                        "Records: {}  Duplicates: {}  Warnings: {warnings}",
                        outcome.records,
                        outcome.duplicates - untouched
                    ),
                    false => String::new(),
                };
                Effects { affected_rows, last_insert_id, info: info.into() }
            }
            PlanKind::Update(_) => {
                let found_rows = self.connection.capabilities.found_rows;
                let affected_rows = if found_rows { outcome.matched_rows } else { outcome.affected_rows };
                let info = match (outcome.matched_rows, outcome.affected_rows, warnings) {
                    // Most often; making the text would take a fiftieth of the statement's time.
                    (1, 1, 0) => "Rows matched: 1  Changed: 1  Warnings: 0".into(),
                    (matched, changed, _) => {
                        format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}").into()
                    }
                };
                Effects { affected_rows, last_insert_id: explicit_of_update(set_id, insert_id_before), info }
            }
            PlanKind::Delete(_) | PlanKind::Query(_) => {
                Effects { affected_rows: outcome.affected_rows, ..Effects::default() }
            }
        }
    }
}

fn explicit_of_update(set_id: u64, before: u64) -> u64 {
    if set_id == before { 0 } else { set_id }
}

/// What a statement did with each table, for the figures of its session.
fn count_tables(
    process: &instance::ProcessEntry,
    uses: &executor::TableUses,
    keeping: Option<telemetry::Keeping<'_>>,
) {
    let counted = |used: &executor::TableUse| {
        let executor::TableUse { table, index, fetched, inserted, updated, deleted } = *used;
        (table.0, index, RowCounts { fetched, inserted, updated, deleted })
    };
    process.figures.count_tables(uses.all().map(counted));
    if let Some(keeping) = keeping {
        process.figures.add_table_io(uses.all().map(counted), keeping);
    }
}
