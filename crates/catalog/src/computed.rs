//! Values of virtual columns that rows lack, since the columns came later (decision 0061).
//!
//! Invariant: the settings are those of a new server, whoever reads: the zone is UTC, the mode the default one. Columns whose
//! values depend on the session are never lacking (`definition` copies the rows). Called by `table`, for each such value.
use std::fmt;
use std::sync::Arc;

use binder::bind_generated_columns;
use datum::{SqlError, Value};
use executor::Assigner;
use expression::{BindContext, EvalContext, Expr, SessionServices, StatementSettings};
use schema::TableDef;
use table::ColumnMaker;

struct BoundColumns {
    table: Arc<TableDef>,
    /// The same for all values; making them costs more than most expressions.
    settings: Arc<StatementSettings>,
    session: Arc<dyn SessionServices>,
    /// By column: the expression of a generated one, and the columns that it reads.
    columns: Vec<(Option<Expr>, Vec<usize>)>,
}

/// Binds the generated columns of a table.
pub fn bind_columns(table: &Arc<TableDef>) -> Result<Arc<dyn ColumnMaker>, SqlError> {
    let bound = bind_generated_columns(table)?.into_iter().map(|expr| {
        let mut reads = Vec::new();
        expr.iter().for_each(|expr| expression::positions_read(expr, &mut reads));
        reads.sort_unstable();
        reads.dedup();
        (expr, reads)
    });
    let EvalContext { settings, session, .. } = EvalContext::of_constants(&BindContext::default());
    Ok(Arc::new(BoundColumns { table: table.clone(), settings, session, columns: bound.collect() }))
}

impl fmt::Debug for BoundColumns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BoundColumns").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl ColumnMaker for BoundColumns {
    fn reads(&self, column: usize) -> &[usize] {
        &self.columns[column].1
    }

    fn make(&self, column: usize, row: &[Value], strict: bool) -> Result<Value, SqlError> {
        let (Some(expr), _) = &self.columns[column] else { return Ok(Value::Null) };
        let mut eval = EvalContext::new(self.settings.clone(), self.session.clone());
        eval.is_strict_change = strict;
        let assigner = Assigner::of_rules(&self.table, strict);
        let value = expr.eval(row, &eval)?;
        assigner.convert(column, &value, &expr.ty.column, 1, &eval)
    }
}
