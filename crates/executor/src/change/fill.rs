//! Rows of an INSERT or LOAD DATA that may fill an empty table at once: the host builds its trees in order of their keys.
//!
//! Invariant: rows are given on in the order in which they came, and each counts when it is taken. Few rows are inserted one by
//! one, as are those of a table that turns out not to be empty. Only statements that any duplicate ends come here, and those with
//! IGNORE whose table has one unique key: a row that is left out for one would not refuse others by another.
use crate::change::inserter::Inserter;
use crate::change::inserter::{Filling, Way};
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::host::LeftOutRows;
use datum::{SqlError, Value};
use plan::{DuplicateRule, InsertPlan};
use schema::{IndexDef, TableDef, TriggerEvent};
use table::{ChangeOutcome, ReadyTable};

/// Fewer rows are not worth new trees.
const ROWS_MIN: u64 = 2048;
/// Or rows of so many bytes.
const BYTES_MIN: usize = 1 << 20;
/// So many are handed over at once.
const BATCH_ROWS: usize = 256;

impl Filling {
    /// `rows` is how many will come, if that is known.
    pub fn begin(
        plan: &InsertPlan,
        table: &ReadyTable,
        rows: Option<u64>,
        context: &mut ExecContext<'_>,
    ) -> Filling {
        let is_plain = matches!(plan.duplicates, DuplicateRule::Fail)
            && !plan.reads_target
            && (!plan.ignore || has_one_key(table.definition()));
        let may_fill = is_plain
            && rows.is_none_or(|rows| rows >= ROWS_MIN)
            && table.estimated_rows() == 0
            && !context.triggers.follow(plan.table.id, TriggerEvent::Insert)
            && context.host.may_fill(table);
        let way = if may_fill { Way::Gather } else { Way::Insert };
        Filling { way, waiting: Vec::new(), waiting_bytes: 0 }
    }
}

impl Inserter<'_> {
    /// Whether rows are taken.
    pub(super) fn fills(&self) -> bool {
        self.filling.way != Way::Insert
    }

    /// Takes a row that nothing but a duplicate can refuse any more.
    pub(super) async fn fill(
        &mut self,
        row: Vec<Value>,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.filling.waiting_bytes += row.iter().map(bytes_of).sum::<usize>();
        self.filling.waiting.push(row);
        let rows = self.filling.waiting.len();
        let is_large = self.filling.waiting_bytes >= BYTES_MIN;
        match self.filling.way {
            Way::Fill if rows >= BATCH_ROWS || is_large => self.hand_over(context).await,
            Way::Gather if rows as u64 >= ROWS_MIN || is_large => {
                match context.host.begin_fill(&self.handle, self.plan.ignore).await? {
                    true => {
                        self.filling.way = Way::Fill;
                        self.hand_over(context).await
                    }
                    false => self.insert_waiting(context).await,
                }
            }
            _ => Ok(()),
        }
    }

    /// The last row was taken.
    pub(super) async fn end_filling(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        match self.filling.way {
            Way::Insert => Ok(()),
            Way::Gather => self.insert_waiting(context).await,
            Way::Fill => {
                self.hand_over(context).await?;
                let left_out = context.host.end_fill().await?;
                self.leave_out(left_out, context);
                Ok(())
            }
        }
    }

    fn leave_out(&mut self, LeftOutRows { count, errors }: LeftOutRows, context: &mut ExecContext<'_>) {
        self.outcome.affected_rows -= count;
        self.outcome.duplicates += count;
        // Those without an error of their own are counted all the same; nobody can ask for their messages.
        let Some(last) = errors.last().cloned() else { return };
        let untold = count - errors.len() as u64;
        let untold = (0..untold).map(|_| last.clone());
        errors.into_iter().chain(untold).for_each(|error| context.eval.session.warn(error.into_warning()));
    }

    async fn hand_over(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        let rows = std::mem::take(&mut self.filling.waiting);
        self.filling.waiting_bytes = 0;
        context.work.inserts += rows.len() as u64;
        context.uses.of(self.handle.definition().id, None).inserted += rows.len() as u64;
        context.host.fill(rows).await
    }

    /// Inserts what waits one by one, and what comes later as well.
    async fn insert_waiting(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.filling.way = Way::Insert;
        let mut pace = Pace::default();
        for row in std::mem::take(&mut self.filling.waiting) {
            context.check()?;
            pace.count_change().await;
            if let ChangeOutcome::Duplicate { index, .. } = context.insert_row(&self.handle, &row).await? {
                let error = self.handle.duplicate_error(index, &row);
                if !self.plan.ignore {
                    return Err(error);
                }
                self.leave_out(LeftOutRows { count: 1, errors: vec![error] }, context);
            }
        }
        Ok(())
    }
}

/// Whether no index but the clustered one is unique, and no number is lost with a row that is left out.
fn has_one_key(table: &TableDef) -> bool {
    let is_clustering = |index: &IndexDef| table.clustered_by == Some(index.id);
    let leads_key = |column| {
        table
            .clustering_index()
            .and_then(|index| index.parts.first())
            .is_some_and(|part| part.column == column)
    };
    table.indexes.iter().all(|index| !index.is_unique() || is_clustering(index))
        && table.auto_increment_column().is_none_or(leads_key)
}

/// What a value has outside of itself.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        _ => size_of::<Value>(),
    }
}
