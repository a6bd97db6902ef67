//! JSON_TABLE: the rows of one document, found when the scan begins.
use super::Operator;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::{all_hold, evaluated};
use crate::memory::{Held, row_bytes};
use datum::{SqlError, StoredJson, Value, error_code, stored_array};
use expression::EvalContext;
use plan::{JsonTable, JsonTableBehaviour, JsonTableColumn, table_document, table_value};
use schema::LocalFuture;

pub struct JsonTableRows<'p> {
    plan: &'p JsonTable,
    base: Vec<Value>,
    rows: RowBatch,
    is_filled: bool,
    next: usize,
    held: Held,
    pace: Pace,
}

impl<'p> JsonTableRows<'p> {
    pub fn new(plan: &'p JsonTable) -> JsonTableRows<'p> {
        JsonTableRows {
            rows: RowBatch::new(plan.width),
            plan,
            base: Vec::new(),
            is_filled: false,
            next: 0,
            held: Held::default(),
            pace: Pace::default(),
        }
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.held.release(&mut context.memory);
        self.rows.clear();
        self.is_filled = true;
        let value = evaluated(&self.plan.document, &self.base, context).await?;
        let Some(text) = table_document(&value, &self.plan.document.ty.column)? else { return Ok(()) };
        let mut row = vec![Value::Null; self.plan.width];
        for (position, item) in self.plan.path.select(StoredJson::new(&text)).into_iter().enumerate() {
            let first = self.rows.len();
            expand(&self.plan.columns, item, position, &mut row, &mut self.rows, context.eval)?;
            let bytes = (first..self.rows.len()).map(|index| row_bytes(self.rows.row(index))).sum();
            self.held.take(bytes, &mut context.memory)?;
            context.interrupt.check()?;
            self.pace.count(1).await;
        }
        drop(text);
        for &position in &self.plan.read_here_alone {
            self.base[position] = Value::Null;
        }
        Ok(())
    }
}

/// The rows of one item: its own columns, beside those of each nested path one after the other.
fn expand(
    columns: &[JsonTableColumn],
    item: StoredJson<'_>,
    position: usize,
    row: &mut Vec<Value>,
    out: &mut RowBatch,
    context: &EvalContext,
) -> Result<(), SqlError> {
    let mut nested = Vec::new();
    for column in columns {
        match column {
            JsonTableColumn::Ordinality { number } => row[*number] = Value::Int(position as i64 + 1),
            JsonTableColumn::Exists { number, name, column_type, path } => {
                let found = if path.select(item).is_empty() { "0" } else { "1" };
                row[*number] = table_value(StoredJson::new(found), column_type, name, context)?;
            }
            JsonTableColumn::Value { number, .. } => row[*number] = column_value(column, item, context)?,
            JsonTableColumn::Nested { path, columns } => nested.push((path, columns)),
        }
    }
    let first = out.len();
    for (path, columns) in &nested {
        for (position, inner) in path.select(item).into_iter().enumerate() {
            expand(columns, inner, position, row, out, context)?;
        }
        clear(columns, row);
    }
    if out.len() == first {
        out.push_copy(row);
    }
    Ok(())
}

/// The columns of a nested path are NULL beside those of others.
fn clear(columns: &[JsonTableColumn], row: &mut [Value]) {
    for column in columns {
        match column {
            JsonTableColumn::Ordinality { number }
            | JsonTableColumn::Value { number, .. }
            | JsonTableColumn::Exists { number, .. } => row[*number] = Value::Null,
            JsonTableColumn::Nested { columns, .. } => clear(columns, row),
        }
    }
}

fn column_value(
    column: &JsonTableColumn,
    item: StoredJson<'_>,
    context: &EvalContext,
) -> Result<Value, SqlError> {
    let JsonTableColumn::Value { name, column_type, path, on_empty, on_error, .. } = column else {
        unreachable!("only such columns are passed here")
    };
    let instead = |behaviour: &JsonTableBehaviour, error: SqlError| match behaviour {
        JsonTableBehaviour::Null => Ok(Value::Null),
        JsonTableBehaviour::Error => Err(error),
        JsonTableBehaviour::Default(value) => Ok(value.clone()),
    };
    let found = path.select(item);
    let value = match found.as_slice() {
        [] => return instead(on_empty, error_code::ER_MISSING_JSON_TABLE_VALUE.with(&[name])),
        [value] => table_value(*value, column_type, name, context),
        values => {
            let all = stored_array(values.iter().copied());
            table_value(StoredJson::new(&all), column_type, name, context)
        }
    };
    value.or_else(|error| instead(on_error, error))
}

impl Operator for JsonTableRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.base = base.to_vec();
        self.is_filled = false;
        self.next = 0;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            self.base.resize(out.width(), Value::Null);
            if !self.is_filled {
                self.fill(context).await?;
            }
            let end = self.rows.len().min(self.next.saturating_add(wanted));
            for index in self.next..end {
                let frame = out.push_copy(&self.base);
                for &(column, position) in &self.plan.projection {
                    frame[position] = std::mem::take(&mut self.rows.row_mut(index)[column]);
                }
                let keeps = all_hold(&self.plan.filter, out.row(out.len() - 1), context).await?;
                if !keeps {
                    out.pop();
                }
            }
            self.pace.count(end - self.next + 1).await;
            self.next = end;
            Ok(end < self.rows.len())
        })
    }
}
