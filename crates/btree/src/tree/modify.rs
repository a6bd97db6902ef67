//! Point changes: insert, update and delete by key.
//!
//! The leaf is latched exclusively from the moment the caller decides until the mini-transaction commits. When the
//! leaf has no room, the latch is given up for a split and the caller is asked again, so `inspect` must not have
//! side effects; they belong into `apply`, after which only the log as a whole can fail.

use crate::mtr::{Extra, Mtr};
use crate::node::{Node, SLOT_BYTES, entry_bytes_max};
use crate::redo::Change;
use crate::space::Space;
use crate::tree::Tree;
use buffer::{ExclusiveGuard, Stop};
use pagestore::{CorruptPage, PageFault, PageId};
use wal::Lsn;

/// A log record's framing and a page change's own fields, generously.
const RECORD_OVERHEAD_BYTES: usize = 64;

/// What to do with the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing changes in the tree.
    Keep,
    /// The key is not there and gets `Edit::value`.
    Insert,
    /// The key is there and its value becomes `Edit::value`.
    Update,
    /// The key is there and goes.
    Delete,
}

/// Where the key is or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafContext {
    pub page: PageId,
    /// Before the change.
    pub page_lsn: Lsn,
}

/// One change of one key, in two steps under the leaf's exclusive latch.
pub trait Edit {
    type Output;

    /// Decides. It may be called several times and must have no side effects.
    fn inspect(&mut self, current: Option<&[u8]>, leaf: LeafContext) -> Decision;

    /// The new value, after the decision was `Insert` or `Update`. Together with the key it is at most
    /// `entry_bytes_max` (see `inline_value_max`).
    fn value(&self) -> &[u8];

    /// The most payload bytes that `apply` will log, with 16 bytes for each record.
    fn extra_bytes(&self) -> usize;

    /// Called once, right before `modify` returns Ok, also for `Keep`: the change is certain. `current` is the
    /// value before it.
    fn apply(&mut self, current: Option<&[u8]>, leaf: LeafContext, extra: &mut Extra<'_>) -> Self::Output;
}

/// Why the first attempt did not do.
enum Attempt<T> {
    Done(T),
    /// The leaf cannot take a value of this length.
    NoRoom(usize),
}

impl Tree {
    /// Changes one key in `mtr`, which must be fresh. After Ok the caller commits (or, when nothing was logged,
    /// may drop) it at once: the leaf stays latched until then. After `Stop` the mini-transaction is dropped.
    pub fn modify<E: Edit>(
        &self,
        space: &Space,
        mtr: &mut Mtr<'_>,
        key: &[u8],
        edit: &mut E,
    ) -> Result<E::Output, Stop> {
        assert!(mtr.is_empty(), "one mini-transaction changes one key");
        loop {
            match self.try_modify(mtr, key, edit)? {
                Attempt::Done(output) => return Ok(output),
                Attempt::NoRoom(value_len) => {
                    self.make_room(mtr.pool(), space, mtr.priority(), key, value_len)?;
                }
            }
        }
    }

    fn try_modify<E: Edit>(
        &self,
        mtr: &mut Mtr<'_>,
        key: &[u8],
        edit: &mut E,
    ) -> Result<Attempt<E::Output>, Stop> {
        let leaf = self.leaf_exclusive(mtr.pool(), key)?;
        let node = Node::new(&leaf);
        if !key.starts_with(node.prefix()) {
            let fault = PageFault::Structure("a leaf has another prefix than the keys that lead to it");
            return Err(Stop::Corrupt(CorruptPage { page: leaf.page_id(), fault }));
        }
        let found = node.search(key);
        let current = found.ok().map(|slot| node.value(slot));
        let context = LeafContext { page: leaf.page_id(), page_lsn: leaf.page_lsn() };
        let decision = edit.inspect(current, context);
        match decision {
            Decision::Keep | Decision::Delete => {}
            Decision::Insert | Decision::Update => {
                let value_len = edit.value().len();
                let entry_len = SLOT_BYTES + key.len() + value_len;
                let page_size = mtr.pool().store().page_size();
                assert!(entry_len <= entry_bytes_max(page_size), "an entry of {entry_len} bytes is too long");
                if !has_room_at(node, found, key, value_len) {
                    return Ok(Attempt::NoRoom(value_len));
                }
            }
        }
        plan(mtr, &leaf, key, found, decision, edit);
        let extra_bytes = edit.extra_bytes();
        if decision != Decision::Keep || extra_bytes > 0 {
            mtr.reserve(extra_bytes + RECORD_OVERHEAD_BYTES)?;
        }
        let output = edit.apply(current, context, &mut mtr.extra());
        if decision != Decision::Keep {
            let deleted = found.ok().filter(|_| decision == Decision::Delete && leaf.page_id() != self.root);
            mtr.set_sparse(deleted.is_some_and(|slot| node.is_sparse_without(node.entry_bytes(slot))));
            mtr.hold(leaf);
        }
        Ok(Attempt::Done(output))
    }
}

/// Whether the leaf takes the key with a value of this length, instead of the present one if there is one.
pub(super) fn has_room(node: Node<'_>, key: &[u8], value_len: usize) -> bool {
    has_room_at(node, node.search(key), key, value_len)
}

fn has_room_at(node: Node<'_>, found: Result<usize, usize>, key: &[u8], value_len: usize) -> bool {
    match found {
        Ok(slot) => value_len <= node.value(slot).len() + node.free_bytes(),
        Err(_) => SLOT_BYTES + key.len() - node.prefix().len() + value_len <= node.free_bytes(),
    }
}

/// Plans the page change that the decision asks for.
fn plan<E: Edit>(
    mtr: &mut Mtr<'_>,
    leaf: &ExclusiveGuard<'_>,
    key: &[u8],
    found: Result<usize, usize>,
    decision: Decision,
    edit: &E,
) {
    let node = Node::new(leaf);
    let number = |slot: usize| u16::try_from(slot).expect("a page has fewer than 65,536 slots");
    let change = match (decision, found) {
        (Decision::Keep, _) => return,
        (Decision::Insert, Err(slot)) => {
            let suffix = key.strip_prefix(node.prefix()).expect("keys share the prefix of their leaf");
            Change::Insert { slot: number(slot), suffix, value: edit.value() }
        }
        (Decision::Update, Ok(slot)) => {
            let (old, new) = (node.value(slot), edit.value());
            let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
            let rest = old.len().min(new.len()) - start;
            let ends = old.iter().rev().zip(new.iter().rev()).take(rest);
            let end = ends.take_while(|(old, new)| old == new).count();
            let middle = &new[start..new.len() - end];
            Change::Splice { slot: number(slot), keep_start: number(start), keep_end: number(end), middle }
        }
        (Decision::Delete, Ok(slot)) => Change::Delete { slot: number(slot) },
        (Decision::Insert, Ok(_)) => panic!("an insert was decided for a key that is there"),
        (Decision::Update | Decision::Delete, Err(_)) => panic!("a change was decided for an absent key"),
    };
    mtr.plan(leaf.page_id(), &change);
}
