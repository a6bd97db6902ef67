//! Trees: descents, point operations, scans, and the splits and merges behind them.
//!
//! Latching: a descent couples shared latches from the root down (the child is latched before the parent is let
//! go) and latches the leaf shared or exclusively. A split or merge is an operation of its own: it couples down
//! to the parent, latches parent and child exclusively, changes them in one mini-transaction, and the caller
//! descends again. So no operation ever holds more than a parent, two children and the space map.

mod ahead;
mod append;
mod descend;
mod discard;
mod estimate;
mod late;
mod lookup;
mod merge;
mod modify;
mod present;
mod scan;
mod split;
mod split_place;
mod verify;

#[cfg(test)]
mod tests;

pub use ahead::Ahead;
pub use estimate::InMemory;
pub use late::apply_late;
pub use modify::{Decision, Edit, LeafContext};
pub use present::Leaves;
pub use scan::{Direction, LeafView, Position};
pub use verify::{TreeReport, VerifyError};

use crate::mtr::Mtr;
use crate::node::{self, NodeBuilder, NodeIdentity};
use crate::overflow;
use crate::redo::Change;
use crate::space::Space;
use crate::space_bits::Placement;
use buffer::Stop;
use pagestore::{PageFault, PageId, PageKind, TreeId, header};

/// A tree by its identity and its root, which never moves: when it is full its content moves down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tree {
    pub id: TreeId,
    pub root: PageId,
}

impl Tree {
    /// Plans an empty tree in the mini-transaction. The id is the caller's and never used again. Call
    /// `Mtr::reserve` before committing.
    pub fn create(mtr: &mut Mtr<'_>, space: &Space, id: TreeId) -> Result<Self, Stop> {
        let pages = space.allocate(mtr, Placement::Near(PageId(0)), 1)?;
        let root = pages[0];
        let identity = NodeIdentity { page: root, tree: id, level: 0 };
        let image = NodeBuilder::new(mtr.pool().page_bytes(), identity, &[]).finish();
        mtr.change(root, &Change::image_of(&image));
        Ok(Self { id, root })
    }
}

/// Whether the bytes of a page, intact by checksum, may be used. For `buffer::PoolOptions::check`.
pub fn check_page(page: &[u8]) -> Result<(), PageFault> {
    match header::kind(page) {
        Some(PageKind::Node) => node::check(page),
        Some(PageKind::Overflow) => overflow::check(page),
        Some(PageKind::SpaceMap) => Ok(()),
        Some(PageKind::Lost) => Err(PageFault::Lost),
        None => Err(PageFault::UnknownFormat),
    }
}
