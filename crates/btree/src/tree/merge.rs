//! Merges: joining sparse neighbours, and lowering a root with a single child.
//!
//! A merge is a mini-transaction over parent, left and right node (latched in this order) and the space map. It is
//! never necessary for correctness, so whenever something does not fit it is simply left out.

use crate::mtr::Mtr;
use crate::node::{CHILD_BYTES, LEVEL_MAX, Node, NodeBuilder, NodeIdentity, SLOT_BYTES, shared_prefix};
use crate::redo::Change;
use crate::space::Space;
use crate::tree::Tree;
use crate::tree::descend::{Bounds, Parent, check_bounds};
use buffer::{BufferPool, ExclusiveGuard, Stop};
use pagestore::{CorruptPage, PageFault, PageId};

/// A merged node is at most this full, in percent: the next insert shall not split it again.
const MERGED_PERCENT_MAX: usize = 85;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merged {
    Nothing,
    /// Two nodes became one.
    Yes,
    /// The node is an only child: something can only happen further up.
    OnlyChild,
}

impl Tree {
    /// Joins the leaf of `key` with a neighbour if one of them is sparse and both fit into one page, and then the
    /// inner nodes above likewise. Returns whether a page was freed. Call it after a commit that was sparse.
    pub fn merge_at(&self, pool: &BufferPool, space: &Space, key: &[u8]) -> Result<bool, Stop> {
        let mut freed = false;
        for level in 0..LEVEL_MAX {
            let Some(parent) = self.parent_of(pool, key, level)? else { break };
            match self.merge_below(pool, space, key, level, parent)? {
                Merged::Nothing => break,
                Merged::Yes => freed = true,
                Merged::OnlyChild => {}
            }
        }
        while self.lower_root(pool, space)? {
            freed = true;
        }
        Ok(freed)
    }

    fn merge_below(
        &self,
        pool: &BufferPool,
        space: &Space,
        key: &[u8],
        level: u8,
        parent: Parent<'_>,
    ) -> Result<Merged, Stop> {
        let parent_node = Node::new(&parent.guard);
        if parent_node.count() == 0 {
            return Ok(Merged::OnlyChild);
        }
        let left_index = parent_node.child_index(key).saturating_sub(1);
        let (left_page, right_page) = (parent_node.child(left_index), parent_node.child(left_index + 1));
        if left_page == right_page {
            let fault = PageFault::Structure("two children of a node are the same page");
            return Err(Stop::Corrupt(CorruptPage { page: parent.guard.page_id(), fault }));
        }
        let left = self.write_node(pool, left_page, Some(level))?;
        let right = self.write_node(pool, right_page, Some(level))?;
        let left_bounds = parent.bounds.of_child(parent_node, left_index);
        let right_bounds = parent.bounds.of_child(parent_node, left_index + 1);
        check_bounds(parent.guard.page_id(), parent_node, &parent.bounds)?;
        check_bounds(left_page, Node::new(&left), &left_bounds)?;
        check_bounds(right_page, Node::new(&right), &right_bounds)?;
        let (lower, upper) = (left_bounds.lower, right_bounds.upper);
        debug_assert_eq!(
            left_bounds.upper.as_deref(),
            Some(&*right_bounds.lower),
            "neighbours meet at their separator"
        );
        let separator = parent_node.key(left_index);
        let joined = self.join(&left, &right, &separator, &Bounds { lower, upper });
        let Some(joined) = joined else { return Ok(Merged::Nothing) };

        let mut mtr = Mtr::begin(pool);
        let slot = u16::try_from(left_index).expect("slots are u16");
        mtr.plan(left.page_id(), &Change::image_of(&joined));
        mtr.plan(parent.guard.page_id(), &Change::Delete { slot });
        space.release(&mut mtr, &[right.page_id()])?;
        mtr.hold(parent.guard);
        mtr.hold(left);
        mtr.finish_structure()?;
        // The right page stays latched until nobody can reach it any more.
        drop(right);
        Ok(Merged::Yes)
    }

    /// The node that replaces both, if that is worth it.
    fn join(
        &self,
        left: &ExclusiveGuard<'_>,
        right: &ExclusiveGuard<'_>,
        separator: &[u8],
        bounds: &Bounds,
    ) -> Option<Vec<u8>> {
        let (left_node, right_node) = (Node::new(left), Node::new(right));
        if !left_node.is_sparse() && !right_node.is_sparse() {
            return None;
        }
        let level = left_node.level();
        let prefix_len = shared_prefix(&bounds.lower, bounds.upper.as_deref());
        let mut bytes =
            prefix_len + expanded_bytes(left_node, prefix_len) + expanded_bytes(right_node, prefix_len);
        if level > 0 {
            bytes += SLOT_BYTES + separator.len() - prefix_len + CHILD_BYTES;
        }
        let one_is_empty = left_node.count() == 0 || right_node.count() == 0;
        let percent = if one_is_empty { 100 } else { MERGED_PERCENT_MAX };
        if bytes * 100 > left_node.capacity() * percent {
            return None;
        }
        debug_assert_eq!(level, right_node.level(), "neighbours are on one level");
        debug_assert!(separator.len() >= prefix_len, "a separator has what all keys share");
        let identity = NodeIdentity { page: left.page_id(), tree: self.id, level };
        let mut builder = NodeBuilder::new(left.len(), identity, &bounds.lower[..prefix_len]);
        if level > 0 {
            builder.set_first_child(left_node.child(0));
        }
        builder.push_from(left_node, 0..left_node.count());
        if level > 0 {
            builder.push(separator, &[], &crate::node::encode_child(right_node.child(0)));
        }
        builder.push_from(right_node, 0..right_node.count());
        Some(builder.finish())
    }

    /// Replaces a root that has a single child by that child's content.
    fn lower_root(&self, pool: &BufferPool, space: &Space) -> Result<bool, Stop> {
        let root = self.read_node(pool, self.root, None, buffer::Access::Point)?;
        if Node::new(&root).level() == 0 || Node::new(&root).count() > 0 {
            return Ok(false);
        }
        drop(root);
        let root = self.write_node(pool, self.root, None)?;
        let root_node = Node::new(&root);
        let Some(level) = root_node.level().checked_sub(1).filter(|_| root_node.count() == 0) else {
            return Ok(false);
        };
        let child_page: PageId = root_node.child(0);
        let child = self.write_node(pool, child_page, Some(level))?;
        let child_node = Node::new(&child);
        if expanded_bytes(child_node, 0) > child_node.capacity() {
            return Ok(false);
        }
        let identity = NodeIdentity { page: self.root, tree: self.id, level };
        let mut builder = NodeBuilder::new(root.len(), identity, &[]);
        if level > 0 {
            builder.set_first_child(child_node.child(0));
        }
        builder.push_from(child_node, 0..child_node.count());
        let mut mtr = Mtr::begin(pool);
        mtr.plan(self.root, &Change::image_of(&builder.finish()));
        space.release(&mut mtr, &[child_page])?;
        mtr.hold(root);
        mtr.finish_structure()?;
        drop(child);
        Ok(true)
    }
}

/// What the entries occupy when their shared prefix is only `prefix_len` bytes long, without the prefix itself.
fn expanded_bytes(node: Node<'_>, prefix_len: usize) -> usize {
    let entries: usize = (0..node.count()).map(|slot| node.entry_bytes(slot)).sum();
    entries + node.count() * node.prefix().len().saturating_sub(prefix_len)
}
