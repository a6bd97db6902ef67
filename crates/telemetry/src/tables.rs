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

#[derive(Clone, Debug)]
pub struct TableCounts {
    counts: HashMap<Key, RowCounts>,
}

impl Default for TableCounts {
    fn default() -> TableCounts {
        TableCounts { counts: HashMap::new() }
    }
}

impl TableCounts {
    pub fn add(&mut self, table: u64, index: Option<usize>, counts: &RowCounts) {
        let key = (table, index.and_then(|index| u32::try_from(index).ok()));
        if self.counts.len() < ENTRIES_MAX || self.counts.contains_key(&key) {
            self.counts.entry(key).or_default().add(counts);
        }
    }

    pub fn merge(&mut self, other: &TableCounts) {
        for ((table, index), counts) in &other.counts {
            self.add(*table, index.map(|index| index as usize), counts);
        }
    }

    pub fn of(&self, table: u64, index: Option<usize>) -> RowCounts {
        let key = (table, index.and_then(|index| u32::try_from(index).ok()));
        self.counts.get(&key).copied().unwrap_or_default()
    }

    /// Forgets tables that are no more.
    pub fn retain(&mut self, exists: impl Fn(u64) -> bool) {
        self.counts.retain(|(table, _), _| exists(*table));
    }

    pub fn clear(&mut self) {
        self.counts.clear();
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
}
