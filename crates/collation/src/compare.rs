//! Comparing, equality and hashing of strings under a collation.
//!
//! Invariant: `equal` agrees with `compare`, and equal strings hash alike. Callers: value comparison, hash joins
//! and grouping, sorting.
use std::cmp::Ordering;
use std::hash::Hasher;

use env::LONG_PIECE;

use crate::registry::{Collation, CollationId, PadAttribute, Weighing};
use crate::weights::{Weights, for_each_weight};

impl CollationId {
    pub fn compare(self, left: &[u8], right: &[u8]) -> Ordering {
        self.collation().compare(left, right)
    }

    pub fn equal(self, left: &[u8], right: &[u8]) -> bool {
        let collation = self.collation();
        if collation.weighing == Weighing::Bytes && collation.pad == PadAttribute::NoPad {
            return left == right;
        }
        left == right || collation.compare(left, right).is_eq()
    }

    /// Whether the weights of `prefix` are the first ones of the text; trailing spaces count, whatever the collation pads.
    pub fn begins_with(self, text: &[u8], prefix: &[u8]) -> bool {
        let weighing = self.collation().weighing;
        if weighing == Weighing::Bytes {
            return text.starts_with(prefix);
        }
        let mut weights = Weights::new(weighing, text);
        Weights::new(weighing, prefix).all(|weight| weights.next() == Some(weight))
    }

    /// Feeds the hasher so that equal strings of this collation give equal hashes.
    pub fn hash(self, bytes: &[u8], hasher: &mut impl Hasher) {
        let collation = self.collation();
        let significant = collation.without_padding(bytes);
        if collation.weighing == Weighing::Bytes {
            hasher.write(significant);
            return;
        }
        // Four weights at a time: one hasher step per 8 bytes instead of per character.
        let mut block = 0u64;
        let mut count = 0u32;
        // Under padding, spaces only count once something follows that is neither a space nor ignorable.
        let padding = (collation.pad == PadAttribute::PadSpace).then(|| collation.space_weight());
        let mut spaces = 0u32;
        let mut feed = |weight: u16| {
            block = block << 16 | u64::from(weight);
            count = count.wrapping_add(1);
            if count.is_multiple_of(4) {
                hasher.write_u64(block);
                block = 0;
            }
        };
        for_each_weight(collation.weighing, significant, |weight| {
            if Some(weight) == padding {
                spaces += 1;
                return;
            }
            for _ in 0..std::mem::take(&mut spaces) {
                feed(padding.unwrap_or(weight));
            }
            feed(weight);
        });
        hasher.write_u64(block);
        hasher.write_u32(count);
    }
}

impl Collation {
    /// The string without the trailing spaces that comparison does not see.
    pub(crate) fn without_padding<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        match self.pad {
            PadAttribute::NoPad => bytes,
            PadAttribute::PadSpace => trim_trailing_spaces(bytes),
        }
    }

    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        if self.pad == PadAttribute::NoPad && self.weighing == Weighing::Bytes {
            return left.cmp(right);
        }
        let shared = shared_prefix_length(left, right);
        let (left, right) = (&left[shared..], &right[shared..]);
        let mut left = Weights::new(self.weighing, left);
        let mut right = Weights::new(self.weighing, right);
        let mut uncounted = 0;
        loop {
            uncounted += 1;
            if uncounted == LONG_PIECE {
                uncounted = 0;
                env::tick_long(LONG_PIECE * 4);
            }
            match (left.next(), right.next()) {
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => return a.cmp(&b),
                (None, None) => return Ordering::Equal,
                (Some(a), None) => return self.against_padding(a, left),
                (None, Some(b)) => return self.against_padding(b, right).reverse(),
            }
        }
    }

    /// Compares what remains of the longer string with the end of the shorter one.
    fn against_padding(&self, first: u16, rest: Weights<'_>) -> Ordering {
        if self.pad == PadAttribute::NoPad {
            return Ordering::Greater;
        }
        let space = self.space_weight();
        std::iter::once(first)
            .chain(rest)
            .map(|weight| weight.cmp(&space))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    pub(crate) fn space_weight(&self) -> u16 {
        Weights::new(self.weighing, b" ").next().expect("a space has a weight in every collation")
    }
}

/// Equal bytes need no weighing, because no collation here lets a character depend on its neighbours. Stops at a
/// character boundary of UTF-8; for single-byte character sets stopping early is harmless.
fn shared_prefix_length(left: &[u8], right: &[u8]) -> usize {
    let length = left.len().min(right.len());
    let (left, right) = (&left[..length], &right[..length]);
    let mut shared = 0;
    while shared + 8 <= length && left[shared..shared + 8] == right[shared..shared + 8] {
        shared += 8;
    }
    while shared < length && left[shared] == right[shared] {
        shared += 1;
    }
    // Back to before any character that is only partly shared. Four steps suffice for valid text; invalid bytes
    // weigh one by one, so a boundary anywhere among them is right too, except inside a sequence that is valid.
    let lowest = shared.saturating_sub(3);
    let mut boundary = shared;
    while boundary > lowest && left.get(boundary - 1).is_some_and(|byte| *byte >= 0x80) {
        boundary -= 1;
        if left[boundary] >= 0xC0 {
            return boundary;
        }
    }
    boundary
}

pub(crate) fn trim_trailing_spaces(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &bytes[..end]
}

#[cfg(test)]
mod tests;
