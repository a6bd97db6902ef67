//! Reads one table through its access path: point, ranges, whole index, whole table.
//!
//! Locking reads lock what the engine returns; a row that fails the filter is given back where the isolation level
//! allows (`unlock_unmatched`). An UPDATE may get a locked row's committed version instead of a lock: only if that
//! passes the filter is the row read again, which waits for the lock.
use super::prefix_walk::PrefixWalk;
use super::row_count::counts_records;
use super::row_lookups::RowLookups;
use super::{Operator, all_true};
use crate::batch::RowBatch;
use crate::context::{ExecContext, OneByOne};
use crate::cooperate::Pace;
use crate::deferred::all_hold;
use crate::range::RangeBuilder;
use datum::{SqlError, Value};
use engine::{Cursor, Direction, EntryBatch, KeyRange, LockMark, ReadMode};
use expression::{Expr, ExprKind};
use plan::{AccessPath, KeyCondition, KeySpan, TableAccess};
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

/// Looks ahead that are left out after one that found everything in memory.
const PAUSED: usize = 8;

/// What is known once the scan has its table; only the part below `ranges` depends on the base frame.
pub(super) struct Opened {
    pub(super) handle: Arc<TableHandle>,
    pub(super) mode: ReadMode,
    /// The secondary index that is read, `None` for the clustered records.
    pub(super) index: Option<usize>,
    projection: Projection,
    /// What the filter reads of a record, and what is read of it besides when it has passed; `None` where the filter reads all or is not there.
    halves: Option<(Projection, Projection)>,
    /// What the entry filter reads of an entry, if there is one.
    entry_projection: Option<Projection>,
    pub(super) entries: EntryBatch,
    /// Rows of entries that are gathered already.
    pub(super) lookups: RowLookups,
    /// A frame for entries.
    scratch: Vec<Value>,
    /// In the order they are read; the next one is the last.
    pub(super) ranges: Vec<KeyRange>,
    /// A single row is wanted: its clustered key.
    point: Option<Vec<u8>>,
    cursor: Option<Cursor>,
    /// Where the walk over the first parts of the index is, on such a path.
    pub(super) walk: Option<PrefixWalk>,
    /// The keys of the rows are still to be gathered from several indexes.
    pub(super) merges: bool,
    pub(super) check_implied: bool,
    /// The locks held before the entries at hand were read.
    mark: LockMark,
}

fn range_of(span: &KeySpan) -> KeyRange {
    let key = |bound: &Option<(Vec<u8>, bool)>| bound.as_ref().map(|(key, _)| key.clone());
    let is_excluded = |bound: &Option<(Vec<u8>, bool)>| bound.as_ref().is_some_and(|(_, included)| !included);
    KeyRange {
        lower: key(&span.lower),
        lower_excluded: is_excluded(&span.lower),
        upper: key(&span.upper),
        upper_excluded: is_excluded(&span.upper),
    }
}

/// A projection for the columns that the filter reads, and one for the others: rows that fail are not decoded further.
fn halves_of(
    access: &TableAccess,
    project: impl Fn(&[(usize, usize)]) -> Option<Projection>,
) -> Option<(Projection, Projection)> {
    if access.filter.is_empty() || access.projection.len() < 2 {
        return None;
    }
    let mut read = Vec::new();
    access
        .filter
        .iter()
        .chain(&access.implied)
        .for_each(|condition| expression::positions_read(condition, &mut read));
    let (first, rest): (Vec<_>, Vec<_>) =
        access.projection.iter().partition(|(_, position)| read.contains(position));
    if first.is_empty() || rest.is_empty() {
        return None;
    }
    Some((project(&first)?, project(&rest)?))
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

    /// Asks for the first leaves of what runs with these base frames will read.
    async fn look_ahead(&mut self, context: &mut ExecContext<'_>, bases: &RowBatch) -> Result<(), SqlError> {
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
            let is_open = all_hold(&access.gate, &self.base, context).await?;
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
        for (index, (key, value)) in entries.iter().enumerate() {
            if entries.is_unlocked(index) {
                opened.take_unlocked(access, &self.base, key, value, context, out).await?;
            } else {
                opened.take_entry(access, &self.base, key, value, context, out).await?;
            }
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

    /// Reads the rows of gathered entries.
    async fn read_gathered(
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

    async fn gather(&mut self, context: &mut ExecContext<'_>, wanted: usize) -> Result<(), SqlError> {
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
            context.interrupt.check()?;
            self.pace.count(count + 1).await;
        }
        let opened = self.opened.as_mut().expect("its caller has opened it");
        opened.lookups.finish(access.in_row_order);
        Ok(())
    }
}

/// Rows between two looks at what has arrived.
const LOOKUPS_BETWEEN: usize = 16;
/// Entries read at once while many are gathered.
const GATHER_STEP: usize = 512;

impl Opened {
    fn has_more(&self) -> bool {
        !self.ranges.is_empty() || self.walk.as_ref().is_some_and(|walk| !walk.is_done())
    }

    /// Makes the ranges (or the point) from the path's conditions and the base frame; none if the gate is not open.
    fn find_ranges(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        is_open: bool,
        context: &ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.ranges.clear();
        self.lookups.start();
        self.cursor = None;
        self.walk = None;
        self.merges = false;
        self.check_implied = false;
        self.point = None;
        if !is_open {
            return Ok(());
        }
        let index = match &access.path {
            AccessPath::Nothing => return Ok(()),
            AccessPath::FullScan | AccessPath::IndexScan { .. } => {
                self.ranges.push(KeyRange::all());
                return Ok(());
            }
            AccessPath::Keys { span, .. } => {
                self.ranges.push(range_of(span));
                return Ok(());
            }
            AccessPath::Point { index, .. } | AccessPath::Ranges { index, .. } => *index,
            AccessPath::Groups { index, walk } => {
                return self.begin_groups(access, *index, walk, base, context);
            }
            AccessPath::Skip { index, skipped, range } => {
                return self.begin_skips(access, *index, *skipped, range, base, context);
            }
            AccessPath::Merge(_) => {
                self.begin_merge(context);
                return Ok(());
            }
        };
        let layout = &self.handle.layout().indexes[index];
        let mut builder = RangeBuilder {
            table: &access.table,
            parts: &layout.parts,
            frame: base,
            context: context.eval,
            ranges: Vec::new(),
            widened: false,
        };
        match &access.path {
            AccessPath::Point { key, .. } => {
                if let Some(key) = builder.exact_key(key)? {
                    if layout.clustered {
                        self.point = Some(key);
                    } else {
                        self.ranges.push(KeyRange::prefix(&key));
                    }
                    return Ok(());
                }
                builder.add_point(key)?;
            }
            AccessPath::Ranges { ranges, .. } => {
                for range in ranges {
                    builder.add(range)?;
                }
            }
            _ => unreachable!("paths without conditions have returned"),
        }
        (self.ranges, self.check_implied) = builder.finish();
        if !access.backward {
            self.ranges.reverse();
        }
        Ok(())
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

    /// Whether the entry passes what it can be asked.
    fn entry_passes(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        key: &[u8],
        value: &[u8],
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        let (Some(index), Some(projection)) = (self.index, &self.entry_projection) else { return Ok(true) };
        self.scratch.clear();
        self.scratch.extend_from_slice(base);
        let read = self.handle.layout().read_entry(index, projection, key, value, &mut self.scratch);
        read.map_err(|_| damaged(&access.table.name))?;
        let passes = all_true(&access.entry_filter, &self.scratch, context.eval)?;
        if passes {
            context.work.step(&access.path, access.backward, 1, false);
        }
        Ok(passes)
    }

    /// Waits for a record that another transaction has locked, if its committed version passes the filter.
    async fn take_unlocked(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        key: &[u8],
        value: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        let layout = self.handle.layout();
        let frame = out.push_copy(base);
        let read = layout.read_row(&access.table, &self.projection, key, value, frame);
        read.map_err(|_| damaged(&access.table.name))?;
        let passes = self.passes(access, out.row(out.len() - 1), context).await?;
        out.pop();
        if !passes {
            return Ok(());
        }
        let record = context.host.transaction().get(layout.tree, key, self.mode).await;
        match record.map_err(|error| table_error(&access.table, error))? {
            Some(record) => self.take_entry(access, base, key, &record, context, out).await,
            None => Ok(()),
        }
    }

    async fn passes(
        &self,
        access: &TableAccess,
        row: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        let passes = all_hold(&access.filter, row, context).await?;
        Ok(passes && (!self.check_implied || all_true(&access.implied, row, context.eval)?))
    }

    /// Turns a row that is read without a lock into one of `out`, if it passes the filter.
    async fn take_row(
        &self,
        access: &TableAccess,
        base: &[Value],
        row_key: &[u8],
        record: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        self.decode(access, base, (row_key, record), row_key, context, out).await.map(|_| ())
    }

    /// Decodes a record, or an entry that has all that is wanted, into a row of `out`; true if it passes the filter and is there.
    async fn decode(
        &self,
        access: &TableAccess,
        base: &[Value],
        (key, value): (&[u8], &[u8]),
        row_key: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        let layout = self.handle.layout();
        let read = |projection: &Projection, frame: &mut [Value]| {
            let read = match self.index.filter(|_| access.covering) {
                Some(index) => layout.read_entry(index, projection, key, value, frame),
                None => layout.read_row(&access.table, projection, key, value, frame),
            };
            read.map_err(|_| damaged(&access.table.name))
        };
        let first = self.halves.as_ref().map_or(&self.projection, |(first, _)| first);
        read(first, out.push_copy(base))?;
        let last = out.len() - 1;
        if let Some(position) = access.row_key_position {
            out.row_mut(last)[position] = Value::bytes(row_key);
        }
        if !self.passes(access, out.row(last), context).await? {
            out.pop();
            return Ok(false);
        }
        if let Some((_, rest)) = &self.halves {
            read(rest, out.row_mut(last))?;
        }
        Ok(true)
    }

    /// Turns one entry into a row of `out`, if it passes the filter.
    async fn take_entry(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        key: &[u8],
        value: &[u8],
        context: &mut ExecContext<'_>,
        out: &mut RowBatch,
    ) -> Result<(), SqlError> {
        let layout = self.handle.layout();
        let broken = |_| damaged(&access.table.name);
        let row_key = match self.index {
            None => key,
            Some(_) => &key[layout.suffix_start(key, value).map_err(broken)?..],
        };
        if let Some(index) = self.index
            && context.host.seen_transaction().has_passed_snapshot()
            && !self.is_entry_of_row(access, index, key, row_key, context).await?
        {
            return Ok(());
        }
        if !self.entry_passes(access, base, key, value, context)? {
            if let (ReadMode::Locking(..), Some(index)) = (self.mode, self.index) {
                let tree = self.handle.layout().indexes[index].tree;
                context.host.transaction().unlock_unmatched(tree, key, self.mark);
            }
            return Ok(());
        }
        let layout = self.handle.layout();
        let passes = if self.index.is_none() || access.covering {
            self.decode(access, base, (key, value), row_key, context, out).await?
        } else {
            let record = context.host.transaction().get(layout.tree, row_key, self.mode).await;
            let record = record.map_err(|error| table_error(&access.table, error))?;
            // A locking read may find the entry and then wait; the row can be gone afterwards.
            let Some(record) = record else { return Ok(()) };
            self.decode(access, base, (row_key, &record), row_key, context, out).await?
        };
        if !passes && let ReadMode::Locking(..) = self.mode {
            if let Some(index) = self.index {
                context.host.transaction().unlock_unmatched(layout.indexes[index].tree, key, self.mark);
            }
            context.host.transaction().unlock_unmatched(layout.tree, row_key, self.mark);
        }
        Ok(())
    }
}

impl Opened {
    /// Whether the row, as this read sees it, has this entry. A plain read can meet the entry of a version that the
    /// snapshot shows, while the row is one that the transaction has changed since.
    async fn is_entry_of_row(
        &self,
        access: &TableAccess,
        index: usize,
        key: &[u8],
        row_key: &[u8],
        context: &mut ExecContext<'_>,
    ) -> Result<bool, SqlError> {
        if self.mode != ReadMode::Snapshot {
            return Ok(true);
        }
        let table = &access.table;
        let layout = self.handle.layout();
        let record = context.host.transaction().get(layout.tree, row_key, self.mode).await;
        let Some(record) = record.map_err(|error| table_error(table, error))? else {
            return Ok(false);
        };
        let all: Vec<(usize, usize)> = (0..table.columns.len()).map(|column| (column, column)).collect();
        let mut row = vec![Value::Null; table.columns.len()];
        let read = layout.read_row(table, &layout.project_rows(&all), row_key, &record, &mut row);
        read.map_err(|_| damaged(&table.name))?;
        let mut entries = Vec::new();
        self.handle.entry_keys(index, &row, row_key, &mut entries)?;
        Ok(entries.iter().any(|entry| entry.key == key))
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
