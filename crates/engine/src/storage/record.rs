//! The form of a record in a leaf: one header byte, then the value or a reference to its overflow chain.
//!
//! | header | rest |
//! |---|---|
//! | 0 | the value |
//! | `GHOST` | nothing: the record is deleted, older versions may still be visible |
//! | `CHAIN` | the stub of the value's overflow chain |

use btree::overflow::{STUB_BYTES, Stub};

const PLAIN: u8 = 0;
const GHOST: u8 = 1;
const CHAIN: u8 = 2;

/// The record of a deleted row.
pub(crate) const GHOST_RECORD: &[u8] = &[GHOST];

/// Bytes that a record needs besides the value.
pub(crate) const RECORD_HEADER_BYTES: usize = 1;
const _: () = assert!(GHOST_RECORD.len() == RECORD_HEADER_BYTES, "a ghost is a header");

/// A decoded record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    Value(&'a [u8]),
    Ghost,
    Chain(Stub),
}

impl Record<'_> {
    /// `None` for bytes that no engine wrote.
    pub fn decode(bytes: &[u8]) -> Option<Record<'_>> {
        match bytes.split_first()? {
            (&PLAIN, value) => Some(Record::Value(value)),
            (&GHOST, []) => Some(Record::Ghost),
            (&CHAIN, rest) => {
                let stub: &[u8; STUB_BYTES] = rest.try_into().ok()?;
                Some(Record::Chain(Stub::decode(stub)))
            }
            _ => None,
        }
    }
}

/// True when the leaf's record is a live row.
pub(crate) fn is_live(record: Option<&[u8]>) -> bool {
    record.is_some_and(|bytes| bytes.first() != Some(&GHOST))
}

/// The chain that a record owns.
pub(crate) fn stub_of(record: &[u8]) -> Option<Stub> {
    match Record::decode(record) {
        Some(Record::Chain(stub)) => Some(stub),
        _ => None,
    }
}

pub(crate) fn encode_value(value: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(RECORD_HEADER_BYTES + value.len());
    record.push(PLAIN);
    record.extend_from_slice(value);
    debug_assert_eq!(Record::decode(&record), Some(Record::Value(value)), "what is written can be read");
    record
}

pub(crate) fn encode_stub(stub: Stub) -> Vec<u8> {
    let mut record = vec![CHAIN];
    record.extend_from_slice(&stub.encode());
    debug_assert_eq!(stub_of(&record), Some(stub), "what is written can be read");
    record
}

#[cfg(test)]
mod tests {
    use crate::storage::record::*;
    use proptest::prelude::*;

    #[test]
    fn records_come_back() {
        let stub = Stub { first: pagestore::PageId(77), length: 1 << 20 };
        assert_eq!(Record::decode(&encode_value(b"abc")), Some(Record::Value(b"abc")));
        assert_eq!(Record::decode(&encode_value(b"")), Some(Record::Value(b"")));
        assert_eq!(Record::decode(GHOST_RECORD), Some(Record::Ghost));
        assert_eq!(Record::decode(&encode_stub(stub)), Some(Record::Chain(stub)));
        assert!(is_live(Some(&encode_value(b""))) && !is_live(Some(GHOST_RECORD)) && !is_live(None));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(bytes: Vec<u8>) {
            let _ = Record::decode(&bytes);
        }
    }
}
