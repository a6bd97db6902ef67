//! Estimates for the planner from a few descents.

use crate::node::Node;
use crate::tree::Tree;
use buffer::{Access, BufferPool, Stop};

/// One step of a descent: which child (or entry) of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    index: usize,
    /// Children of an inner node, entries of a leaf.
    total: usize,
}

impl Tree {
    /// About how many entries lie from `lower` (inclusive) to `upper` (exclusive). `None` is the end of the tree.
    /// Exact when both lie in one leaf.
    pub fn estimate_range(
        &self,
        pool: &BufferPool,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> Result<u64, Stop> {
        let low = self.dive(pool, |node| lower.map_or(0, |key| border(node, key)))?;
        let high = self.dive(pool, |node| upper.map_or(usize::MAX, |key| border(node, key)))?;
        if low.len() != high.len() {
            // The root has grown in between.
            return Err(Stop::Restart);
        }
        Ok((before(&high, &low) - before(&low, &high)).max(0.0).round() as u64)
    }

    /// About how many pages the tree has, without overflow pages.
    pub fn estimate_pages(&self, pool: &BufferPool) -> Result<u64, Stop> {
        let mut pages = 1.0;
        let mut level_pages = 1.0;
        let middle = self.dive(pool, |node| node.count() / 2)?;
        for step in &middle[..middle.len() - 1] {
            level_pages *= step.total as f64;
            pages += level_pages;
        }
        Ok(pages as u64)
    }

    fn dive(&self, pool: &BufferPool, choose: impl Fn(Node<'_>) -> usize) -> Result<Vec<Step>, Stop> {
        let mut steps = Vec::with_capacity(4);
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let index = choose(node).min(node.count());
            let Some(below) = node.level().checked_sub(1) else {
                steps.push(Step { index, total: node.count() });
                return Ok(steps);
            };
            steps.push(Step { index, total: node.count() + 1 });
            guard = self.read_node(pool, node.child(index), Some(below), Access::Point)?;
        }
    }
}

/// The child that holds the key, or the entries before it.
fn border(node: Node<'_>, key: &[u8]) -> usize {
    if node.level() > 0 {
        return node.child_index(key);
    }
    match node.search(key) {
        Ok(slot) | Err(slot) => slot,
    }
}

/// The entries before a path's end, with the sizes of subtrees taken as the average of both paths.
fn before(path: &[Step], other: &[Step]) -> f64 {
    let mut below = 1.0;
    let mut sum = 0.0;
    for (step, other) in path.iter().zip(other).rev() {
        sum += step.index as f64 * below;
        below *= (step.total + other.total) as f64 / 2.0;
    }
    sum
}
