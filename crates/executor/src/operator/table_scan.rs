//! Reads one table through its access path: point, ranges, whole index, whole table.
//!
//! Locking reads lock what the engine returns; a row that fails the filter is given back where the isolation level
//! allows (`unlock_unmatched`).
use super::{Operator, all_true};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::range::RangeBuilder;
use datum::{SqlError, Value};
use engine::{Cursor, Direction, EntryBatch, KeyRange, ReadMode};
use plan::{AccessPath, KeyCondition, RangeCondition, TableAccess};
use schema::LocalFuture;
use std::sync::Arc;
use table::{Projection, TableHandle, damaged, engine_error};

pub struct TableScan<'p> {
    access: &'p TableAccess,
    base: Vec<Value>,
    opened: Option<Opened>,
}

/// What is known once the scan has its table and ranges.
struct Opened {
    handle: Arc<TableHandle>,
    mode: ReadMode,
    /// The secondary index that is read, `None` for the clustered records.
    index: Option<usize>,
    projection: Projection,
    /// In the order they are read; the next one is the last.
    ranges: Vec<KeyRange>,
    cursor: Option<Cursor>,
    entries: EntryBatch,
    check_implied: bool,
}

impl<'p> TableScan<'p> {
    pub fn new(access: &'p TableAccess) -> TableScan<'p> {
        TableScan { access, base: Vec::new(), opened: None }
    }

    /// Finds the table and makes the ranges; a scan that was open before keeps what does not depend on the base.
    fn open(&mut self, context: &mut ExecContext<'_>) -> Result<Opened, SqlError> {
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
        let (mut ranges, widened) = self.ranges(&handle, context)?;
        if !access.backward {
            ranges.reverse();
        }
        Ok(Opened {
            mode: context.read_mode(access.lock),
            index,
            projection,
            ranges,
            cursor: None,
            entries: EntryBatch::default(),
            check_implied: widened,
            handle,
        })
    }

    fn ranges(
        &self,
        handle: &TableHandle,
        context: &ExecContext<'_>,
    ) -> Result<(Vec<KeyRange>, bool), SqlError> {
        let builder = |index: usize| RangeBuilder {
            table: &self.access.table,
            parts: &handle.layout().indexes[index].parts,
            frame: &self.base,
            context: context.eval,
            ranges: Vec::new(),
            widened: false,
        };
        match &self.access.path {
            AccessPath::Nothing => Ok((Vec::new(), false)),
            AccessPath::FullScan | AccessPath::IndexScan { .. } => Ok((vec![KeyRange::all()], false)),
            AccessPath::Point { index, key } => {
                let mut builder = builder(*index);
                let parts = key.iter().map(|expr| KeyCondition::OneOf(vec![expr.clone()])).collect();
                builder.add(&RangeCondition { parts })?;
                Ok(builder.finish())
            }
            AccessPath::Ranges { index, ranges } => {
                let mut builder = builder(*index);
                for range in ranges {
                    builder.add(range)?;
                }
                Ok(builder.finish())
            }
        }
    }

    async fn read(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        if self.opened.is_none() {
            self.opened = Some(self.open(context)?);
        }
        let access = self.access;
        let opened = self.opened.as_mut().expect("opened above");
        let table = &access.table.name;
        let to_sql = |error| engine_error(table, error);
        let mut cursor = match opened.cursor.take() {
            Some(cursor) => cursor,
            None => {
                let Some(range) = opened.ranges.pop() else { return Ok(false) };
                let layout = opened.handle.layout();
                let tree = opened.index.map_or(layout.tree, |index| layout.indexes[index].tree);
                let direction = if access.backward { Direction::Backward } else { Direction::Forward };
                context.transaction.scan(tree, range, direction, opened.mode)
            }
        };
        opened.entries.clear();
        let more =
            cursor.next_batch(context.transaction, wanted, &mut opened.entries).await.map_err(to_sql)?;
        if more {
            opened.cursor = Some(cursor);
        }
        let entries = std::mem::take(&mut opened.entries);
        for (key, value) in entries.iter() {
            opened.take_entry(access, &self.base, key, value, context, out).await?;
        }
        opened.entries = entries;
        Ok(more || !opened.ranges.is_empty())
    }
}

impl Opened {
    /// Turns one entry into a row of `out`, if it passes the filter.
    async fn take_entry(
        &self,
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
        match self.index {
            None => {
                let frame = out.push_copy(base);
                layout.read_row(&access.table, &self.projection, key, value, frame).map_err(broken)?;
            }
            Some(index) if access.covering => {
                let frame = out.push_copy(base);
                layout.read_entry(index, &self.projection, key, value, frame).map_err(broken)?;
            }
            Some(_) => {
                let record = context.transaction.get(layout.tree, row_key, self.mode).await;
                let record = record.map_err(|error| engine_error(&access.table.name, error))?;
                // A locking read may find the entry and then wait; the row can be gone afterwards.
                let Some(record) = record else { return Ok(()) };
                let frame = out.push_copy(base);
                layout.read_row(&access.table, &self.projection, row_key, &record, frame).map_err(broken)?;
            }
        }
        let last = out.len() - 1;
        if let Some(position) = access.row_key_position {
            out.row_mut(last)[position] = Value::bytes(row_key);
        }
        let row = out.row(last);
        let passes = all_true(&access.filter, row, context.eval)?
            && (!self.check_implied || all_true(&access.implied, row, context.eval)?);
        if !passes {
            out.pop();
            if let ReadMode::Locking(..) = self.mode {
                if let Some(index) = self.index {
                    context.transaction.unlock_unmatched(layout.indexes[index].tree, key);
                }
                context.transaction.unlock_unmatched(layout.tree, row_key);
            }
        }
        Ok(())
    }
}

impl Operator for TableScan<'_> {
    fn start(&mut self, base: &[Value]) {
        self.base.clear();
        self.base.extend_from_slice(base);
        self.opened = None;
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
