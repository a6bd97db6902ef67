//! Which leaves hold some keys, found without reading the leaves: so that they can be asked for together before the keys
//! are looked up one by one. Called by the engine, under `BufferPool::run`, which brings the nodes above.

use crate::node::Node;
use crate::tree::Tree;
use buffer::{Access, BufferPool, Stop};
use pagestore::PageId;

/// The leaves of the first of some keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ahead {
    /// So many keys they are for.
    pub keys: usize,
    /// In the order of the keys, neighbours that are the same named once. Empty where the root is a leaf.
    pub leaves: Vec<PageId>,
}

impl Tree {
    /// The leaves of the keys, until there are `leaves_max`.
    pub fn leaves_ahead<'k>(
        &self,
        pool: &BufferPool,
        keys: impl Iterator<Item = &'k [u8]>,
        leaves_max: usize,
    ) -> Result<Ahead, Stop> {
        debug_assert!(leaves_max > 0, "somebody wants leaves");
        let mut ahead = Ahead::default();
        for key in keys {
            let leaf = self.leaf_of(pool, key)?;
            if let Some(leaf) = leaf
                && ahead.leaves.last() != Some(&leaf)
            {
                if ahead.leaves.len() == leaves_max {
                    break;
                }
                ahead.leaves.push(leaf);
            }
            ahead.keys += 1;
        }
        Ok(ahead)
    }

    /// `None` where the root is the only node.
    fn leaf_of(&self, pool: &BufferPool, key: &[u8]) -> Result<Option<PageId>, Stop> {
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let Some(below) = node.level().checked_sub(1) else { return Ok(None) };
            let child = node.child(node.child_index(key));
            if below == 0 {
                return Ok(Some(child));
            }
            guard = self.read_node(pool, child, Some(below), Access::Point)?;
        }
    }
}
