//! COUNT(*) of a table or of ranges of an index: records are counted where they lie, and none is decoded.
//!
//! Invariant: the count is that of the rows which the scan would give. Where that takes a look into them (conditions, locks, entries of other versions
//! than the rows) nothing is counted, and the scan goes on as always. Called by `table_scan`.
use datum::SqlError;
use engine::{Direction, EntryBatch, ReadMode};
use plan::{AccessPath, TableAccess};
use table::table_error;

use super::Opened;
use crate::context::ExecContext;
use crate::cooperate::Pace;

/// Records counted before others have a turn: no more work than the rows that a scan reads between two pauses.
const COUNTED_AT_ONCE: usize = 2048;
/// So many cost what a row costs that is read.
const COUNTED_PER_ROW: usize = 4;

/// Whether the path's records are the rows, whatever is in them.
pub(super) fn counts_records(access: &TableAccess) -> bool {
    let is_whole = access.filter.is_empty()
        && access.entry_filter.is_empty()
        && access.gate.is_empty()
        && access.bounds.is_empty();
    let has_ranges = matches!(
        access.path,
        AccessPath::FullScan | AccessPath::IndexScan { .. } | AccessPath::Ranges { .. }
    );
    is_whole && has_ranges && access.lock.is_none()
}

impl Opened {
    /// `None` where rows have to be looked at; the ranges are known.
    pub(super) async fn count_records(
        &mut self,
        access: &TableAccess,
        pace: &mut Pace,
        context: &mut ExecContext<'_>,
    ) -> Result<Option<u64>, SqlError> {
        let may_be_stale = self.index.is_some()
            && (!access.covering || context.host.seen_transaction().has_passed_snapshot());
        if self.mode != ReadMode::Snapshot || may_be_stale || self.check_implied && !access.implied.is_empty()
        {
            return Ok(None);
        }
        let layout = self.handle.layout();
        let tree = self.index.map_or(layout.tree, |index| layout.indexes[index].tree);
        // As in MySQL, reading the rows themselves from end to end for their count is none of a handler's reads.
        let is_seen = !matches!(access.path, AccessPath::FullScan);
        let mut count = 0;
        let mut entries = EntryBatch::counting();
        while let Some(range) = self.ranges.pop() {
            if is_seen {
                context.work.begin_scan(&access.path, false);
            }
            let mut cursor = context.host.transaction().scan(tree, range, Direction::Forward, self.mode);
            let mut more = true;
            while more {
                context.interrupt.check()?;
                entries.clear();
                let read = cursor.next_batch(context.host.transaction(), COUNTED_AT_ONCE, &mut entries).await;
                more = read.map_err(|error| table_error(&access.table, error))?;
                if is_seen {
                    context.work.step(&access.path, false, entries.len(), !more);
                }
                count += entries.len() as u64;
                pace.count(entries.len() / COUNTED_PER_ROW + 1).await;
            }
        }
        context.uses.of(access.table.id, access.path.index()).fetched += count;
        Ok(Some(count))
    }
}
