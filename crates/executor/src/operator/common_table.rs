//! References to tables of WITH, and to the round before of a recursive one: scans over rows that are shared.
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::all_hold;
use crate::memory::row_bytes;
use datum::{SqlError, Value};
use expression::Expr;
use plan::{CommonTable, Node, RoundScan};
use schema::LocalFuture;
use std::rc::Rc;

pub struct KeptScan<'p> {
    number: usize,
    /// What makes the rows, if nobody has yet; the round before is always there.
    input: Option<&'p Node>,
    slots: &'p [usize],
    projection: &'p [(usize, usize)],
    filter: &'p [Expr],
    base: Vec<Value>,
    rows: Option<Rc<RowBatch>>,
    next: usize,
    pace: Pace,
}

impl<'p> KeptScan<'p> {
    pub fn of_table(table: &'p CommonTable) -> KeptScan<'p> {
        KeptScan {
            slots: &table.slots,
            ..KeptScan::new(table.number, Some(&table.input), &table.projection, &table.filter)
        }
    }

    pub fn of_round(round: &'p RoundScan) -> KeptScan<'p> {
        KeptScan::new(round.round, None, &round.projection, &round.filter)
    }

    fn new(
        number: usize,
        input: Option<&'p Node>,
        projection: &'p [(usize, usize)],
        filter: &'p [Expr],
    ) -> KeptScan<'p> {
        KeptScan {
            number,
            input,
            slots: &[],
            projection,
            filter,
            base: Vec::new(),
            rows: None,
            next: 0,
            pace: Pace::default(),
        }
    }

    async fn rows(&self, context: &mut ExecContext<'_>) -> Result<Rc<RowBatch>, SqlError> {
        let values: Vec<Value> = self.slots.iter().map(|slot| context.eval.slots[*slot].clone()).collect();
        if let Some(rows) = context.kept.get(self.number, &values) {
            return Ok(rows);
        }
        let input = self.input.expect("a round's rows are there before its branches start");
        let mut operator = build(input);
        operator.start(&[]);
        let mut rows = RowBatch::new(input.width);
        let (mut more, mut taken) = (true, 0);
        while more {
            context.interrupt.check()?;
            let first = rows.len();
            more = operator.next_batch(context, BATCH_ROWS, &mut rows).await?;
            let bytes: usize = (first..rows.len()).map(|index| row_bytes(rows.row(index))).sum();
            taken += bytes;
            context.memory.take(bytes)?;
        }
        let rows = Rc::new(rows);
        let before = context.kept.set(self.number, rows.clone(), values, taken);
        context.memory.give_back(before);
        Ok(rows)
    }
}

impl Operator for KeptScan<'_> {
    fn start(&mut self, base: &[Value]) {
        self.base = base.to_vec();
        self.rows = None;
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
            let rows = match &self.rows {
                Some(rows) => rows.clone(),
                None => self.rows(context).await?,
            };
            self.rows = Some(rows.clone());
            self.base.resize(out.width(), Value::Null);
            let end = rows.len().min(self.next.saturating_add(wanted));
            for index in self.next..end {
                let row = rows.row(index);
                let frame = out.push_copy(&self.base);
                for &(column, position) in self.projection {
                    frame[position] = row[column].clone();
                }
                let keeps = all_hold(self.filter, out.row(out.len() - 1), context).await?;
                if !keeps {
                    out.pop();
                }
            }
            self.pace.count(end - self.next + 1).await;
            self.next = end;
            Ok(end < rows.len())
        })
    }
}
