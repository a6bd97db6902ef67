//! Filling a tree in key order: many entries at a time go behind all that it has.
//!
//! Invariant: between two mini-transactions the tree is whole, so one that was cut off can be taken apart like any
//! other. Each leaf costs an image of itself and a split of the last leaf, which leaves it full. For trees that nobody
//! else changes.

use crate::mtr::Mtr;
use crate::node::{Node, NodeBuilder, NodeIdentity, SLOT_BYTES, entry_bytes_max};
use crate::redo::Change;
use crate::space::Space;
use crate::tree::Tree;
use buffer::Stop;
use pagestore::{CorruptPage, PageFault};

impl Tree {
    /// Plans in `mtr`, which must be fresh, to add as many of the entries as the last leaf takes, at least one, and
    /// answers how many. They are in key order, and behind all keys of the tree. Call `Mtr::reserve` before
    /// committing.
    ///
    /// # Panics
    /// If there are no entries, or one is too long (`entry_fits`).
    pub fn append<'e>(
        &self,
        space: &Space,
        mtr: &mut Mtr<'_>,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])> + Clone,
    ) -> Result<usize, Stop> {
        assert!(mtr.is_empty(), "one mini-transaction fills one leaf");
        let (first, first_value) = entries.clone().next().expect("there is something to append");
        let entry_len = SLOT_BYTES + first.len() + first_value.len();
        let page_size = mtr.pool().store().page_size();
        assert!(entry_len <= entry_bytes_max(page_size), "an entry of {entry_len} bytes is too long");
        loop {
            let leaf = self.leaf_exclusive(mtr.pool(), first)?;
            let node = Node::new(&leaf);
            let is_behind = node.count() == 0 || node.key(node.count() - 1).as_slice() < first;
            // The last leaf has no upper fence, hence no prefix.
            if !node.prefix().is_empty() || !is_behind {
                let fault = PageFault::Structure("a tree that is filled in order has keys out of order");
                return Err(Stop::Corrupt(CorruptPage { page: leaf.page_id(), fault }));
            }
            let mut free = node.free_bytes();
            let fitting = entries.clone().take_while(|(key, value)| {
                let bytes = SLOT_BYTES + key.len() + value.len();
                let fits = bytes <= free;
                free = free.saturating_sub(bytes);
                fits
            });
            let count = fitting.count();
            if count == 0 {
                drop(leaf);
                self.make_room(mtr.pool(), space, mtr.priority(), first, first_value.len())?;
                continue;
            }
            let identity = NodeIdentity { page: leaf.page_id(), tree: self.id, level: 0 };
            let mut filled = NodeBuilder::new(leaf.len(), identity, &[]);
            filled.push_from(node, 0..node.count());
            for (key, value) in entries.take(count) {
                filled.push(key, &[], value);
            }
            mtr.plan(leaf.page_id(), &Change::image_of(&filled.finish()));
            mtr.hold(leaf);
            return Ok(count);
        }
    }
}
