//! The arithmetic of log space: what a group can cost at most, and what is left for whom.
//!
//! Invariant: `room` never promises more than the prepared segments can hold in the worst case, in which every
//! group is flushed alone and every segment loses a largest group's size at its end. A reservation made against
//! it therefore never fails later.

use crate::format::{CHUNK_HEADER_BYTES, align_up};

/// The most that a group of `encoded_len` bytes can take on disk: a chunk of its own.
pub(crate) fn cost(encoded_len: usize) -> u64 {
    align_up((CHUNK_HEADER_BYTES + encoded_len) as u64)
}

/// What the prepared files can still take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) segment_bytes: u64,
    /// The largest `cost` of a group.
    pub(crate) group_cost_max: u64,
    /// Bytes behind the next block border in the current segment.
    pub(crate) rest: u64,
    /// Prepared segments after the current one.
    pub(crate) spares: u64,
}

impl Room {
    pub(crate) fn bytes(&self) -> u64 {
        debug_assert!(self.rest <= self.segment_bytes, "a border lies in its segment");
        debug_assert!(2 * self.group_cost_max <= self.segment_bytes, "two groups fit into a segment");
        let Some(middle) = self.spares.checked_sub(1) else { return self.rest };
        let current = self.rest.saturating_sub(self.group_cost_max);
        current + middle * (self.segment_bytes - self.group_cost_max) + self.segment_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_the_worst_case_leaves() {
        let room = |rest, spares| Room { segment_bytes: 100, group_cost_max: 30, rest, spares }.bytes();
        assert_eq!(room(50, 0), 50);
        assert_eq!(room(50, 1), 120);
        assert_eq!(room(10, 1), 100);
        assert_eq!(room(10, 2), 170);
        assert_eq!(cost(1), 4096);
        assert_eq!(cost(4096 - 64), 4096);
        assert_eq!(cost(4096 - 63), 8192);
    }
}
