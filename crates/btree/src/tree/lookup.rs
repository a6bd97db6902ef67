//! Point reads.

use crate::node::Node;
use crate::tree::Tree;
use buffer::{BufferPool, Stop};
use wal::Lsn;

impl Tree {
    /// Calls `read` with the value under the leaf's shared latch, and with the leaf's LSN, by which the layer above
    /// can tell that nobody has changed the leaf since. Allocates nothing.
    pub fn lookup<R>(
        &self,
        pool: &BufferPool,
        key: &[u8],
        read: impl FnOnce(Option<&[u8]>, Lsn) -> R,
    ) -> Result<R, Stop> {
        let leaf = self.leaf_shared(pool, key)?;
        let node = Node::new(&leaf);
        let value = node.search(key).ok().map(|slot| node.value(slot));
        Ok(read(value, leaf.page_lsn()))
    }
}
