//! Who reads which segment: readers enter the gate of a segment, and nobody opens it for writing until they left.
//!
//! Protocol: a reader loads the word, enters, and loads the word again. If it still names the segment, the segment is
//! not free, and will not be opened before the reader leaves.

use super::sync::{AtomicU32, AtomicU64, RwLock, fence};
use std::sync::atomic::Ordering;

#[derive(Default)]
struct Gate {
    readers: AtomicU32,
    generation: AtomicU64,
}

#[derive(Default)]
pub(super) struct Gates {
    /// Locked for writing only when the store grows.
    gates: RwLock<Vec<Gate>>,
}

pub(super) struct Reading<'g> {
    gates: &'g Gates,
    segment: u32,
}

impl Gates {
    pub(super) fn grow_to(&self, count: u32) {
        let mut gates = self.gates.write();
        let count = gates.len().max(count as usize);
        gates.resize_with(count, Gate::default);
    }

    pub(super) fn enter(&self, segment: u32) -> Reading<'_> {
        self.gates.read()[segment as usize].readers.fetch_add(1, Ordering::SeqCst);
        // Pairs with the fence in `is_read`: whoever misses this reader has moved the words before it looks again.
        fence(Ordering::SeqCst);
        Reading { gates: self, segment }
    }

    pub(super) fn is_read(&self, segment: u32) -> bool {
        fence(Ordering::SeqCst);
        self.gates.read()[segment as usize].readers.load(Ordering::SeqCst) > 0
    }

    pub(super) fn set_generation(&self, segment: u32, generation: u64) {
        self.gates.read()[segment as usize].generation.store(generation, Ordering::SeqCst);
    }

    /// The sequence of the first chunk in the present use of the segment.
    pub(super) fn generation(&self, segment: u32) -> u64 {
        self.gates.read()[segment as usize].generation.load(Ordering::SeqCst)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.gates.gates.read()[self.segment as usize].readers.fetch_sub(1, Ordering::SeqCst);
    }
}
