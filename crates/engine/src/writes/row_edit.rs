//! A change of one row under its leaf's latch: what is there decides what is done.
use crate::engine::Engine;
use crate::log::log_record::{
    LogRecord, MARK_BYTES, NO_TRANSACTION, Operation, RECORD_OVERHEAD_BYTES, UNDO_BYTES,
};
use crate::row_table::{Attempt, Before, Prepared, RowName};
use crate::spill::RowPlace;
use crate::storage::record;
use crate::transactions::transaction_state::TransactionState;
use crate::{LockMode, TreeId};
use btree::{Decision, Edit, Extra, LeafContext};
use buffer::Stop;
use std::sync::Arc;

/// What a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Insert,
    Update,
    Delete,
}

/// How an attempt to write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Done,
    /// Another transaction has the row; this mode has to be waited for.
    Locked(LockMode),
    /// Another transaction protects the gap.
    Gap,
    Duplicate,
    Missing,
    /// See `Work::newest_allowed`.
    Changed,
    /// Not decided: a page of a spill is not in memory.
    Stopped,
}

/// What a write did to the page.
pub struct Change {
    pub(super) operation: Operation,
    pub(super) old_chain: Option<pagestore::PageId>,
}

/// The write of one record as the tree carries it out.
pub struct RowEdit<'a> {
    pub(super) engine: &'a Engine,
    pub(super) state: &'a Arc<TransactionState>,
    pub(super) tree: TreeId,
    pub(super) key: &'a [u8],
    /// The record to write.
    pub(super) record: &'a [u8],
    pub(super) kind: Kind,
    /// What the record is before, if the caller knows.
    pub(super) known: Option<Option<&'a [u8]>>,
    /// What the tree's mark becomes.
    pub(super) mark: Option<u128>,
    /// It was decided by that.
    pub(super) is_unseen: bool,
    pub(super) duplicate_lock: LockMode,
    pub(super) newest_allowed: u64,
    pub(super) sequence: u64,
    pub(super) announced: &'a mut Option<RowName>,
    pub(super) outcome: Written,
    /// Why it could not decide.
    pub(super) stop: Option<Stop>,
    pub(super) before_bytes: usize,
    /// An insert follows the commit that removed the key before.
    pub(super) seen_lsn: u64,
}

impl RowEdit<'_> {
    fn refuse(&mut self, outcome: Written) -> Decision {
        self.outcome = outcome;
        Decision::Keep
    }

    /// Locks the record that stands in the way of an insert, or the key whose record is missing.
    fn lock_and_refuse(&mut self, mode: LockMode, outcome: Written, leaf: LeafContext) -> Decision {
        match self.engine.try_lock_row(self.state, self.place(leaf), mode, self.newest_allowed) {
            Ok(Attempt::Granted { newest_lsn }) if newest_lsn > self.newest_allowed => {
                self.refuse(Written::Changed)
            }
            Ok(Attempt::Granted { .. }) => self.refuse(outcome),
            Ok(Attempt::Conflict) => self.refuse(Written::Locked(mode)),
            Err(stop) => self.stop(stop),
        }
    }

    /// Whether the row must not be changed any more: see `Work::newest_allowed`.
    fn has_changed(&self, leaf: LeafContext) -> Result<bool, Stop> {
        let limit = self.newest_allowed;
        Ok(limit != u64::MAX && self.engine.newest_commit(self.state, self.place(leaf), limit)? > limit)
    }

    fn stop(&mut self, stop: Stop) -> Decision {
        self.stop = Some(stop);
        self.refuse(Written::Stopped)
    }

    fn place(&self, leaf: LeafContext) -> RowPlace<'_> {
        RowPlace { tree: self.tree, key: self.key, page_lsn: leaf.page_lsn.0 }
    }
}

impl RowEdit<'_> {
    /// May run several times: announcing the same write again changes nothing.
    fn decide(&mut self, current: Option<&[u8]>, leaf: LeafContext) -> Decision {
        self.outcome = Written::Done;
        let is_live = record::is_live(current);
        match self.has_changed(leaf) {
            Ok(false) => {}
            Ok(true) => return self.refuse(Written::Changed),
            Err(stop) => return self.stop(stop),
        }
        match self.kind {
            Kind::Insert if is_live => {
                return self.lock_and_refuse(self.duplicate_lock, Written::Duplicate, leaf);
            }
            Kind::Insert if self.engine.locks.intervals.forbids_insert(self.state, self.tree, self.key) => {
                return self.refuse(Written::Gap);
            }
            Kind::Update | Kind::Delete if !is_live => {
                return self.lock_and_refuse(LockMode::Exclusive, Written::Missing, leaf);
            }
            Kind::Insert | Kind::Update | Kind::Delete => {}
        }
        let before = || match current {
            Some(bytes) if is_live => Before::Record(bytes.into()),
            _ => Before::Absent,
        };
        let moves = self.engine.rows.moves();
        if let Err(stop) = self.engine.show_moved_locks(self.state, self.place(leaf), LockMode::Exclusive) {
            return self.stop(stop);
        }
        let rows = &self.engine.rows;
        let deletes = self.kind == Kind::Delete;
        match rows.prepare_write(self.state, self.tree, self.key, self.sequence, moves, before, deletes) {
            Prepared::Moved => return self.stop(Stop::Restart),
            Prepared::Conflict => return self.refuse(Written::Locked(LockMode::Exclusive)),
            Prepared::Ready(name) => *self.announced = Some(name),
        }
        // Once more: whoever had the row may have committed after the first look.
        match self.has_changed(leaf) {
            Ok(false) => {}
            Ok(true) => return self.refuse(Written::Changed),
            Err(stop) => return self.stop(stop),
        }
        if self.kind == Kind::Insert && (current.is_some() || self.is_unseen) {
            self.seen_lsn = self.engine.newest_commit_bound(self.place(leaf));
        }
        self.before_bytes = current.map_or(0, <[u8]>::len);
        if current.is_some() { Decision::Update } else { Decision::Insert }
    }
}

impl Edit for RowEdit<'_> {
    type Output = Option<Change>;

    fn inspect(&mut self, current: Option<&[u8]>, leaf: LeafContext) -> Decision {
        self.is_unseen = false;
        self.decide(current, leaf)
    }

    fn may_be_late(&self) -> bool {
        self.known.is_some()
    }

    fn inspect_unseen(&mut self, leaf: LeafContext) -> Option<Decision> {
        let known = self.known?;
        self.is_unseen = true;
        Some(self.decide(known, leaf))
    }

    fn value(&self) -> &[u8] {
        self.record
    }

    fn extra_bytes(&self) -> usize {
        let mark_bytes = if self.mark.is_some() { MARK_BYTES + RECORD_OVERHEAD_BYTES } else { 0 };
        UNDO_BYTES + self.key.len() + self.before_bytes + RECORD_OVERHEAD_BYTES + mark_bytes
    }

    fn apply(&mut self, current: Option<&[u8]>, _leaf: LeafContext, extra: &mut Extra<'_>) -> Option<Change> {
        if self.outcome != Written::Done {
            return None;
        }
        let operation = match self.kind {
            Kind::Insert => Operation::Insert,
            Kind::Update => Operation::Update,
            Kind::Delete => Operation::Delete,
        };
        let current = if self.is_unseen { self.known.flatten() } else { current };
        let before = current.filter(|_| record::is_live(current)).unwrap_or_default();
        debug_assert!(self.announced.is_some(), "a change is announced before it is made");
        debug_assert_eq!(
            self.kind == Kind::Insert,
            before.is_empty(),
            "only an insert has nothing to put back"
        );
        debug_assert!(before.len() <= self.before_bytes, "the log has room for the undo record");
        let (sequence, tree, key) = (self.sequence, self.tree, self.key);
        self.state.begin_step();
        let undo = LogRecord::Undo { operation, sequence, tree, key, before };
        extra.log_with(undo.kind(), self.state.id.0, |bytes| undo.encode(bytes));
        if let Some(mark) = self.mark {
            let record = LogRecord::Mark { tree, mark };
            extra.log_with(record.kind(), NO_TRANSACTION.0, |bytes| record.encode(bytes));
        }
        Some(Change { operation, old_chain: record::stub_of(before).map(|stub| stub.first) })
    }
}
