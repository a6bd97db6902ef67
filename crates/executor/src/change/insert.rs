//! INSERT and REPLACE.
use super::assign::Assigner;
use super::auto_increment::{Generated, Generator};
use super::duplicate::{replace_existing, update_existing};
use super::foreign_key::{ForeignKeys, pardon};
use super::input::ChangeInput;
use super::rules::check_row;
use crate::batch::RowBatch;
use crate::change::inserter::Filling;
use crate::change::inserter::Inserter;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::retried;
use crate::operator::run_initialisers;
use crate::outcome::Outcome;
use datum::{ColumnType, SqlError, Value, error_code};
use engine::LockMode;
use expression::ExprKind;
use plan::{DefaultSource, DuplicateRule, InsertPlan, InsertSource, InsertValue, Node};
use schema::{ColumnDefault, ForeignKeyDef, TriggerEvent};
use table::ChangeOutcome;

pub async fn execute_insert(plan: &InsertPlan, context: &mut ExecContext<'_>) -> Result<Outcome, SqlError> {
    let rows = match &plan.source {
        InsertSource::Rows(rows) => Some(rows.len() as u64),
        InsertSource::Query(_) => None,
    };
    let mut inserter = Inserter::begin(plan, rows, context).await?;
    match &plan.source {
        InsertSource::Rows(rows) => {
            // A single row's NULL is an error also where strict mode is off.
            inserter.assigner.null_to_default &= plan.ignore || rows.len() > 1;
            let mut due = plan.row_initialisers.as_slice();
            for (number, row) in rows.iter().enumerate() {
                context.check()?;
                let own = due.iter().take_while(|(row, _)| *row == number).count();
                let (before, later) = due.split_at(own);
                for (_, initialiser) in before {
                    run_initialisers(std::slice::from_ref(initialiser), context).await?;
                }
                due = later;
                inserter.insert_values(row, context).await?;
            }
        }
        InsertSource::Query(node) => inserter.insert_query(node, context).await?,
    }
    inserter.end(context).await
}

impl<'p> Inserter<'p> {
    /// `rows` is how many will come, if that is known.
    pub async fn begin(
        plan: &'p InsertPlan,
        rows: Option<u64>,
        context: &mut ExecContext<'_>,
    ) -> Result<Inserter<'p>, SqlError> {
        run_initialisers(&plan.initialisers, context).await?;
        // A row that is only reported may be read by others; one that will be changed must not be.
        context.host.transaction().set_duplicate_lock(match &plan.duplicates {
            DuplicateRule::Fail => LockMode::Shared,
            DuplicateRule::Replace | DuplicateRule::Update { .. } => LockMode::Exclusive,
        });
        let handle = context.ready_table(plan.table.id).await?;
        Ok(Inserter {
            foreign_keys: ForeignKeys::of(&handle, context),
            filling: Filling::begin(plan, &handle, rows, context),
            handle,
            assigner: Assigner {
                tells_null_once: true,
                defers_null: context.triggers.has(plan.table.id, true, TriggerEvent::Insert),
                ..Assigner::new(&plan.table, context, plan.ignore)
            },
            outcome: Outcome::default(),
            generator: Generator::new(&plan.table, rows),
            pace: Pace::default(),
            refused: 0,
            plan,
        })
    }

    pub async fn end(mut self, context: &mut ExecContext<'_>) -> Result<Outcome, SqlError> {
        self.end_filling(context).await?;
        self.outcome.records -= self.refused;
        Ok(self.outcome)
    }
}

impl Inserter<'_> {
    pub async fn insert_values(
        &mut self,
        values: &[InsertValue],
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.outcome.records += 1;
        let number = self.outcome.records;
        let mut row = self.blank_row();
        if values.iter().any(reads_row) {
            self.begin_with_defaults(&mut row);
        }
        for (&column, value) in self.plan.columns.iter().zip(values) {
            let assigner = &self.assigner;
            row[column] =
                retried(context, |eval| assigner.assigned(column, value, &row, number, eval)).await?;
        }
        self.fill_omitted(&mut row, context)?;
        self.insert_row(row, Vec::new(), context).await
    }

    /// Default values are there before expressions read them.
    fn blank_row(&self) -> Vec<Value> {
        let mut row = vec![Value::Null; self.plan.table.columns.len()];
        for (column, source) in &self.plan.omitted {
            if let DefaultSource::Value(value) = source {
                row[*column] = value.clone();
            }
        }
        row
    }

    /// Before a column is assigned, expressions read its constant default, or its type's zero if it cannot be NULL.
    fn begin_with_defaults(&self, row: &mut [Value]) {
        for (value, column) in row.iter_mut().zip(&self.plan.table.columns) {
            match &column.default {
                ColumnDefault::Value { value: default, .. } => *value = default.clone(),
                _ if !column.nullable() && column.generated.is_none() => {
                    *value = column.column_type.implicit_default();
                }
                _ => {}
            }
        }
    }

    fn fill_omitted(&self, row: &mut [Value], context: &ExecContext<'_>) -> Result<(), SqlError> {
        for (column, source) in &self.plan.omitted {
            if !matches!(source, DefaultSource::Value(_)) {
                let number = self.outcome.records;
                let value = self.assigner.default_value(*column, source, row, number, context.eval);
                row[*column] = value.map_err(|error| self.below_view(error))?;
            }
        }
        Ok(())
    }

    /// Who inserts through a view is told of the view.
    fn below_view(&self, error: SqlError) -> SqlError {
        match &self.plan.view {
            Some(view) if error.is(&error_code::ER_NO_DEFAULT_FOR_FIELD) => {
                error_code::ER_NO_DEFAULT_FOR_VIEW_FIELD.with(&[&view.database, &view.view])
            }
            _ => error,
        }
    }

    async fn insert_query(&mut self, node: &Node, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let types = output_types(node);
        let mut source = ChangeInput::new(node, self.plan.reads_target);
        let mut rows = RowBatch::new(node.width);
        let mut more = true;
        while more {
            rows.clear();
            more = source.next_rows(context, &mut rows).await?;
            for index in 0..rows.len() {
                self.insert_source_row(rows.take_row(index), &types, context).await?;
            }
        }
        Ok(())
    }

    async fn insert_source_row(
        &mut self,
        values: Vec<Value>,
        types: &[ColumnType],
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.outcome.records += 1;
        let number = self.outcome.records;
        let mut row = self.blank_row();
        for (position, (&column, value)) in self.plan.columns.iter().zip(&values).enumerate() {
            let definition = &self.plan.table.columns[column];
            let from = types.get(position).unwrap_or(&definition.column_type);
            row[column] = if value.is_null() && definition.auto_increment {
                Value::Null
            } else {
                self.assigner.convert(column, value, from, number, context.eval)?
            };
        }
        self.fill_omitted(&mut row, context)?;
        self.insert_row(row, values, context).await
    }

    /// `source` is the query's row that `row` was made from.
    async fn insert_row(
        &mut self,
        mut row: Vec<Value>,
        source: Vec<Value>,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        context.check()?;
        self.pace.count_change().await;
        let fired = context.fire_before(&self.handle, TriggerEvent::Insert, None, &mut row).await?;
        if let Some(given) = fired {
            let omitted = &self.plan.omitted;
            let required = self.assigner.require_values(&mut row, &given, omitted, true, context.eval);
            required.map_err(|error| self.below_view(error))?;
        }
        if let Some(rules) = &self.plan.rules {
            self.assigner.generate(rules, &mut row, self.outcome.records, context.eval)?;
            context.check()?;
            if let Err(error) = check_row(rules, &row, context.eval) {
                self.refused += 1;
                let row_begin = context.host.transaction().savepoint();
                return pardon(error, self.plan.ignore, row_begin, &self.handle, context).await;
            }
        }
        // A row whose parents are missing takes no number; only a key that has the number itself is asked with it.
        let asked = self.generator.asked(&row, context).filter(|_| self.foreign_keys.is_child());
        if let Some(column) = asked {
            row[column] = Value::Null;
        }
        let has_number = |key: &ForeignKeyDef| asked.is_some_and(|column| key.columns.contains(&column));
        if !self.has_parents(&row, |key| !has_number(key), context).await? {
            return Ok(());
        }
        let records = self.outcome.records;
        let generated = self.generator.fill(&self.handle, &mut row, &self.assigner, records, context)?;
        if asked.is_some() && !self.has_parents(&row, has_number, context).await? {
            self.note_generated(generated);
            return Ok(());
        }
        if self.fills() {
            self.outcome.affected_rows += 1;
            self.note_generated(generated);
            return self.fill(row, context).await;
        }
        let done = context.insert_row(&self.handle, &row).await?;
        match done {
            ChangeOutcome::Done => {
                self.outcome.affected_rows += 1;
                self.note_generated(generated);
                Ok(())
            }
            ChangeOutcome::Duplicate { index, row_key } => {
                self.meet_duplicate((index, row_key), (row, source), generated, context).await
            }
        }
    }

    /// A row that has a key of the new one: whatever the statement says of it.
    async fn meet_duplicate(
        &mut self,
        (index, row_key): (usize, Vec<u8>),
        (mut row, source): (Vec<Value>, Vec<Value>),
        generated: Generated,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.outcome.duplicates += 1;
        match &self.plan.duplicates {
            DuplicateRule::Fail => {
                let error = self.handle.duplicate_error(index, &row);
                if !self.plan.ignore {
                    return Err(error);
                }
                context.eval.session.warn(error.into_warning());
                self.generator.give_back(generated);
                Ok(())
            }
            // A number that the counter gave replaces no row.
            DuplicateRule::Replace if self.is_of_counter(index, generated) => {
                Err(self.handle.duplicate_error(index, &row))
            }
            DuplicateRule::Replace => {
                replace_existing(self, index, row_key, &row, context).await?;
                self.note_generated(generated);
                Ok(())
            }
            DuplicateRule::Update { assignments, subqueries } => {
                if let Generated::Explicit(number) = generated {
                    self.handle.auto_increment().observe(number);
                }
                self.generator.give_back(generated);
                row.extend(source);
                update_existing(self, (assignments, subqueries), &row_key, row, context).await
            }
        }
    }

    /// Whether the parents of these foreign keys are there; a row that IGNORE leaves out for want of one counts for nothing.
    async fn has_parents(
        &mut self,
        row: &[Value],
        is_asked: impl Fn(&ForeignKeyDef) -> bool,
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        if !self.foreign_keys.is_child() {
            return Ok(true);
        }
        let row_begin = context.host.transaction().savepoint();
        let checked = self.foreign_keys.before_insert(&self.handle, row, is_asked, context).await;
        let Err(error) = checked else { return Ok(true) };
        self.refused += 1;
        pardon(error, self.plan.ignore, row_begin, &self.handle, context).await?;
        Ok(false)
    }

    /// Whether the index is of the column whose number was given by the counter.
    fn is_of_counter(&self, index: usize, generated: Generated) -> bool {
        let table = self.handle.definition();
        let column = table.auto_increment_column();
        let leads = |column| table.indexes[index].parts.first().is_some_and(|part| part.column == column);
        matches!(generated, Generated::Value(_)) && column.is_some_and(leads)
    }

    fn note_generated(&mut self, generated: Generated) {
        match generated {
            Generated::Nothing => {}
            Generated::Value(value) => {
                if self.outcome.last_insert_id == 0 {
                    self.outcome.last_insert_id = value;
                }
            }
            Generated::Explicit(value) => {
                self.handle.auto_increment().observe(value);
                self.outcome.explicit_insert_id = value;
            }
        }
    }
}

/// The types of a query's columns, from its topmost projection.
fn output_types(node: &Node) -> Vec<ColumnType> {
    use plan::NodeKind::*;
    let of = |expressions: &[expression::Expr]| {
        expressions.iter().map(|expr| expr.ty.column.clone()).collect::<Vec<_>>()
    };
    match &node.kind {
        Project { expressions, .. } => of(expressions),
        Values { rows } => rows.first().map(|row| of(row)).unwrap_or_default(),
        Distinct { keys, .. } => of(keys),
        SetDifference { left_keys, .. } => of(left_keys),
        Filter { input, .. } | Sort { input, .. } | Limit { input, .. } => output_types(input),
        UnionAll { inputs } => inputs.first().map(output_types).unwrap_or_default(),
        Initialise(initialise) => output_types(&initialise.input),
        Apply(apply) => output_types(&apply.input),
        _ => Vec::new(),
    }
}

/// Whether a value may be made from the row's columns.
fn reads_row(value: &InsertValue) -> bool {
    match value {
        InsertValue::Expr(expr) => !matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Parameter(_)),
        InsertValue::Default(_) => false,
    }
}
