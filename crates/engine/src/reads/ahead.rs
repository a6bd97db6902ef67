//! Asking for the leaves of many rows at once, before the rows are read one by one.
//!
//! It changes nothing of what a read sees: pages that cannot be had now are read by whoever needs them.

use crate::transactions::transaction::Transaction;
use crate::{Engine, EngineError, TreeId};

/// Leaves that are asked for together: as many single reads as keep a device busy.
const LEAVES_AHEAD: usize = 32;

/// What was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    /// The first so many of the keys.
    pub keys: usize,
    /// The leaves of them that are not in memory.
    pub absent: usize,
}

impl Transaction {
    /// Starts reading the leaves in which the first of the keys lie. Best with keys in order: leaves near one another come
    /// in one read. It waits for the nodes above alone.
    pub async fn expect_rows<'k>(
        &self,
        tree: TreeId,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
    ) -> Result<Expected, EngineError> {
        self.work.engine.expect_rows(tree, keys).await
    }
}

impl Engine {
    /// The same for who will read the rows later, in a transaction that has not begun.
    pub async fn expect_rows<'k>(
        &self,
        tree: TreeId,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
    ) -> Result<Expected, EngineError> {
        let tree = self.tree(tree)?;
        let pool = &self.pool;
        let found = pool.run(|| tree.leaves_ahead(pool, keys.clone(), LEAVES_AHEAD)).await;
        let ahead = found.map_err(|error| self.tree_error(&tree, error))?;
        let absent = pool.prefetch_near(&ahead.leaves);
        debug_assert!(ahead.leaves.len() <= LEAVES_AHEAD, "no more leaves than were asked for");
        debug_assert!(absent <= ahead.leaves.len(), "those are among the leaves");
        Ok(Expected { keys: ahead.keys, absent })
    }
}
