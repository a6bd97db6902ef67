//! The map on disk: a tree of 4K blocks. Level 0 blocks are the leaves of the page map, levels 1 to 3 hold pointers
//! to 256 blocks of the level below. There is one block of level 3, the root; the superblock points to it.
//!
//! A pointer has 16 bytes: the place as a word (8), crc32c of the block (4), zero (4).
//!
//! Invariant: blocks are never changed where they are. A block that gets a new place makes its parent dirty, and its
//! old place lives until a superblock with the new root is durable.

use super::map::FAN_OUT;
use super::place::{BLOCK_BYTES, Place};
use std::collections::BTreeMap;

pub(super) const ROOT_LEVEL: usize = 3;
const POINTER_BYTES: usize = 16;

const _: () = assert!(FAN_OUT * POINTER_BYTES == BLOCK_BYTES, "a node is one block");

/// Where a block is and what it must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pointer {
    pub(super) place: Place,
    pub(super) checksum: u32,
}

/// Names a block: its level and its number within the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BlockName {
    pub(super) level: usize,
    pub(super) index: u32,
}

impl BlockName {
    pub(super) const ROOT: Self = Self { level: ROOT_LEVEL, index: 0 };

    /// As the subject of a summary's entry.
    pub(super) fn subject(self) -> u64 {
        (self.level as u64) << 32 | u64::from(self.index)
    }

    pub(super) fn from_subject(subject: u64) -> Option<Self> {
        let name = Self { level: (subject >> 32) as usize, index: subject as u32 };
        (name.level <= ROOT_LEVEL).then_some(name)
    }

    fn parent(self) -> Self {
        Self { level: self.level + 1, index: self.index / FAN_OUT as u32 }
    }
}

struct Node {
    pointers: Box<[Pointer; FAN_OUT]>,
    dirty: bool,
}

/// The inner nodes, all in memory: 16 bytes per leaf.
#[derive(Default)]
pub(super) struct Tree {
    /// Levels 1 to 3.
    levels: [BTreeMap<u32, Node>; ROOT_LEVEL],
    root: Pointer,
}

impl Tree {
    pub(super) fn root(&self) -> Pointer {
        self.root
    }

    pub(super) fn pointer(&self, name: BlockName) -> Pointer {
        if name.level == ROOT_LEVEL {
            return if name == BlockName::ROOT { self.root } else { Pointer::default() };
        }
        let parent = self.levels[name.level].get(&name.parent().index);
        parent.map(|node| node.pointers[name.index as usize % FAN_OUT]).unwrap_or_default()
    }

    /// Gives a block a new place and returns the old one. The parent becomes dirty.
    pub(super) fn set_pointer(&mut self, name: BlockName, pointer: Pointer) -> Place {
        let slot = if name.level == ROOT_LEVEL {
            &mut self.root
        } else {
            let parent = self.levels[name.level].entry(name.parent().index).or_insert_with(Node::new);
            parent.dirty = true;
            &mut parent.pointers[name.index as usize % FAN_OUT]
        };
        std::mem::replace(slot, pointer).place
    }

    /// Makes an inner node dirty so that the next cycle gives it a new place.
    pub(super) fn touch(&mut self, name: BlockName) {
        if let Some(node) =
            name.level.checked_sub(1).and_then(|level| self.levels[level].get_mut(&name.index))
        {
            node.dirty = true;
        }
    }

    /// The dirty nodes of a level (1 to 3).
    pub(super) fn dirty(&self, level: usize) -> Vec<u32> {
        let nodes = self.levels[level - 1].iter();
        nodes.filter(|(_, node)| node.dirty).map(|(index, _)| *index).collect()
    }

    /// Writes an inner node into a block and flags it clean.
    pub(super) fn capture(&mut self, name: BlockName, block: &mut [u8]) {
        let node = self.levels[name.level - 1].get_mut(&name.index).expect("a dirty node exists");
        node.dirty = false;
        for (slot, pointer) in block.chunks_exact_mut(POINTER_BYTES).zip(node.pointers.iter()) {
            slot[..8].copy_from_slice(&pointer.place.word().to_le_bytes());
            slot[8..12].copy_from_slice(&pointer.checksum.to_le_bytes());
            slot[12..].fill(0);
        }
    }

    /// Recovery: the root as the superblock names it.
    pub(super) fn with_root(root: Pointer) -> Self {
        Self { root, ..Self::default() }
    }

    /// Recovery: takes an inner node from its block; returns the blocks below it, or `None` if the bytes make no sense.
    pub(super) fn fill(&mut self, name: BlockName, block: &[u8]) -> Option<Vec<BlockName>> {
        let mut node = Node::new();
        let mut children = Vec::new();
        for (index, slot) in block.chunks_exact(POINTER_BYTES).enumerate() {
            let word = u64::from_le_bytes(slot[..8].try_into().expect("eight bytes"));
            let checksum = u32::from_le_bytes(slot[8..12].try_into().expect("four bytes"));
            let place = Place::from_word(word)?;
            node.pointers[index] = Pointer { place, checksum };
            if !place.is_nowhere() {
                let index = name.index.checked_mul(FAN_OUT as u32)?.checked_add(index as u32)?;
                children.push(BlockName { level: name.level - 1, index });
            }
        }
        self.levels[name.level - 1].insert(name.index, node);
        Some(children)
    }

    /// All places in use.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let nodes = self.levels.iter().flat_map(BTreeMap::values);
        let below = nodes.flat_map(|node| node.pointers.iter().map(|pointer| pointer.place));
        below.chain([self.root.place]).filter(|place| !place.is_nowhere())
    }
}

impl Node {
    fn new() -> Self {
        Self { pointers: Box::new([Pointer::default(); FAN_OUT]), dirty: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_places_climb_to_the_root_and_nodes_come_back() {
        let mut tree = Tree::default();
        let leaf = BlockName { level: 0, index: 70_000 };
        let pointer = |address| Pointer { place: Place::new(address, 4096), checksum: address as u32 };
        assert!(tree.set_pointer(leaf, pointer(8)).is_nowhere());
        assert_eq!(tree.set_pointer(leaf, pointer(16)).address(), 8);
        assert_eq!((tree.dirty(1), tree.dirty(2), tree.dirty(3)), (vec![273], vec![], vec![]));
        let mut block = vec![0; BLOCK_BYTES];
        let mut blocks = Vec::new();
        for level in 1..=ROOT_LEVEL {
            let name = BlockName { level, index: tree.dirty(level)[0] };
            tree.capture(name, &mut block);
            blocks.push((name, block.clone()));
            tree.set_pointer(name, pointer(100 + level as u64));
        }
        assert_eq!((tree.root(), tree.places().count()), (pointer(103), 4));
        let mut again = Tree::with_root(tree.root());
        let mut below = vec![BlockName::ROOT];
        for (name, block) in blocks.iter().rev() {
            assert_eq!(below, [*name]);
            below = again.fill(*name, block).unwrap();
        }
        assert_eq!((below, again.pointer(leaf)), (vec![leaf], pointer(16)));
        assert_eq!(BlockName::from_subject(leaf.subject()), Some(leaf));
    }
}
