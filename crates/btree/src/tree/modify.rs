//! Point changes: insert, update and delete by key.
//!
//! The leaf is latched exclusively from the moment the caller decides until the mini-transaction commits. When the
//! leaf has no room, the latch is given up for a split and the caller is asked again, so `inspect` must not have
//! side effects; they belong into `apply`, after which only the log as a whole can fail.
//!
//! An edit that can do without the record's present value may be made late, when the leaf would have to be read: then
//! it is logged as such and waits for the leaf (`late`).

use crate::mtr::{Extra, Mtr};
use crate::node::{Node, SLOT_BYTES, entry_bytes_max};
use crate::redo::Change;
use crate::space::Space;
use crate::tree::Tree;
use crate::tree::descend::Leaf;
use buffer::{AbsentPage, Stop};
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
    /// Before the change; of a leaf that is not in memory the highest number there is.
    pub page_lsn: Lsn,
}

/// The LSN of a leaf that nobody has looked at.
const UNKNOWN_LSN: Lsn = Lsn(u64::MAX);

/// One change of one key, in two steps under the leaf's exclusive latch.
pub trait Edit {
    type Output;

    /// Decides. It may be called several times and must have no side effects.
    fn inspect(&mut self, current: Option<&[u8]>, leaf: LeafContext) -> Decision;

    /// Whether the change may be made late. Then `inspect` is called with what an earlier late change has made of the
    /// record, or else `inspect_unseen`, while nobody can load the leaf.
    fn may_be_late(&self) -> bool {
        false
    }

    /// Decides without the record; `None`: the leaf has to be read. `Insert` and `Update` mean the same here, and
    /// `Delete` is right for a record that is not there.
    fn inspect_unseen(&mut self, _leaf: LeafContext) -> Option<Decision> {
        None
    }

    /// The new value, after the decision was `Insert` or `Update`. Together with the key it is at most
    /// `entry_bytes_max` (see `inline_value_max`).
    fn value(&self) -> &[u8];

    /// The most payload bytes that `apply` will log, with 16 bytes for each record.
    fn extra_bytes(&self) -> usize;

    /// Called once, right before `modify` returns Ok, also for `Keep`: the change is certain. `current` is the
    /// value before it, and `None` after `inspect_unseen`.
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
        let leaf = if edit.may_be_late() {
            match self.leaf_or_absent(mtr.pool(), key)? {
                Leaf::Present(leaf) => leaf,
                Leaf::Absent(absent) => return self.modify_late(mtr, key, edit, absent).map(Attempt::Done),
            }
        } else {
            self.leaf_exclusive(mtr.pool(), key)?
        };
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
        debug_assert!(found.is_err() || current.is_some(), "a key that is found has a value");
        if let Some(change) = planned(node, key, found, decision, edit) {
            mtr.plan(leaf.page_id(), &change);
        }
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

    fn modify_late<'p, E: Edit>(
        &self,
        mtr: &mut Mtr<'p>,
        key: &[u8],
        edit: &mut E,
        absent: AbsentPage<'p>,
    ) -> Result<E::Output, Stop> {
        let context = LeafContext { page: absent.page(), page_lsn: UNKNOWN_LSN };
        let known = absent.find(key).map(|change| change.value.clone());
        let current = known.as_ref().and_then(|value| value.as_deref());
        let decision = match &known {
            Some(_) => edit.inspect(current, context),
            None => edit.inspect_unseen(context).ok_or(Stop::Miss(absent.page()))?,
        };
        let value = match decision {
            Decision::Keep => return Ok(edit.apply(current, context, &mut mtr.extra())),
            Decision::Insert | Decision::Update => Some(edit.value()),
            Decision::Delete => None,
        };
        let value_len = value.map_or(0, <[u8]>::len);
        let entry_len = SLOT_BYTES + key.len() + value_len;
        assert!(
            entry_len <= entry_bytes_max(mtr.pool().store().page_size()),
            "{entry_len} bytes are too long"
        );
        if !absent.has_room(key.len() + value_len) {
            return Err(Stop::Miss(absent.page()));
        }
        debug_assert!(self.root != absent.page(), "a root is read, not changed late");
        mtr.change_late(absent, (self.id, self.root), key, value);
        mtr.reserve(edit.extra_bytes() + RECORD_OVERHEAD_BYTES)?;
        Ok(edit.apply(current, context, &mut mtr.extra()))
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

/// The page change that the decision asks for.
fn planned<'e, E: Edit>(
    node: Node<'_>,
    key: &'e [u8],
    found: Result<usize, usize>,
    decision: Decision,
    edit: &'e E,
) -> Option<Change<'e>> {
    Some(match (decision, found) {
        (Decision::Keep, _) => return None,
        (Decision::Insert, Err(slot)) => {
            let suffix = key.get(node.prefix().len()..).expect("keys share the prefix of their leaf");
            Change::Insert { slot: number(slot), suffix, value: edit.value() }
        }
        (Decision::Update, Ok(slot)) => splice(slot, node.value(slot), edit.value()),
        (Decision::Delete, Ok(slot)) => Change::Delete { slot: number(slot) },
        (Decision::Insert, Ok(_)) => panic!("an insert was decided for a key that is there"),
        (Decision::Update | Decision::Delete, Err(_)) => panic!("a change was decided for an absent key"),
    })
}

/// The change from one value to another.
pub(super) fn splice<'v>(slot: usize, old: &[u8], new: &'v [u8]) -> Change<'v> {
    let start = common_start(old, new);
    let end = common_end(&old[start..], &new[start..]);
    debug_assert!(start + end <= old.len().min(new.len()), "the kept parts do not overlap");
    let middle = &new[start..new.len() - end];
    Change::Splice { slot: number(slot), keep_start: number(start), keep_end: number(end), middle }
}

/// How many bytes both begin with alike: eight at a time, for rows are compared whole.
fn common_start(left: &[u8], right: &[u8]) -> usize {
    let (words, _) = left.as_chunks::<8>();
    let alike = 8 * words.iter().zip(right.as_chunks().0).take_while(|(left, right)| left == right).count();
    let rest = left[alike..].iter().zip(&right[alike..]);
    alike + rest.take_while(|(left, right)| left == right).count()
}

/// The same for their ends.
fn common_end(left: &[u8], right: &[u8]) -> usize {
    let (_, words) = left.as_rchunks::<8>();
    let words = words.iter().rev().zip(right.as_rchunks().1.iter().rev());
    let alike = 8 * words.take_while(|(left, right)| left == right).count();
    let rest = left[..left.len() - alike].iter().rev().zip(right[..right.len() - alike].iter().rev());
    alike + rest.take_while(|(left, right)| left == right).count()
}

pub(super) fn number(slot: usize) -> u16 {
    u16::try_from(slot).expect("numbers within a page fit into 16 bits")
}
