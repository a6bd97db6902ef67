//! References to tables of WITH, and to the round before of a recursive one: scans over rows that are shared.
use super::{Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::all_hold;
use crate::row_store::{RowReader, RowStore};
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
    rows: Option<Rc<RowStore>>,
    reader: RowReader,
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
            reader: RowReader::default(),
            pace: Pace::default(),
        }
    }

    async fn rows(&self, context: &mut ExecContext<'_>) -> Result<Rc<RowStore>, SqlError> {
        let values: Vec<Value> = self.slots.iter().map(|slot| context.eval.slots[*slot].clone()).collect();
        if let Some(rows) = context.kept.get(self.number, &values) {
            return Ok(rows);
        }
        let input = self.input.expect("a round's rows are there before its branches start");
        let mut operator = build(input);
        operator.start(&[]);
        let mut rows = RowStore::new(input.width);
        rows.fill(&mut *operator, context).await?;
        let rows = Rc::new(rows);
        let before = context.kept.set(self.number, rows.clone(), values);
        context.memory.give_back(before);
        Ok(rows)
    }
}

impl Operator for KeptScan<'_> {
    fn start(&mut self, base: &[Value]) {
        self.base = base.to_vec();
        self.rows = None;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            let store = match &self.rows {
                Some(rows) => rows.clone(),
                None => {
                    let rows = self.rows(context).await?;
                    self.reader = rows.reader();
                    self.rows = Some(rows.clone());
                    rows
                }
            };
            self.base.resize(out.width(), Value::Null);
            let rows = self.reader.rows(&store, wanted).await?;
            for row in rows.iter() {
                let frame = out.push_copy(&self.base);
                for &(column, position) in self.projection {
                    frame[position] = row[column].clone();
                }
                let keeps = all_hold(self.filter, out.row(out.len() - 1), context).await?;
                if !keeps {
                    out.pop();
                }
            }
            let count = rows.len();
            self.pace.count(count + 1).await;
            Ok(!self.reader.is_at_end(&store))
        })
    }
}
