//! The keys of rows from several indexes of one table, put together in their order.
//!
//! More than fit a part of the statement's memory are not gathered: then all rows are read, of which the filter keeps
//! the same ones. Called by `table_scan`, for plain reads.
use super::Opened;
use crate::context::ExecContext;
use crate::range::RangeBuilder;
use datum::{SqlError, Value};
use engine::{Direction, EntryBatch, KeyRange, ReadMode};
use plan::{AccessPath, MergeKind, MergePart, TableAccess};
use table::{damaged, table_error};

/// Of one index.
const KEYS_BYTES_MAX: usize = 64 << 20;
const BATCH: usize = 512;

impl Opened {
    /// What is locked, and what may have other entries than the row, is found among all rows.
    pub(super) fn begin_merge(&mut self, context: &ExecContext<'_>) {
        self.merges =
            self.mode == ReadMode::Snapshot && !context.host.seen_transaction().has_passed_snapshot();
        if !self.merges {
            self.ranges.push(KeyRange::all());
        }
    }

    /// Gathers the keys, or makes a range of all rows.
    pub(super) async fn gather_merged(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.merges = false;
        let AccessPath::Merge(merge) = &access.path else { return Ok(()) };
        let mut all: Vec<Vec<u8>> = Vec::new();
        for (number, part) in merge.parts.iter().enumerate() {
            let Some(mut keys) = self.keys_of(access, part, base, context).await? else {
                self.ranges.push(KeyRange::all());
                return Ok(());
            };
            keys.sort_unstable();
            match (merge.kind, number) {
                (_, 0) => all = keys,
                (MergeKind::Intersection, _) => all.retain(|key| keys.binary_search(key).is_ok()),
                (MergeKind::Union | MergeKind::SortUnion | MergeKind::Elements, _) => all.extend(keys),
            }
        }
        all.sort_unstable();
        all.dedup();
        self.lookups.begin(BATCH);
        all.iter().for_each(|key| self.lookups.add(key));
        // They are in order.
        self.lookups.finish(false);
        Ok(())
    }

    /// The keys of the rows in the ranges of one index; `None` when they are too many.
    async fn keys_of(
        &mut self,
        access: &TableAccess,
        part: &MergePart,
        base: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<Option<Vec<Vec<u8>>>, SqlError> {
        let handle = self.handle.clone();
        let layout = handle.layout();
        let index = &layout.indexes[part.index];
        let mut builder = RangeBuilder {
            table: &access.table,
            parts: &index.parts,
            frame: base,
            context: context.eval,
            ranges: Vec::new(),
            widened: false,
        };
        part.ranges.iter().try_for_each(|range| builder.add(range))?;
        let tree = if index.clustered { layout.tree } else { index.tree };
        let mut keys = Vec::new();
        let mut bytes = 0;
        let mut entries = EntryBatch::default();
        for range in builder.finish().0 {
            context.work.begin_scan(&access.path, false);
            let mut cursor = context.host.transaction().scan(tree, range, Direction::Forward, self.mode);
            let mut more = true;
            while more {
                context.interrupt.check()?;
                entries.clear();
                more = cursor
                    .next_batch(context.host.transaction(), BATCH, &mut entries)
                    .await
                    .map_err(|error| table_error(&access.table, error))?;
                context.work.step(&access.path, false, entries.len(), !more);
                for (key, value) in entries.iter() {
                    let start = match index.clustered {
                        true => 0,
                        false => layout.suffix_start(key, value).map_err(|_| damaged(&access.table.name))?,
                    };
                    bytes += key.len() - start + size_of::<Vec<u8>>();
                    keys.push(key[start..].to_vec());
                }
                if bytes > KEYS_BYTES_MAX {
                    return Ok(None);
                }
                env::yield_now().await;
            }
        }
        Ok(Some(keys))
    }
}
