//! Ghosts that may be removed from their leaves.
//!
//! A ghost stays in its leaf while a version of its row may be visible. It is removed by pruning, or here
//! after a scan came by: the leaf is in memory then. Losing an entry is harmless, the next scan finds it.

use crate::EngineError;
use crate::engine::Engine;
use crate::row_table::RowName;
use crate::spill::RowPlace;
use crate::storage::record;
use btree::{Decision, Edit, Extra, LeafContext, Mtr};
use buffer::Stop;
use parking_lot::Mutex;
use wal::Priority;

const GHOSTS_MAX: usize = 4096;

#[derive(Default)]
pub(crate) struct GhostQueue {
    names: Mutex<Vec<RowName>>,
}

impl GhostQueue {
    /// Remembers a ghost, unless there are enough.
    pub fn offer(&self, name: &RowName) {
        debug_assert!(!name.is_prefix(), "a prefix has no record");
        let mut names = self.names.lock();
        if names.len() < GHOSTS_MAX {
            names.push(name.clone());
        }
    }

    pub fn take(&self, count: usize) -> Vec<RowName> {
        let mut names = self.names.lock();
        let kept = names.len().saturating_sub(count);
        names.drain(kept..).collect()
    }
}

impl Engine {
    /// Removes a ghost if nobody needs it, wherever its leaf is.
    pub(crate) async fn remove_ghost_in_time(&self, name: &RowName) -> Result<(), EngineError> {
        let Ok(tree) = self.tree(name.tree) else { return Ok(()) };
        let mut edit = GhostEdit { engine: self, name };
        self.modify(&tree, &name.key, &mut edit, Priority::Normal).await
    }

    /// Removes a ghost if its leaf is in memory and nobody needs it. Never waits.
    pub(crate) fn remove_ghost(&self, name: &RowName) {
        let Ok(tree) = self.tree(name.tree) else { return };
        for _ in 0..3 {
            let mut mtr = Mtr::begin(&self.pool);
            let mut edit = GhostEdit { engine: self, name };
            match tree.modify(&self.space, &mut mtr, &name.key, &mut edit) {
                Ok(()) => {
                    let is_sparse = mtr.is_sparse();
                    if let Err(error) = mtr.commit() {
                        self.log_failed(&error);
                    } else if is_sparse {
                        self.merge(&tree, &name.key);
                    }
                    return;
                }
                Err(Stop::Restart) => {}
                Err(_) => return,
            }
        }
    }
}

struct GhostEdit<'a> {
    engine: &'a Engine,
    name: &'a RowName,
}

impl Edit for GhostEdit<'_> {
    type Output = ();

    fn inspect(&mut self, current: Option<&[u8]>, leaf: LeafContext) -> Decision {
        let is_ghost = current.is_some() && !record::is_live(current);
        let row = RowPlace { tree: self.name.tree, key: &self.name.key, page_lsn: leaf.page_lsn.0 };
        let needed = self.engine.has_versions(row);
        if is_ghost && !needed { Decision::Delete } else { Decision::Keep }
    }

    /// A ghost that waits for its leaf goes like one in a leaf.
    fn may_be_late(&self) -> bool {
        true
    }

    fn value(&self) -> &[u8] {
        &[]
    }

    fn extra_bytes(&self) -> usize {
        0
    }

    fn apply(&mut self, _current: Option<&[u8]>, _leaf: LeafContext, _extra: &mut Extra<'_>) {}
}
