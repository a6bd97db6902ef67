//! What was read and written of each table and through each index: `table_io_waits_summary_by_..`.
//!
//! Counted by statements at their end, each with one addition for each table it used; a table is known by its number.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;

/// Rows fetched, inserted, updated and deleted.
#[derive(Debug, Default)]
pub struct IndexUsage {
    pub fetched: AtomicU64,
    pub inserted: AtomicU64,
    pub updated: AtomicU64,
    pub deleted: AtomicU64,
}

/// One table's: through no index, and through each one by its number.
#[derive(Debug, Default)]
pub struct TableUsage {
    pub whole: IndexUsage,
    indexes: RwLock<BTreeMap<usize, Arc<IndexUsage>>>,
}

impl TableUsage {
    pub fn index(&self, index: usize) -> Arc<IndexUsage> {
        if let Some(usage) = self.indexes.read().get(&index) {
            return usage.clone();
        }
        self.indexes.write().entry(index).or_default().clone()
    }

    pub fn indexes(&self) -> Vec<(usize, Arc<IndexUsage>)> {
        self.indexes.read().iter().map(|(index, usage)| (*index, usage.clone())).collect()
    }
}

/// All tables that were used since the start.
#[derive(Debug, Default)]
pub struct TableUsages {
    tables: RwLock<BTreeMap<u64, Arc<TableUsage>>>,
}

impl TableUsages {
    pub fn table(&self, table: u64) -> Arc<TableUsage> {
        if let Some(usage) = self.tables.read().get(&table) {
            return usage.clone();
        }
        self.tables.write().entry(table).or_default().clone()
    }

    pub fn get(&self, table: u64) -> Option<Arc<TableUsage>> {
        self.tables.read().get(&table).cloned()
    }

    pub fn clear(&self) {
        self.tables.write().clear();
    }
}

impl IndexUsage {
    pub fn fetched(&self) -> u64 {
        self.fetched.load(Relaxed)
    }

    /// Inserted, updated and deleted.
    pub fn written(&self) -> [u64; 3] {
        [&self.inserted, &self.updated, &self.deleted].map(|counter| counter.load(Relaxed))
    }
}
