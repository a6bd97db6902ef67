//! Strings of bytes side by side in memory, without gaps between those of one length.
//!
//! A shelf holds strings of nearly one length in slots that lie one behind the other, over the ends of the slabs of memory
//! below them too. When a string goes, the last one of its shelf moves into its slot, so only the end of each shelf's last slab is
//! unused, and a slab that becomes empty is given back. Each slot knows the page whose bytes it has, so that the owner hears who
//! has moved.
//!
//! Invariant: the slots of a shelf before its count are all in use. Used by `shard` alone, under its lock.

use pagestore::PageId;

/// Strings of one shelf differ in length by less than this.
const STEP_BYTES: usize = 32;

/// See the module's documentation. The shelf of a string follows from its length.
pub(super) struct Shelves {
    shelves: Vec<Shelf>,
    slab_bytes: usize,
    slabs: usize,
}

struct Shelf {
    slot_bytes: usize,
    slab_bytes: usize,
    slabs: Vec<Box<[u8]>>,
    /// Of the string in each slot.
    pages: Vec<PageId>,
}

impl Shelves {
    /// Memory is taken and given back in pieces of `slab_bytes`.
    pub(super) fn new(slab_bytes: usize) -> Shelves {
        Shelves { shelves: Vec::new(), slab_bytes, slabs: 0 }
    }

    /// The memory of all strings.
    pub(super) fn bytes(&self) -> usize {
        self.slabs * self.slab_bytes
    }

    /// Keeps a string for this page and answers in which slot.
    pub(super) fn put(&mut self, page: PageId, string: &[u8]) -> u32 {
        let number = shelf_of(string.len());
        while self.shelves.len() <= number {
            self.shelves.push(Shelf {
                slot_bytes: (self.shelves.len() + 1) * STEP_BYTES,
                slab_bytes: self.slab_bytes,
                slabs: Vec::new(),
                pages: Vec::new(),
            });
        }
        let shelf = &mut self.shelves[number];
        let slot = shelf.pages.len();
        while shelf.slabs.len() < shelf.slabs_for(slot + 1) {
            shelf.slabs.push(vec![0; self.slab_bytes].into());
            self.slabs += 1;
        }
        if shelf.pages.len() == shelf.pages.capacity() {
            shelf.pages.reserve_exact((slot / 8).max(8));
        }
        debug_assert!(string.len() <= shelf.slot_bytes, "a string fits its shelf");
        shelf.pages.push(page);
        shelf.write(slot, string);
        u32::try_from(slot).expect("a shelf has fewer than 2^32 slots")
    }

    /// Reads the string of this length, which fills `string`.
    pub(super) fn read(&self, slot: u32, string: &mut [u8]) {
        self.shelves[shelf_of(string.len())].read(slot as usize, string);
    }

    /// Forgets the string of this length in this slot. The page that it answers has its string there now.
    pub(super) fn remove(&mut self, slot: u32, length: usize) -> Option<PageId> {
        let shelf = &mut self.shelves[shelf_of(length)];
        let (slot, last) = (slot as usize, shelf.pages.len() - 1);
        shelf.pages.swap_remove(slot);
        if slot != last {
            shelf.copy(last, slot);
        }
        debug_assert!(slot <= last, "a string that is forgotten is there");
        let needed = shelf.slabs_for(last);
        self.slabs -= shelf.slabs.len() - needed;
        debug_assert!(needed <= shelf.slabs.len(), "fewer strings need no more memory");
        shelf.slabs.truncate(needed);
        shelf.pages.get(slot).copied()
    }
}

fn shelf_of(length: usize) -> usize {
    length.saturating_sub(1) / STEP_BYTES
}

impl Shelf {
    fn slabs_for(&self, slots: usize) -> usize {
        (slots * self.slot_bytes).div_ceil(self.slab_bytes)
    }

    /// Where `length` bytes from `at` on lie: slab, offset, and how many are in that slab.
    fn pieces(&self, at: usize, length: usize) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let (end, slab_bytes) = (at + length, self.slab_bytes);
        let begin = move |at: usize| {
            let offset = at % slab_bytes;
            (at < end).then(|| (at / slab_bytes, offset, (slab_bytes - offset).min(end - at)))
        };
        std::iter::successors(begin(at), move |(slab, offset, count)| {
            begin(slab * slab_bytes + offset + count)
        })
    }

    fn write(&mut self, slot: usize, mut string: &[u8]) {
        for (slab, offset, count) in self.pieces(slot * self.slot_bytes, string.len()) {
            let (piece, rest) = string.split_at(count);
            self.slabs[slab][offset..offset + count].copy_from_slice(piece);
            string = rest;
        }
    }

    fn read(&self, slot: usize, mut string: &mut [u8]) {
        for (slab, offset, count) in self.pieces(slot * self.slot_bytes, string.len()) {
            let (piece, rest) = string.split_at_mut(count);
            piece.copy_from_slice(&self.slabs[slab][offset..offset + count]);
            string = rest;
        }
    }

    /// Copies what is in one slot to another before it.
    fn copy(&mut self, from: usize, to: usize) {
        debug_assert!(to < from, "the last string moves to a place before it");
        let mut target = to * self.slot_bytes;
        for (slab, offset, count) in self.pieces(from * self.slot_bytes, self.slot_bytes) {
            let mut source = offset;
            for (to_slab, to_offset, count) in self.pieces(target, count) {
                if to_slab == slab {
                    self.slabs[slab].copy_within(source..source + count, to_offset);
                } else {
                    let (before, behind) = self.slabs.split_at_mut(slab);
                    before[to_slab][to_offset..to_offset + count]
                        .copy_from_slice(&behind[0][source..source + count]);
                }
                source += count;
            }
            target += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::Random;
    use env::sim::SeededRandom;
    use std::collections::BTreeMap;

    const SLAB_BYTES: usize = 8192;

    #[test]
    fn strings_stay_what_they_were_and_take_little_more() {
        let random = SeededRandom::new(5);
        let mut shelves = Shelves::new(SLAB_BYTES);
        let mut model: BTreeMap<PageId, (u32, Vec<u8>)> = BTreeMap::new();
        for round in 0..20_000u64 {
            let page = PageId(random.u64() % 200);
            if let Some((slot, string)) = model.remove(&page) {
                let mut read = vec![0; string.len()];
                shelves.read(slot, &mut read);
                assert_eq!(read, string);
                if let Some(moved) = shelves.remove(slot, string.len()) {
                    model.get_mut(&moved).expect("it is there").0 = slot;
                }
            } else {
                // Most are alike in length, some are shorter or longer than all others, or longer than a slab.
                let length = match random.u64() % 20 {
                    0 => 1 + random.u64() % 100,
                    1 => 1 + random.u64() % 20_000,
                    _ => 3_800 + random.u64() % 100,
                };
                let string: Vec<u8> = (0..length).map(|at| (at * 7 + round) as u8).collect();
                model.insert(page, (shelves.put(page, &string), string));
            }
        }
        let held: usize = model.values().map(|(_, string)| string.len()).sum();
        let shelves_used = shelves.shelves.iter().filter(|shelf| !shelf.pages.is_empty()).count();
        let most = held + model.len() * STEP_BYTES + shelves_used * SLAB_BYTES;
        assert!((held..=most).contains(&shelves.bytes()), "{held} {most} {}", shelves.bytes());
        while let Some((_, (slot, string))) = model.pop_first() {
            if let Some(moved) = shelves.remove(slot, string.len()) {
                model.get_mut(&moved).expect("it is there").0 = slot;
            }
        }
        assert_eq!(shelves.bytes(), 0);
    }
}
