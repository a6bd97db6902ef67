//! What becomes of rows whose before-images cannot be read any more: the leaves that hold them are marked as lost.
//!
//! Invariant: what a transaction has changed and cannot undo is never read as if it were committed. A damaged page of a
//! spill stands for a range of entries, so for the rows of a range of keys. A row that the transaction has changed is
//! still in its leaf, as a ghost perhaps; so the leaves without keys of that range have nothing to do with it.

use super::Spill;
use super::entry::{self, row_prefix};
use crate::engine::Engine;
use crate::{EngineError, TreeId};
use btree::{Direction, Mtr, Position, Tree, lost};
use std::ops::ControlFlow;
use wal::Priority;

/// The bytes of an entry's key before the row's key.
const PREFIX_BYTES: usize = 10;

/// Entries that cannot be read: from `lower` (inclusive) to `upper` (exclusive), `None` for no bound.
pub(super) struct LostEntries<'a> {
    pub lower: Option<&'a [u8]>,
    pub upper: Option<&'a [u8]>,
}

impl LostEntries<'_> {
    /// Whether entries of the row may be among them.
    fn may_have(&self, tree: TreeId, key: &[u8]) -> bool {
        let first = entry::entry_key(tree, key, 0);
        let last = entry::entry_key(tree, key, u64::MAX);
        self.lower.is_none_or(|lower| *last >= *lower) && self.upper.is_none_or(|upper| *first < *upper)
    }

    fn may_have_tree(&self, tree: TreeId) -> bool {
        let (first, end) = (row_prefix(tree, &[]), row_prefix(TreeId(tree.0 + 1), &[]));
        self.lower.is_none_or(|lower| *end > *lower) && self.upper.is_none_or(|upper| *first < *upper)
    }

    /// The lowest and the highest key of the rows, if all of them are of one tree and their keys of one length.
    fn key_bounds(&self) -> Option<(&[u8], &[u8])> {
        let (prefix, lower) = self.lower?.split_at_checked(PREFIX_BYTES)?;
        let upper = self.upper?.strip_prefix(prefix)?;
        let length = usize::from(u16::from_be_bytes(prefix.last_chunk().copied()?));
        Some((&lower[..length.min(lower.len())], &upper[..length.min(upper.len())]))
    }
}

impl Engine {
    /// Gives up the rows whose entries cannot be read.
    pub(super) async fn lose_rows(&self, spill: &Spill, entries: LostEntries<'_>) -> Result<(), EngineError> {
        debug_assert!(
            entries.lower.zip(entries.upper).is_none_or(|(lower, upper)| lower <= upper),
            "the bounds of what is lost are in order"
        );
        for tree in spill.trees_expected().into_iter().filter(|tree| entries.may_have_tree(*tree)) {
            // A tree that is gone has no rows.
            if let Ok(handle) = self.tree(tree) {
                self.lose_rows_of(&handle, &entries).await?;
            }
        }
        Ok(())
    }

    async fn lose_rows_of(&self, tree: &Tree, entries: &LostEntries<'_>) -> Result<(), EngineError> {
        let id = TreeId(tree.id.0);
        let bounds = entries.key_bounds();
        let mut position = bounds.map_or_else(Position::start, |(lower, _)| Position::at(lower));
        while !position.is_end() {
            let mut next = Position::start();
            let found = self.pool.run(|| {
                tree.scan(&self.pool, &position, Direction::Forward, &mut next, |leaf| {
                    let found = leaf.for_each(|key, _| {
                        if bounds.is_some_and(|(_, upper)| key > upper && !key.starts_with(upper)) {
                            return ControlFlow::Break(None);
                        }
                        match entries.may_have(id, key) {
                            true => ControlFlow::Break(Some(key.to_vec())),
                            false => ControlFlow::Continue(()),
                        }
                    });
                    found.break_value()
                })
            });
            match found.await.map_err(|error| self.tree_error(tree, error)) {
                // The same place again: it will be found lost, unless the leaf was split meanwhile.
                Ok(Some(Some(key))) => self.lose_leaf(tree, &key).await?,
                Ok(Some(None)) => return Ok(()),
                Ok(None) => position = next,
                Err(EngineError::CorruptPage { corrupt, .. }) => {
                    self.lose_page(&corrupt).await?;
                    position = next;
                }
                Err(error) => return Err(error),
            }
            env::yield_now().await;
        }
        Ok(())
    }

    async fn lose_leaf(&self, tree: &Tree, key: &[u8]) -> Result<(), EngineError> {
        let lost = self.pool.run(|| {
            let mut mtr = Mtr::begin_with(&self.pool, Priority::Reserve);
            lost::give_up_leaf(&mut mtr, tree, key)?;
            mtr.reserve(0)?;
            Ok(mtr.commit())
        });
        match lost.await.map_err(|error| self.tree_error(tree, error)) {
            Ok(committed) => committed.map(drop).map_err(|error| self.log_failed(&error)),
            Err(EngineError::CorruptPage { corrupt, .. }) => self.lose_page(&corrupt).await,
            Err(error) => Err(error),
        }
    }
}
