//! The bytes of a simulated file in shared pages, so that a copy of a whole disk costs next to nothing.
//!
//! Invariant: bytes of the last page behind the length are zero, so an extension needs no clearing.

use std::ops::Range;
use std::sync::Arc;

const PAGE_BYTES: usize = 4096;
type Page = [u8; PAGE_BYTES];

#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    pages: Vec<Arc<Page>>,
    length: usize,
}

/// One per thread: worlds on different threads would only contend for its count.
fn zero_page() -> Arc<Page> {
    thread_local! {
        static ZERO: Arc<Page> = Arc::new([0; PAGE_BYTES]);
    }
    ZERO.with(Arc::clone)
}

impl Content {
    pub(super) fn from_slice(bytes: &[u8]) -> Self {
        let mut content = Self::default();
        content.resize(bytes.len());
        content.write(0, bytes);
        content
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn resize(&mut self, length: usize) {
        self.pages.resize_with(length.div_ceil(PAGE_BYTES), zero_page);
        let rest = length % PAGE_BYTES;
        if length < self.length && rest > 0 {
            let last = self.pages.last_mut().expect("the rest lies in a page");
            Arc::make_mut(last)[rest..].fill(0);
        }
        debug_assert_eq!(self.pages.len(), length.div_ceil(PAGE_BYTES), "a file has the pages of its length");
        self.length = length;
    }

    /// False when the range ends behind the end.
    pub(super) fn read(&self, start: usize, bytes: &mut [u8]) -> bool {
        if start + bytes.len() > self.length {
            return false;
        }
        for (page, inside, range) in pieces(start, bytes.len()) {
            bytes[range].copy_from_slice(&self.pages[page][inside]);
        }
        true
    }

    pub(super) fn copy(&self, range: Range<usize>) -> Vec<u8> {
        let mut bytes = vec![0; range.len()];
        assert!(self.read(range.start, &mut bytes), "the range lies inside the file");
        bytes
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        self.copy(0..self.length)
    }

    /// # Panics
    /// If the range ends behind the end.
    pub(super) fn write(&mut self, start: usize, bytes: &[u8]) {
        assert!(start + bytes.len() <= self.length, "the range lies inside the file");
        for (page, inside, range) in pieces(start, bytes.len()) {
            let bytes = &bytes[range];
            match bytes.len() == PAGE_BYTES && bytes.iter().all(|byte| *byte == 0) {
                true => self.pages[page] = zero_page(),
                false => Arc::make_mut(&mut self.pages[page])[inside].copy_from_slice(bytes),
            }
        }
    }

    /// Bytes that lie inside one page; None when they end behind the end.
    pub(super) fn sector_mut(&mut self, start: usize, length: usize) -> Option<&mut [u8]> {
        if start + length > self.length {
            return None;
        }
        debug_assert!(start % PAGE_BYTES + length <= PAGE_BYTES, "a sector lies in one page");
        let inside = start % PAGE_BYTES;
        Some(&mut Arc::make_mut(&mut self.pages[start / PAGE_BYTES])[inside..inside + length])
    }
}

/// Splits a range of a file by pages: the page, the part inside it, and the part of the range.
fn pieces(start: usize, length: usize) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = start + done;
        let inside = at % PAGE_BYTES;
        let count = (PAGE_BYTES - inside).min(length - done);
        let piece = (at / PAGE_BYTES, inside..inside + count, done..done + count);
        done += count;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::rng::Rng;

    #[test]
    fn it_behaves_like_a_vector() {
        let mut rng = Rng::new(1);
        let (mut content, mut model) = (Content::default(), Vec::new());
        for round in 0..2000u32 {
            if rng.chance(1, 4) {
                let length = rng.below(20_000);
                content.resize(length);
                model.resize(length, 0);
            }
            let start = rng.below(model.len() + 1);
            let bytes = vec![round as u8; rng.below(model.len() - start + 1)];
            let before = content.clone();
            content.write(start, &bytes);
            assert_eq!(before.to_vec(), model);
            model[start..start + bytes.len()].copy_from_slice(&bytes);
            assert_eq!(content.to_vec(), model);
        }
    }
}
