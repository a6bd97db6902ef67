//! Statements that fill an empty table: their rows go into new trees, in the order of their keys, which take the places of the
//! empty ones when the statement ends.
//!
//! Invariant: until then the table is as it was for everybody, and others may write to it. If somebody has, or uses the table when
//! the trees should take their places, the rows are inserted one by one instead. So a statement that fills differs from one that
//! does not in what it costs alone. It is a transaction of its own, which takes no further locks once the trees are there.
use std::sync::Arc;

use catalog::{LeftOut, LockGuard, LockMode, SchemaChange, TableFill, TableRows};
use datum::{SqlError, Value};
use definition::TableName;
use engine::{EntryBatch, TreeId, WaitPolicy};
use executor::LeftOutRows;
use plan::{Plan, PlanKind};
use schema::TableDef;
use table::{ChangeOutcome, ReadyTable, table_error};

use crate::session::Session;
use crate::statement::transaction::locks::LockSteps;
use session_state::guard::Shield;

/// How often those who use the table are asked to make room.
const REQUESTS_MAX: usize = 4;

/// A table that a running statement fills.
pub struct FilledTable {
    before: ReadyTable,
    definition: TableDef,
    /// Takes rows until the last one has come.
    fill: Option<TableFill>,
    change: SchemaChange,
    /// The table for this session alone, and the rows of the new trees, which take their places with the commit.
    granted: Option<(Vec<LockGuard>, u64)>,
    /// Duplicates are left out.
    ignores: bool,
}

impl Session {
    /// Whether the statement is one that may fill a table.
    pub(in crate::statement) fn plan_may_fill(&self, plan: &Plan) -> bool {
        matches!(plan.kind, PlanKind::Insert(_))
            && plan.functions.is_empty()
            && self.settings.autocommit
            && !self.transaction.explicit
            && !self.programs.is_inside_statement()
            && self.xa.is_none()
            && self.logged_to().is_none()
    }

    /// Begins to fill the table if it is empty and nobody refers to its rows.
    pub(crate) async fn begin_filling(
        &mut self,
        table: &ReadyTable,
        ignores: bool,
    ) -> Result<bool, SqlError> {
        let before = table.definition();
        let catalog = self.instance.catalog().clone();
        let has_children = !catalog.children_of(&before.database, &before.name).is_empty();
        if before.temporary || has_children || !self.is_empty(before).await? {
            return Ok(false);
        }
        let mut definition = (**before).clone();
        let mut change = catalog.begin_change();
        change.create_trees(&mut definition).await?;
        let fill = TableFill::new(
            &ReadyTable::of_new_trees(Arc::new(definition.clone())),
            self.instance.temporary(),
        );
        let fill = Some(if ignores { fill.leaving_out_duplicates() } else { fill });
        let before = table.clone();
        self.filled =
            Some(Box::new(FilledTable { before, definition, fill, change, granted: None, ignores }));
        Ok(true)
    }

    /// Whether no transaction has a record in it.
    async fn is_empty(&self, table: &TableDef) -> Result<bool, SqlError> {
        let last = self.instance.engine().last_key(TreeId(table.tree)).await;
        Ok(last.map_err(|error| table_error(table, error))?.is_none())
    }

    pub(crate) async fn fill_rows(&mut self, rows: Vec<Vec<Value>>) -> Result<(), SqlError> {
        let filled = self.filled.as_mut().expect("the executor has begun to fill");
        let fill = filled.fill.as_mut().expect("rows come before the end");
        for row in &rows {
            fill.push(&mut filled.change, row).await?;
        }
        env::yield_now().await;
        Ok(())
    }

    /// The statement has made all its rows. If nobody uses the table, the trees take their places with the commit.
    pub(crate) async fn end_filling(&mut self) -> Result<LeftOutRows, SqlError> {
        let mut filled = self.filled.take().expect("the executor has begun to fill");
        let fill = filled.fill.take().expect("it ends once");
        let after = fill.table().clone();
        let (rows, left_out) = fill.finish(&mut filled.change).await?;
        let mut told = LeftOutRows { count: left_out.rows(), errors: left_out.into_errors().collect() };
        let guards = self.exclude_others(&TableName::of(&filled.definition)).await;
        match guards {
            Some(guards) if self.is_empty(filled.before.definition()).await? => {
                filled.definition.auto_increment_start = filled
                    .definition
                    .auto_increment_start
                    .max(filled.before.auto_increment().peek())
                    .max(after.auto_increment().peek());
                filled.granted = Some((guards, rows - told.count));
                self.filled = Some(filled);
            }
            _ => self.insert_filled(*filled, &after, &mut told).await?,
        }
        Ok(told)
    }

    /// The transaction of the statement commits, and the trees take their places.
    pub(in crate::statement) async fn commit_filled(&mut self, shield: &Shield) -> Result<(), SqlError> {
        let Some(filled) = self.filled.take() else { return Ok(()) };
        let FilledTable { before, definition, mut change, granted, .. } = *filled;
        let Some((guards, rows)) = granted else { return Ok(()) };
        let handle = change.replace_empty(before.definition(), definition).await?;
        handle.count_filled(rows);
        self.commit_unlogged(change, shield).await?;
        self.instance.catalog().renew_statistics_if_due(&handle, self.now_utc_micros());
        drop(guards);
        Ok(())
    }

    /// The table for this session alone, unless others need it for long.
    async fn exclude_others(&self, name: &TableName) -> Option<Vec<LockGuard>> {
        let wanted = [(name.lock(), LockMode::Exclusive)];
        let mut steps = LockSteps::new(self);
        for _ in 0..REQUESTS_MAX {
            // Somebody waits for this session, or the time is over: then there is another way.
            if let Some(guards) = self.lock_step(&wanted, &mut steps).await.ok()? {
                return Some(guards);
            }
            self.rest(&wanted, &mut steps).await.ok()?;
        }
        None
    }

    /// Others use the table: its rows come into it like any others. What they have inserted refuses rows, too.
    async fn insert_filled(
        &mut self,
        filled: FilledTable,
        after: &ReadyTable,
        left_out: &mut LeftOutRows,
    ) -> Result<(), SqlError> {
        let FilledTable { before, mut change, ignores, .. } = filled;
        let timeout_us = self.settings.row_lock_wait_timeout_s.saturating_mul(1_000_000);
        let transaction = self.transaction.current.as_mut().expect("the statement has a transaction");
        let mut rows = TableRows::new(&mut change, after.handle());
        let mut batch = EntryBatch::default();
        loop {
            let next = rows.next(&mut change, &mut batch).await?;
            if next.is_empty() {
                return Ok(());
            }
            for (_, row) in &next {
                let inserted = before.insert_row(transaction, row, WaitPolicy::Wait { timeout_us }).await?;
                if let ChangeOutcome::Duplicate { index, .. } = inserted {
                    let error = before.duplicate_error(index, row);
                    if !ignores {
                        return Err(error);
                    }
                    left_out.count += 1;
                    if left_out.errors.len() < LeftOut::ERRORS_MAX {
                        left_out.errors.push(error);
                    }
                }
            }
            env::yield_now().await;
        }
    }
}
