//! A part of the packed pages: their bytes, and the order in which they came. All of it is protected by one lock.
//!
//! Used by `PackedPages` alone.

use super::shelves::Shelves;
use crate::by_age::{Aged, ByAge, Links};
use pagestore::PageId;

/// What a page takes besides its bytes: its entry, its place in the table, its slot's name, and what these keep free to grow.
const ENTRY_BYTES: usize = 56;

/// See the module's documentation.
pub(super) struct Shard {
    pages: ByAge<Packed>,
    shelves: Shelves,
}

struct Packed {
    page: PageId,
    slot: u32,
    length: u32,
    links: Links,
}

impl Aged for Packed {
    /// The order in which they came is all.
    type Age = ();

    fn page(&self) -> PageId {
        self.page
    }

    fn age(&self) {}

    fn links(&self) -> &Links {
        &self.links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Shard {
    pub(super) fn new(page_bytes: usize) -> Shard {
        // Allocators have little to add to pieces of this size: of 8,192 bytes mimalloc has seven in 64 KB.
        Shard { pages: ByAge::default(), shelves: Shelves::new(page_bytes / 2 * 3) }
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.shelves.bytes() + self.pages.entries().len() * ENTRY_BYTES
    }

    pub(super) fn page_count(&self) -> usize {
        self.pages.entries().len()
    }

    pub(super) fn has(&self, page: PageId) -> bool {
        self.pages.get(page).is_some()
    }

    /// The page is not here yet.
    pub(super) fn put(&mut self, page: PageId, bytes: &[u8]) {
        let slot = self.shelves.put(page, bytes);
        let length = u32::try_from(bytes.len()).expect("a page is shorter");
        self.pages.insert(Packed { page, slot, length, links: Links::default() });
    }

    /// Forgets a page, whose bytes `bytes` becomes before that. False: it is not here.
    pub(super) fn take(&mut self, page: PageId, bytes: &mut Vec<u8>) -> bool {
        let Some(packed) = self.pages.get(page) else { return false };
        debug_assert!(packed.length > 0, "a packed page has bytes");
        bytes.resize(packed.length as usize, 0);
        self.shelves.read(packed.slot, bytes);
        self.remove(page)
    }

    /// False: it is not here.
    pub(super) fn remove(&mut self, page: PageId) -> bool {
        let Some(packed) = self.pages.remove(page) else { return false };
        if let Some(moved) = self.shelves.remove(packed.slot, packed.length as usize) {
            self.pages.get_mut(moved).expect("each string is a page's").slot = packed.slot;
        }
        true
    }

    /// False: there is none.
    pub(super) fn drop_oldest(&mut self) -> bool {
        self.pages.oldest().map(Aged::page).is_some_and(|page| self.remove(page))
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = PageId> {
        self.pages.newest_first().map(Aged::page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest of `ENTRY_BYTES`: ten in the table and nine beside the slot, and what the vectors keep free.
    #[test]
    fn an_entry_takes_what_is_counted() {
        assert_eq!(size_of::<Packed>(), 24);
    }
}
