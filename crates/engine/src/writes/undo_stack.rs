//! A transaction's undo stack: its changes that are in memory, oldest first.
//!
//! Invariant: numbers grow and are never used again, also after a rollback to a savepoint. The changes below
//! `spilled_through` are in the transaction's spill (`spill`), except those that do not fit there, which stay apart in
//! `kept`. Changed by the owner alone, read by the checkpoint; `transaction_state` keeps it under a mutex.

use crate::TreeId;
use crate::log::log_record::Operation;
use crate::row_table::RowName;
use pagestore::PageId;
use std::collections::{HashSet, VecDeque};

/// What a change of a row takes in memory besides its key and image, generously: its entry in the row table with a
/// version and an explicit lock, its place on the undo stack and in the list of locks.
const ITEM_MEMORY_BYTES: usize = 360;

/// One change.
#[derive(Clone)]
pub(crate) enum UndoItem {
    Row {
        name: RowName,
        operation: Operation,
        /// The overflow chain of the record before, to be freed when nobody sees it any more.
        old_chain: Option<PageId>,
    },
    /// A new tree.
    Tree { tree: TreeId, root: PageId },
    /// A new overflow chain.
    Chain(PageId),
    /// A tree to drop at commit. Not in the log, since there is nothing to undo.
    DropTree(TreeId),
}

impl UndoItem {
    /// Trees are few, and what becomes of them is decided with the transaction.
    pub fn may_spill(&self) -> bool {
        matches!(self, UndoItem::Row { .. } | UndoItem::Chain(_))
    }

    /// Where it is undone.
    pub fn tree(&self) -> Option<TreeId> {
        match self {
            UndoItem::Row { name, .. } => Some(name.tree),
            UndoItem::Tree { tree, .. } | UndoItem::DropTree(tree) => Some(*tree),
            UndoItem::Chain(_) => None,
        }
    }

    pub fn row(&self) -> Option<&RowName> {
        match self {
            UndoItem::Row { name, .. } => Some(name),
            UndoItem::Tree { .. } | UndoItem::Chain(_) | UndoItem::DropTree(_) => None,
        }
    }
}

/// A change and its number within the transaction.
#[derive(Clone)]
pub(crate) struct NumberedItem {
    pub sequence: u64,
    pub item: UndoItem,
    /// What it takes in the log.
    log_bytes: u32,
}

impl NumberedItem {
    fn memory_bytes(&self) -> u64 {
        u64::from(self.log_bytes) + ITEM_MEMORY_BYTES as u64
    }
}

#[derive(Default)]
pub(crate) struct UndoStack {
    /// Changes below `spilled_through` that are not in the spill.
    kept: Vec<NumberedItem>,
    items: VecDeque<NumberedItem>,
    next_sequence: u64,
    /// Of `items`.
    memory_bytes: u64,
    /// Changes from here on have never been spilled.
    spilled_through: u64,
    /// Changes below this number may have an entry in the spill, although they are here: a batch was cut off.
    entries_through: u64,
    spilled_count: u64,
    /// The log is one record ahead of the stack, for an instant.
    pub in_step: bool,
}

impl UndoStack {
    pub fn len(&self) -> u64 {
        self.spilled_count + (self.kept.len() + self.items.len()) as u64
    }

    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    pub fn spilled_through(&self) -> u64 {
        self.spilled_through
    }

    pub fn entries_through(&self) -> u64 {
        self.entries_through
    }

    /// Some change may be here and in the spill.
    pub fn has_cut_off_batch(&self) -> bool {
        self.items.front().is_some_and(|change| change.sequence < self.entries_through)
    }

    pub fn replaces_more_chains_than(&self, count: usize) -> bool {
        let replaces =
            |change: &&NumberedItem| matches!(change.item, UndoItem::Row { old_chain: Some(_), .. });
        self.kept.len() + self.items.len() > count && self.iter().filter(replaces).count() > count
    }

    /// All changes that are in memory, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &NumberedItem> {
        self.kept.iter().chain(&self.items)
    }

    /// The changes that may be spilled.
    pub fn items(&self) -> impl Iterator<Item = &NumberedItem> {
        self.items.iter()
    }

    pub fn kept(&self) -> &[NumberedItem] {
        &self.kept
    }

    pub fn kept_rows(&self) -> HashSet<RowName> {
        self.kept.iter().filter_map(|change| change.item.row().cloned()).collect()
    }

    pub fn push(&mut self, item: UndoItem, log_bytes: usize) {
        self.adopt(self.next_sequence, item, log_bytes);
    }

    /// Adds a change of an earlier life, whose number is higher than those before.
    pub fn adopt(&mut self, sequence: u64, item: UndoItem, log_bytes: usize) {
        let log_bytes = u32::try_from(log_bytes).expect("an undo record fits into a page");
        self.push_numbered(NumberedItem { sequence, item, log_bytes });
    }

    fn push_numbered(&mut self, item: NumberedItem) {
        debug_assert!(
            self.items.back().or(self.kept.last()).is_none_or(|newest| newest.sequence < item.sequence),
            "numbers grow"
        );
        self.next_sequence = self.next_sequence.max(item.sequence + 1);
        self.memory_bytes += item.memory_bytes();
        self.items.push_back(item);
        self.in_step = false;
    }

    /// The chain with this number begins at `first`; it is the newest item, or comes back from the spill.
    pub fn set_chain(&mut self, sequence: u64, first: PageId) {
        self.in_step = false;
        match self.items.back_mut() {
            Some(newest) if newest.sequence == sequence => newest.item = UndoItem::Chain(first),
            newest => {
                assert!(newest.is_none_or(|newest| newest.sequence < sequence), "chains are set in order");
                self.push_numbered(NumberedItem { sequence, item: UndoItem::Chain(first), log_bytes: 0 });
            }
        }
    }

    pub fn newest(&self) -> Option<(u64, UndoItem)> {
        let newest = self.items.back().or(self.kept.last())?;
        Some((newest.sequence, newest.item.clone()))
    }

    /// Takes the newest item off; answers what it took in the log.
    pub fn pop(&mut self) -> u64 {
        self.in_step = false;
        debug_assert!(
            !self.items.is_empty() || !self.kept.is_empty(),
            "the caller has seen the newest change"
        );
        let Some(popped) = self.items.pop_back() else {
            return self.kept.pop().map_or(0, |popped| u64::from(popped.log_bytes));
        };
        self.memory_bytes -= popped.memory_bytes();
        self.check();
        u64::from(popped.log_bytes)
    }

    /// What holds between two calls.
    fn check(&self) {
        debug_assert!(!self.items.is_empty() || self.memory_bytes == 0, "the bytes are those of the changes");
        debug_assert!(
            self.items.front().zip(self.kept.last()).is_none_or(|(item, kept)| kept.sequence < item.sequence),
            "what is set apart is older"
        );
    }
    /// Entries for everything here may be in the spill from now on.
    pub fn expect_entries(&mut self) {
        self.entries_through = self.next_sequence;
    }

    /// Takes up to `count` of the oldest items below `through` that are in the spill now; sets the others apart.
    pub fn take_spilled(&mut self, through: u64, count: usize, unfit: &HashSet<u64>) -> Vec<NumberedItem> {
        let mut taken = Vec::new();
        while taken.len() < count
            && self.items.front().is_some_and(|item| item.sequence < through)
            && let Some(item) = self.items.pop_front()
        {
            self.memory_bytes -= item.memory_bytes();
            self.spilled_through = item.sequence + 1;
            if item.item.may_spill() && !unfit.contains(&item.sequence) {
                taken.push(item);
            } else {
                debug_assert!(
                    self.kept.last().is_none_or(|last| last.sequence < item.sequence),
                    "what is set apart keeps its order"
                );
                self.kept.push(item);
            }
        }
        self.spilled_count += taken.len() as u64;
        self.check();
        taken
    }

    /// At start-up: any change may be in the spill, also those that are in the log besides.
    pub fn adopt_spill(&mut self) {
        self.spilled_through = u64::MAX;
        self.entries_through = u64::MAX;
    }

    /// Everything from `first` on that was spilled is undone.
    pub fn spill_undone(&mut self, first: u64) {
        debug_assert!(
            self.items.back().is_none_or(|newest| newest.sequence < first),
            "what is newer is undone before"
        );
        self.spilled_through = self.spilled_through.min(first);
        self.spilled_count = self.spilled_count.min(first);
    }
}
