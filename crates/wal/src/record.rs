//! Records: the framing that the log itself understands, and their decoder.
//!
//! | bytes | field |
//! |---|---|
//! | 4 | payload length |
//! | 1 | kind, chosen by the caller |
//! | 8 | transaction id, chosen by the caller |
//! | n | payload |
//!
//! All integers are little-endian. The decoder takes any bytes and never panics.

use std::fmt;

pub(crate) const RECORD_HEADER_BYTES: usize = 13;

/// One decoded record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub kind: u8,
    pub txn: u64,
    pub payload: &'a [u8],
    /// Where the record ends, relative to the start of the decoded bytes.
    pub end: usize,
}

/// The bytes are not a sequence of whole records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    pub offset: usize,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log record at offset {} is cut off", self.offset)
    }
}

impl std::error::Error for DecodeError {}

/// Iterates over the records of a group; ends after the first error.
#[derive(Debug, Clone)]
pub struct RecordIter<'a> {
    bytes: &'a [u8],
    offset: usize,
}

/// Decodes the records of one group.
pub fn decode_records(bytes: &[u8]) -> RecordIter<'_> {
    RecordIter { bytes, offset: 0 }
}

pub(crate) fn encode_header(bytes: &mut Vec<u8>, payload_len: u32, kind: u8, txn: u64) {
    let mut header = [0; RECORD_HEADER_BYTES];
    header[..4].copy_from_slice(&payload_len.to_le_bytes());
    header[4] = kind;
    header[5..].copy_from_slice(&txn.to_le_bytes());
    bytes.extend_from_slice(&header);
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = Result<Record<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.bytes[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let record = split_record(rest);
        match record {
            Some((kind, txn, payload)) => {
                self.offset += RECORD_HEADER_BYTES + payload.len();
                Some(Ok(Record { kind, txn, payload, end: self.offset }))
            }
            None => {
                let offset = self.offset;
                self.offset = self.bytes.len();
                Some(Err(DecodeError { offset }))
            }
        }
    }
}

fn split_record(bytes: &[u8]) -> Option<(u8, u64, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first()?;
    let (txn, rest) = rest.split_first_chunk::<8>()?;
    let payload = rest.get(..u32::from_le_bytes(*length) as usize)?;
    Some((*kind, u64::from_le_bytes(*txn), payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WalGroup;

    #[test]
    fn records_come_back_and_every_cut_is_noticed() {
        let mut group = WalGroup::new();
        group.push(3, 77, b"first");
        group.push(0, 0, b"");
        group.push(255, u64::MAX, &[9; 300]);
        let bytes = group.record_bytes();
        let records: Vec<_> = decode_records(bytes).map(|record| record.unwrap()).collect();
        assert_eq!(records.len(), 3);
        assert_eq!((records[0].kind, records[0].txn, records[0].payload), (3, 77, &b"first"[..]));
        assert_eq!(records[2].end, bytes.len());
        let ends: Vec<usize> = records.iter().map(|record| record.end).collect();
        for cut in 0..bytes.len() {
            let whole = decode_records(&bytes[..cut]).all(|record| record.is_ok());
            assert_eq!(whole, cut == 0 || ends.contains(&cut), "cut at {cut}");
        }
    }
}
