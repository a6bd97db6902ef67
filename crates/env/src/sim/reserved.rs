//! Space of a simulated file that was reserved before it was written.
//!
//! A file system notes which reserved blocks have been written; those that it holds for unwritten read as zeros. That note is
//! no part of the content: a sync of the content may leave it in memory, as ext4 without a journal does. So a power cut may
//! turn a block into zeros that was written and synced, until a sync of everything (`settle`) has covered its first write.
//!
//! Invariant: the ranges lie apart, and blocks outside of them are noted for good.

use super::rng::Rng;
use std::collections::BTreeMap;
use std::ops::Range;

const BLOCK_BYTES: usize = 4096;

/// Blocks by the first; the end, and the sequence of the first write if there was one.
#[derive(Debug, Clone, Default)]
pub(super) struct Reserved(BTreeMap<usize, (usize, Option<u64>)>);

impl Reserved {
    /// Whole blocks inside the range are reserved.
    pub(super) fn add(&mut self, bytes: Range<usize>) {
        let blocks = bytes.start.div_ceil(BLOCK_BYTES)..bytes.end / BLOCK_BYTES;
        if blocks.start < blocks.end {
            self.0.insert(blocks.start, (blocks.end, None));
        }
    }

    pub(super) fn write(&mut self, bytes: Range<usize>, sequence: u64) {
        if self.0.is_empty() || bytes.is_empty() {
            return;
        }
        let blocks = bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES);
        self.split(blocks.start);
        self.split(blocks.end);
        for (_, (_, written)) in self.0.range_mut(blocks) {
            written.get_or_insert(sequence);
        }
    }

    /// The file ends here now.
    pub(super) fn cut(&mut self, length: usize) {
        let end = length.div_ceil(BLOCK_BYTES);
        self.split(end);
        self.0.split_off(&end);
    }

    /// What was written through `sequence` is noted for good.
    pub(super) fn settle(&mut self, sequence: u64) {
        self.0.retain(|_, (_, written)| written.is_none_or(|written| written > sequence));
    }

    /// The bytes that a power cut turns into zeros. From then on the file is as the file system has it.
    pub(super) fn crash(&mut self, rng: &mut Rng) -> Vec<Range<usize>> {
        if self.0.values().all(|(_, written)| written.is_none()) {
            return Vec::new();
        }
        // Often the note was written in the background.
        let chance = rng.below(3);
        let mut lost = Vec::new();
        for (start, (end, written)) in &mut self.0 {
            if written.is_some() && rng.below(4) < 2 * chance {
                *written = None;
                lost.push(start * BLOCK_BYTES..*end * BLOCK_BYTES);
            }
        }
        self.0.retain(|_, (_, written)| written.is_none());
        lost
    }

    /// No range reaches over this block's start.
    fn split(&mut self, block: usize) {
        if let Some((start, (end, written))) = self.0.range_mut(..block).next_back()
            && *end > block
        {
            debug_assert!(*start < block);
            let rest = (std::mem::replace(end, block), *written);
            self.0.insert(block, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_write_is_lost_unless_everything_was_synced() {
        let mut fates = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let mut reserved = Reserved::default();
            reserved.add(0..10 * BLOCK_BYTES);
            reserved.write(0..2 * BLOCK_BYTES, 1);
            reserved.write(BLOCK_BYTES..3 * BLOCK_BYTES, 2);
            reserved.settle(1);
            let lost = reserved.clone().crash(&mut Rng::new(seed));
            assert!(lost.iter().all(|range| *range == (2 * BLOCK_BYTES..3 * BLOCK_BYTES)), "{lost:?}");
            fates.insert(lost.len());
            reserved.settle(2);
            reserved.cut(7 * BLOCK_BYTES);
            assert!(reserved.crash(&mut Rng::new(seed)).is_empty());
            reserved.write(4 * BLOCK_BYTES + 1..9 * BLOCK_BYTES, 3);
            for range in reserved.crash(&mut Rng::new(seed)) {
                assert_eq!(range, 4 * BLOCK_BYTES..7 * BLOCK_BYTES);
            }
        }
        assert_eq!(fates.len(), 2);
    }
}
