//! Freeing a whole tree in bounded steps.
//!
//! Each step is one mini-transaction that cuts off pages at the right end, so the rest is always a tree and a crash
//! between two steps loses nothing: whoever owns the tree just calls on. A node whose children are all gone is
//! rewritten as an empty leaf, which its parent then cuts off.

use crate::mtr::Mtr;
use crate::node::{Node, NodeBuilder, NodeIdentity};
use crate::redo::Change;
use crate::space::Space;
use crate::tree::Tree;
use buffer::{ExclusiveGuard, Stop};
use pagestore::PageId;

/// Pages freed in one step.
const PAGES_MAX: usize = 64;

impl Tree {
    /// Plans the next step in `mtr`, which must be fresh. True: this step frees the root, the tree is gone when it
    /// is committed, so what the owner knows of the tree has to go in the same mini-transaction. Nobody else may
    /// use the tree any more. Overflow chains are the owner's: free them first, by a scan. Call `Mtr::reserve`
    /// before committing.
    pub fn discard_step(&self, space: &Space, mtr: &mut Mtr<'_>) -> Result<bool, Stop> {
        assert!(mtr.is_empty());
        let pool = mtr.pool();
        let mut guard = self.write_node(pool, self.root, None)?;
        if Node::new(&guard).level() == 0 {
            space.release(mtr, &[self.root])?;
            return Ok(true);
        }
        loop {
            let node = Node::new(&guard);
            if node.level() == 1 {
                self.cut_children(space, mtr, guard, PAGES_MAX)?;
                return Ok(false);
            }
            let child = self.write_node(pool, node.child(node.count()), None)?;
            if Node::new(&child).level() == 0 {
                self.cut_children(space, mtr, guard, 1)?;
                return Ok(false);
            }
            guard = child;
        }
    }

    /// Frees up to `count` children from the right.
    fn cut_children<'p>(
        &self,
        space: &Space,
        mtr: &mut Mtr<'p>,
        guard: ExclusiveGuard<'p>,
        count: usize,
    ) -> Result<(), Stop> {
        let node = Node::new(&guard);
        let children = node.count() + 1;
        let cut = count.min(children);
        debug_assert!(cut > 0, "each step frees something");
        debug_assert!(node.level() > 0, "leaves have no children");
        let freed: Vec<PageId> = (children - cut..children).map(|index| node.child(index)).collect();
        let page = guard.page_id();
        if cut == children {
            let identity = NodeIdentity { page, tree: self.id, level: 0 };
            let emptied = NodeBuilder::new(guard.len(), identity, &[]).finish();
            mtr.plan(page, &Change::image_of(&emptied));
        } else {
            let keep = u16::try_from(node.count() - cut).expect("slots are u16");
            let prefix_len = u16::try_from(node.prefix().len()).expect("offsets are u16");
            mtr.plan(page, &Change::Reshape { keep, prefix_len });
        }
        mtr.hold(guard);
        space.release(mtr, &freed)
    }
}
