//! Where to split a leaf for an entry that does not fit.
//!
//! The place is chosen in the sequence of entries as it will be with the new one, so that whichever side the new
//! key goes to has room. Ascending keys leave full leaves behind, descending keys likewise; otherwise the bytes
//! are halved, and near the middle the place with the shortest separator wins, because short separators make wide
//! inner nodes.

use crate::node::{Node, SLOT_BYTES, shortest_separator};

/// Inserts in a row that count as a pattern.
const RUN_MIN: i16 = 3;

/// What happens to the leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SplitPlace {
    /// How many of the present entries stay in the left node.
    pub(super) keep: usize,
    /// Greater than all keys on the left, at most the first on the right.
    pub(super) separator: Vec<u8>,
}

/// The entries with the new one in its place.
struct Sequence<'a> {
    node: Node<'a>,
    /// The new key without the node's prefix.
    suffix: &'a [u8],
    value_len: usize,
    position: usize,
    replaces: bool,
}

impl<'a> Sequence<'a> {
    fn len(&self) -> usize {
        self.node.count() + usize::from(!self.replaces)
    }

    /// The present entry at this place, `None` for the new one.
    fn present(&self, index: usize) -> Option<usize> {
        match index.cmp(&self.position) {
            std::cmp::Ordering::Less => Some(index),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(index - usize::from(!self.replaces)),
        }
    }

    fn suffix(&self, index: usize) -> &'a [u8] {
        self.present(index).map_or(self.suffix, |slot| self.node.suffix(slot))
    }

    fn bytes(&self, index: usize) -> usize {
        match self.present(index) {
            Some(slot) => self.node.entry_bytes(slot),
            None => SLOT_BYTES + self.suffix.len() + self.value_len,
        }
    }

    fn place(&self, left: usize) -> SplitPlace {
        debug_assert!((1..self.len()).contains(&left), "both sides get entries");
        let after_new = left > self.position && !self.replaces;
        let right_suffix = self.suffix(left);
        let separator_len = shortest_separator(self.suffix(left - 1), right_suffix);
        SplitPlace {
            keep: left - usize::from(after_new),
            separator: [self.node.prefix(), &right_suffix[..separator_len]].concat(),
        }
    }
}

/// `is_last`: no key of the tree is behind the leaf.
pub(super) fn choose(node: Node<'_>, key: &[u8], value_len: usize, is_last: bool) -> SplitPlace {
    let (position, replaces) = match node.search(key) {
        Ok(slot) => (slot, true),
        Err(slot) => (slot, false),
    };
    let suffix = key.strip_prefix(node.prefix()).expect("keys share the prefix of their leaf");
    let sequence = Sequence { node, suffix, value_len, position, replaces };
    let len = sequence.len();
    assert!(len >= 2, "a single entry always fits");
    // `starts[i]` is the sum of the first i entries.
    let mut starts = Vec::with_capacity(len + 1);
    starts.push(0);
    for index in 0..len {
        starts.push(starts[index] + sequence.bytes(index));
    }
    let room = node.capacity() - node.prefix().len();
    let fits =
        |left: usize| (1..len).contains(&left) && starts[left] <= room && starts[len] - starts[left] <= room;
    if let Some(left) = by_pattern(&sequence, is_last).filter(|left| fits(*left)) {
        return sequence.place(left);
    }
    let half = starts[len] / 2;
    let middle = (1..len).filter(|left| fits(*left)).min_by_key(|left| starts[*left].abs_diff(half));
    let middle = middle.expect("entries are at most half a page, so a fair place exists");
    let reach = len / 10;
    let near = (middle.saturating_sub(reach)..=middle + reach).filter(|left| fits(*left));
    let separator_len = |left: usize| shortest_separator(sequence.suffix(left - 1), sequence.suffix(left));
    let best = near.min_by_key(|left| (separator_len(*left), left.abs_diff(middle)));
    sequence.place(best.expect("the middle itself is near"))
}

/// How many entries go left when inserts follow a pattern.
fn by_pattern(sequence: &Sequence<'_>, is_last: bool) -> Option<usize> {
    let (node, position) = (sequence.node, sequence.position);
    if sequence.replaces {
        return None;
    }
    let run = node.insert_run();
    let follows_last = node.insert_last().is_some_and(|last| last + 1 == position);
    let precedes_last = node.insert_last() == Some(position);
    if (is_last && position == node.count()) || (run >= RUN_MIN && follows_last) {
        debug_assert!(position <= node.count(), "an entry is inserted between its neighbours");
        // The new key opens the right node.
        return Some(position);
    }
    // The new key closes the left node.
    (run <= -RUN_MIN && precedes_last).then_some(position + 1)
}
