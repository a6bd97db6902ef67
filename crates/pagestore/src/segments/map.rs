//! The page map: one word per page id, in leaves of 512 words that are made on first use.
//!
//! Invariant: a leaf that differs from its newest captured copy is flagged dirty. Words are loaded without a lock;
//! they are stored only by `install` under the state's lock and by recovery.

use super::place::{BLOCK_BYTES, Place};
use super::sync::{AtomicBool, AtomicU64};
use crate::PageId;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// A leaf is one 4K block on disk.
pub(super) const LEAF_WORDS: u64 = 512;
/// Children per inner node, in memory as on disk (`tree`).
pub(super) const FAN_OUT: usize = 256;
/// Page ids from here on do not fit into the tree: 64 TB of 8K pages.
pub(super) const MAP_PAGES_MAX: u64 = LEAF_WORDS * (FAN_OUT as u64).pow(3);

/// The blocks of a map with words for all these pages.
pub(super) fn blocks_for(pages: u64) -> u64 {
    let fan_out = FAN_OUT as u64;
    let leaves = pages.div_ceil(LEAF_WORDS).max(1);
    leaves + leaves.div_ceil(fan_out) + leaves.div_ceil(fan_out * fan_out) + 1
}

pub(super) struct Leaf {
    words: [AtomicU64; LEAF_WORDS as usize],
    dirty: AtomicBool,
}

struct Node<T> {
    children: [OnceLock<Box<T>>; FAN_OUT],
}

impl<T> Node<T> {
    fn new() -> Self {
        Self { children: [const { OnceLock::new() }; FAN_OUT] }
    }

    fn get(&self, index: usize) -> Option<&T> {
        self.children[index].get().map(|child| &**child)
    }
}

pub(super) struct PageMap {
    root: Node<Node<Node<Leaf>>>,
}

/// The slots on the way to a leaf, from the root.
fn path(leaf: u32) -> [usize; 3] {
    let leaf = leaf as usize;
    [leaf / FAN_OUT / FAN_OUT, leaf / FAN_OUT % FAN_OUT, leaf % FAN_OUT]
}

pub(super) fn leaf_of(page: PageId) -> u32 {
    (page.0 / LEAF_WORDS) as u32
}

impl PageMap {
    pub(super) fn new() -> Self {
        Self { root: Node::new() }
    }

    fn leaf(&self, leaf: u32) -> Option<&Leaf> {
        let [top, middle, bottom] = path(leaf);
        self.root.get(top)?.get(middle)?.get(bottom)
    }

    fn leaf_or_new(&self, leaf: u32) -> &Leaf {
        let [top, middle, bottom] = path(leaf);
        let node = self.root.children[top].get_or_init(|| Box::new(Node::new()));
        let node = node.children[middle].get_or_init(|| Box::new(Node::new()));
        node.children[bottom].get_or_init(|| Box::new(Leaf::new()))
    }

    /// Nowhere for pages that were never written or are free.
    pub(super) fn load(&self, page: PageId) -> Place {
        if page.0 >= MAP_PAGES_MAX {
            return Place::NOWHERE;
        }
        let word = self.leaf(leaf_of(page)).map(|leaf| leaf.word(page).load(Ordering::Acquire));
        word.and_then(Place::from_word).unwrap_or_default()
    }

    /// Returns the former place, and whether the leaf was clean before.
    pub(super) fn store(&self, page: PageId, place: Place) -> (Place, bool) {
        let leaf = self.leaf_or_new(leaf_of(page));
        let before = leaf.word(page).swap(place.word(), Ordering::AcqRel);
        let became_dirty = !leaf.dirty.swap(true, Ordering::AcqRel);
        (Place::from_word(before).expect("only words of places are stored"), became_dirty)
    }

    /// Flags the leaf although no word changes; true if it was clean before.
    pub(super) fn touch(&self, leaf: u32) -> bool {
        self.leaf(leaf).is_some_and(|leaf| !leaf.dirty.swap(true, Ordering::AcqRel))
    }

    /// Copies a leaf into a block and flags it clean. The caller keeps words from being stored meanwhile.
    pub(super) fn capture(&self, leaf: u32, block: &mut [u8]) {
        let leaf = self.leaf(leaf).expect("a dirty leaf exists");
        leaf.dirty.store(false, Ordering::Release);
        for (slot, word) in block.chunks_exact_mut(8).zip(&leaf.words) {
            slot.copy_from_slice(&word.load(Ordering::Acquire).to_le_bytes());
        }
    }

    /// Fills a clean leaf from a block; false if the block holds words that no place has.
    pub(super) fn fill(&self, leaf: u32, block: &[u8]) -> bool {
        assert_eq!(block.len(), BLOCK_BYTES);
        let target = self.leaf_or_new(leaf);
        for (word, slot) in target.words.iter().zip(block.chunks_exact(8)) {
            let stored = u64::from_le_bytes(slot.try_into().expect("eight bytes"));
            if Place::from_word(stored).is_none() {
                return false;
            }
            word.store(stored, Ordering::Release);
        }
        true
    }

    /// Calls back for every page that is somewhere, in order of page ids.
    pub(super) fn for_each(&self, mut visit: impl FnMut(PageId, Place)) {
        for (top, node) in present(&self.root) {
            for (middle, node) in present(node) {
                for (bottom, leaf) in present(node) {
                    let first = ((top * FAN_OUT + middle) * FAN_OUT + bottom) as u64 * LEAF_WORDS;
                    for (index, word) in leaf.words.iter().enumerate() {
                        let place = Place::from_word(word.load(Ordering::Acquire)).unwrap_or_default();
                        if !place.is_nowhere() {
                            visit(PageId(first + index as u64), place);
                        }
                    }
                }
            }
        }
    }
}

fn present<T>(node: &Node<T>) -> impl Iterator<Item = (usize, &T)> {
    let children = node.children.iter().enumerate();
    children.filter_map(|(index, child)| child.get().map(|child| (index, &**child)))
}

impl Leaf {
    fn new() -> Self {
        Self { words: [const { AtomicU64::new(0) }; LEAF_WORDS as usize], dirty: AtomicBool::new(false) }
    }

    fn word(&self, page: PageId) -> &AtomicU64 {
        &self.words[(page.0 % LEAF_WORDS) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_captured_and_filled_again() {
        let map = PageMap::new();
        let (near, far) = (PageId(3), PageId(MAP_PAGES_MAX - 1));
        assert!(map.load(near).is_nowhere() && map.load(far).is_nowhere());
        assert!(map.load(PageId(MAP_PAGES_MAX)).is_nowhere());
        let place = Place::new(88, 4096);
        assert_eq!(map.store(far, place), (Place::NOWHERE, true));
        assert_eq!(map.store(far, Place::new(99, 4096)), (place, false));
        let mut block = vec![0; BLOCK_BYTES];
        map.capture(leaf_of(far), &mut block);
        assert!(map.touch(leaf_of(far)) && !map.touch(leaf_of(far)) && !map.touch(leaf_of(near)));
        let other = PageMap::new();
        assert!(other.fill(leaf_of(far), &block));
        let mut found = Vec::new();
        other.for_each(|page, place| found.push((page, place.address())));
        assert_eq!(found, [(far, 99)]);
        block[7] = 0x40;
        assert!(!other.fill(0, &block));
    }
}
