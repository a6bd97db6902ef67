//! Overflow chains: values that are too long for a leaf, in pages of their own.
//!
//! | offset | bytes | field                                   |
//! |--------|-------|-----------------------------------------|
//! | 0      | 40    | page header                             |
//! | 40     | 8     | next page of the chain, 0 at its end    |
//! | 48     | 4     | bytes of the value in this page         |
//! | 56     | rest  | the bytes                               |
//!
//! A chain is written from its end to its start, in steps of one mini-transaction each, so each step refers to
//! pages that exist. Nothing refers to the chain until the leaf entry with its stub is inserted: the engine logs
//! with each step how to undo it. A chain is freed from its start, each step saying where the rest begins.

use crate::lost_page;
use crate::mtr::Mtr;
use crate::redo::Change;
use crate::space::Space;
use crate::space_bits::Placement;
use buffer::{Access, BufferPool, Stop};
use pagestore::{CorruptPage, PageFault, PageId, PageKind, TreeId, header};

const NEXT: usize = 40;
const LENGTH: usize = 48;
const DATA: usize = 56;

/// Pages written or freed by one step: a bounded log group.
const STEP_PAGES_MAX: usize = 16;

/// A chain's place in a leaf entry, 16 bytes: first page (8), length of the value (8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stub {
    pub first: PageId,
    pub length: u64,
}

pub const STUB_BYTES: usize = 16;

impl Stub {
    pub fn encode(self) -> [u8; STUB_BYTES] {
        let mut bytes = [0; STUB_BYTES];
        bytes[..8].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; STUB_BYTES]) -> Self {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Self { first: PageId(number(0)), length: number(8) }
    }
}

impl Stub {
    /// How many pages of `page_bytes` the chain has.
    pub fn pages(self, page_bytes: usize) -> u64 {
        self.length.div_ceil((page_bytes - DATA) as u64)
    }
}

/// Writes a chain, step by step.
#[derive(Debug, Clone)]
pub struct Writer {
    tree: TreeId,
    length: u64,
    /// Bytes of the value that are not written yet: always its start.
    left: usize,
    first: PageId,
}

/// What a step has planned; hand it to `Writer::advance` when the step is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteStep {
    first: PageId,
    left: usize,
    /// The pages of this step in chain order: what an undo of the step frees.
    pub pages: Vec<PageId>,
}

impl Writer {
    pub fn new(tree: TreeId, value_len: usize) -> Self {
        assert!(value_len > 0, "an empty value needs no chain");
        Self { tree, length: value_len as u64, left: value_len, first: PageId(0) }
    }

    /// The stub, once all is written.
    pub fn stub(&self) -> Option<Stub> {
        (self.left == 0).then_some(Stub { first: self.first, length: self.length })
    }

    /// Plans the next pages in `mtr`; it has no effect on `self`, so it can be repeated after a `Stop`.
    pub fn step(&self, space: &Space, mtr: &mut Mtr<'_>, value: &[u8]) -> Result<WriteStep, Stop> {
        assert!(self.left > 0 && value.len() as u64 == self.length);
        debug_assert_eq!(
            self.left == value.len(),
            self.first == PageId(0),
            "the end of the value is written first"
        );
        let page_bytes = mtr.pool().page_bytes();
        let data_bytes = page_bytes - DATA;
        let group_pages_max = (mtr.pool().wal().group_bytes_max() / 2 / page_bytes).max(1);
        let count = self.left.div_ceil(data_bytes).min(STEP_PAGES_MAX).min(group_pages_max);
        // A long chain spreads over whole extents; a short one fills a hole.
        let placement = if count > 1 { Placement::Extent(self.first) } else { Placement::Near(self.first) };
        let mut pages = space.allocate(mtr, placement, count)?;
        pages.sort_unstable();
        let (mut left, mut next) = (self.left, self.first);
        for page in pages.iter().rev() {
            // Only the last page of the chain may be partly filled.
            let part = if next == PageId(0) { (left - 1) % data_bytes + 1 } else { data_bytes };
            debug_assert!((1..=left).contains(&part), "a page has a part of what is left");
            let mut image = vec![0; page_bytes];
            header::format(&mut image, *page, PageKind::Overflow, self.tree);
            image[NEXT..NEXT + 8].copy_from_slice(&next.0.to_le_bytes());
            image[LENGTH..LENGTH + 4].copy_from_slice(&(part as u32).to_le_bytes());
            image[DATA..DATA + part].copy_from_slice(&value[left - part..left]);
            mtr.change(*page, &Change::image_of(&image));
            left -= part;
            next = *page;
            debug_assert!(left.is_multiple_of(data_bytes), "only the last page of a chain is partly filled");
        }
        Ok(WriteStep { first: next, left, pages })
    }

    /// The step is committed.
    pub fn advance(&mut self, step: WriteStep) {
        assert!(step.left < self.left);
        debug_assert!(step.first != PageId(0), "a written step has a first page");
        self.left = step.left;
        self.first = step.first;
    }
}

/// Reads a chain; it keeps its place over stops.
#[derive(Debug, Clone)]
pub struct Reader {
    next: PageId,
    stub: Stub,
    value: Vec<u8>,
}

impl Reader {
    pub fn new(stub: Stub) -> Self {
        Self { next: stub.first, stub, value: Vec::new() }
    }

    /// Reads on until the value is complete; call it again after a `Stop`.
    pub fn read(&mut self, pool: &BufferPool) -> Result<(), Stop> {
        while self.next != PageId(0) {
            let page = self.next;
            let guard = pool.read_as(page, Access::Scan)?;
            let (next, data) = contents(&guard, page)?;
            if self.value.len() as u64 + data.len() as u64 > self.stub.length {
                return Err(corrupt(page, "an overflow chain is longer than its value"));
            }
            self.value.extend_from_slice(data);
            self.next = next;
        }
        if self.value.len() as u64 != self.stub.length {
            return Err(corrupt(self.stub.first, "an overflow chain is shorter than its value"));
        }
        Ok(())
    }

    pub fn into_value(self) -> Vec<u8> {
        debug_assert_eq!(self.value.len() as u64, self.stub.length, "a chain is read to its end");
        self.value
    }
}

/// Frees the first pages of a chain. It remembers what it has read over a `Stop`: to have all these pages in memory
/// at once is more than a small pool can give to several at a time, which then took the pages from each other for ever.
#[derive(Debug, Clone)]
pub struct FreeStep {
    /// The pages to free, up to `next`.
    pages: Vec<PageId>,
    next: PageId,
}

impl FreeStep {
    pub fn new(first: PageId) -> Self {
        Self { pages: Vec::new(), next: first }
    }

    /// Plans the step in `mtr` and returns where the rest of the chain starts, `None` when this step frees the last.
    /// Nobody may read the chain any more.
    pub fn plan(&mut self, space: &Space, mtr: &mut Mtr<'_>) -> Result<Option<PageId>, Stop> {
        while self.next != PageId(0) && self.pages.len() < STEP_PAGES_MAX {
            let guard = mtr.pool().read_as(self.next, Access::Scan)?;
            let (after, _) = contents(&guard, self.next)?;
            if self.pages.contains(&self.next) {
                return Err(corrupt(self.next, "an overflow chain runs in a circle"));
            }
            self.pages.push(self.next);
            self.next = after;
        }
        debug_assert!(self.pages.len() <= STEP_PAGES_MAX, "a step is bounded");
        space.release(mtr, &self.pages)?;
        Ok(Some(self.next).filter(|next| *next != PageId(0)))
    }
}

/// Next page and data.
fn contents(page: &[u8], id: PageId) -> Result<(PageId, &[u8]), Stop> {
    if header::kind(page) != Some(PageKind::Overflow) {
        let fault = lost_page::fault_of(page, "an overflow chain leads to another kind of page");
        return Err(Stop::Corrupt(CorruptPage { page: id, fault }));
    }
    let next = u64::from_le_bytes(page[NEXT..NEXT + 8].try_into().expect("eight bytes"));
    Ok((PageId(next), &page[DATA..DATA + length(page)]))
}

fn length(page: &[u8]) -> usize {
    u32::from_le_bytes(page[LENGTH..LENGTH + 4].try_into().expect("four bytes")) as usize
}

/// The part of `check_page` for overflow pages.
pub(crate) fn check(page: &[u8]) -> Result<(), PageFault> {
    let next = u64::from_le_bytes(page[NEXT..NEXT + 8].try_into().expect("eight bytes"));
    if length(page) > page.len() - DATA || next > pagestore::PAGE_ID_MAX {
        return Err(PageFault::Structure("an overflow page's length or next page is impossible"));
    }
    Ok(())
}

fn corrupt(page: PageId, rule: &'static str) -> Stop {
    Stop::Corrupt(CorruptPage { page, fault: PageFault::Structure(rule) })
}
