//! The rules of a table applied to a row that is about to be written: generated columns get their values, CHECK
//! constraints are asked.
//!
//! This is the one place for both. INSERT, REPLACE, UPDATE and ON DUPLICATE KEY UPDATE call it after every other column
//! has its value but the counter's, which no rule may read; copies of tables and cascades call it too. A table without
//! rules pays one test for each row.
use super::assign::Assigner;
use datum::{SqlError, Value, error_code};
use expression::EvalContext;
use plan::RowRules;
use schema::{TableDef, TableId};
use std::sync::Arc;
use table::RowCompleter;

impl Assigner<'_> {
    /// Gives the generated columns of the row their values; `number` counts rows from 1 for messages.
    pub fn generate(
        &self,
        rules: &RowRules,
        row: &mut [Value],
        number: u64,
        context: &EvalContext,
    ) -> Result<(), SqlError> {
        for generated in &rules.generated {
            let value = generated.expr.eval(row, context).map_err(|error| at_row(error, number))?;
            row[generated.column] =
                self.convert(generated.column, &value, &generated.expr.ty.column, number, context)?;
        }
        Ok(())
    }
}

/// What an index part cannot take tells the row, which the expression does not know.
fn at_row(error: SqlError, number: u64) -> SqlError {
    let tells_row = error.is(&error_code::ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX)
        || error.is(&error_code::ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX);
    match error.message.strip_suffix('1').filter(|_| tells_row) {
        Some(head) => SqlError { message: format!("{head}{number}"), ..error },
        None => error,
    }
}

/// Error 1369 for a row that the view would not show, 3819 for the first constraint that is false for the row.
pub fn check_row(rules: &RowRules, row: &[Value], context: &EvalContext) -> Result<(), SqlError> {
    for check in &rules.view_checks {
        for condition in &check.conditions {
            if condition.eval_bool(row, context)? != Some(true) {
                return Err(error_code::ER_VIEW_CHECK_FAILED.with(&[&check.database, &check.view]));
            }
        }
    }
    for check in &rules.checks {
        if check.condition.eval_bool(row, context)? == Some(false) {
            return Err(error_code::ER_CHECK_CONSTRAINT_VIOLATED.with(&[&check.name]));
        }
    }
    Ok(())
}

/// Completes rows that the statement changes in other tables, through foreign keys.
pub struct CascadeRules<'a> {
    pub rules: &'a [(TableId, Arc<RowRules>)],
    pub context: &'a EvalContext,
}

impl RowCompleter for CascadeRules<'_> {
    fn complete(&self, table: &TableDef, row: &mut [Value]) -> Result<(), SqlError> {
        let Some((_, rules)) = self.rules.iter().find(|(id, _)| *id == table.id) else { return Ok(()) };
        let assigner = Assigner::of_rules(table, true);
        assigner.generate(rules, row, 1, self.context)
    }
}
