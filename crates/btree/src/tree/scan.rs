//! Scans: one leaf per call, forwards or backwards, under the leaf's shared latch.
//!
//! There are no links between leaves. A descent meets the leaf's upper (or lower) fence as a separator on its way;
//! the next call descends to it. So leaves may split and merge between two calls without harm: a position is a
//! key, never a page.

use crate::node::Node;
use crate::tree::Tree;
use buffer::{Access, BufferPool, SharedGuard, Stop};
use pagestore::PageId;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use wal::Lsn;

/// A scan reads at most this many leaves ahead.
const PREFETCH_LEAVES_MAX: usize = 16;
/// When only the end of the range is known: it may be stopped earlier by a limit.
const PREFETCH_LEAVES_FIRST: usize = 8;
/// A leaf has seldom fewer entries, so a scan for few entries reads ahead no more leaves than it has use for.
const ENTRIES_PER_LEAF_FEW: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Start,
    At,
    After,
    End,
}

/// Where a scan goes on. "After" means further in the direction of the scan.
#[derive(Debug, Clone)]
pub struct Position {
    anchor: Anchor,
    key: Vec<u8>,
    /// How many leaves the scan has behind it: long scans read ahead and do not push others out of memory.
    leaves: u32,
    /// Where the scan will end, as far as it is known.
    end: Option<Arc<[u8]>>,
    /// How many leaves the first step may read ahead when the end is known.
    first_ahead: usize,
}

impl Default for Position {
    fn default() -> Self {
        let (anchor, key) = (Anchor::Start, Vec::new());
        Self { anchor, key, leaves: 0, end: None, first_ahead: PREFETCH_LEAVES_FIRST }
    }
}

impl Position {
    /// Before the first key of the direction.
    pub fn start() -> Self {
        Self::default()
    }

    /// At this key, if it exists, else after where it would be.
    pub fn at(key: &[u8]) -> Self {
        Self { anchor: Anchor::At, key: key.to_vec(), ..Self::default() }
    }

    pub fn after(key: &[u8]) -> Self {
        Self { anchor: Anchor::After, key: key.to_vec(), ..Self::default() }
    }

    /// Says that the scan will not go beyond this key: the leaves up to there are read ahead from the start, and
    /// none behind it. A hint, which does not end the scan.
    pub fn expect_end(&mut self, key: &[u8]) {
        self.end = Some(key.into());
    }

    /// Says that about so many entries are wanted, although the range may have more. A hint like `expect_end`.
    pub fn expect_entries(&mut self, entries: usize) {
        self.first_ahead = (entries / ENTRIES_PER_LEAF_FEW).min(PREFETCH_LEAVES_FIRST);
    }

    /// Moves to `at(key)` and keeps the memory and the history of the scan.
    pub fn move_to(&mut self, key: &[u8]) {
        self.anchor = Anchor::At;
        self.set_key(key);
    }

    /// Moves to `after(key)` and keeps the memory and the history of the scan.
    pub fn move_after(&mut self, key: &[u8]) {
        self.anchor = Anchor::After;
        self.set_key(key);
    }

    /// The key that it is at or after; `None` at the start and at the end.
    pub fn key(&self) -> Option<&[u8]> {
        match self.anchor {
            Anchor::At | Anchor::After => Some(&self.key),
            Anchor::Start | Anchor::End => None,
        }
    }

    /// There is nothing more in this direction.
    pub fn is_end(&self) -> bool {
        self.anchor == Anchor::End
    }

    /// Whether this comes later in a scan of the direction.
    fn is_ahead_of(&self, before: &Position, direction: Direction) -> bool {
        match (before.key(), direction) {
            (None, _) => true,
            (Some(key), Direction::Forward) => self.key.as_slice() > key,
            (Some(key), Direction::Backward) => self.key.as_slice() < key,
        }
    }

    fn set_key(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    /// The child of an inner node to descend into.
    fn child_index(&self, node: Node<'_>, direction: Direction) -> usize {
        match (self.anchor, direction) {
            (Anchor::Start, Direction::Forward) => 0,
            (Anchor::Start, Direction::Backward) => node.count(),
            (Anchor::After, Direction::Backward) => node.child_index_before(&self.key),
            (Anchor::At | Anchor::After, _) => node.child_index(&self.key),
            (Anchor::End, _) => unreachable!("a scan that has ended is not continued"),
        }
    }

    /// The slots of a leaf that lie at or after the position.
    fn slots(&self, leaf: Node<'_>, direction: Direction) -> Range<usize> {
        let found = leaf.search(&self.key);
        let border = match (self.anchor, direction, found) {
            (Anchor::Start, _, _) => return 0..leaf.count(),
            (Anchor::After, Direction::Forward, Ok(slot)) | (Anchor::At, Direction::Backward, Ok(slot)) => {
                slot + 1
            }
            (_, _, Ok(slot) | Err(slot)) => slot,
        };
        match direction {
            Direction::Forward => border..leaf.count(),
            Direction::Backward => 0..border,
        }
    }
}

/// The entries of one leaf from the position on.
pub struct LeafView<'a> {
    node: Node<'a>,
    slots: Range<usize>,
    direction: Direction,
    fence: Option<&'a [u8]>,
    page: PageId,
    page_lsn: Lsn,
}

impl LeafView<'_> {
    pub fn page(&self) -> PageId {
        self.page
    }

    pub fn page_lsn(&self) -> Lsn {
        self.page_lsn
    }

    /// Where the leaf's responsibility ends in the scan's direction: forwards the first key behind it, backwards
    /// its own first possible key. `None`: it ends with the tree.
    pub fn fence(&self) -> Option<&[u8]> {
        self.fence
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Calls `visit` with key and value of each entry in the scan's order until it breaks.
    pub fn for_each<B>(&self, mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<B>) -> ControlFlow<B> {
        let mut key = Vec::with_capacity(64);
        key.extend_from_slice(self.node.prefix());
        let prefix_len = key.len();
        for step in 0..self.slots.len() {
            let slot = match self.direction {
                Direction::Forward => self.slots.start + step,
                Direction::Backward => self.slots.end - 1 - step,
            };
            key.truncate(prefix_len);
            key.extend_from_slice(self.node.suffix(slot));
            visit(&key, self.node.value(slot))?;
        }
        ControlFlow::Continue(())
    }
}

impl Tree {
    /// Visits the leaf at `from` and sets `next` to where the scan goes on behind that leaf. The leaf may have no
    /// entries for the scan; then just go on. `visit` runs under the shared latch. After a `Stop` call it again; if
    /// that is a damaged page, `next` is behind all that can only be reached over it.
    pub fn scan<R>(
        &self,
        pool: &BufferPool,
        from: &Position,
        direction: Direction,
        next: &mut Position,
        visit: impl FnOnce(&LeafView<'_>) -> R,
    ) -> Result<R, Stop> {
        assert!(!from.is_end(), "a scan that has ended is not continued");
        next.anchor = Anchor::End;
        next.leaves = from.leaves.saturating_add(1);
        next.end.clone_from(&from.end);
        next.first_ahead = from.first_ahead;
        let leaf = self.leaf_for_scan(pool, from, direction, next)?;
        let node = Node::new(&leaf);
        debug_assert!(next.is_end() || next.is_ahead_of(from, direction), "a scan goes on in its direction");
        debug_assert!(next.leaves > 0, "a leaf is behind the scan");
        let view = LeafView {
            node,
            slots: from.slots(node, direction),
            direction,
            fence: (!next.is_end()).then_some(&next.key),
            page: leaf.page_id(),
            page_lsn: leaf.page_lsn(),
        };
        Ok(visit(&view))
    }

    fn leaf_for_scan<'p>(
        &self,
        pool: &'p BufferPool,
        from: &Position,
        direction: Direction,
        next: &mut Position,
    ) -> Result<SharedGuard<'p>, Stop> {
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let Some(below) = node.level().checked_sub(1) else { return Ok(guard) };
            let index = from.child_index(node, direction);
            match direction {
                Direction::Forward if index < node.count() => {
                    next.anchor = Anchor::At;
                    node.copy_key(index, &mut next.key);
                }
                Direction::Backward if index > 0 => {
                    // The fence is the first key of this child, so the scan goes on before it.
                    next.anchor = Anchor::After;
                    node.copy_key(index - 1, &mut next.key);
                }
                Direction::Forward | Direction::Backward => {}
            }
            if below == 0 && (from.leaves > 0 || from.end.is_some()) {
                prefetch(pool, node, index, direction, from);
            }
            let access = if below == 0 && from.leaves > 1 { Access::Scan } else { Access::Point };
            guard = self.read_node(pool, node.child(index), Some(below), access)?;
        }
    }
}

/// Asks for the leaves that the scan will reach next, from the present one on; the longer the scan is, the further
/// ahead, but not beyond its expected end. Neighbours are read together, so it asks for several at a time: only when
/// the leaf half-way ahead is not in memory.
fn prefetch(pool: &BufferPool, parent: Node<'_>, index: usize, direction: Direction, from: &Position) {
    let ahead = match (from.leaves, &from.end) {
        (0, Some(_)) => from.first_ahead,
        (leaves, _) => (1 << leaves.min(10)).min(PREFETCH_LEAVES_MAX),
    };
    let end = from.end.as_ref().map(|key| parent.child_index(key));
    let children = match direction {
        Direction::Forward => index..=(index + ahead).min(end.unwrap_or(parent.count())).min(parent.count()),
        Direction::Backward => index.saturating_sub(ahead).max(end.unwrap_or(0))..=index,
    };
    let (Some(first), Some(last)) = (children.clone().next(), children.clone().next_back()) else { return };
    let half_way = match direction {
        Direction::Forward => (index + ahead.div_ceil(2)).min(last),
        Direction::Backward => index.saturating_sub(ahead.div_ceil(2)).max(first),
    };
    debug_assert!((first..=last).contains(&half_way), "half-way is on the way");
    if first < last && pool.is_absent(parent.child(half_way)) {
        pool.prefetch(children.map(|child| parent.child(child)));
    }
}
