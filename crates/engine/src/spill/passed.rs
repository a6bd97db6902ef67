//! What somebody who looks a row up has learned of spills already.
//!
//! A look-up asks every spill that may have the row, at once: it starts from the beginning when a page is missing. So a
//! reader behind whose snapshot many large transactions have ended would need more pages in memory together than there may be
//! frames, and never come to an end. But what has committed changes no more: a spill without a change of the row is passed by
//! when the look-up starts again, and few pages at a time are enough, however many spills there are.
//!
//! Invariant: only spills of committed transactions are in here, and only while the same row is looked up. Kept by `read::View` for
//! readers, and by the transaction for what locks; filled by `lookup`.

use super::{RowPlace, Spill};
use crate::TreeId;
use crate::row_table::RowName;
use parking_lot::Mutex;
use std::collections::BTreeSet;

#[derive(Default)]
pub(crate) struct PassedSpills {
    /// A leaf lock.
    passed: Mutex<Passed>,
}

#[derive(Default)]
struct Passed {
    row: Option<RowName>,
    /// By their own trees.
    spills: BTreeSet<TreeId>,
}

impl PassedSpills {
    /// Whether the spill is known to have no change of the row.
    pub(super) fn has(&self, row: RowPlace<'_>, spill: &Spill) -> bool {
        let passed = self.passed.lock();
        passed.is_about(row) && passed.spills.contains(&spill.id())
    }

    /// These spills have no change of the row, and their transactions had committed before somebody looked.
    pub(super) fn add(&self, row: RowPlace<'_>, spills: impl Iterator<Item = TreeId>) {
        let mut passed = self.passed.lock();
        if !passed.is_about(row) {
            passed.row = Some(RowName { tree: row.tree, key: row.key.into() });
            passed.spills.clear();
        }
        passed.spills.extend(spills);
    }
}

impl Passed {
    fn is_about(&self, row: RowPlace<'_>) -> bool {
        self.row.as_ref().is_some_and(|name| name.tree == row.tree && *name.key == *row.key)
    }
}
