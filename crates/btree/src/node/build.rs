//! Building a node from entries, and the key arithmetic of splits: shared prefixes and short separators.

use super::layout::*;
use super::read::Node;
use pagestore::{PageId, PageKind, TreeId, header};

/// Puts entries, in key order, into a new page image.
pub(crate) struct NodeBuilder {
    page: Vec<u8>,
    count: usize,
    heap_start: usize,
    prefix_len: usize,
}

/// Who the new node is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeIdentity {
    pub(crate) page: PageId,
    pub(crate) tree: TreeId,
    pub(crate) level: u8,
}

impl NodeBuilder {
    pub(crate) fn new(page_bytes: usize, identity: NodeIdentity, prefix: &[u8]) -> Self {
        debug_assert!(prefix.len() + NODE_HEADER_BYTES <= page_bytes, "a prefix fits behind the header");
        debug_assert!(identity.level <= LEVEL_MAX, "trees do not grow without end");
        let mut page = vec![0; page_bytes];
        header::format(&mut page, identity.page, PageKind::Node, identity.tree);
        page[LEVEL] = identity.level;
        let heap_start = page_bytes - prefix.len();
        page[heap_start..].copy_from_slice(prefix);
        set_u16(&mut page, PREFIX_LEN, prefix.len());
        Self { page, count: 0, heap_start, prefix_len: prefix.len() }
    }

    pub(crate) fn set_first_child(&mut self, child: PageId) {
        assert!(self.page[LEVEL] > 0, "leaves have no children");
        debug_assert!(child.0 <= pagestore::PAGE_ID_MAX, "page ids have 40 bits");
        self.page[FIRST_CHILD..FIRST_CHILD + 8].copy_from_slice(&child.0.to_le_bytes());
    }

    /// Adds an entry by its whole key, given in two parts.
    pub(crate) fn push(&mut self, key_start: &[u8], key_rest: &[u8], value: &[u8]) {
        let skip_start = self.prefix_len.min(key_start.len());
        let skip_rest = self.prefix_len - skip_start;
        let (start, rest) = (&key_start[skip_start..], &key_rest[skip_rest..]);
        debug_assert_eq!(
            &key_start[..skip_start],
            &self.prefix()[..skip_start],
            "a key shares its node's prefix"
        );
        debug_assert_eq!(
            &key_rest[..skip_rest],
            &self.prefix()[skip_start..],
            "a key shares its node's prefix"
        );
        debug_assert!(self.page[LEVEL] == 0 || value.len() == CHILD_BYTES, "an inner entry is a child");
        let suffix_len = start.len() + rest.len();
        self.heap_start -= suffix_len + value.len();
        let slot_at = NODE_HEADER_BYTES + self.count * SLOT_BYTES;
        assert!(slot_at + SLOT_BYTES <= self.heap_start, "the caller has counted the bytes");
        let entry = &mut self.page[self.heap_start..];
        entry[..start.len()].copy_from_slice(start);
        entry[start.len()..suffix_len].copy_from_slice(rest);
        entry[suffix_len..suffix_len + value.len()].copy_from_slice(value);
        let head = head_of(&self.page[self.heap_start..self.heap_start + suffix_len]);
        self.page[slot_at..slot_at + 4].copy_from_slice(&head.to_le_bytes());
        set_u16(&mut self.page, slot_at + 4, self.heap_start);
        set_u16(&mut self.page, slot_at + 6, suffix_len);
        set_u16(&mut self.page, slot_at + 8, value.len());
        debug_assert!(
            self.count == 0 || self.suffix(self.count - 1) < self.suffix(self.count),
            "entries come in order"
        );
        self.count += 1;
    }

    fn prefix(&self) -> &[u8] {
        &self.page[self.page.len() - self.prefix_len..]
    }

    /// Of an entry that was pushed, although the page does not count them yet.
    fn suffix(&self, index: usize) -> &[u8] {
        let at = NODE_HEADER_BYTES + index * SLOT_BYTES;
        &self.page[u16_at(&self.page, at + 4)..][..u16_at(&self.page, at + 6)]
    }

    /// Adds entries of another node.
    pub(crate) fn push_from(&mut self, node: Node<'_>, slots: std::ops::Range<usize>) {
        for slot in slots {
            self.push(node.prefix(), node.suffix(slot), node.value(slot));
        }
    }

    /// The whole page image.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        debug_assert!(
            NODE_HEADER_BYTES + self.count * SLOT_BYTES <= self.heap_start,
            "slots end before the heap"
        );
        set_u16(&mut self.page, COUNT, self.count);
        set_u16(&mut self.page, HEAP_START, self.heap_start);
        self.page
    }
}

/// The number of leading bytes that every key from `lower` (inclusive) to `upper` (exclusive) shares.
pub(crate) fn shared_prefix(lower: &[u8], upper: Option<&[u8]>) -> usize {
    let Some(upper) = upper else { return 0 };
    debug_assert!(lower < upper);
    lower.iter().zip(upper).take_while(|(low, high)| low == high).count()
}

/// The length of the shortest start of `right` that is greater than `left`: a separator between the two.
pub(crate) fn shortest_separator(left: &[u8], right: &[u8]) -> usize {
    assert!(left < right, "keys are in order");
    debug_assert!(
        shared_prefix(left, Some(right)) < right.len(),
        "what tells two keys apart is in the greater"
    );
    shared_prefix(left, Some(right)) + 1
}
