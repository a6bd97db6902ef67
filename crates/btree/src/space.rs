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

use crate::lost_page;
use crate::mtr::Mtr;
use crate::redo::{BitList, Change};
use crate::space_bits::Placement;
use crate::space_bits::{REGIONS, bit_is_set, bits_in, find_free, region_field, set_bit};
use buffer::{BufferPool, SharedGuard, Stop};
use pagestore::{CorruptPage, PageFault, PageId, PageKind, TreeId, header};
use parking_lot::Mutex;

const MAP_PAGE: u64 = 2;

/// Allocates and frees pages. One for each store; it keeps hints only, all truth is in the map pages.
pub struct Space {
    region_pages: u64,
    /// Regions in which the last search found nothing. A leaf lock.
    full: Mutex<Vec<bool>>,
}

impl Space {
    pub fn new(pool: &BufferPool) -> Self {
        Self { region_pages: bits_in(pool.page_bytes()) as u64, full: Mutex::new(Vec::new()) }
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
        mtr.begin_space_change();
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
        let below = limit.saturating_sub(region * self.region_pages).min(self.region_pages) as usize;
        let placement = self.local(placement, region);
        let bits = find_free(&guard, placement, count, below);
        if bits.is_empty() {
            if limit == u64::MAX {
                self.set_full(region, true);
            }
            return Ok(None);
        }
        debug_assert!(bits.len() <= count, "no more pages are taken than were asked for");
        mtr.hold(guard);
        plan_bits(mtr, map, true, &bits);
        self.hold_new(mtr, region, &bits).map(Some)
    }

    /// Marks pages as free. Nothing may refer to them once the mini-transaction is committed.
    pub(crate) fn release(&self, mtr: &mut Mtr<'_>, pages: &[PageId]) -> Result<(), Stop> {
        mtr.begin_space_change();
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
            // Who refers to them was found sound by itself, and may be an older version of itself.
            if bits.windows(2).any(|two| two[0] == two[1]) {
                return Err(corrupt(map, "two places refer to one page"));
            }
            if region.iter().any(|page| self.is_reserved(*page)) {
                return Err(corrupt(map, "a page of a tree is one of the space map or the store"));
            }
            plan_bits(mtr, map, false, &bits);
            self.set_full(number, false);
            region.iter().for_each(|page| mtr.pool().cool(*page));
        }
        mtr.free_at_commit(pages);
        Ok(())
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

    /// What a page that is not in memory lacks does not matter if it is free.
    pub fn forget_page_log_if_free(&self, pool: &BufferPool, page: PageId) -> Result<(), Stop> {
        let region = page.0 / self.region_pages;
        if self.is_reserved(page) || region >= self.region_count(pool)? {
            return Ok(());
        }
        // While it is latched, nobody can allocate the page.
        let map = self.read_map(pool, region)?;
        if !bit_is_set(&map, (page.0 % self.region_pages) as usize) {
            pool.page_logs().freed(page);
        }
        Ok(())
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
        debug_assert!(!bits.is_empty(), "a new region has free pages");
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
            Err(CorruptPage { page, fault: lost_page::fault_of(bytes, "it is not a page of the space map") }
                .into())
        }
    }
}

fn plan_bits(mtr: &mut Mtr<'_>, map: PageId, used: bool, bits: &[u32]) {
    debug_assert!(!bits.is_empty(), "a record of bits changes some");
    let bytes: Vec<u8> = bits.iter().flat_map(|bit| bit.to_le_bytes()).collect();
    let bits = BitList::from_bytes(&bytes).expect("four bytes each");
    mtr.change(map, &Change::SpaceBits { used, bits });
}

fn corrupt(page: PageId, rule: &'static str) -> Stop {
    Stop::Corrupt(CorruptPage { page, fault: PageFault::Structure(rule) })
}
