//! Names of rows and how the hash finds one without an allocation.

use crate::TreeId;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A row's name; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowName {
    pub tree: TreeId,
    pub key: Arc<[u8]>,
}

/// Numbers that no tree has.
const PREFIX_TREES: u64 = 1 << 63;

impl RowName {
    /// The name of a unique prefix as a lock of its own, apart from any row with such a key.
    pub fn prefix_tree(tree: TreeId) -> TreeId {
        TreeId(tree.0 | PREFIX_TREES)
    }

    /// It names a unique prefix.
    pub fn is_prefix(&self) -> bool {
        self.tree.0 & PREFIX_TREES != 0
    }
}

/// Both forms of a name look alike to the hash through this trait.
pub(super) trait NameParts {
    fn parts(&self) -> (TreeId, &[u8]);
}

/// A borrowed name for look-ups.
pub(super) struct NameRef<'a> {
    pub tree: TreeId,
    pub key: &'a [u8],
}

impl NameParts for NameRef<'_> {
    fn parts(&self) -> (TreeId, &[u8]) {
        (self.tree, self.key)
    }
}

impl NameParts for RowName {
    fn parts(&self) -> (TreeId, &[u8]) {
        (self.tree, &self.key)
    }
}

impl<'a> Borrow<dyn NameParts + 'a> for RowName {
    fn borrow(&self) -> &(dyn NameParts + 'a) {
        self
    }
}

impl Hash for dyn NameParts + '_ {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.parts().hash(hasher);
    }
}

impl PartialEq for dyn NameParts + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn NameParts + '_ {}

/// Must agree with the hash of `dyn NameParts`, as `Borrow` demands.
impl Hash for RowName {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.parts().hash(hasher);
    }
}
