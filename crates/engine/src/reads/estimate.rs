//! What the planner may ask of trees: how many records lie in a range, and samples of leaves.
//!
//! Invariant: `records_in_memory` never waits and reads nothing from the disk; samples do, for background tasks and
//! ANALYZE. Versions and ghosts are not looked at: a record is what a leaf holds.
use crate::engine::Engine;
use crate::storage::record::{is_live, stub_of};
use crate::{EngineError, InMemory, KeyRange, Leaves, TreeId};

/// One leaf of a tree.
#[derive(Debug, Clone, Default)]
pub struct LeafSample {
    /// The keys of its records in order, without deleted ones.
    pub keys: Vec<Vec<u8>>,
    /// How many leaves the tree has, judged by the nodes above this one.
    pub leaves: f64,
    /// Pages that hold the values of these records that are too long for a leaf.
    pub overflow_pages: u64,
}

impl Engine {
    /// A rough number of records in the range; it may wait for pages.
    pub async fn estimate_range(&self, tree: TreeId, range: &KeyRange) -> Result<u64, EngineError> {
        let tree = self.tree(tree)?;
        let (lower, upper) = (range.lower.as_deref(), range.upper.as_deref());
        let estimate = self.pool.run(|| tree.estimate_range(&self.pool, lower, upper)).await;
        estimate.map_err(|error| self.tree_error(&tree, error))
    }

    /// The same of what is in memory, without waiting; no number when that tells nothing. `rows` are those of the tree.
    pub fn records_in_memory(&self, tree: TreeId, range: &KeyRange, rows: f64) -> InMemory {
        let Ok(tree) = self.tree(tree) else { return InMemory { records: None, is_exact: true } };
        tree.estimate_in_memory(&self.pool, range.lower.as_deref(), range.upper.as_deref(), rows)
    }

    /// How many leaves the tree has and which share of them is not in memory, judged by some, without waiting; `None` where
    /// that is not known or has no meaning, because everything has room in memory.
    pub fn leaves(&self, tree: TreeId) -> Option<Leaves> {
        if self.has_room_for_all() {
            return None;
        }
        self.tree(tree).ok()?.leaves(&self.pool)
    }

    /// Whether all that there is has room in memory.
    pub fn has_room_for_all(&self) -> bool {
        self.pool.has_room_for_all()
    }

    /// Whether so many pages have room in memory beside each other.
    pub fn has_room_for(&self, pages: f64) -> bool {
        pages <= self.pool.frame_count() as f64
    }

    /// The leaf that a path leads to which takes the children that `seed` says.
    pub async fn sample_leaf(&self, tree: TreeId, seed: u64) -> Result<LeafSample, EngineError> {
        let tree = self.tree(tree)?;
        let sampled = self.pool.run(|| {
            // The same path in each attempt, or pages that are in memory would be preferred.
            let mut state = seed;
            let choose = |children: usize| {
                debug_assert!(children > 0, "a node above leaves has children");
                state = mixed(state);
                (state % children as u64) as usize
            };
            tree.visit_leaf(&self.pool, choose, |entries| {
                let mut overflow_pages = 0;
                let mut keys = Vec::new();
                for (key, record) in entries.filter(|(_, record)| is_live(Some(record))) {
                    overflow_pages += stub_of(record).map_or(0, |stub| stub.pages(self.pool.page_bytes()));
                    keys.push(key);
                }
                (keys, overflow_pages)
            })
        });
        let ((keys, overflow_pages), leaves) =
            sampled.await.map_err(|error| self.tree_error(&tree, error))?;
        Ok(LeafSample { keys, leaves, overflow_pages })
    }
}

/// The next number of a well mixed sequence (splitmix64).
fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let step = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let step = (step ^ step >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    step ^ step >> 31
}
