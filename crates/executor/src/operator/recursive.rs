//! WITH RECURSIVE: the seed's rows, then round by round what the branches make of the round before.
//!
//! Rows are passed on as they are made, so a LIMIT above ends an endless recursion; only the last round's are kept.
use super::key_set::write_group_key;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::row_store::RowStore;
use crate::seen_keys::SeenKeys;
use datum::{ColumnType, Date, DateTime, MomentContext, SqlError, StoreMode, Value, error_code};
use plan::{Recursive, RecursiveBranch};
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

    /// Stores a row into the seed's types; `None` for one that was there before.
    async fn accept(
        &mut self,
        row: Vec<Value>,
        context: &mut ExecContext<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let row = match self.running {
            Some(branch) => {
                self.rows_stored += 1;
                stored(row, &self.plan.branches[branch], self.plan, self.rows_stored, context)?
            }
            None => row,
        };
        if self.plan.distinct {
            self.key.clear();
            for (value, (_, column_type)) in row.iter().zip(&self.plan.columns) {
                write_group_key(value, column_type, &mut self.key);
            }
            if !self.seen.insert(&self.key, context).await? {
                return Ok(None);
            }
        }
        Ok(Some(row))
    }
}

/// The row in the types of the seed's columns, with the errors of an INSERT.
fn stored(
    row: Vec<Value>,
    branch: &RecursiveBranch,
    plan: &Recursive,
    number: u64,
    context: &ExecContext<'_>,
) -> Result<Vec<Value>, SqlError> {
    let types = branch.types.iter().zip(&plan.columns);
    row.into_iter()
        .zip(types)
        .map(|(value, (from, (name, to)))| store(value, from, (name, to), number, context))
        .collect()
}

fn store(
    value: Value,
    from: &ColumnType,
    (name, to): (&str, &ColumnType),
    number: u64,
    context: &ExecContext<'_>,
) -> Result<Value, SqlError> {
    let settings = &context.eval.settings;
    let now = settings.time_zone.to_local(settings.now_utc_micros);
    let today = now.map_or(Date::ZERO, DateTime::date);
    let moments = MomentContext { zone: &settings.time_zone, mode: settings.sql_mode, today };
    let mode = StoreMode { moments, is_strict: settings.sql_mode.is_strict() };
    match value.cast_to_column(from, to, &mode) {
        Ok(stored) => {
            if let Some(problem) = stored.problem {
                context.eval.session.warn(problem.to_condition(name, number));
            }
            Ok(stored.value)
        }
        Err(problem) => Err(problem.to_error(name, number)),
    }
}

impl Operator for RecursiveRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.seed.start(base);
        self.running = None;
        self.rounds = 0;
        self.is_new = true;
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
            self.batch.clear();
            let asked = wanted.min(BATCH_ROWS);
            let more = match self.running {
                None => self.seed.next_batch(context, asked, &mut self.batch).await?,
                Some(branch) => self.branches[branch].next_batch(context, asked, &mut self.batch).await?,
            };
            self.pace.count(self.batch.len() + 1).await;
            for index in 0..self.batch.len() {
                let row = self.batch.take_row(index);
                if let Some(row) = self.accept(row, context).await? {
                    self.made.push(&row, context).await?;
                    out.push_row(row);
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
        })
    }
}
