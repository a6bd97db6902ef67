//! Bringing the late changes of a leaf into it.
//!
//! As many as fit go in one mini-transaction, in key order, and its group says up to which key. When the next one
//! does not fit the leaf is split first; the changes behind the separator follow their keys to the new leaf. Called
//! by `BufferPool::run` before it goes on with whoever has met such a leaf, and for the oldest changes.

use crate::mtr::Mtr;
use crate::node::{Node, SLOT_BYTES};
use crate::redo::Change;
use crate::space::Space;
use crate::tree::Tree;
use crate::tree::modify::{number, splice};
use crate::tree::split::{Room, Structure};
use buffer::{BufferPool, ExclusiveGuard, LateChange, Stop};
use pagestore::{CorruptPage, PageFault, PageId};
use wal::Priority;

/// A reader may need the changes: they must find room in the log when it is nearly full.
const PRIORITY: Priority = Priority::Reserve;

/// Applies the late changes of a page, if it has any. The page must be in memory.
pub fn apply_late(pool: &BufferPool, space: &Space, page: PageId) -> Result<(), Stop> {
    loop {
        let mut leaf = pool.write_late(page)?;
        if !leaf.is_late() {
            return Ok(());
        }
        let Some(late) = pool.late().of_page(page) else {
            // They were discarded with their tree, while the page was in memory.
            leaf.set_late(false);
            return Ok(());
        };
        let tree = Tree { id: late.tree, root: late.root };
        tree.check_place(&leaf, page, Some(0))?;
        let prefix = Node::new(&leaf).prefix();
        if late.changes.iter().any(|change| !change.key.starts_with(prefix)) {
            let fault = PageFault::Structure("a leaf has another prefix than its late changes");
            return Err(Stop::Corrupt(CorruptPage { page, fault }));
        }
        let step = plan(pool, leaf, &late.changes);
        let (key, value_len) = match step.rest {
            Some(next) => (&next.key, next.value.as_ref().map_or(0, |value| value.len())),
            None => return finish(pool, space, &tree, step),
        };
        if step.applies > 0 {
            finish(pool, space, &tree, step)?;
            continue;
        }
        drop(step);
        let latch = |page| {
            let leaf = pool.write_late(page)?;
            tree.check_place(&leaf, page, Some(0))?;
            Ok(leaf)
        };
        tree.make_room_in(Structure { pool, space, priority: PRIORITY }, Room { key, value_len }, latch)?;
    }
}

/// The changes that fit.
struct Step<'p, 'c> {
    mtr: Mtr<'p>,
    leaf: ExclusiveGuard<'p>,
    /// How many changes these are.
    applies: usize,
    /// The first that does not fit.
    rest: Option<&'c LateChange>,
    /// The last that does.
    last: Option<&'c LateChange>,
    is_sparse: bool,
}

/// Slots are counted as they are after the changes before, and room that deletions give is not used yet.
fn plan<'p, 'c>(pool: &'p BufferPool, leaf: ExclusiveGuard<'p>, changes: &'c [LateChange]) -> Step<'p, 'c> {
    let mut mtr = Mtr::begin_with(pool, PRIORITY);
    let (page, node) = (leaf.page_id(), Node::new(&leaf));
    let (mut free_bytes, mut inserted, mut deleted, mut applies) = (node.free_bytes(), 0, 0, 0usize);
    let (mut bytes_more, mut bytes_less) = (0, 0);
    for change in changes {
        let found = node.search(&change.key);
        let (Ok(slot) | Err(slot)) = found;
        let slot = slot + inserted - deleted;
        match (found, change.value.as_deref()) {
            (Ok(old), Some(value)) => {
                let old = node.value(old);
                let grows = value.len().saturating_sub(old.len());
                if grows > free_bytes {
                    break;
                }
                (free_bytes, bytes_more) = (free_bytes - grows, bytes_more + grows);
                if old != value {
                    mtr.plan(page, &splice(slot, old, value));
                }
            }
            (Err(_), Some(value)) => {
                let suffix = &change.key[node.prefix().len()..];
                let takes = SLOT_BYTES + suffix.len() + value.len();
                if takes > free_bytes {
                    break;
                }
                (free_bytes, bytes_more) = (free_bytes - takes, bytes_more + takes);
                mtr.plan(page, &Change::Insert { slot: number(slot), suffix, value });
                inserted += 1;
            }
            (Ok(old), None) => {
                mtr.plan(page, &Change::Delete { slot: number(slot) });
                bytes_less += node.entry_bytes(old);
                deleted += 1;
            }
            (Err(_), None) => {}
        }
        applies += 1;
    }
    debug_assert!(deleted <= node.count(), "only entries are deleted");
    debug_assert!(bytes_more <= node.free_bytes(), "what fits fits together");
    let is_sparse = bytes_less > bytes_more && node.is_sparse_without(bytes_less - bytes_more);
    let last = applies.checked_sub(1).map(|last| &changes[last]);
    Step { mtr, leaf, applies, rest: changes.get(applies), last, is_sparse }
}

fn finish(pool: &BufferPool, space: &Space, tree: &Tree, step: Step<'_, '_>) -> Result<(), Stop> {
    let Step { mut mtr, leaf, rest, last, is_sparse, .. } = step;
    let last = last.expect("a page is late for some change");
    debug_assert!(rest.is_none_or(|rest| last.key < rest.key), "late changes are in the order of their keys");
    mtr.late_applied(leaf.page_id(), rest.is_some().then_some(&*last.key));
    mtr.hold(leaf);
    mtr.finish_structure()?;
    if is_sparse {
        // The tree is right without it.
        let _ = tree.merge_at(pool, space, &last.key);
    }
    Ok(())
}
