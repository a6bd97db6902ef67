//! Finding the way from the root to a node.

use crate::lost_page;
use crate::node::{LEVEL_MAX, Node, shared_prefix};
use crate::tree::Tree;
use buffer::{AbsentPage, Access, BufferPool, ExclusiveGuard, SharedGuard, Stop};
use pagestore::{CorruptPage, PageFault, PageId, PageKind, header};

const NOT_THE_CHILD: &str = "it is not the node that its parent refers to";

/// An exclusively latched inner node above the wanted level, with the keys it is responsible for.
pub(super) struct Parent<'p> {
    pub(super) guard: ExclusiveGuard<'p>,
    pub(super) bounds: Bounds,
}

/// A leaf for writing.
pub(super) enum Leaf<'p> {
    Present(ExclusiveGuard<'p>),
    /// It is not in memory.
    Absent(AbsentPage<'p>),
}

/// The keys of a subtree: from `lower` (inclusive, empty is the beginning) to `upper` (exclusive).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) lower: Vec<u8>,
    pub(super) upper: Option<Vec<u8>>,
}

impl Bounds {
    pub(super) fn contain(&self, key: &[u8]) -> bool {
        self.lower.as_slice() <= key && self.upper.as_ref().is_none_or(|upper| key < upper.as_slice())
    }

    /// The bounds of one child of a node with these bounds.
    pub(super) fn of_child(&self, node: Node<'_>, child: usize) -> Self {
        debug_assert!(child <= node.count(), "a node has one child more than entries");
        Self {
            lower: if child > 0 { node.key(child - 1) } else { self.lower.clone() },
            upper: if child < node.count() { Some(node.key(child)) } else { self.upper.clone() },
        }
    }
}

/// The rule that a node with these bounds breaks, if any. A node can be sound in itself and still be the wrong one:
/// an older version that a lost write left behind.
pub(super) fn broken_rule(node: Node<'_>, bounds: &Bounds) -> Option<&'static str> {
    let Bounds { lower, upper } = bounds;
    if upper.as_ref().is_some_and(|upper| lower >= upper) {
        return Some("its fences are out of order");
    }
    if node.prefix().len() > shared_prefix(lower, upper.as_deref()) || !lower.starts_with(node.prefix()) {
        return Some("its prefix is not shared by its fences");
    }
    if node.count() > 0 {
        let (first, last) = (node.key(0), node.key(node.count() - 1));
        if first < *lower || upper.as_ref().is_some_and(|upper| last >= *upper) {
            return Some("it has keys outside its fences");
        }
    }
    None
}

/// Checks a node before its entries are moved, because that relies on its bounds.
pub(super) fn check_bounds(page: PageId, node: Node<'_>, bounds: &Bounds) -> Result<(), Stop> {
    match broken_rule(node, bounds) {
        None => Ok(()),
        Some(rule) => Err(Stop::Corrupt(CorruptPage { page, fault: PageFault::Structure(rule) })),
    }
}

impl Tree {
    pub(super) fn read_node<'p>(
        &self,
        pool: &'p BufferPool,
        page: PageId,
        level: Option<u8>,
        access: Access,
    ) -> Result<SharedGuard<'p>, Stop> {
        let guard = pool.read_as(page, access)?;
        self.check_place(&guard, page, level)?;
        Ok(guard)
    }

    pub(super) fn write_node<'p>(
        &self,
        pool: &'p BufferPool,
        page: PageId,
        level: Option<u8>,
    ) -> Result<ExclusiveGuard<'p>, Stop> {
        let guard = pool.write(page)?;
        self.check_place(&guard, page, level)?;
        Ok(guard)
    }

    /// Whether the page is what its parent says: a node of this tree on the level below.
    #[inline]
    pub(super) fn check_place(&self, bytes: &[u8], page: PageId, level: Option<u8>) -> Result<(), Stop> {
        let is_node = header::kind(bytes) == Some(PageKind::Node) && header::tree(bytes) == self.id;
        if is_node && level.is_none_or(|level| Node::new(bytes).level() == level) {
            return Ok(());
        }
        Err(Stop::Corrupt(CorruptPage { page, fault: lost_page::fault_of(bytes, NOT_THE_CHILD) }))
    }

    /// The leaf that holds the key, for reading.
    #[inline]
    pub(super) fn leaf_shared<'p>(&self, pool: &'p BufferPool, key: &[u8]) -> Result<SharedGuard<'p>, Stop> {
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let Some(below) = node.level().checked_sub(1) else { return Ok(guard) };
            let child = node.child(node.child_index(key));
            guard = self.read_node(pool, child, Some(below), Access::Point)?;
        }
    }

    /// The leaf that holds the key, for writing.
    pub(crate) fn leaf_exclusive<'p>(
        &self,
        pool: &'p BufferPool,
        key: &[u8],
    ) -> Result<ExclusiveGuard<'p>, Stop> {
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        if Node::new(&guard).level() == 0 {
            drop(guard);
            let root = self.write_node(pool, self.root, None)?;
            // The root may have grown between the two latches.
            return if Node::new(&root).level() == 0 { Ok(root) } else { Err(Stop::Restart) };
        }
        loop {
            let node = Node::new(&guard);
            let child = node.child(node.child_index(key));
            let below = node.level() - 1;
            if below == 0 {
                return self.write_node(pool, child, Some(0));
            }
            guard = self.read_node(pool, child, Some(below), Access::Point)?;
        }
    }

    /// The leaf that holds the key, for writing; if it is on disk alone, the right to change it late.
    pub(super) fn leaf_or_absent<'p>(&self, pool: &'p BufferPool, key: &[u8]) -> Result<Leaf<'p>, Stop> {
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        loop {
            let node = Node::new(&guard);
            let level = node.level();
            if level == 0 {
                drop(guard);
                return self.leaf_exclusive(pool, key).map(Leaf::Present);
            }
            let child = node.child(node.child_index(key));
            if level > 1 {
                guard = self.read_node(pool, child, Some(level - 1), Access::Point)?;
                continue;
            }
            return match self.write_node(pool, child, Some(0)) {
                Err(Stop::Miss(missed)) => {
                    // The latch above keeps the child the key's leaf until nobody can load it.
                    pool.absent_page(child).map(Leaf::Absent).ok_or(Stop::Miss(missed))
                }
                leaf => leaf.map(Leaf::Present),
            };
        }
    }

    /// The node above the one on `level` that holds the key. `None`: the tree has no node above that level.
    pub(super) fn parent_of<'p>(
        &self,
        pool: &'p BufferPool,
        key: &[u8],
        level: u8,
    ) -> Result<Option<Parent<'p>>, Stop> {
        assert!(level < LEVEL_MAX);
        let mut guard = self.read_node(pool, self.root, None, Access::Point)?;
        let mut bounds = Bounds::default();
        let root_level = Node::new(&guard).level();
        if root_level <= level {
            return Ok(None);
        }
        if root_level == level + 1 {
            drop(guard);
            let guard = self.write_node(pool, self.root, None)?;
            let unchanged = Node::new(&guard).level() == root_level;
            return if unchanged { Ok(Some(Parent { guard, bounds })) } else { Err(Stop::Restart) };
        }
        loop {
            let node = Node::new(&guard);
            let index = node.child_index(key);
            let (child, below) = (node.child(index), node.level() - 1);
            bounds = bounds.of_child(node, index);
            debug_assert!(bounds.contain(key), "the way down keeps to its key");
            if below == level + 1 {
                let guard = self.write_node(pool, child, Some(below))?;
                return Ok(Some(Parent { guard, bounds }));
            }
            guard = self.read_node(pool, child, Some(below), Access::Point)?;
        }
    }
}
