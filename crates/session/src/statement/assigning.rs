//! SET of one user variable, DO and SELECT .. INTO variables: statements whose plan gives a row that no client gets.
//!
//! Invariant: what is kept of such a statement is its plan and where the row goes, so that it is run again without being read.
//! Used by prepared statements (`prepared`) and by the pieces of programs (`program::kept`).
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;

use bumpalo::Bump;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use executor::CollectRows;
use expression::{EvalContext, SessionServices};
use instance::{IntoTarget, PieceRows, PreparedPlan, count};
use parser::ast::{
    Expr, Into, LoadColumn, Query, SetStatement, SetValue, Statement, StatementKind, VariableAssignment,
    VariableTarget,
};
use plan::{NodeKind, Plan, PlanKind};

use super::Done;
use crate::program::Strictness;
use crate::session::Session;
use session_state::command_counters::counter_of_plan;
use session_state::guard::Shield;

/// What of a statement is planned.
pub(crate) enum Planned<'a> {
    Statement(Statement<'a>),
    Values(&'a [Expr<'a>]),
}

/// What is planned of a statement and where its row goes; `None` for one that has to be read to be run.
pub(crate) fn planned_of<'a>(statement: &Statement<'a>, arena: &'a Bump) -> Option<(Planned<'a>, PieceRows)> {
    match statement.kind {
        StatementKind::Query(query) if query.into.is_some() => {
            let targets = into_targets(query)?;
            let plain = arena.alloc(Query { into: None, ..*query });
            let statement = Statement { kind: StatementKind::Query(plain), ..*statement };
            Some((Planned::Statement(statement), PieceRows::Into(targets)))
        }
        StatementKind::Set(SetStatement {
            assignments:
                [
                    VariableAssignment::Variable {
                        target: VariableTarget::User(name),
                        value: SetValue::Expr(value),
                    },
                ],
            for_statement: None,
        }) => {
            let rows = PieceRows::Assigned(name.name.to_lowercase());
            Some((Planned::Values(std::slice::from_ref(value)), rows))
        }
        StatementKind::Do(expressions) => Some((Planned::Values(expressions), PieceRows::Dropped)),
        StatementKind::Query(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_) => Some((Planned::Statement(*statement), PieceRows::Given)),
        _ => None,
    }
}

/// The targets of a query whose INTO names variables.
fn into_targets(query: &Query<'_>) -> Option<Box<[IntoTarget]>> {
    let Some(Into::Variables(targets)) = query.into else { return None };
    let target = |target: &LoadColumn<'_>| match target {
        LoadColumn::Local(slot) => Some(IntoTarget::Slot(*slot as usize)),
        LoadColumn::UserVariable(name) => Some(IntoTarget::UserVariable(name.name.to_lowercase())),
        LoadColumn::Column(_) => None,
    };
    targets.iter().map(target).collect()
}

impl Session {
    /// Runs a plan whose row goes where `rows` says. The tables are locked here; a plan that is stale is refused.
    pub(crate) async fn run_assigning(
        &mut self,
        prepared: &PreparedPlan,
        rows: &PieceRows,
        parameters: Vec<Value>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if let PieceRows::Into(targets) = rows {
            return self.run_into(prepared, targets, parameters, shield).await;
        }
        let is_alone = lone_expression(&prepared.plan).is_some();
        let at_hand = is_alone.then(|| {
            let is_strict = self.is_assigned_strictly();
            self.value_at_hand(&prepared.plan, parameters.clone(), is_strict)
        });
        let value = match at_hand.flatten() {
            Some(value) => value?,
            None => {
                self.programs.drops_values = matches!(rows, PieceRows::Dropped);
                let value = self.first_value_of(prepared, parameters, shield).await;
                self.programs.drops_values = false;
                value?
            }
        };
        self.give_value(rows, value)?;
        Ok(Done::ok())
    }

    /// The value of a plan of expressions, by an execution.
    async fn first_value_of(
        &mut self,
        prepared: &PreparedPlan,
        parameters: Vec<Value>,
        shield: &Shield,
    ) -> Result<(Value, ColumnType), SqlError> {
        let mut rows = CollectRows::default();
        let is_strict = self.is_assigned_strictly();
        self.collect(prepared, parameters, is_strict, &mut rows).await?;
        self.end_statement_transaction(shield).await?;
        Ok(first_value(rows, &prepared.plan))
    }

    /// Whether warnings of queries and of SET of user variables are errors, because a value is assigned around them.
    pub(crate) fn is_assigned_strictly(&self) -> bool {
        self.programs.strictness() == Strictness::Assignment && self.settings.sql_mode.is_strict()
    }

    /// What SET and DO do with their value.
    pub(crate) fn give_value(
        &mut self,
        rows: &PieceRows,
        (value, column_type): (Value, ColumnType),
    ) -> Result<(), SqlError> {
        let counters = &self.process.counters;
        match rows {
            PieceRows::Assigned(name) => {
                count(&counters.com_set_option);
                self.shared.set_user_variable(name, value, column_type)?;
                self.track_state_change();
            }
            _ => count(&counters.com_do),
        }
        self.shared.row_count.store(0, Relaxed);
        Ok(())
    }

    /// SELECT .. INTO: the values of the only row.
    async fn run_into(
        &mut self,
        prepared: &PreparedPlan,
        targets: &[IntoTarget],
        parameters: Vec<Value>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let PlanKind::Query(query) = &prepared.plan.kind else {
            return Err(error_code::ER_INTERNAL_ERROR.with(&[&"INTO of no query"]));
        };
        if query.columns.len() != targets.len() {
            return Err(error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain());
        }
        let mut rows = CollectRows::default();
        // What goes to variables of the program is assigned; conditions on rows of tables are not.
        let has_no_table = reads_no_table(&query.root);
        let is_assigned = targets.iter().any(|target| matches!(target, IntoTarget::Slot(_))) && has_no_table;
        let is_strict = is_assigned && self.settings.sql_mode.is_strict() || self.is_assigned_strictly();
        let collected = self.collect(prepared, parameters, is_strict, &mut rows).await;
        if let (Err(_), [IntoTarget::Slot(slot)], true) = (&collected, targets, has_no_table) {
            // As of SET: a variable whose value cannot be computed has none.
            self.programs.assigned.push((*slot, Value::Null, ColumnType::new(TypeKind::Null)));
        }
        collected?;
        self.end_statement_transaction(shield).await?;
        count(counter_of_plan(&prepared.plan, &self.process.counters));
        prepared.counted.count(&self.process.counters);
        // The first row is assigned before a second one is met, as in MySQL.
        let has_more = rows.rows.len() > 1;
        rows.rows.truncate(1);
        let Some(row) = rows.rows.pop() else {
            self.shared.warning(error_code::ER_SP_FETCH_NO_DATA.plain());
            return Ok(Done::ok());
        };
        for ((target, value), column) in targets.iter().zip(row).zip(&query.columns) {
            let column_type = column.column_type.clone();
            match target {
                IntoTarget::Slot(slot) => self.programs.assigned.push((*slot, value, column_type)),
                IntoTarget::UserVariable(name) => self.shared.set_user_variable(name, value, column_type)?,
            }
        }
        if has_more { Err(error_code::ER_TOO_MANY_ROWS.plain()) } else { Ok(Done::affected(1)) }
    }

    /// Locks the plan's tables and gathers its rows. `is_strict`: they are assigned.
    pub(crate) async fn collect(
        &mut self,
        prepared: &PreparedPlan,
        parameters: Vec<Value>,
        is_strict: bool,
        rows: &mut CollectRows,
    ) -> Result<(), SqlError> {
        self.enter_plan(prepared).await?;
        match is_strict {
            true => pin!(self.execute_source(&prepared.plan, parameters, rows)).await?,
            false => pin!(self.execute_plan(&prepared.plan, parameters, rows)).await?,
        };
        Ok(())
    }

    /// The value of an expression that needs no table and no waiting: without an execution.
    pub(crate) fn value_at_hand(
        &mut self,
        plan: &Plan,
        parameters: Vec<Value>,
        is_strict: bool,
    ) -> Option<Result<(Value, ColumnType), SqlError>> {
        let expression = lone_expression(plan)?;
        self.evaluate_alone(expression, false, is_strict, parameters.into_iter())
    }

    /// The value of an expression that asks nothing but its parameters; `None` if it has to wait. `is_of_numbers`: it does not
    /// depend on the time.
    pub(crate) fn evaluate_alone(
        &mut self,
        expression: &expression::Expr,
        is_of_numbers: bool,
        is_strict: bool,
        parameters: impl Iterator<Item = Value>,
    ) -> Option<Result<(Value, ColumnType), SqlError>> {
        let settings = if is_of_numbers { self.settings_without_time() } else { self.statement_settings() };
        let mut eval = match self.programs.spare_eval.take() {
            Some(eval) => eval,
            None => Box::new(EvalContext::new(settings.clone(), self.shared.clone())),
        };
        eval.renew(settings, is_strict).extend(parameters);
        let value = match expression.eval(&[], &eval) {
            Ok(value) => Some(Ok((value, expression.ty.column.clone()))),
            Err(_) if eval.deferred.take_request().is_some() => None,
            Err(error) => Some(Err(error)),
        };
        // Whoever has the settings for himself may give them another time.
        eval.renew(self.programs.no_settings.clone(), false);
        self.programs.spare_eval = Some(eval);
        value
    }
}

/// Whether there is no FROM, whatever its subqueries read.
fn reads_no_table(node: &plan::Node) -> bool {
    match &node.kind {
        NodeKind::Dual => true,
        NodeKind::Project { input, .. } => reads_no_table(input),
        NodeKind::Initialise(initialise) => reads_no_table(&initialise.input),
        _ => false,
    }
}

/// The only expression of a plan that needs neither a table nor a program.
pub(crate) fn lone_expression(plan: &Plan) -> Option<&expression::Expr> {
    let is_simple = plan.tables.is_empty()
        && plan.slot_count == 0
        && plan.functions.is_empty()
        && plan.readings.is_empty()
        && plan.conditions.is_empty();
    let PlanKind::Query(query) = &plan.kind else { return None };
    let NodeKind::Project { input, expressions } = &query.root.kind else { return None };
    match expressions.as_slice() {
        [expression] if is_simple && matches!(input.kind, NodeKind::Dual) => Some(expression),
        _ => None,
    }
}

/// The value of a plan's only row and column; NULL where there is none.
pub(crate) fn first_value(mut rows: CollectRows, plan: &Plan) -> (Value, ColumnType) {
    let row = rows.rows.pop().unwrap_or_default();
    let column_type = match &plan.kind {
        PlanKind::Query(query) => query.columns.first().map(|column| column.column_type.clone()),
        _ => None,
    };
    let value = row.into_iter().next().unwrap_or(Value::Null);
    (value, column_type.unwrap_or(ColumnType::new(TypeKind::Null)))
}
