//! A filter that tells for most rows that a run has no version of them: a Bloom filter whose bits for one row lie in one
//! cache line.
//!
//! Invariant: a row that was added is found. Of the others about one in a hundred is.

/// Bits in a block.
const BLOCK_BITS: u64 = 512;
const WORDS_PER_BLOCK: usize = (BLOCK_BITS / 64) as usize;
const BITS_PER_ROW: u64 = 10;
/// Bits set for a row.
const PROBES: u32 = 6;
const _: () =
    assert!(BLOCK_BITS == 1 << 9 && 10 + 9 * PROBES <= u64::BITS, "one product has all bits of a row");

pub(super) struct Filter {
    blocks: Box<[[u64; WORDS_PER_BLOCK]]>,
}

impl Filter {
    /// For so many rows; with fewer bits than are good for them if they would take more than `bytes_max`.
    pub fn new(rows: usize, bytes_max: u64) -> Filter {
        let wanted = (rows as u64 * BITS_PER_ROW).div_ceil(BLOCK_BITS);
        let blocks = wanted.min(bytes_max / (BLOCK_BITS / 8)).max(1);
        Filter { blocks: vec![[0; WORDS_PER_BLOCK]; blocks as usize].into() }
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.blocks)
    }

    fn block(&self, hash: u64) -> usize {
        // The upper half, scaled; the probes use the lower one.
        (((hash >> 32) * self.blocks.len() as u64) >> 32) as usize
    }

    /// The bits of a row: (word, mask).
    fn probes(hash: u64) -> impl Iterator<Item = (usize, u64)> {
        // Nine bits each from the product of the lower half with an odd number.
        let mixed = (hash & 0xFFFF_FFFF).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (0..PROBES).map(move |probe| {
            let bit = (mixed >> (10 + 9 * probe)) & (BLOCK_BITS - 1);
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    pub fn add(&mut self, hash: u64) {
        let block = self.block(hash);
        Filter::probes(hash).for_each(|(word, mask)| self.blocks[block][word] |= mask);
        debug_assert!(self.may_have(hash), "a row that was added is found");
    }

    pub fn may_have(&self, hash: u64) -> bool {
        let block = &self.blocks[self.block(hash)];
        Filter::probes(hash).all(|(word, mask)| block[word] & mask != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldhash::fast::FixedState;
    use std::hash::BuildHasher;

    #[test]
    fn added_rows_are_found_and_most_others_are_not() {
        let hasher = FixedState::with_seed(3);
        for rows in [1, 100, 100_000] {
            let mut filter = Filter::new(rows, u64::MAX);
            let hash = |row: usize| hasher.hash_one((7u64, &row.to_be_bytes()[..]));
            (0..rows).for_each(|row| filter.add(hash(row)));
            assert!((0..rows).all(|row| filter.may_have(hash(row))));
            let wrong = (rows..rows + 100_000).filter(|row| filter.may_have(hash(*row))).count();
            assert!(wrong < 3_000, "{wrong} of 100,000 are found beside {rows}");
        }
    }

    #[test]
    fn a_filter_keeps_to_its_memory() {
        let mut filter = Filter::new(1_000_000, 1_000);
        assert!(filter.bytes() <= 1_000);
        filter.add(u64::MAX);
        assert!(filter.may_have(u64::MAX));
        assert!(Filter::new(0, 0).bytes() > 0);
    }
}
