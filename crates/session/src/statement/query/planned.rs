//! Queries and changes: planned or taken from the plan cache, locked, run in a transaction.
//!
//! A plan is made without locks from the catalog's present copy, then its tables are locked and looked at again: if one
//! of them is another one now, the plan is made anew. So no lock is held on a guess.
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use binder::{BinderContext, Literals};
use catalog::{LockMode, LockName};
use datum::{ColumnType, SqlError, Value, error_code};
use engine::{Isolation, WaitPolicy};
use executor::{
    ExecContext, ExecSettings, LoadSource, MemoryBudget, MemoryShares, Outcome, RowSink, StrictSession, Work,
};
use expression::{EvalContext, KnownValues, ReadParameter, StatementSettings};
use parser::{Digest, digest};
use plan::{DefaultSource, NodeKind, Plan, PlanKind, TableUsage};
use planner::PlannerContext;
use schema::TriggerEvent;
use telemetry::RowCounts;

use crate::program::Strictness;
use crate::session::Session;
use crate::statement::query::literals::literal_value;
use crate::statement::query::optimizer_trace::Occasion;
use crate::statement::query::plan_tables::{lock_of, lock_of_view};
use crate::statement::query::reach::Reach;
use crate::statement::{Done, Effects, Request};
use instance::{PlanEnvironment, PlanShape, PreparedPlan, count, is_kept};
use session_state::command_counters::counter_of_plan;
use session_state::guard::Shield;
use session_state::result::{ClientRows, conversions, shape_of};
use session_state::sink::ResultSink;
use session_state::transaction_control::transaction_error;

/// What the sorts, groups and hash tables of one statement may take.
pub(in crate::statement) const STATEMENT_MEMORY_BYTES: usize = 256 << 20;
/// A catalog that changes under every attempt to plan is being changed faster than statements can run.
pub const PLAN_ATTEMPTS_MAX: usize = 10;

impl Session {
    /// The digest of a text that may have a kept plan.
    pub(crate) fn digest_of(&mut self, text: &[u8]) -> Option<Digest> {
        // A kept plan takes literals as the text has them, and a trace tells of one that is made.
        if self.settings.optimizer_trace || self.settings.recodes_literals() && !text.is_ascii() {
            return None;
        }
        let mode = self.settings.parser_mode(self.connection.capabilities.ignore_space);
        digest(text, mode, self.instance.digest_seed(), &mut self.digest)
    }

    /// The kept plan for a text, with the text's literals as its parameters.
    pub(crate) fn cached_plan(
        &mut self,
        text: &[u8],
        digest: Digest,
    ) -> Option<(Arc<PreparedPlan>, Vec<Value>)> {
        let environment = self.plan_environment();
        let kept = &self.instance.plan_cache;
        let first = kept.get(digest, &environment)?;
        let mut parameters = self.literal_values(text)?;
        let literal_count = parameters.len();
        let mut suits = |prepared: &PreparedPlan| {
            parameters.truncate(literal_count);
            self.means_the_same(prepared)
                && ReadParameter::extend(&prepared.plan.readings, &mut parameters)
                && self.suits(&prepared.plan, &parameters)
        };
        let prepared = match suits(&first) {
            true => first,
            false => {
                let mut others = kept.others(digest, &environment).into_iter();
                others.find(|other| suits(other))?
            }
        };
        count(&self.process.counters.plan_cache_hits);
        Some((prepared, parameters))
    }

    fn literal_values(&self, text: &[u8]) -> Option<Vec<Value>> {
        let escapes = !self.settings.sql_mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES);
        self.digest.literals.iter().map(|literal| literal_value(text, literal, escapes)).collect()
    }

    pub(in crate::statement) fn plan_environment(&self) -> PlanEnvironment {
        PlanEnvironment {
            database: self.database.clone(),
            sql_mode: self.settings.sql_mode.0,
            connection_collation: self.settings.connection_collation.number(),
            results_collation: self.results_collation(),
            locks_source_rows: self.locks_source_rows(),
            foreign_key_checks: self.settings.foreign_key_checks,
            switches: self.switches.bits(),
        }
    }

    /// The same as a comparison with `plan_environment`, without making one.
    fn is_in(&self, environment: &PlanEnvironment) -> bool {
        let PlanEnvironment {
            database,
            sql_mode,
            connection_collation,
            results_collation,
            locks_source_rows,
            foreign_key_checks,
            switches,
        } = environment;
        let settings = &self.settings;
        *sql_mode == settings.sql_mode.0
            && *connection_collation == settings.connection_collation.number()
            && *results_collation == self.results_collation()
            && *locks_source_rows == self.locks_source_rows()
            && *foreign_key_checks == settings.foreign_key_checks
            && *switches == self.switches.bits()
            && *database == self.database
    }

    /// 0 when results are sent as stored.
    fn results_collation(&self) -> u16 {
        self.settings.results_charset.map_or(0, |_| self.settings.results_collation.number())
    }

    /// INSERT .. SELECT and the like read with locks from REPEATABLE READ on.
    pub fn locks_source_rows(&self) -> bool {
        matches!(self.effective_isolation(), Isolation::RepeatableRead | Isolation::Serializable)
    }

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
        let digest = digest.filter(|_| is_kept(request.text));
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

    pub(crate) fn prepare_request(&self, request: Request<'_>) -> Result<PreparedPlan, SqlError> {
        let plan = self.plan_request(request, Literals::Inline, Vec::new())?;
        self.prepare_plan(plan)
    }

    /// `known` are the values of the literals that become parameters, or none. With them the plan may have `readings`,
    /// which the caller adds to the values it runs the plan with. Values of `?` are not known to a plan: a text that
    /// is no moment is refused as a literal only.
    pub fn plan_request(
        &self,
        request: Request<'_>,
        literals: Literals,
        known: Vec<Value>,
    ) -> Result<Plan, SqlError> {
        let mut context = self.planner_context(literals, request.parameter_types);
        context.values = request.parameters;
        context.binder.bind.known = KnownValues::new(known);
        planner::plan_statement(request.statement, self, &context)
    }

    /// What the planner knows of the session.
    pub fn planner_context<'a>(
        &'a self,
        literals: Literals,
        parameter_types: &'a [ColumnType],
    ) -> PlannerContext<'a> {
        PlannerContext { binder: self.binder_context(literals, parameter_types), values: &[], trace: None }
    }

    /// What binding knows of it.
    pub fn binder_context<'a>(
        &'a self,
        literals: Literals,
        parameter_types: &'a [ColumnType],
    ) -> BinderContext<'a> {
        BinderContext {
            bind: self.settings.bind_context(),
            current_database: self.database.as_deref(),
            literals,
            parameter_types,
            session: self,
            lock_source_rows: self.locks_source_rows(),
            switches: self.switches,
        }
    }

    /// The plan of a statement that runs inside another one, or is never kept.
    pub fn prepare_plan(&self, mut plan: Plan) -> Result<PreparedPlan, SqlError> {
        let mut reach = Reach::new(self.instance.catalog());
        if self.settings.foreign_key_checks {
            reach.follow(&plan);
        }
        for used in plan.tables.iter().filter(|used| used.usage > TableUsage::ReadForUpdate) {
            let set = self.instance.catalog().trigger_set(&used.table.database, &used.table.name);
            if !set.is_empty() && !plan.triggers.iter().any(|(id, _)| *id == used.id) {
                plan.triggers.push((used.id, set));
            }
        }
        for (id, _) in &plan.triggers {
            match &mut plan.kind {
                PlanKind::Update(update) => {
                    let columns = self.columns_of_triggers(*id, TriggerEvent::Update);
                    planner::heed_trigger_values(update, *id, &columns);
                }
                PlanKind::Insert(insert) if insert.table.id == *id => {
                    leave_to_triggers(insert, &self.columns_of_triggers(*id, TriggerEvent::Insert));
                }
                _ => {}
            }
        }
        for table in reach.updated() {
            if let Some(handle) = self.instance.catalog().table_by_id(table)
                && let Some(rules) = self.row_rules(handle.definition())?
            {
                plan.cascade_rules.push((table, rules));
            }
        }
        let mut locks: Vec<(LockName, LockMode)> = shared_tables(&plan).map(lock_of).collect();
        locks.extend(plan.views.iter().map(lock_of_view));
        locks.extend(plan.functions.iter().map(|used| {
            let lock = Session::program_lock(schema::ProgramKind::Function, &used.database, &used.name);
            (lock, LockMode::Shared)
        }));
        locks.extend(reach.locks());
        locks.sort_by(|left, right| left.0.cmp(&right.0).then(right.1.cmp(&left.1)));
        locks.dedup_by(|later, earlier| later.0 == earlier.0);
        let (shape, conversions) = match &plan.kind {
            PlanKind::Query(query) => {
                let types: Vec<ColumnType> =
                    query.columns.iter().map(|column| column.column_type.clone()).collect();
                (Some(shape_of(&query.columns, &self.settings)), conversions(&types, &self.settings))
            }
            _ => (None, Vec::new()),
        };
        let environment = self.plan_environment();
        let counted = PlanShape::of(&plan);
        let related = reach.related();
        let table_of = |used: &plan::TableUse| self.instance.catalog().table_by_id(used.id);
        let epoch_of = |used| table_of(used).map_or(0, |table| table.statistics().epoch());
        let epochs = plan.tables.iter().map(epoch_of).collect();
        Ok(PreparedPlan {
            plan,
            epochs,
            counted,
            shape,
            conversions,
            locks,
            related,
            known_at: AtomicU64::new(0),
            environment,
            digest: crate::statement::KeptDigest::default(),
        })
    }

    /// Whether a plan that was kept may still run in this session.
    pub(crate) fn is_current(&self, prepared: &PreparedPlan) -> bool {
        self.is_in(&prepared.environment) && self.means_the_same(prepared)
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
        let locked = self.enter_plan(prepared).await;
        self.profile_execution();
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
        for condition in &plan.conditions {
            self.shared.diagnostics.lock().add(condition.clone());
        }
        let is_inside_program = self.programs.is_inside_statement();
        if is_inside_program {
            self.check_not_busy(plan)?;
        }
        let busy = self.programs.busy.len();
        self.occupy_tables(plan, is_strict);
        let (instance, process) = (self.instance.clone(), self.process.clone());
        // The statement around a program has its own, which must not be asked for this one's warnings.
        let strict = match is_inside_program {
            true => Arc::new(StrictSession::new(self.shared.clone())),
            false => self.strict.clone(),
        };
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
        let used = context.uses.all().map(|used| {
            let executor::TableUse { table, index, fetched, inserted, updated, deleted } = *used;
            (table.0, index, RowCounts { fetched, inserted, updated, deleted })
        });
        process.figures.count_tables(used);
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

    /// Has new statistics made of the tables that the plan has changed, where enough has been.
    fn renew_statistics(&self, plan: &Plan) {
        for used in plan.tables.iter().filter(|used| used.usage >= TableUsage::Insert) {
            if let Some(table) = self.instance.catalog().table_by_id(used.id) {
                self.instance.catalog().renew_statistics_if_due(&table, self.now_utc_micros());
            }
        }
    }

    fn exec_settings(&self, plan: &Plan) -> ExecSettings {
        let timeout_us = self.settings.row_lock_wait_timeout_s.saturating_mul(1_000_000);
        let isolation = self.transaction.current.as_ref().map(|transaction| transaction.isolation());
        ExecSettings {
            lock_wait: WaitPolicy::Wait { timeout_us },
            auto_increment_increment: self.settings.auto_increment_increment,
            auto_increment_offset: self.settings.auto_increment_offset,
            tests_before_waiting: false,
            locks_one_by_one: executor::OneByOne::Never,
            foreign_key_checks: self.settings.foreign_key_checks,
            is_inside_strict: self.programs.strictness() > Strictness::None,
            share_reads: self.transaction.explicit && isolation == Some(Isolation::Serializable),
            recursion_depth_max: self.settings.recursion_depth_max,
            select_limit: if has_limit(plan) { u64::MAX } else { self.settings.select_limit },
            shares: self.memory_shares(),
        }
    }

    /// What one operator may hold in memory.
    pub(in crate::statement) fn memory_shares(&self) -> MemoryShares {
        let bytes = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let rows_bytes = bytes(self.settings.tmp_table_bytes);
        MemoryShares {
            sort_bytes: bytes(self.settings.sort_buffer_bytes),
            rows_bytes,
            join_bytes: bytes(self.settings.join_buffer_bytes).max(rows_bytes),
        }
    }

    /// The session's clock: `SET timestamp` stops it.
    pub fn now_utc_micros(&self) -> i64 {
        if self.settings.fixed_timestamp_us != 0 {
            return self.settings.fixed_timestamp_us;
        }
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as i64)
    }

    /// What expressions of one statement see; functions and triggers see the clock of the statement around them. The same
    /// allocation serves one statement after the other.
    pub(crate) fn statement_settings(&mut self) -> Arc<StatementSettings> {
        if !self.programs.is_inside_statement() {
            self.programs.statement_time_us = self.now_utc_micros();
        }
        let now = self.programs.statement_time_us;
        let mut settings =
            self.statement_settings.take().unwrap_or_else(|| Arc::new(self.expression_settings()));
        if settings.now_utc_micros != now {
            Arc::make_mut(&mut settings).now_utc_micros = now;
        }
        self.statement_settings = Some(settings.clone());
        settings
    }

    /// The same for expressions that do not ask for the time.
    pub(crate) fn settings_without_time(&mut self) -> Arc<StatementSettings> {
        match &self.statement_settings {
            Some(settings) => settings.clone(),
            None => self.statement_settings(),
        }
    }

    /// What expressions see of the settings.
    pub fn expression_settings(&self) -> StatementSettings {
        StatementSettings {
            connection_id: u64::from(self.connection.id.0),
            user: format!("{}@{}", self.connection.user, self.connection.host).into(),
            current_role: self.privileges.role_text().into(),
            current_user: format!("{}@{}", self.connection.account_user, self.connection.account_host).into(),
            database: self.database.clone(),
            version: self.instance.version().into(),
            ..self.settings.statement_settings(self.now_utc_micros())
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
            Box::pin(self.end_filling(shield)).await?;
        }
        self.statements.forget_savepoints();
        if self.transaction.explicit {
            return Ok(());
        }
        if self.transaction.touched {
            count(&self.process.counters.handler_commit);
        }
        shield.raise();
        let result = pin!(self.transaction.commit()).await.map_err(transaction_error);
        shield.lower();
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

/// A column without a default that a trigger gives a value has been given one, NULL until then.
fn leave_to_triggers(insert: &mut plan::InsertPlan, columns: &[usize]) {
    for (column, source) in &mut insert.omitted {
        if matches!(source, DefaultSource::Missing) && columns.contains(column) {
            *source = DefaultSource::Value(Value::Null);
        }
    }
}

/// Those that others know as well.
fn shared_tables(plan: &Plan) -> impl Iterator<Item = &plan::TableUse> {
    plan.tables.iter().filter(|used| !used.table.temporary)
}

/// A LIMIT of the statement takes the place of `sql_select_limit`.
fn has_limit(plan: &Plan) -> bool {
    let PlanKind::Query(query) = &plan.kind else { return true };
    if query.counted_limit.is_some() {
        return true;
    }
    let mut node = &query.root;
    loop {
        node = match &node.kind {
            NodeKind::Limit { .. } => return true,
            NodeKind::Project { input, .. } | NodeKind::Filter { input, .. } => input,
            NodeKind::Sort { input, limit: None, .. } | NodeKind::Distinct { input, .. } => input,
            NodeKind::Sort { .. } => return true,
            NodeKind::Apply(apply) => &apply.input,
            NodeKind::Initialise(initialise) => &initialise.input,
            _ => return false,
        };
    }
}

fn explicit_of_update(set_id: u64, before: u64) -> u64 {
    if set_id == before { 0 } else { set_id }
}
