//! Estimates for the planner from a few descents.

use crate::node::Node;
use crate::tree::Tree;
use buffer::{Access, BufferPool, Stop};
use pagestore::PageId;
use smallvec::SmallVec;

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
        let (mut low, mut high) = (Path::default(), Path::default());
        self.dive_to_both(pool, lower, upper, (&mut low, &mut high))?;
        if low.steps.len() != high.steps.len() {
            // The root has grown in between.
            return Err(Stop::Restart);
        }
        Ok((before(&high.steps, &low.steps) - before(&low.steps, &high.steps)).max(0.0).round() as u64)
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
        let (mut low, mut high) = (Path::default(), Path::default());
        let is_usable = match self.dive_to_both(pool, lower, upper, (&mut low, &mut high)) {
            Ok(()) => true,
            Err(Stop::Miss(_) | Stop::Late(_)) => !low.steps.is_empty(),
            Err(_) => false,
        };
        if !is_usable {
            return InMemory { records: None, is_exact: false };
        }
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

    /// Goes down to both ends of a range, together as far as one child has both. A page that is missing ends its own
    /// path alone, which is told when the other one is whole.
    fn dive_to_both(
        &self,
        pool: &BufferPool,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
        (low, high): (&mut Path, &mut Path),
    ) -> Result<(), Stop> {
        let to_lower = |node: Node<'_>| lower.map_or(0, |key| border(node, key));
        let to_upper = |node: Node<'_>| upper.map_or(usize::MAX, |key| border(node, key));
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let (from, to) = (low.enter(node, to_lower), high.enter(node, to_upper));
            let Some(below) = node.level().checked_sub(1) else { return Ok(()) };
            if from == to {
                guard = self.read_node(pool, node.child(from), Some(below), Access::Point)?;
                continue;
            }
            let (left, right) = (node.child(from), node.child(to));
            drop(guard);
            let left = self.dive_below(pool, (left, below), to_lower, low);
            return self.dive_below(pool, (right, below), to_upper, high).and(left);
        }
    }

    fn dive_below(
        &self,
        pool: &BufferPool,
        (page, level): (PageId, u8),
        choose: impl Fn(Node<'_>) -> usize,
        path: &mut Path,
    ) -> Result<(), Stop> {
        let mut guard = self.read_node(pool, page, Some(level), Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let index = path.enter(node, &choose);
            let Some(below) = node.level().checked_sub(1) else { return Ok(()) };
            guard = self.read_node(pool, node.child(index), Some(below), Access::Point)?;
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
        let mut middle = Path::default();
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let index = middle.enter(node, |node| node.count() / 2);
            let Some(below) = node.level().checked_sub(1) else { break };
            guard = self.read_node(pool, node.child(index), Some(below), Access::Point)?;
        }
        for step in &middle.steps[..middle.steps.len() - 1] {
            level_pages *= step.total as f64;
            pages += level_pages;
        }
        Ok(pages as u64)
    }
}

/// A descent as far as it went.
#[derive(Default)]
struct Path {
    steps: SmallVec<[Step; 6]>,
    /// It went down to a leaf.
    is_whole: bool,
}

impl Path {
    /// Takes the step that `choose` says in this node; gives the child's position.
    fn enter(&mut self, node: Node<'_>, choose: impl Fn(Node<'_>) -> usize) -> usize {
        debug_assert!(!self.is_whole, "a path ends in a leaf");
        let index = choose(node).min(node.count());
        self.is_whole = node.level() == 0;
        let total = if self.is_whole { node.count() } else { node.count() + 1 };
        self.steps.push(Step { index, total });
        index
    }
}

/// Where in the tree the path leads to, from 0 to 1.
fn position(path: &[Step]) -> f64 {
    let mut width = 1.0;
    let mut start = 0.0;
    for step in path {
        width /= step.total.max(1) as f64;
        start += step.index as f64 * width;
        debug_assert!(step.index <= step.total, "a step leads into its node");
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
    debug_assert_eq!(path.len(), other.len(), "both paths go down equally far");
    let mut below = 1.0;
    let mut sum = 0.0;
    for (step, other) in path.iter().zip(other).rev() {
        sum += step.index as f64 * below;
        below *= (step.total + other.total) as f64 / 2.0;
    }
    sum
}
