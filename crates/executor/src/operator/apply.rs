//! Subqueries whose value can differ from row to row.
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::{all_hold, evaluated, retried};
use crate::memory::{Held, row_bytes};
use crate::operator::extreme::Extreme;
use crate::operator::key_set::write_compare_key;
use crate::row_store::RowStore;
use crate::seen_keys::SeenKeys;
use datum::{SqlError, Value, error_code};
use expression::{ComparisonOperator, Expr, ExprKind};
use plan::{Apply, ApplyKind, Quantifier};
use schema::LocalFuture;
use std::collections::HashMap;

pub struct ApplyRows<'p> {
    plan: &'p Apply,
    input: Box<dyn Operator + 'p>,
    query: Box<dyn Operator + 'p>,
    /// The rows of a query that is the same for all input rows.
    kept: Option<Kept>,
    /// The values for what the query took before.
    known: HashMap<Vec<u8>, Value>,
    held: Held,
    /// What kept rows or keys hold.
    held_kept: usize,
}

/// As many values are remembered.
const KNOWN_MAX: usize = 4096;

struct Kept {
    /// None where there are keys.
    rows: RowStore,
    /// For `x = ANY (..)` on one column: the keys of its values, and whether one is NULL.
    keys: Option<(SeenKeys, bool)>,
    /// The only row there is to compare with.
    single: Option<Vec<Value>>,
}

/// `left = column`, the condition of IN.
struct Equality<'p> {
    left: &'p Expr,
    right: &'p Expr,
    mode: datum::CompareMode,
}

impl<'p> ApplyRows<'p> {
    pub fn new(plan: &'p Apply) -> ApplyRows<'p> {
        ApplyRows {
            plan,
            input: build(&plan.input),
            query: build(&plan.query),
            kept: None,
            known: HashMap::new(),
            held: Held::default(),
            held_kept: 0,
        }
    }

    /// The value for one input row.
    async fn value(&mut self, row: &[Value], context: &mut ExecContext<'_>) -> Result<Value, SqlError> {
        for (slot, expr) in self.plan.correlation.iter().chain(&self.plan.left) {
            let value = evaluated(expr, row, context).await?;
            context.eval.slots[*slot] = value;
        }
        if self.plan.correlation.is_empty() {
            return self.value_from_kept(context).await;
        }
        if !self.plan.is_steady {
            return self.value_of_query(context).await;
        }
        let mut key = Vec::new();
        for (slot, _) in self.plan.correlation.iter().chain(&self.plan.left) {
            write_exact(&context.eval.slots[*slot], &mut key);
        }
        if let Some(value) = self.known.get(&key) {
            return Ok(value.clone());
        }
        let value = self.value_of_query(context).await?;
        if self.known.len() == KNOWN_MAX {
            self.known.clear();
            self.held.release(&mut context.memory);
        }
        self.held.take(key.len() + row_bytes(std::slice::from_ref(&value)) + 64, &mut context.memory)?;
        self.known.insert(key, value.clone());
        Ok(value)
    }

    /// Runs the query for the values that it takes now.
    async fn value_of_query(&mut self, context: &mut ExecContext<'_>) -> Result<Value, SqlError> {
        self.query.start(&[]);
        let mut rows = RowBatch::new(self.plan.query.width);
        match &self.plan.kind {
            ApplyKind::Exists => {
                while rows.is_empty() && self.query.next_batch(context, 1, &mut rows).await? {}
                Ok(Value::boolean(!rows.is_empty()))
            }
            ApplyKind::Scalar => {
                while rows.len() < 2 && self.query.next_batch(context, 2, &mut rows).await? {}
                scalar(&rows)
            }
            ApplyKind::Quantified { comparison, quantifier } => {
                let mut state = QuantifierState::new(*quantifier);
                let mut more = true;
                while more && !state.is_decided() {
                    context.interrupt.check()?;
                    rows.clear();
                    more = self.query.next_batch(context, BATCH_ROWS, &mut rows).await?;
                    for row in rows.rows() {
                        state.add(retried(context, |eval| comparison.condition.eval_bool(row, eval)).await?);
                        if state.is_decided() {
                            break;
                        }
                    }
                }
                Ok(state.value())
            }
        }
    }

    async fn value_from_kept(&mut self, context: &mut ExecContext<'_>) -> Result<Value, SqlError> {
        if self.kept.is_none() {
            self.kept = Some(self.keep(context).await?);
        }
        let kept = self.kept.as_ref().expect("filled above");
        let (comparison, quantifier) = match &self.plan.kind {
            ApplyKind::Scalar => return scalar_of(kept.rows.len(), kept.rows.head_row(0)),
            ApplyKind::Exists => return Ok(Value::boolean(!kept.rows.is_empty())),
            ApplyKind::Quantified { comparison, quantifier } => (comparison, *quantifier),
        };
        if let (Some((keys, has_null)), Some(equality)) = (&kept.keys, self.equality()) {
            if keys.is_empty() && !has_null {
                return Ok(Value::boolean(false));
            }
            let left = equality.left.eval_ref(&[], context.eval)?;
            let mut key = Vec::new();
            let column_type = &equality.left.ty.column;
            if !write_compare_key(equality.mode, &left, column_type, context.eval, &mut key) {
                return Ok(Value::Null);
            }
            return Ok(match (keys.contains(&key).await?, has_null) {
                (true, _) => Value::boolean(true),
                (false, true) => Value::Null,
                (false, false) => Value::boolean(false),
            });
        }
        let mut state = QuantifierState::new(quantifier);
        let mut reader = kept.rows.reader();
        while !state.is_decided() && !reader.is_at_end(&kept.rows) {
            context.interrupt.check()?;
            for row in reader.rows(&kept.rows, BATCH_ROWS).await?.iter() {
                state.add(retried(context, |eval| comparison.condition.eval_bool(row, eval)).await?);
                if state.is_decided() {
                    break;
                }
            }
        }
        Ok(state.value())
    }

    async fn keep(&mut self, context: &mut ExecContext<'_>) -> Result<Kept, SqlError> {
        self.query.start(&[]);
        self.held.release(&mut context.memory);
        context.memory.give_back(std::mem::take(&mut self.held_kept));
        let mut rows = RowStore::new(self.plan.query.width);
        if let Some(equality) = self.equality() {
            let (keys, has_null) = self.keep_keys(equality, context).await?;
            self.held_kept = keys.held_bytes();
            return Ok(Kept { rows, keys: Some((keys, has_null)), single: None });
        }
        if let Some(extreme) = Extreme::of(&self.plan.kind) {
            extreme.fill(&mut *self.query, &mut rows, context).await?;
        } else {
            rows.fill(&mut *self.query, context).await?;
        }
        self.held_kept = rows.held_bytes();
        let single = (rows.len() == 1).then(|| rows.head_row(0).map(<[Value]>::to_vec)).flatten();
        Ok(Kept { rows, keys: None, single })
    }

    /// Columns that are compared with the only row of a query that is the same for all input rows.
    fn compares_columns(&self) -> bool {
        let Apply { guard, correlation, left, kind, .. } = self.plan;
        guard.is_empty()
            && correlation.is_empty()
            && matches!(kind, ApplyKind::Quantified { .. })
            && left.iter().all(|(_, expr)| expr.as_column().is_some())
    }

    /// The same as `value` for such a row, without the detours of what may have to wait; `None` where it is not so simple.
    async fn compared(
        &self,
        row: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<Option<Value>, SqlError> {
        let ApplyKind::Quantified { comparison, quantifier } = &self.plan.kind else { return Ok(None) };
        let Some(single) = self.kept.as_ref().and_then(|kept| kept.single.as_ref()) else { return Ok(None) };
        for (slot, expr) in &self.plan.left {
            let column = expr.as_column().expect("asked by the caller");
            context.eval.slots[*slot] = row[column].clone();
        }
        let mut state = QuantifierState::new(*quantifier);
        state.add(retried(context, |eval| comparison.condition.eval_bool(single, eval)).await?);
        Ok(Some(state.value()))
    }

    /// The keys of the query's values, and whether one is NULL.
    async fn keep_keys(
        &mut self,
        equality: Equality<'p>,
        context: &mut ExecContext<'_>,
    ) -> Result<(SeenKeys, bool), SqlError> {
        let (mut keys, mut has_null) = (SeenKeys::new(), false);
        let mut key = Vec::new();
        let mut rows = RowBatch::new(self.plan.query.width);
        let mut more = true;
        while more {
            context.interrupt.check()?;
            rows.clear();
            more = self.query.next_batch(context, BATCH_ROWS, &mut rows).await?;
            for row in rows.rows() {
                let value = equality.right.eval_ref(row, context.eval)?;
                key.clear();
                let column_type = &equality.right.ty.column;
                if write_compare_key(equality.mode, &value, column_type, context.eval, &mut key) {
                    keys.insert(&key, context).await?;
                } else {
                    has_null = true;
                }
            }
        }
        Ok((keys, has_null))
    }

    /// The condition as `slot = column`, when it is that and can be hashed.
    fn equality(&self) -> Option<Equality<'p>> {
        let ApplyKind::Quantified { comparison, quantifier: Quantifier::Any } = &self.plan.kind else {
            return None;
        };
        let ExprKind::Compare(ComparisonOperator::Equal, mode, left, right) = &comparison.condition.kind
        else {
            return None;
        };
        let is_plain = matches!(left.kind, ExprKind::Slot(_)) && matches!(right.kind, ExprKind::Column(_));
        let has_keys = !matches!(mode, datum::CompareMode::Json | datum::CompareMode::FixedReal(_));
        (is_plain && has_keys).then_some(Equality { left, right, mode: *mode })
    }
}

/// Appends bytes that only this very value has.
fn write_exact(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::Null => key.push(0),
        Value::Int(number) => {
            key.push(1);
            key.extend_from_slice(&number.to_le_bytes());
        }
        Value::Bytes(bytes) => {
            key.push(2);
            key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            key.extend_from_slice(bytes);
        }
        other => {
            let text = format!("{other:?}");
            key.push(3);
            key.extend_from_slice(&(text.len() as u64).to_le_bytes());
            key.extend_from_slice(text.as_bytes());
        }
    }
}

fn scalar(rows: &RowBatch) -> Result<Value, SqlError> {
    scalar_of(rows.len(), rows.rows().next())
}

/// The value of so many rows.
fn scalar_of(count: usize, first: Option<&[Value]>) -> Result<Value, SqlError> {
    match first {
        None => Ok(Value::Null),
        Some(row) if count == 1 => Ok(row[0].clone()),
        Some(_) => Err(error_code::ER_SUBQUERY_NO_1_ROW.plain()),
    }
}

/// ANY is true once one comparison is, ALL false once one is; NULLs leave either unknown.
struct QuantifierState {
    quantifier: Quantifier,
    decided: bool,
    unknown: bool,
}

impl QuantifierState {
    fn new(quantifier: Quantifier) -> QuantifierState {
        QuantifierState { quantifier, decided: false, unknown: false }
    }

    fn add(&mut self, truth: Option<bool>) {
        match truth {
            None => self.unknown = true,
            Some(truth) => self.decided |= truth == (self.quantifier == Quantifier::Any),
        }
    }

    fn is_decided(&self) -> bool {
        self.decided
    }

    fn value(&self) -> Value {
        let any = self.quantifier == Quantifier::Any;
        if self.decided {
            Value::boolean(any)
        } else if self.unknown {
            Value::Null
        } else {
            Value::boolean(!any)
        }
    }
}

impl Operator for ApplyRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.kept = None;
        self.known.clear();
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            let first = out.len();
            let more = self.input.next_batch(context, wanted, out).await?;
            let is_simple = self.compares_columns();
            for index in first..out.len() {
                context.interrupt.check()?;
                if is_simple && let Some(value) = self.compared(out.row(index), context).await? {
                    out.row_mut(index)[self.plan.position] = value;
                    continue;
                }
                let is_wanted = all_hold(&self.plan.guard, out.row(index), context).await?;
                let value = if is_wanted { self.value(out.row(index), context).await? } else { Value::Null };
                out.row_mut(index)[self.plan.position] = value;
            }
            Ok(more)
        })
    }
}
