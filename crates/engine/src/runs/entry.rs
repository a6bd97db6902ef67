//! The form of a run's entries, which are ordinary entries of a B-tree.
//!
//! | part | bytes | field |
//! |---|---|---|
//! | key | 8 | tree of the row |
//! | key | 2 | length of the row's key |
//! | key | n | the row's key |
//! | key | 8 | LSN of the commit that has ended the version |
//! | value | 1 | 0, as in every record of the engine |
//! | value | 1 | `RECORD`: there was a record; `GHOST`: a ghost of the row may be in its leaf; `DELETES`: as in a chain |
//! | value | m | the record before the change |
//!
//! The numbers in keys are big-endian, so all entries of a row are neighbours, the oldest change first.

use crate::TreeId;
use crate::row_table::{Before, RowName};
use std::cmp::Ordering;

const PLAIN: u8 = 0;
const RECORD: u8 = 1;
const GHOST: u8 = 2;
const DELETES: u8 = 4;
pub(super) const LSN_BYTES: usize = 8;
const VALUE_HEADER_BYTES: usize = 2;

/// A decoded entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub tree: TreeId,
    pub key: &'a [u8],
    pub lsn: u64,
    /// `None`: there was no such row.
    pub before: Option<&'a [u8]>,
    pub may_be_ghost: bool,
    /// The next newer image, or else the page, has no such row.
    pub deletes: bool,
}

/// The order of rows in a run.
pub(super) fn order(one: &RowName, other: &RowName) -> Ordering {
    let parts = |name: &RowName| (name.tree.0, name.key.len());
    parts(one).cmp(&parts(other)).then_with(|| one.key.cmp(&other.key))
}

/// What the keys of all entries of a row begin with.
pub(super) fn row_prefix(tree: TreeId, key: &[u8]) -> Vec<u8> {
    crate::spill::row_prefix(tree, key)
}

/// The lengths of key and value of an entry.
pub(super) fn sizes(name: &RowName, before: &Before) -> (usize, usize) {
    let image = match before {
        Before::Absent => 0,
        Before::Record(record) => record.len(),
    };
    debug_assert!(!name.is_prefix(), "a prefix has no versions");
    (8 + 2 + name.key.len() + LSN_BYTES, VALUE_HEADER_BYTES + image)
}

/// Replaces the content of `bytes` by the key of an entry.
pub(super) fn encode_key(prefix: &[u8], lsn: u64, bytes: &mut Vec<u8>) {
    debug_assert!(prefix.len() >= 8 + 2, "the prefix names a tree and a key");
    bytes.clear();
    bytes.extend_from_slice(prefix);
    bytes.extend_from_slice(&lsn.to_be_bytes());
}

/// Replaces the content of `bytes` by the value of an entry.
pub(super) fn encode_value(before: &Before, may_be_ghost: bool, deletes: bool, bytes: &mut Vec<u8>) {
    bytes.clear();
    match before {
        Before::Absent => bytes.extend_from_slice(&[PLAIN, 0]),
        Before::Record(record) => {
            bytes.extend_from_slice(&[PLAIN, RECORD]);
            bytes.extend_from_slice(record);
        }
    }
    set_flags(bytes, may_be_ghost, deletes);
}

/// Changes what an encoded value says beside its image.
pub(super) fn set_flags(value: &mut [u8], may_be_ghost: bool, deletes: bool) {
    debug_assert!(
        matches!(value, [PLAIN, ..]) && value.len() >= VALUE_HEADER_BYTES,
        "it is an encoded value"
    );
    let ghost = if may_be_ghost { GHOST } else { 0 };
    value[1] = (value[1] & RECORD) | ghost | if deletes { DELETES } else { 0 };
}

/// `None` for bytes that no engine wrote.
pub(super) fn decode<'a>(key: &'a [u8], value: &'a [u8]) -> Option<Entry<'a>> {
    let (tree, rest) = key.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (row_key, lsn) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let lsn = u64::from_be_bytes(lsn.try_into().ok()?);
    let (&[PLAIN, flags], record) = value.split_first_chunk::<VALUE_HEADER_BYTES>()? else { return None };
    let before = match flags & !(GHOST | DELETES) {
        RECORD => Some(record),
        0 if record.is_empty() => None,
        _ => return None,
    };
    let (may_be_ghost, deletes) = (flags & GHOST != 0, flags & DELETES != 0);
    Some(Entry { tree: TreeId(u64::from_be_bytes(*tree)), key: row_key, lsn, before, may_be_ghost, deletes })
}

impl Entry<'_> {
    pub fn image(&self) -> Before {
        self.before.map_or(Before::Absent, |record| Before::Record(record.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_back_in_the_order_of_rows_and_commits(
            mut rows in proptest::collection::vec(
                (1u64..3, proptest::collection::vec(0u8..3, 0..6), 0u64..3, any::<Option<Vec<u8>>>(), any::<bool>()),
                1..20,
            )
        ) {
            rows.sort_by(|(tree, key, lsn, ..), (other_tree, other_key, other_lsn, ..)| {
                let name = |tree: u64, key: &[u8]| RowName { tree: TreeId(tree), key: key.into() };
                order(&name(*tree, key), &name(*other_tree, other_key)).then(lsn.cmp(other_lsn))
            });
            let mut last = Vec::new();
            for (tree, row_key, lsn, record, may_be_ghost) in &rows {
                let (mut key, mut value) = (Vec::new(), Vec::new());
                let before = match record {
                    Some(record) => Before::Record(record.as_slice().into()),
                    None => Before::Absent,
                };
                encode_key(&row_prefix(TreeId(*tree), row_key), *lsn, &mut key);
                let deletes = lsn % 2 == 0;
                encode_value(&before, *may_be_ghost, deletes, &mut value);
                let entry = decode(&key, &value).expect("it was made here");
                prop_assert_eq!((entry.tree.0, entry.key, entry.lsn), (*tree, row_key.as_slice(), *lsn));
                prop_assert_eq!((entry.image(), entry.may_be_ghost), (before, *may_be_ghost));
                prop_assert_eq!(entry.deletes, deletes);
                let name = RowName { tree: TreeId(*tree), key: row_key.as_slice().into() };
                prop_assert_eq!(sizes(&name, &entry.image()), (key.len(), value.len()));
                set_flags(&mut value, true, !deletes);
                let entry = decode(&key, &value).expect("it was made here");
                prop_assert!(entry.may_be_ghost && entry.deletes != deletes);
                prop_assert!(last <= key);
                last = key;
            }
        }

        #[test]
        fn any_bytes_decode_or_are_refused(key: Vec<u8>, value: Vec<u8>) {
            let _ = decode(&key, &value);
        }
    }
}
