//! Whether bytes are a node that may be used: run on every page that comes from disk.
//!
//! After it no offset leads outside the page, so the rest of the code needs no second look. Keys in the wrong
//! order are found too; what needs other pages to be judged is left to `verify`.

use super::layout::*;
use super::read::Node;
use pagestore::{PAGE_ID_MAX, PageFault, PageId, PageSize, header};
use std::ops::Range;

/// Checks everything that the node's own bytes can tell.
pub fn check(page: &[u8]) -> Result<(), PageFault> {
    if PageSize::from_bytes(page.len() as u64).is_none() {
        return fault("no page has this length");
    }
    let (count, heap_start) = (u16_at(page, COUNT), u16_at(page, HEAP_START));
    let (dead, prefix_len) = (u16_at(page, DEAD_BYTES), u16_at(page, PREFIX_LEN));
    let slots_end = NODE_HEADER_BYTES + count * SLOT_BYTES;
    if prefix_len > page.len() - NODE_HEADER_BYTES || heap_start > page.len() - prefix_len {
        return fault("the node's heap and prefix overlap");
    }
    if slots_end > heap_start {
        return fault("the node's slots and heap overlap");
    }
    let node = Node::new(page);
    let level = node.level();
    if level > LEVEL_MAX {
        return fault("the node's level is too high");
    }
    if level > 0 && (node.child(0).0 > PAGE_ID_MAX || node.child(0) == header::id(page)) {
        return fault("the node's first child is not another page");
    }
    check_entries(node, header::id(page), heap_start..page.len() - prefix_len, dead)
}

fn check_entries(node: Node<'_>, own_id: PageId, heap: Range<usize>, dead: usize) -> Result<(), PageFault> {
    let is_inner = node.level() > 0;
    let mut live = 0;
    let (mut previous_head, mut previous): (u32, &[u8]) = (0, &[]);
    for (index, slot) in node.all_slots().enumerate() {
        let end = slot.offset + slot.suffix_len + slot.value_len;
        if slot.offset < heap.start || end > heap.end {
            return fault("a node entry lies outside the heap");
        }
        if is_inner && slot.value_len != CHILD_BYTES {
            return fault("an inner entry is not a child");
        }
        // Whoever descended from a node into itself would wait for its own latch.
        if is_inner && node.child(index + 1) == own_id {
            return fault("an inner node is its own child");
        }
        let suffix = node.suffix_of(&slot);
        if head_of(suffix) != slot.head {
            return fault("a slot's head is not its key's");
        }
        // Where the heads differ they are in the order of the keys.
        if slot.head <= previous_head && (slot.head < previous_head || index > 0 && suffix <= previous) {
            return fault("the node's keys are out of order");
        }
        (previous_head, previous) = (slot.head, suffix);
        live += slot.suffix_len + slot.value_len;
    }
    if live + dead != heap.len() {
        return fault("the node's dead bytes are miscounted");
    }
    Ok(())
}

fn fault(rule: &'static str) -> Result<(), PageFault> {
    Err(PageFault::Structure(rule))
}
