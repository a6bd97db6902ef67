//! The range of a scan: where it begins and ends, why a step in it stops, and what the step has passed.
//!
//! Invariant: what a step has passed begins where the one before ended. Called by `scan`.

use crate::KeyRange;
use crate::locks::intervals::Range;
use btree::overflow::Stub;
use std::ops::Bound;

/// Why a step ended.
pub(super) enum Pause {
    /// The batch is full.
    Full,
    LeafEnd,
    RangeEnd,
    /// The value of the record at the cursor's key has to be fetched.
    Chain(Stub),
    /// Another transaction has the record at `key`; `moved` past the cursor's key before that.
    Locked {
        key: Vec<u8>,
        moved: bool,
    },
    /// A record that must not be locked any more.
    Changed,
    /// Whether the record at `key` is for this scan cannot be told until another page is in memory.
    Stopped {
        key: Vec<u8>,
    },
    Damaged,
}

/// All records of a leaf are dealt with: does the range go on behind it?
pub(super) fn leaf_end(range: &KeyRange, direction: btree::Direction, fence: Option<&[u8]>) -> Pause {
    let Some(fence) = fence else { return Pause::RangeEnd };
    let beyond = match direction {
        btree::Direction::Forward => is_beyond(range, direction, fence),
        // The fence itself belongs to this leaf.
        btree::Direction::Backward => range.lower.as_deref().is_some_and(|lower| fence <= lower),
    };
    if beyond { Pause::RangeEnd } else { Pause::LeafEnd }
}

/// The keys that a step has passed, and where the next one begins.
pub(super) fn passed(
    range: &KeyRange,
    begin: &Bound<Vec<u8>>,
    pause: &Pause,
    stopped_at: &[u8],
    fence: Option<&[u8]>,
    direction: btree::Direction,
) -> Option<(Range, Bound<Vec<u8>>)> {
    let forward = direction == btree::Direction::Forward;
    debug_assert!(fence.is_some() || !matches!(pause, Pause::LeafEnd), "the last leaf ends the range");
    let fence = fence.unwrap_or_default().to_vec();
    let (end, next) = match pause {
        Pause::Locked { moved: false, .. } | Pause::Changed | Pause::Damaged => return None,
        // Not yet the gap before the locked record: others may insert there until its lock is granted.
        Pause::Full | Pause::Chain(_) | Pause::Locked { .. } | Pause::Stopped { .. } => {
            (Bound::Included(stopped_at.to_vec()), Bound::Excluded(stopped_at.to_vec()))
        }
        Pause::LeafEnd if forward => (Bound::Excluded(fence.clone()), Bound::Included(fence)),
        Pause::LeafEnd => (Bound::Included(fence.clone()), Bound::Excluded(fence)),
        Pause::RangeEnd => {
            let (low, high) = bounds(range);
            let end = if forward { high } else { low };
            (end.clone(), end)
        }
    };
    let passed = if forward { (begin.clone(), end) } else { (end, begin.clone()) };
    Some((passed, next))
}

pub(super) fn bounds(range: &KeyRange) -> Range {
    let bound = |key: &Option<Vec<u8>>, excluded| match key {
        None => Bound::Unbounded,
        Some(key) if excluded => Bound::Excluded(key.clone()),
        Some(key) => Bound::Included(key.clone()),
    };
    (bound(&range.lower, range.lower_excluded), bound(&range.upper, range.upper_excluded))
}

pub(super) fn is_empty(range: &KeyRange) -> bool {
    match (&range.lower, &range.upper) {
        (Some(lower), Some(upper)) => {
            lower > upper || (lower == upper && (range.lower_excluded || range.upper_excluded))
        }
        _ => false,
    }
}

/// True when a scan in this direction has left the range at `key`.
pub(super) fn is_beyond(range: &KeyRange, direction: btree::Direction, key: &[u8]) -> bool {
    match direction {
        btree::Direction::Forward => range
            .upper
            .as_deref()
            .is_some_and(|upper| if range.upper_excluded { key >= upper } else { key > upper }),
        btree::Direction::Backward => range
            .lower
            .as_deref()
            .is_some_and(|lower| if range.lower_excluded { key <= lower } else { key < lower }),
    }
}
