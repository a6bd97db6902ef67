//! Splits: making room in a leaf, and in the inner nodes above it when needed.
//!
//! One split is one mini-transaction over parent, node, new right node and space map. When the parent has no room
//! for the separator, the parent is split first, in a mini-transaction of its own, and the descent starts again;
//! a crash in between leaves a correct tree.

use crate::mtr::Mtr;
use crate::node::{CHILD_BYTES, Node, NodeBuilder, NodeIdentity, SLOT_BYTES, encode_child, shared_prefix};
use crate::redo::Change;
use crate::space::Space;
use crate::space_bits::Placement;
use crate::tree::Tree;
use crate::tree::descend::{Bounds, Parent, check_bounds};
use crate::tree::modify::has_room;
use crate::tree::split_place::{self, SplitPlace};
use buffer::{BufferPool, ExclusiveGuard, Stop};
use pagestore::PageId;
use wal::Priority;

/// From this many leaves below one parent on, a tree's leaves get extents of their own.
const EXTENT_CHILDREN_MIN: usize = 32;

/// What the operations of one split need.
#[derive(Clone, Copy)]
pub(super) struct Structure<'p, 's> {
    pub(super) pool: &'p BufferPool,
    pub(super) space: &'s Space,
    pub(super) priority: Priority,
}

/// What a leaf has to take.
#[derive(Clone, Copy)]
pub(super) struct Room<'k> {
    pub(super) key: &'k [u8],
    pub(super) value_len: usize,
}

impl Tree {
    /// Splits the leaf of `key` unless it can take the key with a value of `value_len` bytes.
    pub(super) fn make_room(
        &self,
        pool: &BufferPool,
        space: &Space,
        priority: Priority,
        key: &[u8],
        value_len: usize,
    ) -> Result<(), Stop> {
        let latch = |leaf| self.write_node(pool, leaf, Some(0));
        self.make_room_in(Structure { pool, space, priority }, Room { key, value_len }, latch)
    }

    /// The same for a leaf that `latch` latches: late changes move with their keys.
    pub(super) fn make_room_in<'p>(
        &self,
        structure: Structure<'p, '_>,
        Room { key, value_len }: Room<'_>,
        latch: impl Fn(PageId) -> Result<ExclusiveGuard<'p>, Stop>,
    ) -> Result<(), Stop> {
        let pool = structure.pool;
        loop {
            let Some(parent) = self.parent_of(pool, key, 0)? else {
                self.grow_root(structure, 0)?;
                continue;
            };
            let parent_node = Node::new(&parent.guard);
            let index = parent_node.child_index(key);
            let leaf = latch(parent_node.child(index))?;
            let node = Node::new(&leaf);
            let bounds = parent.bounds.of_child(parent_node, index);
            check_bounds(parent.guard.page_id(), parent_node, &parent.bounds)?;
            check_bounds(leaf.page_id(), node, &bounds)?;
            if has_room(node, key, value_len) {
                return Ok(());
            }
            let place = split_place::choose(node, key, value_len, bounds.upper.is_none());
            if !takes_separator(parent_node, &place.separator) {
                drop((leaf, parent));
                self.split_inner(structure, key, 1)?;
                continue;
            }
            return self.split(structure, parent, index, leaf, place);
        }
    }

    /// Splits the inner node on `level` on the way to `key`, so that it takes any separator.
    fn split_inner(&self, structure: Structure<'_, '_>, key: &[u8], level: u8) -> Result<(), Stop> {
        loop {
            let Some(parent) = self.parent_of(structure.pool, key, level)? else {
                if !self.grow_root(structure, level)? {
                    return Ok(());
                }
                continue;
            };
            let parent_node = Node::new(&parent.guard);
            let index = parent_node.child_index(key);
            let guard = self.write_node(structure.pool, parent_node.child(index), Some(level))?;
            let node = Node::new(&guard);
            if node.used_bytes() * 2 <= node.capacity() || node.count() == 0 {
                return Ok(());
            }
            let bounds = parent.bounds.of_child(parent_node, index);
            check_bounds(parent.guard.page_id(), parent_node, &parent.bounds)?;
            check_bounds(guard.page_id(), node, &bounds)?;
            let is_last = bounds.upper.is_none() && node.child_index(key) == node.count();
            let keep = inner_place(node, is_last);
            let place = SplitPlace { keep, separator: node.key(keep) };
            if !takes_separator(parent_node, &place.separator) {
                drop((guard, parent));
                self.split_inner(structure, key, level + 1)?;
                continue;
            }
            return self.split(structure, parent, index, guard, place);
        }
    }

    /// Moves the entries behind `place` into a new node and tells the parent.
    fn split(
        &self,
        structure: Structure<'_, '_>,
        parent: Parent<'_>,
        index: usize,
        guard: ExclusiveGuard<'_>,
        place: SplitPlace,
    ) -> Result<(), Stop> {
        let mut mtr = Mtr::begin_with(structure.pool, structure.priority);
        let (node, parent_node) = (Node::new(&guard), Node::new(&parent.guard));
        let bounds = parent.bounds.of_child(parent_node, index);
        let SplitPlace { keep, separator } = place;
        assert!(bounds.lower < separator && bounds.upper.as_ref().is_none_or(|upper| separator < *upper));

        let crowded = node.level() == 0 && parent_node.count() >= EXTENT_CHILDREN_MIN;
        let hint = guard.page_id();
        let placement = if crowded { Placement::Extent(hint) } else { Placement::Near(hint) };
        let right = structure.space.allocate(&mut mtr, placement, 1)?[0];
        let right_bounds = Bounds { lower: separator.clone(), upper: bounds.upper };
        let image = self.right_image(node, keep, right, &right_bounds);
        let moved_up = usize::from(node.level() > 0);
        debug_assert_eq!(Node::new(&image).count() + keep + moved_up, node.count(), "a split loses no entry");
        mtr.change(right, &Change::image_of(&image));

        debug_assert_ne!(right, guard.page_id(), "the right half has a page of its own");
        let old_prefix_len = node.prefix().len();
        let shared = shared_prefix(&bounds.lower, Some(&separator));
        let prefix_len = if keep > 0 { shared.max(old_prefix_len) } else { old_prefix_len };
        if keep < node.count() || prefix_len > old_prefix_len {
            mtr.plan(
                guard.page_id(),
                &Change::Reshape { keep: number(keep), prefix_len: number(prefix_len) },
            );
        }
        debug_assert!(index <= parent_node.count(), "the parent has the node as a child");
        debug_assert!(takes_separator(parent_node, &separator), "the parent has room for the new child");
        let suffix =
            separator.strip_prefix(parent_node.prefix()).expect("separators share the parent's prefix");
        let child = encode_child(right);
        let slot = number(index);
        mtr.plan(parent.guard.page_id(), &Change::Insert { slot, suffix, value: &child });
        if guard.is_late() {
            mtr.move_late(guard.page_id(), right, &separator);
        }
        mtr.hold(parent.guard);
        mtr.hold(guard);
        mtr.finish_structure()
    }

    fn right_image(&self, node: Node<'_>, keep: usize, right: PageId, bounds: &Bounds) -> Vec<u8> {
        let identity = NodeIdentity { page: right, tree: self.id, level: node.level() };
        // The separator of an inner split moves up, and its child becomes the first of the right node.
        let first = if node.level() > 0 { keep + 1 } else { keep };
        let shared = shared_prefix(&bounds.lower, bounds.upper.as_deref());
        let mut builder = NodeBuilder::new(
            node.capacity() + crate::node::NODE_HEADER_BYTES,
            identity,
            &bounds.lower[..shared],
        );
        if node.level() > 0 {
            builder.set_first_child(node.child(first));
        }
        debug_assert!(first <= node.count(), "what moves lies in the node");
        builder.push_from(node, first..node.count());
        builder.finish()
    }

    /// Moves the content of the root, if it is on `level`, down into a new only child. False: it is not.
    fn grow_root(&self, structure: Structure<'_, '_>, level: u8) -> Result<bool, Stop> {
        let mut mtr = Mtr::begin_with(structure.pool, structure.priority);
        let root = self.write_node(structure.pool, self.root, None)?;
        let node = Node::new(&root);
        if node.level() != level {
            return Ok(false);
        }
        let page_bytes = structure.pool.page_bytes();
        let child = structure.space.allocate(&mut mtr, Placement::Near(self.root), 1)?[0];
        let identity = NodeIdentity { page: child, tree: self.id, level };
        let mut moved = NodeBuilder::new(page_bytes, identity, node.prefix());
        if level > 0 {
            moved.set_first_child(node.child(0));
        }
        moved.push_from(node, 0..node.count());
        let identity = NodeIdentity { page: self.root, tree: self.id, level: level + 1 };
        let mut grown = NodeBuilder::new(page_bytes, identity, &[]);
        grown.set_first_child(child);
        debug_assert_ne!(child, self.root, "a root moves down into another page");
        mtr.hold(root);
        mtr.change(child, &Change::image_of(&moved.finish()));
        mtr.change(self.root, &Change::image_of(&grown.finish()));
        mtr.finish_structure()?;
        Ok(true)
    }
}

/// Whether an inner node has room for one more child, even if its prefix did not help.
fn takes_separator(node: Node<'_>, separator: &[u8]) -> bool {
    SLOT_BYTES + separator.len() + CHILD_BYTES <= node.free_bytes()
}

/// The separator that moves up when an inner node is split: the halves take at most half a page each, so either
/// has room for any separator. Ascending keys leave a full node behind.
fn inner_place(node: Node<'_>, is_last: bool) -> usize {
    if is_last {
        debug_assert!(node.count() > 0, "a node that is split has entries");
        return node.count() - 1;
    }
    let total: usize = (0..node.count()).map(|slot| node.entry_bytes(slot)).sum();
    let mut left = 0;
    for slot in 0..node.count() {
        left += node.entry_bytes(slot);
        if left * 2 > total {
            return slot;
        }
    }
    unreachable!("the sum of all entries is more than its half")
}

fn number(count: usize) -> u16 {
    u16::try_from(count).expect("numbers within a page fit into 16 bits")
}
