//! ORDER BY: reads everything, sorts, gives it out. With a LIMIT above it only the first rows are kept.
use super::limit::row_limit;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::memory::{Held, row_bytes};
use datum::{SqlError, Value, compare_in_type};
use expression::{Expr, ExprKind};
use plan::{Node, SortKey};
use schema::LocalFuture;
use std::cmp::Ordering;

pub struct SortRows<'p> {
    input: Box<dyn Operator + 'p>,
    batch: RowBatch,
    keys: &'p [SortKey],
    limit: Option<&'p (Expr, Option<Expr>)>,
    /// (values of the keys that are no columns, row), in reverse order once sorted, so that the next row is the last.
    sorted: Vec<KeyedRow>,
    is_sorted: bool,
    held: Held,
}

impl<'p> SortRows<'p> {
    pub fn new(
        input: &'p Node,
        keys: &'p [SortKey],
        limit: Option<&'p (Expr, Option<Expr>)>,
    ) -> SortRows<'p> {
        SortRows {
            batch: RowBatch::new(input.width),
            input: build(input),
            keys,
            limit,
            sorted: Vec::new(),
            is_sorted: false,
            held: Held::default(),
        }
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let keep = match self.limit {
            Some((count, offset)) => {
                let offset = offset.as_ref().map(|offset| row_limit(offset, context.eval)).transpose()?;
                let total = row_limit(count, context.eval)?.saturating_add(offset.unwrap_or(0));
                usize::try_from(total).unwrap_or(usize::MAX)
            }
            None => usize::MAX,
        };
        let mut more = keep > 0;
        self.held.release(&mut context.memory);
        while more {
            context.interrupt.check()?;
            self.batch.clear();
            more = self.input.next_batch(context, BATCH_ROWS, &mut self.batch).await?;
            for index in 0..self.batch.len() {
                let mut keys = Vec::with_capacity(self.keys.len());
                for key in self.keys.iter().filter(|key| column_of(key).is_none()) {
                    keys.push(key.expr.eval(self.batch.row(index), context.eval)?);
                }
                let row = self.batch.take_row(index);
                let bytes = row_bytes(&row) + row_bytes(&keys);
                self.held.take(bytes, &mut context.memory)?;
                self.sorted.push((keys, row));
            }
            // Top-n: cut down to the wanted rows whenever twice as many have gathered.
            if self.sorted.len() / 2 >= keep.max(BATCH_ROWS) {
                self.cut(keep, context);
            }
        }
        self.cut(keep, context);
        context.work.sorted_rows += self.sorted.len() as u64;
        self.sorted.reverse();
        self.is_sorted = true;
        Ok(())
    }

    /// Sorts and keeps the first rows. The sort is stable, so equal rows stay in the order they came.
    fn cut(&mut self, keep: usize, context: &mut ExecContext<'_>) {
        let keys = self.keys;
        self.sorted.sort_by(|left, right| compare_rows(keys, left, right));
        if self.sorted.len() > keep {
            let dropped: usize =
                self.sorted[keep..].iter().map(|(keys, row)| row_bytes(row) + row_bytes(keys)).sum();
            self.sorted.truncate(keep);
            self.held.give_back(dropped, &mut context.memory);
        }
    }
}

fn column_of(key: &SortKey) -> Option<usize> {
    match key.expr.kind {
        ExprKind::Column(position) => Some(position),
        _ => None,
    }
}

type KeyedRow = (Vec<Value>, Vec<Value>);

fn compare_rows(keys: &[SortKey], left: &KeyedRow, right: &KeyedRow) -> Ordering {
    let mut computed = 0;
    for key in keys {
        let (left, right) = match column_of(key) {
            Some(position) => (&left.1[position], &right.1[position]),
            None => {
                computed += 1;
                (&left.0[computed - 1], &right.0[computed - 1])
            }
        };
        let order = compare_in_type(left, right, &key.expr.ty.column);
        if order.is_ne() {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

impl Operator for SortRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.sorted.clear();
        self.is_sorted = false;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            if !self.is_sorted {
                self.fill(context).await?;
            }
            for _ in 0..wanted {
                let Some((_, row)) = self.sorted.pop() else { break };
                out.push_row(row);
            }
            if self.sorted.is_empty() {
                self.held.release(&mut context.memory);
            }
            Ok(!self.sorted.is_empty())
        })
    }
}
