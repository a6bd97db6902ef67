//! WITH RECURSIVE: the seed's rows, then round by round what the branches make of the round before.
//!
//! Rows are passed on as they are made, so a LIMIT above ends an endless recursion; only the last round's are kept. Rounds of
//! few rows are made until a batch is full, because passing on costs more than a row does.
use super::key_set::write_group_key;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::row_store::RowStore;
use crate::seen_keys::SeenKeys;
use datum::{SqlError, StoreMode, Value, error_code};
use expression::moment_context;
use plan::Recursive;
use schema::LocalFuture;
use std::rc::Rc;

pub struct RecursiveRows<'p> {
    plan: &'p Recursive,
    seed: Box<dyn Operator + 'p>,
    branches: Vec<Box<dyn Operator + 'p>>,
    /// The branch that runs, or `None` for the seed.
    running: Option<usize>,
    rounds: u64,
    /// Rows made in this round.
    made: RowStore,
    batch: RowBatch,
    /// UNION DISTINCT: the keys of all rows so far.
    seen: SeenKeys,
    key: Vec<u8>,
    rows_stored: u64,
    /// Nothing has been asked for since the start.
    is_new: bool,
    /// What comes behind the rows that were passed on last.
    failure: Option<SqlError>,
    pace: Pace,
}

impl<'p> RecursiveRows<'p> {
    pub fn new(plan: &'p Recursive) -> RecursiveRows<'p> {
        let width = plan.columns.len();
        RecursiveRows {
            plan,
            seed: build(&plan.seed),
            branches: plan.branches.iter().map(|branch| build(&branch.query)).collect(),
            running: None,
            rounds: 0,
            made: RowStore::new(width),
            batch: RowBatch::new(width),
            seen: SeenKeys::new(),
            key: Vec::new(),
            rows_stored: 0,
            is_new: true,
            failure: None,
            pace: Pace::default(),
        }
    }

    /// Ends the seed or a round; false when there is no other.
    async fn begin_round(&mut self, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        let mut made = std::mem::replace(&mut self.made, RowStore::new(self.plan.columns.len()));
        made.finish(context).await?;
        let is_last = made.is_empty();
        let before = context.kept.set(self.plan.round, Rc::new(made), Vec::new());
        context.memory.give_back(before);
        if is_last {
            return Ok(false);
        }
        self.rounds += 1;
        if self.rounds > context.settings.recursion_depth_max {
            return Err(error_code::ER_CTE_MAX_RECURSION_DEPTH.with(&[&self.rounds]));
        }
        self.running = Some(0);
        self.branches[0].start(&[]);
        Ok(true)
    }

    /// Passes on what the seed or branch that runs makes next, and then begins with what follows it; false at the end.
    async fn step(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        self.batch.clear();
        let more = match self.running {
            None => self.seed.next_batch(context, wanted, &mut self.batch).await?,
            Some(branch) => self.branches[branch].next_batch(context, wanted, &mut self.batch).await?,
        };
        self.pace.count(self.batch.len() + 1).await;
        for index in 0..self.batch.len() {
            self.store(index, context)?;
            if self.is_new_row(index, context).await? {
                self.made.push(self.batch.row(index), context).await?;
                out.push_taken(&mut self.batch, index);
            }
        }
        if more {
            return Ok(true);
        }
        match self.running {
            Some(branch) if branch + 1 < self.branches.len() => {
                self.running = Some(branch + 1);
                self.branches[branch + 1].start(&[]);
                Ok(true)
            }
            _ => self.begin_round(context).await,
        }
    }

    /// Brings a row of a branch into the types of the seed's columns, with the errors of an INSERT.
    fn store(&mut self, index: usize, context: &ExecContext<'_>) -> Result<(), SqlError> {
        let Some(branch) = self.running else { return Ok(()) };
        self.rows_stored += 1;
        let settings = &context.eval.settings;
        let is_strict = settings.sql_mode.is_strict();
        let types = self.plan.branches[branch].types.iter().zip(&self.plan.columns);
        for (value, (from, (name, to))) in self.batch.row_mut(index).iter_mut().zip(types) {
            // A TIME alone asks what day it is.
            let moments = moment_context(context.eval, matches!(value, Value::Time(_)));
            match std::mem::take(value).cast_to_column(from, to, &StoreMode { moments, is_strict }) {
                Ok(stored) => {
                    if let Some(problem) = stored.problem {
                        context.eval.session.warn(problem.to_condition(name, self.rows_stored));
                    }
                    *value = stored.value;
                }
                Err(problem) => return Err(problem.to_error(name, self.rows_stored)),
            }
        }
        Ok(())
    }

    /// False with UNION DISTINCT for a row that was there before.
    async fn is_new_row(&mut self, index: usize, context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        if !self.plan.distinct {
            return Ok(true);
        }
        self.key.clear();
        for (value, (_, column_type)) in self.batch.row(index).iter().zip(&self.plan.columns) {
            write_group_key(value, column_type, &mut self.key);
        }
        self.seen.insert(&self.key, context).await
    }
}

impl Operator for RecursiveRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.seed.start(base);
        self.running = None;
        self.rounds = 0;
        self.is_new = true;
        self.failure = None;
        self.rows_stored = 0;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            if std::mem::take(&mut self.is_new) {
                self.seen.clear(&mut context.memory);
                self.made.clear(&mut context.memory);
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let begin = out.len();
            let end = begin + wanted.min(BATCH_ROWS);
            loop {
                match self.step(context, end - out.len(), out).await {
                    Ok(true) if out.len() < end => {}
                    Ok(more) => return Ok(more),
                    // The rows before it may be all that is asked for.
                    Err(failure) if out.len() > begin => {
                        self.failure = Some(failure);
                        return Ok(true);
                    }
                    Err(failure) => return Err(failure),
                }
                context.interrupt.check()?;
            }
        })
    }
}
