//! Leaves are asked for before rows are read: of ranges that come next, and behind entries that are gathered.
//!
//! Called by `table_scan`; `row_lookups` keeps the gathered keys.
use super::TableScan;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use datum::SqlError;
use engine::EntryBatch;
use table::{damaged, table_error};

/// Looks ahead that are left out after one that found everything in memory.
const PAUSED: usize = 8;
/// Rows between two looks at what has arrived.
const LOOKUPS_BETWEEN: usize = 16;
/// Entries read at once while many are gathered.
const GATHER_STEP: usize = 512;

impl TableScan<'_> {
    /// Asks for the first leaves of what runs with these base frames will read.
    pub(super) async fn look_ahead(
        &mut self,
        context: &mut ExecContext<'_>,
        bases: &RowBatch,
    ) -> Result<(), SqlError> {
        self.ensure_open(context)?;
        let opened = self.opened.as_mut().expect("opened above");
        if self.paused > 0 {
            self.paused -= 1;
            return Ok(());
        }
        let mut starts = EntryBatch::default();
        let mut base = Vec::new();
        for row in bases.rows() {
            base.clear();
            base.extend_from_slice(row);
            opened.find_ranges(self.access, &base, true, context)?;
            let start = opened.point.take().or_else(|| opened.ranges.last()?.lower.clone());
            start.iter().for_each(|start| starts.push(start, &[]));
        }
        opened.ranges.clear();
        let mut order: Vec<&[u8]> = starts.iter().map(|(key, _)| key).collect();
        order.sort_unstable();
        let layout = opened.handle.layout();
        let tree = opened.index.map_or(layout.tree, |index| layout.indexes[index].tree);
        let (mut asked, mut absent) = (0, 0);
        while asked < order.len() {
            let expected =
                context.host.seen_transaction().expect_rows(tree, order[asked..].iter().copied()).await;
            let expected = expected.map_err(|error| table_error(&self.access.table, error))?;
            asked += expected.keys.max(1);
            absent += expected.absent;
        }
        // What is all in memory is not asked for again and again.
        self.paused = if absent == 0 { PAUSED } else { 0 };
        Ok(())
    }

    /// Reads the rows of gathered entries.
    pub(super) async fn read_gathered(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        let access = self.access;
        let opened = self.opened.as_mut().expect("its caller has opened it");
        let tree = opened.handle.layout().tree;
        let to_sql = |error| table_error(&access.table, error);
        opened.lookups.look_ahead(tree, context).await.map_err(to_sql)?;
        let first = out.len();
        let mut lookups = std::mem::take(&mut opened.lookups);
        let mut read = 0;
        while out.len() - first < wanted
            && let Some(row_key) = lookups.take()
        {
            read += 1;
            let record = context.host.transaction().get(tree, row_key, opened.mode).await.map_err(to_sql)?;
            if let Some(record) = record {
                opened.take_row(access, &self.base, row_key, &record, context, out).await?;
            }
            if read % LOOKUPS_BETWEEN == 0 {
                lookups.look_ahead(tree, context).await.map_err(to_sql)?;
                context.interrupt.check()?;
                self.pace.count(LOOKUPS_BETWEEN).await;
            }
        }
        opened.lookups = lookups;
        Ok(!opened.lookups.is_empty() || opened.cursor.is_some() || opened.has_more())
    }

    pub(super) async fn gather(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
    ) -> Result<(), SqlError> {
        let access = self.access;
        let opened = self.opened.as_mut().expect("its caller has opened it");
        opened.lookups.begin(wanted);
        let mut step = if access.in_row_order { GATHER_STEP } else { wanted.min(GATHER_STEP) };
        loop {
            let opened = self.opened.as_mut().expect("its caller has opened it");
            if !opened.lookups.gathers(wanted, access.in_row_order) {
                break;
            }
            let Some(_) = self.next_entries(context, step).await? else { break };
            // Where few entries pass, more are looked at together.
            step = (step * 2).min(GATHER_STEP);
            let opened = self.opened.as_mut().expect("its caller has opened it");
            let entries = std::mem::take(&mut opened.entries);
            for (key, value) in entries.iter() {
                if opened.entry_passes(access, &self.base, key, value, context)? {
                    let layout = opened.handle.layout();
                    let start = layout.suffix_start(key, value).map_err(|_| damaged(&access.table.name))?;
                    opened.lookups.add(&key[start..]);
                }
            }
            let count = entries.len();
            opened.entries = entries;
            let is_full = count == GATHER_STEP && !opened.lookups.has_room(&mut context.memory)?;
            context.interrupt.check()?;
            self.pace.count(count + 1).await;
            if is_full {
                break;
            }
        }
        let opened = self.opened.as_mut().expect("its caller has opened it");
        opened.lookups.finish(access.in_row_order);
        Ok(())
    }
}
