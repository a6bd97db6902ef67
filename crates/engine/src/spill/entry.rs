//! The form of a spill's entries, which are ordinary entries of a B-tree.
//!
//! | part | bytes | field |
//! |---|---|---|
//! | key | 8 | tree of the row; 0 for an overflow chain that the transaction has written |
//! | key | 2 | length of the row's key |
//! | key | n | the row's key |
//! | key | 8 | number of the change within its transaction; all ones for a lock |
//! | value | 1 | 0, as in every record of the engine |
//! | value | 1 | what is to be undone: the numbers of `Operation`, or `LOCK_ONLY`; how the row is locked |
//! | value | m | the record before the change; of a chain its first page (8 bytes, little-endian) |
//!
//! The numbers in keys are big-endian, so all entries of a row are neighbours, the oldest change first, a lock last.

use crate::log::log_record::Operation;
use crate::{LockMode, TreeId};
use pagestore::PageId;

const PLAIN: u8 = 0;
/// Nothing is left to undo, but the row stays locked.
const LOCK_ONLY: u8 = 0;
const LOCKED_SHARED: u8 = 254;
const LOCKED_EXCLUSIVE: u8 = 255;
const _: () = assert!(
    LOCK_ONLY < Operation::Insert as u8 && (Operation::CreateChain as u8) < LOCKED_SHARED,
    "locks are told from changes"
);
/// The number of no change.
const LOCK_SEQUENCE: u64 = u64::MAX;
const SEQUENCE_BYTES: usize = 8;
const VALUE_HEADER_BYTES: usize = 2;

/// Where the transaction's own overflow chains are listed; no tree has this number.
const NO_TREE: TreeId = TreeId(0);
/// Entries of rows begin here.
pub(crate) const FIRST_TREE: TreeId = TreeId(1);

/// What an entry says is to be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undo<'a> {
    /// Nothing any more: the change of the row was undone, but the row stays exclusively locked.
    LockOnly,
    /// Nothing: the row was locked and not changed.
    Locked(LockMode),
    Row {
        operation: Operation,
        before: &'a [u8],
    },
    Chain(PageId),
}

impl Undo<'_> {
    /// There is nothing to undo.
    pub fn is_lock(self) -> bool {
        matches!(self, Undo::LockOnly | Undo::Locked(_))
    }
}

/// A decoded entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub tree: TreeId,
    pub key: &'a [u8],
    pub sequence: u64,
    pub undo: Undo<'a>,
}

/// The part of an entry's key that all entries of a row share.
pub(crate) fn row_prefix(tree: TreeId, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(10 + key.len() + SEQUENCE_BYTES);
    bytes.extend_from_slice(&tree.0.to_be_bytes());
    bytes.extend_from_slice(&u16::try_from(key.len()).expect("keys are shorter than pages").to_be_bytes());
    bytes.extend_from_slice(key);
    bytes
}

pub(crate) fn entry_key(tree: TreeId, key: &[u8], sequence: u64) -> Vec<u8> {
    let mut bytes = row_prefix(tree, key);
    bytes.extend_from_slice(&sequence.to_be_bytes());
    bytes
}

/// Of the entry that says that a row is locked.
pub(crate) fn lock_key(tree: TreeId, key: &[u8]) -> Vec<u8> {
    entry_key(tree, key, LOCK_SEQUENCE)
}

pub(crate) fn chain_key(sequence: u64) -> Vec<u8> {
    debug_assert!(sequence != LOCK_SEQUENCE, "no change has this number");
    entry_key(NO_TREE, &[], sequence)
}

pub(crate) fn row_value(operation: Operation, before: &[u8]) -> Vec<u8> {
    debug_assert!(operation != Operation::CreateTree, "trees are not spilled");
    debug_assert!(operation != Operation::Insert || before.is_empty(), "an insert has nothing to put back");
    let mut bytes = Vec::with_capacity(VALUE_HEADER_BYTES + before.len());
    bytes.extend_from_slice(&[PLAIN, operation as u8]);
    bytes.extend_from_slice(before);
    bytes
}

pub(crate) fn chain_value(first: PageId) -> Vec<u8> {
    row_value(Operation::CreateChain, &first.0.to_le_bytes())
}

pub(crate) fn lock_only_value() -> Vec<u8> {
    vec![PLAIN, LOCK_ONLY]
}

pub(crate) fn locked_value(mode: LockMode) -> Vec<u8> {
    let kind = match mode {
        LockMode::Shared => LOCKED_SHARED,
        LockMode::Exclusive => LOCKED_EXCLUSIVE,
    };
    vec![PLAIN, kind]
}

/// The tree that an entry's key begins with.
pub(crate) fn tree_of(key: &[u8]) -> Option<TreeId> {
    key.first_chunk().map(|tree| TreeId(u64::from_be_bytes(*tree)))
}

/// `None` for bytes that no engine wrote.
pub(crate) fn decode<'a>(key: &'a [u8], value: &'a [u8]) -> Option<Entry<'a>> {
    let (tree, rest) = key.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (row_key, sequence) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let sequence = u64::from_be_bytes(sequence.try_into().ok()?);
    let (&[PLAIN, kind], before) = value.split_first_chunk::<2>()? else { return None };
    let undo = match kind {
        LOCK_ONLY => Undo::LockOnly,
        LOCKED_SHARED => Undo::Locked(LockMode::Shared),
        LOCKED_EXCLUSIVE => Undo::Locked(LockMode::Exclusive),
        _ => match Operation::decode(kind)? {
            Operation::CreateChain => Undo::Chain(PageId(u64::from_le_bytes(before.try_into().ok()?))),
            Operation::CreateTree => return None,
            operation => Undo::Row { operation, before },
        },
    };
    Some(Entry { tree: TreeId(u64::from_be_bytes(*tree)), key: row_key, sequence, undo })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(key: &[u8], value: &[u8], expect: Entry<'_>) {
        assert_eq!(decode(key, value), Some(expect));
    }

    #[test]
    fn entries_come_back() {
        let (tree, sequence) = (TreeId(1007), 1 << 40);
        let before = b"old".as_slice();
        let undo = Undo::Row { operation: Operation::Update, before };
        let key = entry_key(tree, b"row", sequence);
        check(&key, &row_value(Operation::Update, before), Entry { tree, key: b"row", sequence, undo });
        check(&key, &lock_only_value(), Entry { tree, key: b"row", sequence, undo: Undo::LockOnly });
        for mode in [LockMode::Shared, LockMode::Exclusive] {
            let lock = Entry { tree, key: b"row", sequence: LOCK_SEQUENCE, undo: Undo::Locked(mode) };
            check(&lock_key(tree, b"row"), &locked_value(mode), lock);
        }
        let chain = Entry { tree: NO_TREE, key: b"", sequence, undo: Undo::Chain(PageId(9)) };
        check(&chain_key(sequence), &chain_value(PageId(9)), chain);
    }

    proptest! {
        #[test]
        fn entries_of_a_row_are_neighbours(
            keys in proptest::collection::vec((proptest::collection::vec(0u8..3, 0..12), 0u64..3), 2..20)
        ) {
            let mut sorted: Vec<Vec<u8>> =
                keys.iter().map(|(key, sequence)| entry_key(TreeId(7), key, *sequence)).collect();
            sorted.sort();
            sorted.dedup();
            let value = lock_only_value();
            let entries: Vec<Entry<'_>> =
                sorted.iter().map(|key| decode(key, &value).expect("it was made here")).collect();
            let mut seen = std::collections::HashSet::new();
            for pair in entries.windows(2) {
                if pair[0].key == pair[1].key {
                    prop_assert!(pair[0].sequence < pair[1].sequence);
                } else {
                    prop_assert!(seen.insert(pair[0].key.to_vec()));
                    prop_assert!(!seen.contains(pair[1].key));
                }
            }
        }

        #[test]
        fn any_bytes_decode_or_are_refused(key: Vec<u8>, value: Vec<u8>) {
            let _ = decode(&key, &value);
        }
    }
}
