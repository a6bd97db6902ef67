//! LOAD DATA: an INSERT whose rows come one after the other from elsewhere, as parameters of one row of expressions.
use crate::change::inserter::Inserter;
use crate::context::ExecContext;
use crate::outcome::Outcome;
use datum::{SqlError, Value};
use plan::{InsertPlan, InsertSource};
use schema::LocalFuture;

/// The next row of a file.
#[derive(Debug, Default)]
pub struct LoadedRow {
    /// The parameters of the plan's only row.
    pub values: Vec<Value>,
    /// What was wrong with it, told before its values are looked at and after: errors in strict mode.
    pub problems: Vec<SqlError>,
    pub late_problem: Option<SqlError>,
}

/// Where the rows come from; `number` counts from 1 for messages.
pub trait LoadSource {
    fn next_row(&mut self, number: u64) -> LocalFuture<'_, Result<Option<LoadedRow>, SqlError>>;
}

pub async fn execute_load(
    plan: &InsertPlan,
    source: &mut dyn LoadSource,
    context: &mut ExecContext<'_>,
) -> Result<Outcome, SqlError> {
    let InsertSource::Rows(rows) = &plan.source else { return Ok(Outcome::default()) };
    let [template] = rows.as_slice() else { return Ok(Outcome::default()) };
    let mut inserter = Inserter::begin(plan, None, context).await?;
    let mut number = 1;
    while let Some(row) = source.next_row(number).await? {
        context.check()?;
        tell(row.problems, context);
        context.eval.set_parameters(row.values);
        inserter.insert_values(template, context).await?;
        tell(row.late_problem.into_iter().collect(), context);
        number += 1;
    }
    inserter.end(context).await
}

fn tell(problems: Vec<SqlError>, context: &ExecContext<'_>) {
    problems.into_iter().for_each(|problem| context.eval.session.warn(problem.into_warning()));
}
