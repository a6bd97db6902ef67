//! A plan of a statement, and what has to be known of it before it runs: the locks on definitions, triggers, rules of tables
//! that cascades reach. Called by everything that plans.
use std::sync::atomic::AtomicU64;

use binder::{BinderContext, Literals};
use catalog::{LockMode, LockName};
use datum::{ColumnType, SqlError, Value};
use engine::Isolation;
use expression::KnownValues;
use plan::{DefaultSource, Plan, PlanKind, TableUsage};
use planner::PlannerContext;
use schema::TriggerEvent;

use crate::session::Session;
use crate::statement::Request;
use crate::statement::query::plan_tables::{lock_of, lock_of_view};
use instance::{PlanShape, PreparedPlan};
use session_state::reach::Reach;
use session_state::result::{conversions, shape_of};

impl Session {
    /// INSERT .. SELECT and the like read with locks from REPEATABLE READ on.
    pub fn locks_source_rows(&self) -> bool {
        matches!(self.effective_isolation(), Isolation::RepeatableRead | Isolation::Serializable)
    }

    pub(crate) fn prepare_request(&self, request: Request<'_>) -> Result<PreparedPlan, SqlError> {
        self.enter_stage(telemetry::instruments::stages::OPTIMIZING);
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
