//! The space map: which pages are in use. One bit a page, in pages of the store itself.
//!
//! Region `r` is the pages `r * n .. (r + 1) * n`, `n` being the bits of one map page; its map page is number 2 in
//! the region. In region 0 the pages 0 and 1 belong to the store.
//!
//! | offset | bytes | field                                             |
//! |--------|-------|---------------------------------------------------|
//! | 0      | 40    | page header                                       |
//! | 40     | 4     | number of regions; meaningful in region 0         |
//! | 64     | rest  | bits, lowest first: 1 is in use                   |
//!
//! Invariant: bits change only in mini-transactions, with the structure that gains or loses the page. Map pages
//! are latched after all tree pages and in ascending order. At most one call that allocates or frees is made for
//! one mini-transaction, because planned bits do not show in the page yet.

use crate::freed::FreedPages;
use crate::lost;
use crate::mtr::Mtr;
use crate::redo::{BitList, Change};
use buffer::{BufferPool, SharedGuard, Stop};
use pagestore::{CorruptPage, PageFault, PageId, PageKind, TreeId, header};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;
use wal::Lsn;

const REGIONS: usize = 40;
const BITS: usize = 64;
const MAP_PAGE: u64 = 2;

/// Leaves of one tree are placed in groups of this many pages where possible.
const EXTENT_PAGES: usize = 32;

/// Where a new page should lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// As close behind this page as possible: for small trees, which should not spread.
    Near(PageId),
    /// In this page's extent, or in an extent of its own when that is full.
    Extent(PageId),
}

/// Allocates and frees pages. One for each store; it keeps hints only, all truth is in the map pages.
pub struct Space {
    region_pages: u64,
    /// Regions in which the last search found nothing. A leaf lock.
    full: Mutex<Vec<bool>>,
    /// `None`: the store does not want to know.
    freed: Option<Arc<FreedPages>>,
}

/// Freed pages that the store is being told about: until this is dropped nobody can allocate them.
pub struct LeavingPages<'s> {
    space: &'s Space,
    pages: Vec<PageId>,
}

impl LeavingPages<'_> {
    pub fn pages(&self) -> &[PageId] {
        &self.pages
    }

    /// The store could not be told: they wait for another turn.
    pub fn stay(self) {
        if let Some(freed) = &self.space.freed {
            freed.note(&self.pages);
        }
    }
}

impl Drop for LeavingPages<'_> {
    fn drop(&mut self) {
        if let Some(freed) = &self.space.freed {
            freed.left(&self.pages);
        }
    }
}

impl Space {
    pub fn new(pool: &BufferPool) -> Self {
        Self {
            region_pages: bits_in(pool.page_bytes()) as u64,
            full: Mutex::new(Vec::new()),
            freed: pool.store().wants_frees().then(Arc::default),
        }
    }

    /// Makes the first map page of a new store.
    pub fn format(&self, mtr: &mut Mtr<'_>) -> Result<(), Stop> {
        let page = PageId(MAP_PAGE);
        mtr.hold(mtr.pool().create(page)?);
        let mut image = self.map_image(mtr.pool().page_bytes(), page);
        set_bit(&mut image, 0);
        set_bit(&mut image, 1);
        image[REGIONS..REGIONS + 4].copy_from_slice(&1u32.to_le_bytes());
        mtr.change(page, &Change::image_of(&image));
        Ok(())
    }

    /// Marks 1 to `count` pages as used, as many as one region can give, and latches their new frames in `mtr`.
    /// The caller plans an image for each of them.
    pub(crate) fn allocate(
        &self,
        mtr: &mut Mtr<'_>,
        placement: Placement,
        count: usize,
    ) -> Result<Vec<PageId>, Stop> {
        assert!(count > 0);
        let regions = self.region_count(mtr.pool())?;
        let wanted = match placement {
            Placement::Near(page) | Placement::Extent(page) => page.0 / self.region_pages,
        };
        let others = (0..regions).filter(|region| *region != wanted);
        let order = std::iter::once(wanted).chain(others).filter(|region| *region < regions);
        // On a full disk a hole is better than a page for which the store would have to grow.
        let limits = [mtr.pool().growth_refused_at(), Some(u64::MAX)];
        for limit in limits.into_iter().flatten() {
            for region in order.clone() {
                if self.full.lock().get(region as usize) == Some(&true) {
                    continue;
                }
                if let Some(pages) = self.allocate_in(mtr, region, placement, count, limit)? {
                    return Ok(pages);
                }
            }
        }
        self.allocate_in_new_region(mtr, regions, count)
    }

    /// Takes free pages of one region below `limit`; `None` if there are none.
    fn allocate_in(
        &self,
        mtr: &mut Mtr<'_>,
        region: u64,
        placement: Placement,
        count: usize,
        limit: u64,
    ) -> Result<Option<Vec<PageId>>, Stop> {
        let map = PageId(region * self.region_pages + MAP_PAGE);
        let guard = mtr.pool().write(map)?;
        check_map(&guard, map)?;
        let leaving = self.leaving(region);
        let below = limit.saturating_sub(region * self.region_pages).min(self.region_pages) as usize;
        let placement = self.local(placement, region);
        let bits = find_free(&with_bits(&guard, &leaving), placement, count, below);
        if bits.is_empty() {
            if limit == u64::MAX {
                self.set_full(region, leaving.is_empty());
            }
            return Ok(None);
        }
        mtr.hold(guard);
        plan_bits(mtr, map, true, &bits);
        self.hold_new(mtr, region, &bits).map(Some)
    }

    /// Marks pages as free. Nothing may refer to them once the mini-transaction is committed.
    pub(crate) fn release(&self, mtr: &mut Mtr<'_>, pages: &[PageId]) -> Result<(), Stop> {
        let mut pages = pages.to_vec();
        pages.sort_unstable();
        for region in pages.chunk_by(|one, other| one.0 / self.region_pages == other.0 / self.region_pages) {
            let number = region[0].0 / self.region_pages;
            let map = PageId(number * self.region_pages + MAP_PAGE);
            let bits: Vec<u32> = region.iter().map(|page| (page.0 % self.region_pages) as u32).collect();
            let guard = mtr.latch(map)?;
            check_map(guard, map)?;
            if bits.iter().any(|bit| !bit_is_set(guard, *bit as usize)) {
                return Err(corrupt(map, "a page in use is free in the space map"));
            }
            plan_bits(mtr, map, false, &bits);
            self.set_full(number, false);
            region.iter().for_each(|page| mtr.pool().cool(*page));
        }
        if let Some(freed) = &self.freed {
            mtr.free_at_commit(freed, pages);
        }
        Ok(())
    }

    /// How many freed pages the store does not know of.
    pub fn freed_count(&self) -> u64 {
        self.freed.as_ref().map_or(0, |freed| freed.count())
    }

    /// A checkpoint begins: when it is durable at or behind `log_end`, what is free now may leave the store.
    pub fn seal_freed(&self, log_end: impl FnOnce() -> Lsn) {
        if let Some(freed) = &self.freed {
            freed.seal(log_end);
        }
    }

    /// Some of the pages whose frees lie before the durable checkpoint; `None` when there are no more.
    pub fn take_freed(
        &self,
        pool: &BufferPool,
        durable: Lsn,
        count: usize,
    ) -> Result<Option<LeavingPages<'_>>, Stop> {
        let Some(freed) = &self.freed else { return Ok(None) };
        let Some(first) = freed.first_ripe(durable) else { return Ok(None) };
        let region = first.0 / self.region_pages;
        let map = pool.read(PageId(region * self.region_pages + MAP_PAGE))?;
        let is_used = |page: PageId| bit_is_set(&map, (page.0 % self.region_pages) as usize);
        let pages = freed.take(self.range(region), count, is_used);
        Ok(Some(LeavingPages { space: self, pages }))
    }

    /// After a start: notes the free pages of a region that the store still holds. False behind the last region.
    pub fn note_free_pages(&self, pool: &BufferPool, region: u64) -> Result<bool, Stop> {
        let Some(freed) = &self.freed else { return Ok(false) };
        if region >= self.region_count(pool)? {
            return Ok(false);
        }
        let map = pool.read(PageId(region * self.region_pages + MAP_PAGE))?;
        let free = (0..self.region_pages).filter(|bit| !bit_is_set(&map, *bit as usize));
        let pages = free.map(|bit| PageId(region * self.region_pages + bit));
        let held: Vec<PageId> = pages.filter(|page| pool.store().holds(*page)).collect();
        freed.note(&held);
        Ok(true)
    }

    fn range(&self, region: u64) -> RangeInclusive<u64> {
        region * self.region_pages..=(region + 1) * self.region_pages - 1
    }

    /// The bits of a region's pages that the store is being told about.
    fn leaving(&self, region: u64) -> Vec<u32> {
        let Some(freed) = &self.freed else { return Vec::new() };
        let pages = freed.leaving(self.range(region));
        pages.iter().map(|page| (page.0 % self.region_pages) as u32).collect()
    }

    /// Whether the map says that the page is in use.
    pub fn is_used(&self, pool: &BufferPool, page: PageId) -> Result<bool, Stop> {
        let region = page.0 / self.region_pages;
        if region >= self.region_count(pool)? {
            return Ok(false);
        }
        let map = self.read_map(pool, region)?;
        Ok(bit_is_set(&map, (page.0 % self.region_pages) as usize))
    }

    /// The used pages of a region, or `None` behind the last; for checks.
    pub fn used_pages(&self, pool: &BufferPool, region: u64) -> Result<Option<Vec<PageId>>, Stop> {
        if region >= self.region_count(pool)? {
            return Ok(None);
        }
        let map = self.read_map(pool, region)?;
        let used = (0..self.region_pages).filter(|bit| bit_is_set(&map, *bit as usize));
        Ok(Some(used.map(|bit| PageId(region * self.region_pages + bit)).collect()))
    }

    /// Whether the page belongs to the space map or the store, not to a tree.
    pub fn is_reserved(&self, page: PageId) -> bool {
        page < pagestore::FIRST_FREE_PAGE || page.0 % self.region_pages == MAP_PAGE
    }

    fn region_count(&self, pool: &BufferPool) -> Result<u64, Stop> {
        Ok(u64::from(region_field(&self.read_map(pool, 0)?)))
    }

    fn read_map<'p>(&self, pool: &'p BufferPool, region: u64) -> Result<SharedGuard<'p>, Stop> {
        let page = PageId(region * self.region_pages + MAP_PAGE);
        let map = pool.read(page)?;
        check_map(&map, page)?;
        Ok(map)
    }

    fn allocate_in_new_region(
        &self,
        mtr: &mut Mtr<'_>,
        region: u64,
        count: usize,
    ) -> Result<Vec<PageId>, Stop> {
        let first = PageId(MAP_PAGE);
        let held = mtr.latch(first)?;
        if u64::from(region_field(held)) != region {
            return Err(Stop::Restart);
        }
        let map = PageId(region * self.region_pages + MAP_PAGE);
        mtr.hold(mtr.pool().create(map)?);
        let mut image = self.map_image(mtr.pool().page_bytes(), map);
        let bits = find_free(&image, Placement::Near(PageId(0)), count, self.region_pages as usize);
        for bit in &bits {
            set_bit(&mut image, *bit as usize);
        }
        let regions = u32::try_from(region + 1).expect("page ids have 40 bits");
        mtr.change(first, &Change::SpaceRegions { count: regions });
        mtr.change(map, &Change::image_of(&image));
        self.hold_new(mtr, region, &bits)
    }

    fn hold_new(&self, mtr: &mut Mtr<'_>, region: u64, bits: &[u32]) -> Result<Vec<PageId>, Stop> {
        let pages: Vec<_> =
            bits.iter().map(|bit| PageId(region * self.region_pages + u64::from(*bit))).collect();
        for page in &pages {
            mtr.hold(mtr.pool().create(*page)?);
        }
        Ok(pages)
    }

    fn map_image(&self, page_bytes: usize, map: PageId) -> Vec<u8> {
        let mut image = vec![0; page_bytes];
        header::format(&mut image, map, PageKind::SpaceMap, TreeId(0));
        set_bit(&mut image, MAP_PAGE as usize);
        image
    }

    /// The placement in terms of the region's own bit numbers.
    fn local(&self, placement: Placement, region: u64) -> Placement {
        let local = |page: PageId| {
            PageId(if page.0 / self.region_pages == region { page.0 % self.region_pages } else { 0 })
        };
        match placement {
            Placement::Near(page) => Placement::Near(local(page)),
            Placement::Extent(page) => Placement::Extent(local(page)),
        }
    }

    fn set_full(&self, region: u64, is_full: bool) {
        let mut full = self.full.lock();
        let region = region as usize;
        if full.len() <= region {
            full.resize(region + 1, false);
        }
        full[region] = is_full;
    }
}

fn check_map(bytes: &[u8], page: PageId) -> Result<(), Stop> {
    match header::kind(bytes) {
        Some(PageKind::SpaceMap) => Ok(()),
        _ => {
            Err(CorruptPage { page, fault: lost::fault_of(bytes, "it is not a page of the space map") }
                .into())
        }
    }
}

fn plan_bits(mtr: &mut Mtr<'_>, map: PageId, used: bool, bits: &[u32]) {
    let bytes: Vec<u8> = bits.iter().flat_map(|bit| bit.to_le_bytes()).collect();
    let bits = BitList::from_bytes(&bytes).expect("four bytes each");
    mtr.change(map, &Change::SpaceBits { used, bits });
}

/// The map with these bits set as well.
fn with_bits<'m>(map: &'m [u8], bits: &[u32]) -> Cow<'m, [u8]> {
    let mut map = Cow::Borrowed(map);
    for bit in bits {
        set_bit(map.to_mut(), *bit as usize);
    }
    map
}

/// Up to `count` free bits below `total`, the best places first found.
fn find_free(map: &[u8], placement: Placement, count: usize, total: usize) -> Vec<u32> {
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
    found
}

fn extent_is_free(map: &[u8], extent: usize) -> bool {
    let start = BITS + extent * EXTENT_PAGES / 8;
    map[start..start + EXTENT_PAGES / 8].iter().all(|byte| *byte == 0)
}

const fn bits_in(page_bytes: usize) -> usize {
    (page_bytes - BITS) * 8
}

fn bit_is_set(map: &[u8], bit: usize) -> bool {
    map[BITS + bit / 8] & 1 << (bit % 8) != 0
}

fn set_bit(map: &mut [u8], bit: usize) {
    map[BITS + bit / 8] |= 1 << (bit % 8);
}

fn region_field(map: &[u8]) -> u32 {
    u32::from_le_bytes(map[REGIONS..REGIONS + 4].try_into().expect("four bytes"))
}

fn corrupt(page: PageId, rule: &'static str) -> Stop {
    Stop::Corrupt(CorruptPage { page, fault: PageFault::Structure(rule) })
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

#[cfg(test)]
mod tests {
    use super::*;

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
