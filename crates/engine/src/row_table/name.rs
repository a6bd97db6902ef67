//! Names of rows.

use crate::TreeId;
use std::sync::Arc;

/// A row's name; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RowName {
    pub tree: TreeId,
    pub key: Arc<[u8]>,
}

/// Numbers that no tree has.
const PREFIX_TREES: u64 = 1 << 63;

impl RowName {
    /// The name of a unique prefix as a lock of its own, apart from any row with such a key.
    pub fn prefix_tree(tree: TreeId) -> TreeId {
        debug_assert!(tree.0 & PREFIX_TREES == 0, "no tree has such a number");
        TreeId(tree.0 | PREFIX_TREES)
    }

    /// It names a unique prefix.
    pub fn is_prefix(&self) -> bool {
        self.tree.0 & PREFIX_TREES != 0
    }
}
