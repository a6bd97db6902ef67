//! The bits of one page of the space map: finding free ones, and their redo.
//!
//! The page's layout stands in `space`, which alone decides when bits change; called by it and by redo.

use crate::redo::BitList;

use pagestore::PageFault;
use pagestore::PageId;

pub(crate) const REGIONS: usize = 40;
pub(crate) const BITS: usize = 64;

/// Leaves of one tree are placed in groups of this many pages where possible.
const EXTENT_PAGES: usize = 32;

/// Up to `count` free bits below `total`, the best places first found.
pub(crate) fn find_free(map: &[u8], placement: Placement, count: usize, total: usize) -> Vec<u32> {
    debug_assert!(total <= bits_in(map.len()), "a region has no more pages than its map has bits");
    let mut found = Vec::new();
    let take = |range: std::ops::Range<usize>, found: &mut Vec<u32>| {
        let mut bit = range.start;
        while bit < range.end && found.len() < count {
            // Whole bytes in use are skipped at once.
            if bit.is_multiple_of(8) && map[BITS + bit / 8] == 0xff {
                bit += 8;
                continue;
            }
            if !bit_is_set(map, bit) && !found.contains(&(bit as u32)) {
                found.push(bit as u32);
            }
            bit += 1;
        }
    };
    let hint = match placement {
        Placement::Near(page) => (page.0 as usize).min(total),
        Placement::Extent(page) => {
            let hint = (page.0 as usize).min(total);
            let extent = hint / EXTENT_PAGES * EXTENT_PAGES;
            take(hint..(extent + EXTENT_PAGES).min(total), &mut found);
            take(extent..hint, &mut found);
            let extents = total / EXTENT_PAGES;
            let ahead = (hint / EXTENT_PAGES + 1..extents).chain(0..hint / EXTENT_PAGES);
            for extent in ahead.filter(|extent| extent_is_free(map, *extent)) {
                if found.len() == count {
                    break;
                }
                take(extent * EXTENT_PAGES..(extent + 1) * EXTENT_PAGES, &mut found);
            }
            hint
        }
    };
    if found.len() < count {
        take(hint..total, &mut found);
        take(0..hint, &mut found);
    }
    debug_assert!(found.len() <= count, "no more bits are found than were asked for");
    debug_assert!(
        found.iter().all(|bit| (*bit as usize) < total && !bit_is_set(map, *bit as usize)),
        "free bits are found"
    );
    found
}

fn extent_is_free(map: &[u8], extent: usize) -> bool {
    let start = BITS + extent * EXTENT_PAGES / 8;
    map[start..start + EXTENT_PAGES / 8].iter().all(|byte| *byte == 0)
}

pub(crate) const fn bits_in(page_bytes: usize) -> usize {
    (page_bytes - BITS) * 8
}

pub(crate) fn bit_is_set(map: &[u8], bit: usize) -> bool {
    map[BITS + bit / 8] & 1 << (bit % 8) != 0
}

pub(crate) fn set_bit(map: &mut [u8], bit: usize) {
    map[BITS + bit / 8] |= 1 << (bit % 8);
}

pub(crate) fn region_field(map: &[u8]) -> u32 {
    u32::from_le_bytes(map[REGIONS..REGIONS + 4].try_into().expect("four bytes"))
}

/// Redo of `Change::SpaceBits`.
pub(crate) fn apply_bits(map: &mut [u8], used: bool, bits: BitList<'_>) -> Result<(), PageFault> {
    for bit in bits.iter() {
        let bit = bit as usize;
        if bit >= bits_in(map.len()) {
            return Err(PageFault::Structure("a logged bit is not in the space map"));
        }
        if bit_is_set(map, bit) == used {
            return Err(PageFault::Structure("a logged bit has its new value already"));
        }
        map[BITS + bit / 8] ^= 1 << (bit % 8);
    }
    Ok(())
}

/// Redo of `Change::SpaceRegions`.
pub(crate) fn apply_regions(map: &mut [u8], count: u32) -> Result<(), PageFault> {
    map[REGIONS..REGIONS + 4].copy_from_slice(&count.to_le_bytes());
    Ok(())
}

/// Where a new page should lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// As close behind this page as possible: for small trees, which should not spread.
    Near(PageId),
    /// In this page's extent, or in an extent of its own when that is full.
    Extent(PageId),
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagestore::PageId;

    #[test]
    fn pages_are_found_where_they_are_wanted() {
        let mut map = vec![0u8; 4096];
        (0..40).for_each(|bit| set_bit(&mut map, bit));
        let total = bits_in(4096);
        // The rest of the extent of page 35, then a free extent.
        assert_eq!(find_free(&map, Placement::Extent(PageId(35)), 2, total), [40, 41]);
        (40..64).for_each(|bit| set_bit(&mut map, bit));
        set_bit(&mut map, 70);
        assert_eq!(find_free(&map, Placement::Extent(PageId(35)), 1, total), [96]);
        assert_eq!(find_free(&map, Placement::Near(PageId(35)), 1, total), [64]);
        // Below a limit, the free extents do not count.
        assert_eq!(find_free(&map, Placement::Extent(PageId(90)), 2, 72), [64, 65]);
        (0..total).for_each(|bit| set_bit(&mut map, bit));
        assert!(find_free(&map, Placement::Near(PageId(35)), 1, total).is_empty());
        map[BITS + 1] = 0b1110_1111;
        assert_eq!(find_free(&map, Placement::Extent(PageId(35)), 4, total), [12]);
    }

    #[test]
    fn redo_refuses_bits_that_contradict_the_map() {
        let mut map = vec![0u8; 4096];
        let bits = 7u32.to_le_bytes();
        let list = || BitList::from_bytes(&bits).unwrap();
        apply_bits(&mut map, true, list()).unwrap();
        assert!(bit_is_set(&map, 7));
        assert!(apply_bits(&mut map, true, list()).is_err());
        apply_bits(&mut map, false, list()).unwrap();
        let beyond = (bits_in(4096) as u32).to_le_bytes();
        assert!(apply_bits(&mut map, true, BitList::from_bytes(&beyond).unwrap()).is_err());
    }
}
