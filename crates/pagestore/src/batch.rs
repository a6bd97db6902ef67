//! `PageBatch`: page images on their way to the store, in one aligned buffer.
//!
//! Invariant: every image in a batch has the right page id, and the right checksum once the store has sealed the batch. The buffer
//! starts with room for a header of the store, so that images and header go to disk in one write without another copy.

use crate::{PageId, PageSize, header};
use env::IoBuf;

/// Room at the start of the buffer that belongs to the store.
pub const BATCH_HEADER_BYTES: usize = 4096;

/// The in-place store describes each page of a batch in 12 bytes of one header block (3 KB for 256 pages).
pub const BATCH_PAGES_MAX: usize = 256;

/// Page images that become durable together.
pub struct PageBatch {
    page_size: PageSize,
    pages: Vec<PageId>,
    buffer: IoBuf,
}

impl PageBatch {
    pub fn new(page_size: PageSize, capacity: usize) -> Self {
        assert!((1..=BATCH_PAGES_MAX).contains(&capacity), "a batch has 1 to {BATCH_PAGES_MAX} pages");
        // The images are copied in, and the store fills the room before them.
        let buffer = IoBuf::for_overwriting(BATCH_HEADER_BYTES + capacity * page_size.bytes());
        Self { page_size, pages: Vec::with_capacity(capacity), buffer }
    }

    /// Copies a page image into the batch.
    pub fn push(&mut self, id: PageId, page: &[u8]) {
        assert_eq!(page.len(), self.page_size.bytes());
        assert_eq!(header::id(page), id, "a page is only ever written under its own id");
        assert!(!self.is_full(), "the batch is full");
        let start = BATCH_HEADER_BYTES + self.pages.len() * self.page_size.bytes();
        self.buffer.as_mut_slice()[start..start + page.len()].copy_from_slice(page);
        self.pages.push(id);
    }

    /// Marks the images with the epoch in which they are written, and gives them their checksums.
    pub(crate) fn seal(&mut self, epoch: u32) {
        let images =
            self.buffer.as_mut_slice()[BATCH_HEADER_BYTES..].chunks_exact_mut(self.page_size.bytes());
        for image in images.take(self.pages.len()) {
            debug_assert!(header::kind(image).is_some(), "what is written is a page");
            header::set_epoch(image, epoch);
            header::seal(image);
        }
        debug_assert!(self.is_sound(), "what is written passes the check of what is read");
    }

    fn is_sound(&self) -> bool {
        (0..self.len()).all(|index| header::verify(self.image(index), self.pages[index]).is_ok())
    }

    pub fn pages(&self) -> &[PageId] {
        &self.pages
    }

    pub fn len(&self) -> usize {
        self.pages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub fn is_full(&self) -> bool {
        debug_assert!(self.pages.len() <= BATCH_PAGES_MAX, "a batch fits its header");
        let used = BATCH_HEADER_BYTES + self.pages.len() * self.page_size.bytes();
        used + self.page_size.bytes() > self.buffer.len()
    }

    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// The image of the page at `index`.
    pub fn image(&self, index: usize) -> &[u8] {
        assert!(index < self.pages.len());
        let start = BATCH_HEADER_BYTES + index * self.page_size.bytes();
        &self.buffer.as_slice()[start..start + self.page_size.bytes()]
    }

    /// The list of pages and the buffer: header room, then the images in order.
    pub fn into_parts(mut self) -> (Vec<PageId>, IoBuf) {
        self.buffer.set_len(BATCH_HEADER_BYTES + self.pages.len() * self.page_size.bytes());
        debug_assert_eq!(
            self.pages.is_empty(),
            self.buffer.len() == BATCH_HEADER_BYTES,
            "each page has an image"
        );
        (self.pages, self.buffer)
    }
}
