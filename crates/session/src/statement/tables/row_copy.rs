//! Rows that a definition makes: those that ALTER TABLE copies from the old table to the new, and those that CREATE TABLE ..
//! SELECT brings. Here they get default expressions, generated columns and constraints.
//!
//! Invariant: a row that leaves here obeys the rules of its new table, as one that the executor writes does.
use std::sync::Arc;

use binder::Literals;
use datum::{SqlError, Value};
use definition::RowMaker;
use executor::{Assigner, check_row};
use expression::{EvalContext, Expr};
use plan::RowRules;
use schema::{ColumnDefault, TableDef};

use crate::session::Session;

impl Session {
    /// What the executor checks and computes for rows of the table.
    pub fn row_rules(&self, table: &Arc<TableDef>) -> Result<Option<Arc<RowRules>>, SqlError> {
        let context = self.binder_context(Literals::Inline, &[]);
        binder::row_rules(table, self, &context)
    }

    /// What expressions see outside of a plan.
    pub fn change_context(&self) -> EvalContext {
        let mut eval = EvalContext::new(Arc::new(self.expression_settings()), self.shared.clone());
        eval.is_strict_change = self.settings.sql_mode.is_strict();
        eval
    }

    /// What computes the rest of a row of the table.
    pub fn row_maker(&self, table: &Arc<TableDef>) -> Result<TableRowMaker, SqlError> {
        let context = self.binder_context(Literals::Inline, &[]);
        let mut defaults = Vec::new();
        for (position, column) in table.columns.iter().enumerate() {
            if let ColumnDefault::Expression { text } = &column.default {
                defaults.push((position, binder::bind_default_expression(text, table, self, &context)?));
            }
        }
        let rules = self.row_rules(table)?;
        Ok(TableRowMaker { table: table.clone(), rules, defaults, eval: self.change_context() })
    }
}

/// Computes what rows of a table need beside the values they are given.
pub struct TableRowMaker {
    table: Arc<TableDef>,
    rules: Option<Arc<RowRules>>,
    defaults: Vec<(usize, Expr)>,
    eval: EvalContext,
}

impl TableRowMaker {
    fn assigner(&self) -> Assigner<'_> {
        let strict = self.eval.is_strict_change;
        Assigner::of_rules(&self.table, strict)
    }
}

impl RowMaker for TableRowMaker {
    fn default_value(&self, column: usize, row: &[Value], number: u64) -> Result<Value, SqlError> {
        let Some((_, expr)) = self.defaults.iter().find(|(own, _)| *own == column) else {
            return Ok(Value::Null);
        };
        let value = expr.eval(row, &self.eval)?;
        self.assigner().convert(column, &value, &expr.ty.column, number, &self.eval)
    }

    fn finish(&self, row: &mut [Value], number: u64) -> Result<(), SqlError> {
        let Some(rules) = &self.rules else { return Ok(()) };
        self.assigner().generate(rules, row, number, &self.eval)?;
        check_row(rules, row, &self.eval)
    }
}
