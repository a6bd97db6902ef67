//! Nodes of any content, for fuzzing: whatever passes the check can be read and changed without a panic, and what
//! changes leave passes the check again.
//!
//! Nearly no random bytes are a node, so the bytes describe one: its entries, then damage to single bytes, then
//! log records, among them records made to fit. Called by the fuzz target and by a test here.

use crate::check_page;
use crate::node::{CHILD_BYTES, Node, NodeBuilder, NodeIdentity};
use crate::redo::{self, Change};
use env::sim::InputBytes;
use pagestore::{PageId, PageKind, TreeId, header};

const PAGE_BYTES: usize = 4096;
const PAGE: PageId = PageId(9);

/// Makes a node from `bytes`, damages it, reads it and applies log records to it.
///
/// # Panics
/// If the node code breaks a promise.
pub fn fuzz_one(bytes: &[u8]) {
    let mut input = InputBytes(bytes);
    let mut page = build(&mut input);
    assert!(check_page(&page).is_ok(), "a node that was just built");
    for _ in 0..input.byte() % 8 {
        let at = usize::from(input.byte()) << 4 | usize::from(input.byte() & 15);
        page[at] ^= input.byte();
    }
    while check_page(&page).is_ok() && !input.is_empty() {
        read(&page, &mut input);
        let before = page.clone();
        if !change(&mut page, &mut input) {
            // After an error the bytes are unspecified, and the page is thrown away.
            page = before;
        }
    }
}

/// A node of as many entries as the input has and the page takes.
fn build(input: &mut InputBytes<'_>) -> Vec<u8> {
    let level = input.byte() % 3;
    let prefix_len = usize::from(input.byte() % 9);
    let prefix = input.take(prefix_len);
    let mut entries = Vec::new();
    for _ in 0..input.byte() {
        let suffix_len = usize::from(input.byte() % 40);
        let value_len = usize::from(input.byte());
        let (suffix, value) = (input.take(suffix_len), input.take(value_len));
        entries.push((suffix, if level > 0 { &[0, 0, 0, 0, 7] } else { value }));
    }
    entries.sort();
    entries.dedup_by_key(|(suffix, _)| *suffix);
    let identity = NodeIdentity { page: PAGE, tree: TreeId(3), level };
    let mut builder = NodeBuilder::new(PAGE_BYTES, identity, prefix);
    if level > 0 {
        builder.set_first_child(PageId(8));
    }
    let mut room = PAGE_BYTES / 2;
    for (suffix, value) in entries {
        let size = suffix.len() + value.len() + 16;
        if size > room {
            break;
        }
        room -= size;
        builder.push(prefix, suffix, value);
    }
    builder.finish()
}

/// Everything that a lookup and a scan do with a node.
fn read(page: &[u8], input: &mut InputBytes<'_>) {
    if header::kind(page) != Some(PageKind::Node) {
        return;
    }
    let node = Node::new(page);
    let key = [node.prefix(), input.take(5)].concat();
    for index in 0..node.count() {
        let own = node.key(index);
        assert_eq!(node.search(&own), Ok(index), "each key is found where it is");
        assert!(node.value(index).len() + own.len() <= PAGE_BYTES);
        if node.level() > 0 {
            assert_eq!(node.child_index(&own), index + 1);
            node.child(index);
        }
    }
    let (Ok(place) | Err(place)) = node.search(&key);
    assert!(place <= node.count());
    assert!(node.free_bytes() + node.used_bytes() <= PAGE_BYTES);
}

/// Applies one record; false when it was refused.
fn change(page: &mut [u8], input: &mut InputBytes<'_>) -> bool {
    let kind = input.byte();
    if kind & 0x80 == 0 {
        // Any record at all, as a log could hold it.
        let length = usize::from(input.byte());
        let Ok((id, change)) = Change::decode(kind % 8, input.take(length)) else { return false };
        return redo::apply(page, id, &change).is_ok();
    }
    let count = if header::kind(page) == Some(PageKind::Node) { Node::new(page).count() } else { 0 };
    let slot = usize::from(input.byte()).checked_rem(count).unwrap_or(0);
    let (suffix_len, value_len) = (usize::from(input.byte() % 40), usize::from(input.byte()));
    let (suffix, value) = (input.take(suffix_len), input.take(value_len));
    let change = match kind % 4 {
        0 => {
            let is_leaf = Node::new(page).level() == 0;
            let value = if is_leaf { value } else { &[0; CHILD_BYTES] };
            let place = (0..count).find(|index| Node::new(page).suffix(*index) >= suffix).unwrap_or(count);
            Change::Insert { slot: place as u16, suffix, value }
        }
        1 => Change::Splice { slot: slot as u16, keep_start: 0, keep_end: 0, middle: value },
        2 => Change::Delete { slot: slot as u16 },
        _ => Change::Reshape { keep: slot as u16, prefix_len: Node::new(page).prefix().len() as u16 },
    };
    let applied = redo::apply(page, header::id(page), &change).is_ok();
    if applied {
        // An inner value that is no page id is the tree's own fault, not the record's.
        assert!(check_page(page).is_ok() || Node::new(page).level() > 0, "{change:?} left a damaged page");
    }
    applied
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::Random;
    use env::sim::SeededRandom;

    #[test]
    fn nodes_of_any_content_are_refused_or_sound() {
        let random = SeededRandom::new(11);
        for length in 0..2000 {
            let bytes: Vec<u8> = (0..length).map(|_| random.u64() as u8).collect();
            fuzz_one(&bytes);
        }
    }
}
