//! Changing a node. Each function is deterministic in the bytes, because redo repeats it.
//!
//! Callers (`redo::apply`) have verified that slots exist and that the result fits; the assertions repeat it.

use super::layout::*;
use super::read::Node;

/// A node's bytes, for changing.
pub(crate) struct NodeMut<'a> {
    page: &'a mut [u8],
}

impl<'a> NodeMut<'a> {
    pub(crate) fn new(page: &'a mut [u8]) -> Self {
        Self { page }
    }

    pub(crate) fn node(&self) -> Node<'_> {
        Node::new(self.page)
    }

    /// What holds between two changes, as far as it is told at once: slots, heap and prefix follow each other, and no
    /// more bytes are dead than the heap has.
    fn is_whole(&self) -> bool {
        let prefix_start = self.page.len() - u16_at(self.page, PREFIX_LEN);
        let heap_start = u16_at(self.page, HEAP_START);
        let slots_end = NODE_HEADER_BYTES + u16_at(self.page, COUNT) * SLOT_BYTES;
        slots_end <= heap_start
            && heap_start <= prefix_start
            && u16_at(self.page, DEAD_BYTES) <= prefix_start - heap_start
    }

    /// Inserts an entry before the one at `slot`. There must be room (`Node::free_bytes`).
    pub(crate) fn insert(&mut self, slot: usize, suffix: &[u8], value: &[u8]) {
        let count = self.node().count();
        assert!(slot <= count, "an entry is inserted between its neighbours");
        debug_assert!(self.is_whole(), "an insert finds a whole node");
        let entry_len = suffix.len() + value.len();
        self.make_gap(SLOT_BYTES + entry_len);
        let offset = self.put_entry(&[suffix, value]);
        let slots_end = NODE_HEADER_BYTES + count * SLOT_BYTES;
        let at = NODE_HEADER_BYTES + slot * SLOT_BYTES;
        self.page.copy_within(at..slots_end, at + SLOT_BYTES);
        set_u16(self.page, COUNT, count + 1);
        self.write_slot(slot, head_of(suffix), offset, suffix.len(), value.len());
        self.note_insert(slot);
        debug_assert!(self.is_whole(), "an insert leaves a whole node");
        debug_assert_eq!(self.node().suffix(slot), suffix, "the key is where it was inserted");
        debug_assert_eq!(self.node().value(slot), value, "the value is where it was inserted");
    }

    pub(crate) fn delete(&mut self, slot: usize) {
        let count = self.node().count();
        assert!(slot < count, "only an entry can be deleted");
        debug_assert!(self.is_whole(), "a delete finds a whole node");
        let free_before = self.node().free_bytes();
        let dead = self.node().entry_bytes(slot) - SLOT_BYTES;
        let at = NODE_HEADER_BYTES + slot * SLOT_BYTES;
        let slots_end = NODE_HEADER_BYTES + count * SLOT_BYTES;
        self.page.copy_within(at + SLOT_BYTES..slots_end, at);
        set_u16(self.page, COUNT, count - 1);
        self.add_dead(dead);
        debug_assert!(self.is_whole(), "a delete leaves a whole node");
        debug_assert_eq!(
            self.node().free_bytes(),
            free_before + SLOT_BYTES + dead,
            "all of a deleted entry is free"
        );
        set_u16(self.page, INSERT_LAST, 0);
        set_u16(self.page, INSERT_RUN, 0);
    }

    /// Replaces the bytes of a value between `keep_start` and `keep_end` (counted from its end) by `middle`.
    pub(crate) fn splice_value(&mut self, slot: usize, keep_start: usize, keep_end: usize, middle: &[u8]) {
        let old = self.node().slot(slot);
        assert!(keep_start + keep_end <= old.value_len, "the kept parts do not overlap");
        debug_assert!(self.is_whole(), "an update finds a whole node");
        let value_start = old.offset + old.suffix_len;
        let new_len = keep_start + middle.len() + keep_end;
        if new_len <= old.value_len {
            let tail = value_start + old.value_len - keep_end..value_start + old.value_len;
            self.page.copy_within(tail, value_start + keep_start + middle.len());
            self.page[value_start + keep_start..][..middle.len()].copy_from_slice(middle);
            let head = head_of(self.node().suffix(slot));
            self.write_slot(slot, head, old.offset, old.suffix_len, new_len);
            self.add_dead(old.value_len - new_len);
            debug_assert!(self.is_whole(), "a shorter value leaves a whole node");
            return;
        }
        let suffix = self.node().suffix(slot).to_vec();
        let value = self.node().value(slot);
        let value = [&value[..keep_start], middle, &value[value.len() - keep_end..]].concat();
        // The old entry dies first, so that compaction can use its bytes.
        self.write_slot(slot, head_of(&suffix), old.offset, 0, 0);
        self.add_dead(old.suffix_len + old.value_len);
        self.make_gap(suffix.len() + value.len());
        let offset = self.put_entry(&[&suffix, &value]);
        self.write_slot(slot, head_of(&suffix), offset, suffix.len(), value.len());
        debug_assert!(self.is_whole(), "a longer value leaves a whole node");
        debug_assert_eq!(
            self.node().value(slot).len(),
            new_len,
            "an updated value has the length that was counted"
        );
    }

    /// Keeps the first `keep` entries and makes the prefix `prefix_len` bytes long, which all their keys share.
    pub(crate) fn reshape(&mut self, keep: usize, prefix_len: usize) {
        let old = self.page.to_vec();
        let old = Node::new(&old);
        let more = prefix_len.checked_sub(old.prefix().len()).expect("a prefix only grows");
        assert!(keep <= old.count() && (more == 0 || keep > 0), "a longer prefix comes from a key");
        let page_len = self.page.len();
        if more > 0 {
            let prefix = [old.prefix(), &old.suffix(0)[..more]].concat();
            self.page[page_len - prefix_len..].copy_from_slice(&prefix);
        }
        set_u16(self.page, PREFIX_LEN, prefix_len);
        set_u16(self.page, HEAP_START, page_len - prefix_len);
        set_u16(self.page, DEAD_BYTES, 0);
        set_u16(self.page, COUNT, keep);
        for index in 0..keep {
            let (suffix, value) = (&old.suffix(index)[more..], old.value(index));
            let offset = self.put_entry(&[suffix, value]);
            self.write_slot(index, head_of(suffix), offset, suffix.len(), value.len());
        }
        debug_assert!(self.is_whole(), "reshaping leaves a whole node");
        set_u16(self.page, INSERT_LAST, 0);
        set_u16(self.page, INSERT_RUN, 0);
    }

    /// Moves the entries together so that all free bytes are in the gap.
    fn compact(&mut self) {
        let (last, run) = (self.node().insert_last(), self.node().insert_run());
        let (count, prefix_len) = (self.node().count(), self.node().prefix().len());
        let free_before = self.node().free_bytes();
        self.reshape(count, prefix_len);
        debug_assert_eq!(self.node().free_bytes(), free_before, "compaction neither gains nor loses a byte");
        debug_assert_eq!(
            self.node().gap_bytes(),
            free_before,
            "compaction puts all that is free into the gap"
        );
        set_u16(self.page, INSERT_LAST, last.map_or(0, |slot| slot + 1));
        self.page[INSERT_RUN..INSERT_RUN + 2].copy_from_slice(&run.to_le_bytes());
    }

    fn make_gap(&mut self, bytes: usize) {
        assert!(self.node().free_bytes() >= bytes, "the caller has made sure of room");
        if self.node().gap_bytes() < bytes {
            self.compact();
        }
    }

    /// Copies the parts to the low end of the heap and returns where they start.
    fn put_entry(&mut self, parts: &[&[u8]]) -> usize {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let start = u16_at(self.page, HEAP_START) - len;
        debug_assert!(
            start >= NODE_HEADER_BYTES + self.node().count() * SLOT_BYTES,
            "an entry stays clear of the slots"
        );
        let mut at = start;
        for part in parts {
            self.page[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        set_u16(self.page, HEAP_START, start);
        start
    }

    fn write_slot(&mut self, index: usize, head: u32, offset: usize, suffix_len: usize, value_len: usize) {
        debug_assert!(
            offset >= NODE_HEADER_BYTES + index * SLOT_BYTES + SLOT_BYTES,
            "an entry lies behind its slot"
        );
        debug_assert!(offset + suffix_len + value_len <= self.page.len(), "an entry ends within its page");
        let at = NODE_HEADER_BYTES + index * SLOT_BYTES;
        self.page[at..at + 4].copy_from_slice(&head.to_le_bytes());
        set_u16(self.page, at + 4, offset);
        set_u16(self.page, at + 6, suffix_len);
        set_u16(self.page, at + 8, value_len);
    }

    fn add_dead(&mut self, bytes: usize) {
        let dead = u16_at(self.page, DEAD_BYTES) + bytes;
        debug_assert!(dead <= self.page.len() - u16_at(self.page, HEAP_START), "dead bytes lie in the heap");
        set_u16(self.page, DEAD_BYTES, dead);
    }

    /// Remembers the direction of inserts, by which a split chooses its place.
    fn note_insert(&mut self, slot: usize) {
        debug_assert!(slot < self.node().count(), "the entry is there before it is noted");
        let run = self.node().insert_run();
        let run = match self.node().insert_last() {
            Some(last) if slot == last + 1 => run.max(0).saturating_add(1),
            Some(last) if slot == last => run.min(0).saturating_sub(1),
            _ => 0,
        };
        set_u16(self.page, INSERT_LAST, slot + 1);
        self.page[INSERT_RUN..INSERT_RUN + 2].copy_from_slice(&run.to_le_bytes());
    }
}
