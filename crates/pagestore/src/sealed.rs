//! Blocks that carry their own checksum: crc32c of the whole block with the four bytes of the checksum as zero.
//!
//! Callers: the formats of `in_place` (superblock slots, the doublewrite file's header, the file of versions).

use std::ops::Range;

fn field(at: usize) -> Range<usize> {
    at..at + 4
}

/// Puts the checksum into its place, and answers it.
pub(crate) fn seal(block: &mut [u8], at: usize) -> u32 {
    debug_assert!(at + 4 <= block.len(), "a checksum lies in its block");
    block[field(at)].fill(0);
    let checksum = crc_fast::crc32_iscsi(block);
    block[field(at)].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The checksum, if it is right.
pub(crate) fn checksum(block: &[u8], at: usize) -> Option<u32> {
    let mut expected = block.to_vec();
    let checksum = seal(&mut expected, at);
    (block[field(at)] == expected[field(at)]).then_some(checksum)
}
