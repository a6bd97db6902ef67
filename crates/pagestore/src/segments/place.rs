//! Where a stored image lies: the word of the page map, and how addresses turn into segments, files and offsets.
//!
//! Invariant: a word is 0 exactly if there is no image. The format has room for images of any length up to 31.5 KB
//! in units of 512 bytes, so that compressed pages need no other word.

use super::options::SegmentOptions;
use crate::PageSize;

/// Addresses and lengths count in these.
pub(super) const UNIT_BYTES: u64 = 512;
/// Summaries and map blocks have this size, and every chunk is a multiple of it.
pub(super) const BLOCK_BYTES: usize = 4096;

/// A chunk of copies is at most this long.
pub(super) const COPY_CHUNK_BYTES: u64 = 256 << 10;

const ADDRESS_BITS: u32 = 40;
pub(super) const ADDRESS_MAX: u64 = (1 << ADDRESS_BITS) - 1;
const LENGTH_BITS: u32 = 6;
pub(super) const LENGTH_MAX: u64 = (1 << LENGTH_BITS) - 1;
const PRESENT: u64 = 1 << 63;

const _: () =
    assert!(PageSize::K16.bytes() as u64 / UNIT_BYTES <= LENGTH_MAX, "every page fits uncompressed");

/// One word: bits 0..40 the address, bits 40..46 the length, both in units of 512 bytes; bit 63 is set. 0: nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Place(u64);

impl Place {
    pub(super) const NOWHERE: Self = Self(0);

    pub(super) fn new(address: u64, bytes: u64) -> Self {
        let length = bytes / UNIT_BYTES;
        assert!(address <= ADDRESS_MAX && length <= LENGTH_MAX && bytes.is_multiple_of(UNIT_BYTES));
        Self(PRESENT | length << ADDRESS_BITS | address)
    }

    /// `None` for bits that no place has.
    pub(super) fn from_word(word: u64) -> Option<Self> {
        let used = PRESENT | LENGTH_MAX << ADDRESS_BITS | ADDRESS_MAX;
        (word == 0 || word & PRESENT != 0 && word & !used == 0).then_some(Self(word))
    }

    pub(super) fn word(self) -> u64 {
        self.0
    }

    pub(super) fn is_nowhere(self) -> bool {
        self.0 == 0
    }

    /// In units of 512 bytes from the start of segment 0.
    pub(super) fn address(self) -> u64 {
        self.0 & ADDRESS_MAX
    }

    /// In bytes from the start of segment 0, which begins with a summary: no image starts at 0.
    pub(super) fn start(self) -> u64 {
        self.address() * UNIT_BYTES
    }

    pub(super) fn bytes(self) -> u64 {
        (self.0 >> ADDRESS_BITS & LENGTH_MAX) * UNIT_BYTES
    }
}

/// The sizes that were chosen when the store was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) page_size: PageSize,
    pub(super) segment_bytes: u64,
    pub(super) segments_per_file: u32,
}

impl Geometry {
    pub(super) fn new(page_size: PageSize, options: &SegmentOptions) -> Self {
        let SegmentOptions { segment_bytes, segments_per_file, .. } = *options;
        let geometry = Self { page_size, segment_bytes, segments_per_file };
        assert!(geometry.is_sound(), "a segment has whole blocks and room for a summary and a page");
        geometry
    }

    pub(super) fn is_sound(self) -> bool {
        self.segment_bytes.is_multiple_of(BLOCK_BYTES as u64)
            && self.segment_bytes >= (BLOCK_BYTES + self.page_size.bytes()) as u64
            && self.segment_bytes <= 1 << 30
            && self.segments_per_file > 0
    }

    pub(super) fn place(self, segment: u32, offset: u64, bytes: u64) -> Place {
        Place::new((u64::from(segment) * self.segment_bytes + offset) / UNIT_BYTES, bytes)
    }

    pub(super) fn segment_of(self, place: Place) -> u32 {
        self.segment_at(place.address())
    }

    /// The segment that holds an address as an entry names it.
    pub(super) fn segment_at(self, address: u64) -> u32 {
        (address * UNIT_BYTES / self.segment_bytes) as u32
    }

    pub(super) fn offset_of(self, place: Place) -> u64 {
        place.address() * UNIT_BYTES % self.segment_bytes
    }

    /// The number of the file that holds a segment, and where in it the segment starts.
    pub(super) fn file_of(self, segment: u32) -> (usize, u64) {
        let inside = u64::from(segment % self.segments_per_file);
        ((segment / self.segments_per_file) as usize, inside * self.segment_bytes)
    }

    /// How many items of `bytes` one chunk can hold in `room` bytes.
    pub(super) fn items_in(self, room: u64, bytes: usize) -> usize {
        let items = room.saturating_sub(BLOCK_BYTES as u64) / bytes as u64;
        (items as usize).min(super::summary::ENTRIES_MAX)
    }

    /// How many items of `bytes` one of the cleaner's chunks has: few, because others wait while it is written.
    pub(super) fn items_copied_in(self, room: u64, bytes: usize) -> usize {
        self.items_in(room.min(COPY_CHUNK_BYTES), bytes)
    }

    /// How many items of `bytes` a segment holds when the cleaner has filled it.
    pub(super) fn items_per_segment(self, bytes: usize) -> u64 {
        let (mut room, mut items) = (self.segment_bytes, 0);
        while self.items_copied_in(room, bytes) > 0 {
            let count = self.items_copied_in(room, bytes);
            items += count as u64;
            room -= (BLOCK_BYTES + count * bytes) as u64;
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_strange_ones_are_refused() {
        let place = Place::new(ADDRESS_MAX, 16384);
        assert_eq!(Place::from_word(place.word()), Some(place));
        assert_eq!((place.address(), place.bytes()), (ADDRESS_MAX, 16384));
        assert_eq!(Place::from_word(0), Some(Place::NOWHERE));
        assert!(Place::from_word(5).is_none() && Place::from_word(place.word() | 1 << 50).is_none());
    }

    #[test]
    fn places_lie_in_segments_and_files() {
        let options = SegmentOptions { segments_per_file: 3, ..SegmentOptions::tiny() };
        let geometry = Geometry::new(PageSize::K4, &options);
        let place = geometry.place(7, 4096, 4096);
        assert_eq!((geometry.segment_of(place), geometry.offset_of(place)), (7, 4096));
        assert_eq!(geometry.file_of(7), (2, options.segment_bytes));
        assert_eq!(geometry.items_per_segment(4096), 4);
        let large = Geometry::new(PageSize::K8, &SegmentOptions::default());
        // 32 chunks of 31 pages, and one of 15.
        assert_eq!(large.items_per_segment(8192), 1007);
    }
}
