//! What was read and written of each table and through each index: `table_io_waits_summary_by_..`.
//!
//! Invariant: each session counts for itself; whoever reads sums the sessions that are there and those that have ended. So
//! two sessions that use one table share no memory for it. A table is known by its number.
use foldhash::{HashMap, HashMapExt};

/// Of a table, and of an index of it by its place; `None` is the table in no index's order.
type Key = (u64, Option<u32>);

/// Rows fetched, inserted, updated and deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    pub fetched: u64,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

impl RowCounts {
    pub fn add(&mut self, other: &RowCounts) {
        self.fetched += other.fetched;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }

    /// Inserted, updated and deleted together.
    pub fn written(&self) -> u64 {
        self.inserted + self.updated + self.deleted
    }

    pub fn all(&self) -> u64 {
        self.fetched + self.written()
    }
}

/// More tables than this are no longer told apart from those that were never used.
const ENTRIES_MAX: usize = 100_000;

/// So many are looked through faster than hashed.
const FEW_MAX: usize = 8;

/// A table and index is in one of both.
#[derive(Clone, Debug)]
pub struct TableCounts {
    few: Vec<(Key, RowCounts)>,
    many: HashMap<Key, RowCounts>,
}

impl Default for TableCounts {
    fn default() -> TableCounts {
        TableCounts { few: Vec::new(), many: HashMap::new() }
    }
}

impl TableCounts {
    pub fn add(&mut self, table: u64, index: Option<usize>, counts: &RowCounts) {
        let key = (table, index.and_then(|index| u32::try_from(index).ok()));
        if let Some((_, few)) = self.few.iter_mut().find(|(of, _)| *of == key) {
            return few.add(counts);
        }
        if let Some(many) = self.many.get_mut(&key) {
            return many.add(counts);
        }
        if self.few.len() < FEW_MAX {
            self.few.push((key, *counts));
        } else if self.many.len() < ENTRIES_MAX {
            self.many.insert(key, *counts);
        }
    }

    fn all(&self) -> impl Iterator<Item = (&Key, &RowCounts)> {
        self.few.iter().map(|(key, counts)| (key, counts)).chain(&self.many)
    }

    pub fn merge(&mut self, other: &TableCounts) {
        for ((table, index), counts) in other.all() {
            self.add(*table, index.map(|index| index as usize), counts);
        }
    }

    pub fn of(&self, table: u64, index: Option<usize>) -> RowCounts {
        let key = (table, index.and_then(|index| u32::try_from(index).ok()));
        let few = self.few.iter().find(|(of, _)| *of == key).map(|(_, counts)| counts);
        few.or_else(|| self.many.get(&key)).copied().unwrap_or_default()
    }

    /// Forgets tables that are no more.
    pub fn retain(&mut self, exists: impl Fn(u64) -> bool) {
        self.few.retain(|((table, _), _)| exists(*table));
        self.many.retain(|(table, _), _| exists(*table));
    }

    pub fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_summed_by_table_and_index() {
        let one = RowCounts { fetched: 1, ..RowCounts::default() };
        let (mut left, mut right) = (TableCounts::default(), TableCounts::default());
        left.add(7, None, &one);
        right.add(7, None, &one);
        right.add(7, Some(0), &RowCounts { updated: 3, ..RowCounts::default() });
        left.merge(&right);
        assert_eq!((left.of(7, None).fetched, left.of(7, Some(0)).written()), (2, 3));
        left.retain(|table| table != 7);
        assert_eq!(left.of(7, None), RowCounts::default());
    }

    #[test]
    fn more_than_a_few_tables_are_told_apart() {
        let mut counts = TableCounts::default();
        for round in 1..=2u64 {
            for table in 0..3 * FEW_MAX as u64 {
                counts.add(table, Some(1), &RowCounts { fetched: round + table, ..RowCounts::default() });
            }
        }
        counts.retain(|table| table != 2 && table != 20);
        // A place among the few is free, and the table is still among the many.
        counts.add(21, Some(1), &RowCounts { fetched: 1, ..RowCounts::default() });
        let fetched: Vec<u64> = [1, 2, 20, 21].map(|table| counts.of(table, Some(1)).fetched).into();
        assert_eq!(fetched, [5, 0, 0, 46]);
    }
}
