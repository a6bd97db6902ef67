//! EXPLAIN ANALYZE: passes rows through and notes how many there were, how long they took and what went to disk for them.
use super::{Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use datum::{SqlError, Value};
use env::{TaskWaits, WaitCause};
use plan::{Measure, Node};
use schema::LocalFuture;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub struct MeasuredRows<'p> {
    input: Box<dyn Operator + 'p>,
    measure: &'p Measure,
    /// Time of this run so far.
    spent: Duration,
    /// This run has begun, and it has given a row.
    has_begun: bool,
    has_row: bool,
}

impl<'p> MeasuredRows<'p> {
    pub fn new(input: &'p Node, measure: &'p Measure) -> MeasuredRows<'p> {
        MeasuredRows { input: build(input), measure, spent: Duration::ZERO, has_begun: false, has_row: false }
    }
}

fn add(sum: &AtomicU64, time: Duration) {
    sum.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
}

/// Runs `input` and notes its waits for pages. They are noted on the thread in the poll in which they end.
async fn noting<T>(measure: &Measure, input: LocalFuture<'_, T>) -> T {
    let mut input = input;
    poll_fn(|context| {
        let before = TaskWaits::noted();
        let polled = input.as_mut().poll(context);
        let after = TaskWaits::noted();
        let cause = WaitCause::PageRead;
        measure.pages_read.fetch_add(after.count(cause).saturating_sub(before.count(cause)), Relaxed);
        measure.read_wait_us.fetch_add(after.time_us(cause).saturating_sub(before.time_us(cause)), Relaxed);
        polled
    })
    .await
}

impl Operator for MeasuredRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.spent = Duration::ZERO;
        (self.has_begun, self.has_row) = (false, false);
    }

    fn expect<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        bases: &'a RowBatch,
    ) -> LocalFuture<'a, Result<(), SqlError>> {
        self.input.expect(context, bases)
    }

    fn has_expectations(&self) -> bool {
        self.input.has_expectations()
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            if !std::mem::replace(&mut self.has_begun, true) {
                self.measure.loops.fetch_add(1, Relaxed);
            }
            let (before, begun) = (out.len(), Instant::now());
            // What the operator above has written so far is its own.
            let spilled_above = std::mem::take(&mut context.work.spilled_bytes);
            let more = noting(self.measure, self.input.next_batch(context, wanted, out)).await;
            let spilled = std::mem::replace(&mut context.work.spilled_bytes, spilled_above);
            self.measure.spilled_bytes.fetch_add(spilled, Relaxed);
            let took = begun.elapsed();
            let rows = out.len() - before;
            self.spent += took;
            if !self.has_row && (rows > 0 || !matches!(more, Ok(true))) {
                self.has_row = true;
                add(&self.measure.first_ns, self.spent);
            }
            self.measure.rows.fetch_add(rows as u64, Relaxed);
            add(&self.measure.last_ns, took);
            more
        })
    }
}
