//! Reads one table through its access path: point, ranges, whole index, whole table.
//!
//! Locking reads lock what the engine returns; a row that fails the filter is given back where the isolation level
//! allows (`unlock_unmatched`). An UPDATE may get a locked row's committed version instead of a lock: only if that
//! passes the filter is the row read again, which waits for the lock.
mod gathering;
mod index_merge;
mod prefix_walk;
mod ranges;
mod row_count;
mod row_lookups;
mod rows;

use super::Operator;
use crate::batch::RowBatch;
use crate::context::{ExecContext, OneByOne};
use crate::cooperate::Pace;
use crate::deferred::{all_hold, are_bounds_known, truth_after};
use datum::{SqlError, Value};
use engine::{Cursor, Direction, EntryBatch, KeyRange, LockMark, ReadMode};
use expression::{Expr, ExprKind};
use plan::{AccessPath, KeyCondition, TableAccess};
use prefix_walk::PrefixWalk;
use row_count::counts_records;
use row_lookups::RowLookups;
use rows::halves_of;
use schema::LocalFuture;
use std::sync::Arc;
use table::{Projection, TableHandle, damaged, table_error};

pub struct TableScan<'p> {
    access: &'p TableAccess,
    base: Vec<Value>,
    /// The base changed since the ranges were made.
    restarted: bool,
    opened: Option<Opened>,
    pace: Pace,
    /// Looks ahead to leave out.
    paused: usize,
}
/// What is known once the scan has its table; only the part below `ranges` depends on the base frame.
struct Opened {
    handle: Arc<TableHandle>,
    mode: ReadMode,
    /// The secondary index that is read, `None` for the clustered records.
    index: Option<usize>,
    projection: Projection,
    /// What the filter reads of a record, and what is read of it besides when it has passed; `None` where the filter reads all or is not there.
    halves: Option<(Projection, Projection)>,
    /// What the entry filter reads of an entry, if there is one.
    entry_projection: Option<Projection>,
    entries: EntryBatch,
    /// Rows of entries that are gathered already.
    lookups: RowLookups,
    /// A frame for entries.
    scratch: Vec<Value>,
    /// In the order they are read; the next one is the last.
    ranges: Vec<KeyRange>,
    /// A single row is wanted: its clustered key.
    point: Option<Vec<u8>>,
    cursor: Option<Cursor>,
    /// Where the walk over the first parts of the index is, on such a path.
    walk: Option<PrefixWalk>,
    /// The keys of the rows are still to be gathered from several indexes.
    merges: bool,
    check_implied: bool,
    /// The locks held before the entries at hand were read.
    mark: LockMark,
}

impl<'p> TableScan<'p> {
    pub fn new(access: &'p TableAccess) -> TableScan<'p> {
        TableScan {
            access,
            base: Vec::new(),
            restarted: true,
            opened: None,
            pace: Pace::default(),
            paused: 0,
        }
    }

    fn open(&self, context: &ExecContext<'_>) -> Result<Opened, SqlError> {
        let access = self.access;
        let handle = context.tables.table(access.table.id)?;
        let layout = handle.layout();
        let index = access.path.index().filter(|&index| !layout.indexes[index].clustered);
        let projection = match index {
            Some(index) if access.covering => {
                let projection = layout.project_entries(index, &access.projection);
                projection.ok_or_else(|| damaged(&access.table.name))?
            }
            _ => layout.project_rows(&access.projection),
        };
        let entry_projection = match index {
            Some(index) if !access.entry_filter.is_empty() => {
                let wanted = &access.entry_columns;
                Some(layout.project_entries(index, wanted).ok_or_else(|| damaged(&access.table.name))?)
            }
            _ => None,
        };
        let is_covered = index.filter(|_| access.covering);
        let halves = halves_of(access, |columns| match is_covered {
            Some(index) => layout.project_entries(index, columns),
            None => Some(layout.project_rows(columns)),
        });
        Ok(Opened {
            mode: context.read_mode(access.lock),
            index,
            projection,
            halves,
            entry_projection,
            entries: EntryBatch::default(),
            lookups: RowLookups::default(),
            scratch: Vec::new(),
            ranges: Vec::new(),
            point: None,
            cursor: None,
            walk: None,
            merges: false,
            check_implied: false,
            mark: LockMark::default(),
            handle,
        })
    }

    fn ensure_open(&mut self, context: &ExecContext<'_>) -> Result<(), SqlError> {
        if self.opened.is_none() {
            self.opened = Some(self.open(context)?);
        }
        Ok(())
    }

    async fn count(&mut self, context: &mut ExecContext<'_>) -> Result<Option<u64>, SqlError> {
        if !self.restarted || !counts_records(self.access) {
            return Ok(None);
        }
        self.ensure_open(context)?;
        let opened = self.opened.as_mut().expect("opened above");
        self.restarted = false;
        opened.find_ranges(self.access, &self.base, true, context)?;
        opened.count_records(self.access, &mut self.pace, context).await
    }

    async fn read(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        self.ensure_open(context)?;
        let access = self.access;
        let opened = self.opened.as_mut().expect("opened above");
        if std::mem::take(&mut self.restarted) {
            let is_open =
                are_bounds_known(access, context)? && all_hold(&access.gate, &self.base, context).await?;
            opened.find_ranges(access, &self.base, is_open, context)?;
        }
        let to_sql = |error| table_error(&access.table, error);
        if let Some(key) = opened.point.take() {
            let tree = opened.handle.layout().tree;
            context.work.key_reads += 1;
            opened.mark = context.host.transaction().lock_mark();
            let record = context.host.transaction().get(tree, &key, opened.mode).await.map_err(to_sql)?;
            if let Some(record) = record {
                context.work.rows_examined += 1;
                context.uses.of(access.table.id, access.path.index()).fetched += 1;
                opened.take_entry(access, &self.base, &key, &record, context, out).await?;
            }
            return Ok(false);
        }
        if opened.merges {
            opened.gather_merged(access, &self.base, context).await?;
        }
        if opened.looks_up_many(access, context) {
            if opened.lookups.is_empty() {
                self.gather(context, wanted).await?;
            }
            return self.read_gathered(context, wanted, out).await;
        }
        let Some(more) = self.next_entries(context, wanted).await? else { return Ok(false) };
        let opened = self.opened.as_mut().expect("opened above");
        let entries = std::mem::take(&mut opened.entries);
        let at_once = opened.takes_at_once(access, context);
        let mut next = 0;
        while next < entries.len() {
            if at_once {
                let stopped = opened.take_entries(access, &self.base, (&entries, next), context, out)?;
                let Some((index, error)) = stopped else { break };
                let passes = truth_after(error, &access.filter, out.row(out.len() - 1), context).await?;
                opened.after_filter(access, passes, entries.get(index), context, out)?;
                next = index + 1;
                continue;
            }
            let (key, value) = entries.get(next);
            if entries.is_unlocked(next) {
                opened.take_unlocked(access, &self.base, key, value, context, out).await?;
            } else {
                opened.take_entry(access, &self.base, key, value, context, out).await?;
            }
            next += 1;
        }
        opened.entries = entries;
        // A range that turned out empty has cost about as much as a row.
        self.pace.count(opened.entries.len() + 1).await;
        Ok(more || opened.has_more())
    }

    /// Reads the next entries of the range at hand into `entries`: whether it has more, `None` behind the last range.
    async fn next_entries(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
    ) -> Result<Option<bool>, SqlError> {
        let access = self.access;
        let opened = self.opened.as_mut().expect("its caller has opened it");
        let mut cursor = match opened.cursor.take() {
            Some(cursor) => cursor,
            None => {
                if opened.ranges.is_empty() && opened.walk.is_some() {
                    return opened.walk_on(access, context).await;
                }
                let Some(range) = opened.ranges.pop() else { return Ok(None) };
                let layout = opened.handle.layout();
                let tree = opened.index.map_or(layout.tree, |index| layout.indexes[index].tree);
                let direction = if access.backward { Direction::Backward } else { Direction::Forward };
                context.work.begin_scan(&access.path, access.backward);
                let mut cursor = context.host.transaction().scan(tree, range, direction, opened.mode);
                let is_target = access.lock.is_some_and(|lock| lock.exclusive);
                if context.settings.tests_before_waiting && is_target && opened.index.is_none() {
                    cursor.test_before_waiting();
                }
                cursor
            }
        };
        opened.entries.clear();
        let wanted = if opened.locks_row_by_row(access, context) { 1 } else { wanted };
        opened.mark = context.host.transaction().lock_mark();
        let more = cursor.next_batch(context.host.transaction(), wanted, &mut opened.entries).await;
        let more = more.map_err(|error| table_error(&access.table, error))?;
        // Entries that fail the entry filter are not counted: MySQL does not see them.
        let counted = if access.entry_filter.is_empty() { opened.entries.len() } else { 0 };
        context.work.step(&access.path, access.backward, counted, !more);
        let fetched = opened.entries.len() as u64;
        context.uses.of(access.table.id, access.path.index()).fetched += fetched;
        if more {
            opened.cursor = Some(cursor);
        }
        Ok(Some(more))
    }
}

impl Opened {
    fn has_more(&self) -> bool {
        !self.ranges.is_empty() || self.walk.as_ref().is_some_and(|walk| !walk.is_done())
    }

    /// Whether a record may be locked only when the one before it is done with. An entry of a secondary index is
    /// followed by its row, which may have to be waited for.
    fn locks_row_by_row(&self, access: &TableAccess, context: &ExecContext<'_>) -> bool {
        let reads_rows = self.index.is_some() && !access.covering;
        let is_whole = matches!(access.path, AccessPath::FullScan | AccessPath::IndexScan { .. });
        let is_source = access.lock.is_some_and(|lock| !lock.exclusive);
        let is_one_by_one = match context.settings.locks_one_by_one {
            OneByOne::Never => false,
            OneByOne::LookedUp => !is_whole,
            OneByOne::NotSources => !(is_whole && is_source),
            OneByOne::Always => true,
        };
        self.mode != ReadMode::Snapshot && (is_one_by_one || reads_rows)
    }

    /// Whether rows are read behind entries without locks. Where a plain read may meet entries of other versions than the
    /// rows, each is compared with its row.
    fn looks_up_many(&self, access: &TableAccess, context: &ExecContext<'_>) -> bool {
        (self.index.is_some() && self.walk.is_none() || !self.lookups.is_empty())
            && !access.covering
            && self.mode == ReadMode::Snapshot
            && !context.host.seen_transaction().has_passed_snapshot()
    }
}

impl Operator for TableScan<'_> {
    fn expect<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        bases: &'a RowBatch,
    ) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(self.look_ahead(context, bases))
    }

    fn count_rows<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
    ) -> LocalFuture<'a, Result<Option<u64>, SqlError>> {
        Box::pin(self.count(context))
    }

    fn has_expectations(&self) -> bool {
        let is_plain = |expr: &Expr| {
            matches!(expr.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_))
        };
        let is_plain_part = |part: &KeyCondition| match part {
            KeyCondition::OneOf(values) => values.iter().all(is_plain),
            KeyCondition::SameAs(value) => is_plain(value),
            KeyCondition::IsNull => true,
            _ => false,
        };
        match &self.access.path {
            AccessPath::Point { key, .. } => key.iter().all(is_plain),
            AccessPath::Ranges { ranges, .. } => {
                ranges.iter().flat_map(|range| &range.parts).all(is_plain_part)
            }
            _ => false,
        }
    }

    fn start(&mut self, base: &[Value]) {
        self.base.clear();
        self.base.extend_from_slice(base);
        self.restarted = true;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            if self.base.len() < out.width() {
                self.base.resize(out.width(), Value::Null);
            }
            self.read(context, wanted.clamp(1, super::BATCH_ROWS), out).await
        })
    }
}
