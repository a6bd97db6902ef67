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

/// What is known of a range without reading pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InMemory {
    pub records: Option<f64>,
    /// Nothing more would be known with all pages in memory.
    pub is_exact: bool,
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

    /// As `estimate_range`, of what is in memory: no number when that tells nothing. Where a path's end is not, the
    /// fraction of the tree between the paths is taken of `rows`, which it has in all.
    pub fn estimate_in_memory(
        &self,
        pool: &BufferPool,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
        rows: f64,
    ) -> InMemory {
        let low = self.dive_in_memory(pool, |node| lower.map_or(0, |key| border(node, key)));
        let high = self.dive_in_memory(pool, |node| upper.map_or(usize::MAX, |key| border(node, key)));
        let (Some(low), Some(high)) = (low, high) else {
            return InMemory { records: None, is_exact: false };
        };
        if low.is_whole && high.is_whole {
            let same_height = low.steps.len() == high.steps.len();
            let records = same_height
                .then(|| (before(&high.steps, &low.steps) - before(&low.steps, &high.steps)).max(0.0));
            return InMemory { records, is_exact: true };
        }
        let known = low.steps.len().min(high.steps.len());
        let (low, high) = (&low.steps[..known], &high.steps[..known]);
        let share = (position(high) - position(low)).max(0.0);
        // Within one page of which nothing is known there is no telling.
        InMemory { records: (share > 0.0).then_some(share * rows), is_exact: false }
    }

    fn dive_in_memory(&self, pool: &BufferPool, choose: impl Fn(Node<'_>) -> usize) -> Option<Path> {
        let mut steps = Vec::with_capacity(4);
        match self.dive_into(pool, choose, &mut steps) {
            Ok(()) => Some(Path { steps, is_whole: true }),
            Err(Stop::Miss(_) | Stop::Late(_)) if !steps.is_empty() => Some(Path { steps, is_whole: false }),
            Err(_) => None,
        }
    }

    /// The leaf at the end of the path that `choose` takes, and how many leaves there would be if all nodes had as many
    /// children as those of the path. `choose` is given how many there are, from the root down.
    pub fn visit_leaf<R>(
        &self,
        pool: &BufferPool,
        mut choose: impl FnMut(usize) -> usize,
        visit: impl FnOnce(&mut dyn Iterator<Item = (Vec<u8>, &[u8])>) -> R,
    ) -> Result<(R, f64), Stop> {
        let mut leaves = 1.0;
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let Some(below) = node.level().checked_sub(1) else {
                let mut entries = (0..node.count()).map(|index| (node.key(index), node.value(index)));
                return Ok((visit(&mut entries), leaves));
            };
            let children = node.count() + 1;
            leaves *= children as f64;
            let index = choose(children).min(node.count());
            guard = self.read_node(pool, node.child(index), Some(below), Access::Point)?;
        }
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
        self.dive_into(pool, choose, &mut steps)?;
        Ok(steps)
    }

    fn dive_into(
        &self,
        pool: &BufferPool,
        choose: impl Fn(Node<'_>) -> usize,
        steps: &mut Vec<Step>,
    ) -> Result<(), Stop> {
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let index = choose(node).min(node.count());
            let Some(below) = node.level().checked_sub(1) else {
                steps.push(Step { index, total: node.count() });
                return Ok(());
            };
            steps.push(Step { index, total: node.count() + 1 });
            guard = self.read_node(pool, node.child(index), Some(below), Access::Point)?;
        }
    }
}

/// A descent as far as it went.
struct Path {
    steps: Vec<Step>,
    /// It went down to a leaf.
    is_whole: bool,
}

/// Where in the tree the path leads to, from 0 to 1.
fn position(path: &[Step]) -> f64 {
    let mut width = 1.0;
    let mut start = 0.0;
    for step in path {
        width /= step.total.max(1) as f64;
        start += step.index as f64 * width;
    }
    start
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
