//! Moving the oldest part of the merged history from memory to a run.
//!
//! Invariant: until the run can be seen, everything stays in memory and listed in the history; if it cannot be written,
//! that is how it stays. Nothing is pruned meanwhile (`History::take_through`), so an image that is copied keeps its
//! overflow chain.

use super::entry;
use super::pacer::Pacer;
use super::write::RunWriter;
use crate::EngineError;
use crate::engine::Engine;
use crate::row_table::{Before, Ended, RowName};
use crate::versions::history::Committed;
use crate::versions::merge::MERGED_ROW_BYTES;
use std::cmp::Ordering as Order;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows that are sorted, or forgotten, before others get a turn.
const ROWS_PER_TURN: usize = 128;

/// One part in so many of the budget may stay in memory merged, for rows that change again and again. If it were much more,
/// only every other merge would move anything, and the work would come in bursts.
const STAYING_SHARE: u64 = 4;

/// When the disk is full and memory holds so many times the budget, and so much, the oldest snapshot is given up.
const GIVE_UP_FACTOR: u64 = 8;
const GIVE_UP_BYTES_MIN: u64 = 1 << 20;

/// A row with versions to move.
struct Listed {
    name: RowName,
    may_be_ghost: bool,
    /// The newest part of the history that lists it.
    part: usize,
}

impl Engine {
    /// Moves the oldest of these parts of the history if together they exceed their share of the budget. What
    /// stays in memory stays listed.
    pub(crate) async fn move_to_runs(
        self: &Arc<Self>,
        history: &mut VecDeque<Committed>,
        pacer: &mut Pacer<'_>,
    ) -> Result<(), EngineError> {
        debug_assert!(
            history.iter().is_sorted_by_key(|part| part.lsn),
            "the history is in the order of commits"
        );
        let horizon_lsn = self.versions.snapshots.horizon(|| self.visible_lsn());
        // What everybody sees is about to be pruned.
        let first = history.partition_point(|part| part.lsn <= horizon_lsn);
        let mut bytes: u64 = history.range(first..).map(|part| part.bytes).sum();
        let mut end = first;
        while bytes > self.budgets.version_bytes() / STAYING_SHARE && end < history.len() {
            bytes -= history[end].bytes;
            end += 1;
        }
        if end == first || self.life.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut parts: Vec<Committed> = history.drain(first..end).collect();
        let made = self.make_run(&mut parts, pacer).await;
        parts.retain(|part| !part.rows.is_empty());
        for part in parts.into_iter().rev() {
            history.insert(first, part);
        }
        match made {
            Err(EngineError::DiskFull) => {
                // Then they stay in memory, while it lasts.
                let bytes: u64 = history.iter().map(|part| part.bytes).sum();
                if bytes > (GIVE_UP_FACTOR * self.budgets.version_bytes()).max(GIVE_UP_BYTES_MIN) {
                    self.versions.snapshots.expire_oldest();
                }
                Ok(())
            }
            Err(error) => Err(error),
            Ok(()) => {
                pacer.learn();
                Ok(())
            }
        }
    }

    /// Takes the rows whose versions are in a run now out of these parts.
    async fn make_run(
        self: &Arc<Self>,
        parts: &mut [Committed],
        pacer: &mut Pacer<'_>,
    ) -> Result<(), EngineError> {
        let rows = sorted_rows(parts, pacer).await;
        debug_assert!(
            rows.is_sorted_by(|one, next| entry::order(&one.name, &next.name) == Order::Less),
            "rows are in the order of a run, each once"
        );
        let mut writer = match RunWriter::new(self, rows.len()).await {
            Ok(writer) => writer,
            Err(error) => {
                give_back(parts, rows);
                return Err(error);
            }
        };
        let last_lsn = parts.last().map_or(0, |part| part.lsn);
        let low_lsn = parts.iter().map(|part| part.born_lsn).min().unwrap_or(0);
        let unfit = match self.write_rows(&mut writer, &rows, last_lsn, pacer).await {
            Ok(unfit) => unfit,
            Err(error) => {
                give_back(parts, rows);
                self.drop_run_tree(writer.tree);
                return Err(error);
            }
        };
        if unfit.len() < rows.len() {
            debug_assert!(last_lsn <= self.visible_lsn(), "every new snapshot sees what is in runs");
            self.runs.add(writer.finish(last_lsn, low_lsn));
        } else {
            self.drop_run_tree(writer.tree);
        }
        let (mut stay, mut next_unfit) = (Vec::new(), unfit.into_iter().peekable());
        for (index, row) in rows.into_iter().enumerate() {
            if next_unfit.next_if_eq(&index).is_some() {
                stay.push(row);
                continue;
            }
            self.rows.forget_moved(&row.name, last_lsn);
            if index.is_multiple_of(ROWS_PER_TURN) {
                pacer.turn().await;
            }
        }
        debug_assert!(next_unfit.peek().is_none(), "what does not fit is listed in the order of rows");
        parts.iter_mut().for_each(|part| part.bytes = 0);
        for row in &stay {
            let mut bytes = MERGED_ROW_BYTES + row.name.key.len() as u64;
            self.rows.each_committed(&row.name, last_lsn, |version| bytes += image_bytes(version.before));
            parts[row.part].bytes += bytes;
        }
        give_back(parts, stay);
        Ok(())
    }

    /// Writes the versions of all rows up to a commit; answers which rows have some that do not fit.
    async fn write_rows(
        &self,
        writer: &mut RunWriter,
        rows: &[Listed],
        last_lsn: u64,
        pacer: &mut Pacer<'_>,
    ) -> Result<Vec<usize>, EngineError> {
        let page_size = self.pool.store().page_size();
        let mut unfit = Vec::new();
        let mut versions: Vec<Ended<Before>> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            versions.clear();
            self.rows.each_committed(&row.name, last_lsn, |Ended { lsn, before, deletes }| {
                versions.push(Ended { lsn, before: before.clone(), deletes });
            });
            let fits = |version: &Ended<Before>| {
                let (key_bytes, value_bytes) = entry::sizes(&row.name, &version.before);
                btree::entry_fits(page_size, key_bytes, value_bytes)
            };
            if !versions.iter().all(fits) {
                unfit.push(index);
                continue;
            }
            writer.push_row(&row.name, &versions, row.may_be_ghost);
            self.stats.versions_moved.fetch_add(versions.len() as u64, Ordering::Relaxed);
            writer.write_full(pacer).await?;
        }
        writer.write_rest(pacer).await?;
        Ok(unfit)
    }
}

fn image_bytes(before: &Before) -> u64 {
    match before {
        Before::Absent => 0,
        Before::Record(record) => record.len() as u64,
    }
}

/// Lists rows in their parts of the history again.
fn give_back(parts: &mut [Committed], rows: Vec<Listed>) {
    for Listed { name, may_be_ghost, part } in rows {
        debug_assert!(part < parts.len(), "a row is listed in one of the parts");
        parts[part].rows.push((name, may_be_ghost));
    }
}

/// A sorted piece of the rows by its first row.
struct Piece {
    rows: std::iter::Peekable<std::vec::IntoIter<Listed>>,
    first: RowName,
}

impl Piece {
    fn new(rows: Vec<Listed>) -> Option<Piece> {
        let mut rows = rows.into_iter().peekable();
        let first = rows.peek()?.name.clone();
        Some(Piece { rows, first })
    }
}

impl Ord for Piece {
    /// The greatest is the one with the lowest row.
    fn cmp(&self, other: &Self) -> Order {
        entry::order(&other.first, &self.first)
    }
}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for Piece {}

/// Takes the rows of all parts, in the order of a run and each once. With turns for others: there may be many.
async fn sorted_rows(parts: &mut [Committed], pacer: &mut Pacer<'_>) -> Vec<Listed> {
    let count = parts.iter().map(|part| part.rows.len()).sum();
    let mut pieces = BinaryHeap::new();
    for (part, committed) in parts.iter_mut().enumerate() {
        let mut rows = std::mem::take(&mut committed.rows).into_iter();
        loop {
            let piece = rows.by_ref().take(ROWS_PER_TURN);
            let mut piece: Vec<Listed> =
                piece.map(|(name, may_be_ghost)| Listed { name, may_be_ghost, part }).collect();
            piece.sort_unstable_by(|one, other| entry::order(&one.name, &other.name));
            let Some(piece) = Piece::new(piece) else { break };
            pieces.push(piece);
            pacer.turn().await;
        }
    }
    let mut sorted: Vec<Listed> = Vec::with_capacity(count);
    while let Some(mut piece) = pieces.pop() {
        if let Some(row) = piece.rows.next() {
            match sorted.last_mut().filter(|last| last.name == row.name) {
                Some(last) => {
                    last.may_be_ghost |= row.may_be_ghost;
                    last.part = last.part.max(row.part);
                }
                None => sorted.push(row),
            }
        }
        if let Some(next) = piece.rows.peek() {
            piece.first = next.name.clone();
            pieces.push(piece);
        }
        if sorted.len().is_multiple_of(ROWS_PER_TURN) {
            pacer.turn().await;
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TreeId;

    #[test]
    fn rows_are_sorted_and_listed_once() {
        let name = |row: u64| RowName { tree: TreeId(1 + row % 2), key: row.to_be_bytes().as_slice().into() };
        let part = |lsn: u64, rows: Vec<(RowName, bool)>| Committed {
            lsn,
            born_lsn: 0,
            bytes: 0,
            state: None,
            rows,
        };
        let engine = Engine::in_memory();
        let one = (0..5_000).rev().map(|row| (name(row), row == 7)).collect();
        let two = (4_000..6_000).map(|row| (name(row * 7919 % 6_000), false)).collect();
        let mut parts = [part(10, one), part(20, two)];
        let sorted = env::local::block_on(sorted_rows(&mut parts, &mut Pacer::moving(&engine)));
        assert!(parts.iter().all(|part| part.rows.is_empty()));
        assert!(sorted.is_sorted_by(|one, other| entry::order(&one.name, &other.name) == Order::Less));
        let wanted: std::collections::HashSet<RowName> =
            (0..5_000).map(name).chain((4_000..6_000).map(|row| name(row * 7919 % 6_000))).collect();
        assert_eq!(sorted.len(), wanted.len());
        assert!(sorted.iter().all(|row| row.may_be_ghost == (row.name == name(7))));
        let in_two = |row: u64| (4_000..6_000).any(|other| other * 7919 % 6_000 == row);
        let listed =
            |row: u64| sorted.iter().find(|listed| listed.name == name(row)).map(|listed| listed.part);
        assert_eq!(listed(4_321), Some(usize::from(in_two(4_321))));
        give_back(&mut parts, sorted);
        assert_eq!(parts[0].rows.len() + parts[1].rows.len(), wanted.len());
    }
}
