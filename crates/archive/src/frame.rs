//! The bytes of a file of the archive: a head, and pieces of the log in frames.
//!
//! | bytes | head |
//! |---|---|
//! | 8 | `EKARCH01` |
//! | 8 | bytes of a segment of the log |
//! | 8 | which log |
//! | 8 | zero, but for the last four: crc32c of all before |
//!
//! | bytes | frame |
//! |---|---|
//! | 4 + 4 | `EKAF`, crc32c of all that follows |
//! | 8 | where the piece lies in the log |
//! | 4 + 4 | bytes of the piece, bytes that are stored |
//! | 1 + 7 | 1 if they are stored as zstd does it, else 0; zeros |
//! | n | what is stored |
//!
//! Invariant: the decoder takes any bytes. A frame that was cut off is none. Used by `folder`.

use wal::LogPiece;

pub(crate) const HEAD_BYTES: usize = 32;
pub(crate) const FRAME_HEADER_BYTES: usize = 32;
const HEAD_MAGIC: [u8; 8] = *b"EKARCH01";
const FRAME_MAGIC: [u8; 4] = *b"EKAF";
const STORED_AS_IT_IS: u8 = 0;
const STORED_BY_ZSTD: u8 = 1;
/// The log is small numbers and values of users: the fastest level finds what there is to find.
const ZSTD_LEVEL: i32 = 1;
/// No chunk of a log is longer.
const PIECE_BYTES_MAX: usize = 64 << 20;

/// What all pieces in a file have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub segment_bytes: u64,
    pub log_id: u64,
}

impl Head {
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&HEAD_MAGIC);
        bytes[8..16].copy_from_slice(&self.segment_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.log_id.to_le_bytes());
        let crc = crc_fast::crc32_iscsi(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Head> {
        let bytes = bytes.first_chunk::<HEAD_BYTES>()?;
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let head = Head { segment_bytes: number(8), log_id: number(16) };
        let is_sound = head.segment_bytes > 0 && head.segment_bytes.is_multiple_of(4096);
        (head.encode() == *bytes && is_sound).then_some(head)
    }
}

/// The first bytes of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameHeader {
    crc: u32,
    place: u64,
    piece_bytes: usize,
    pub stored_bytes: usize,
    codec: u8,
}

impl FrameHeader {
    pub fn decode(bytes: &[u8]) -> Option<FrameHeader> {
        let bytes = bytes.first_chunk::<FRAME_HEADER_BYTES>()?;
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let place = u64::from(number(8)) | u64::from(number(12)) << 32;
        let (piece_bytes, stored_bytes) = (number(16) as usize, number(20) as usize);
        let is_one = bytes[..4] == FRAME_MAGIC
            && piece_bytes <= PIECE_BYTES_MAX
            && stored_bytes <= piece_bytes
            && place.is_multiple_of(4096);
        is_one.then_some(FrameHeader { crc: number(4), place, piece_bytes, stored_bytes, codec: bytes[24] })
    }

    /// The piece, if these bytes of header and stored bytes are those that were written.
    pub fn piece(&self, frame: &[u8]) -> Option<LogPiece> {
        if crc_fast::crc32_iscsi(frame.get(8..)?) != self.crc {
            return None;
        }
        let stored = frame.get(FRAME_HEADER_BYTES..)?;
        let bytes = match self.codec {
            STORED_AS_IT_IS => stored.to_vec(),
            STORED_BY_ZSTD => zstd::bulk::decompress(stored, self.piece_bytes).ok()?,
            _ => return None,
        };
        (bytes.len() == self.piece_bytes).then(|| LogPiece::from_bytes(self.place, bytes)).flatten()
    }
}

/// The frame of a piece.
pub(crate) fn encode(piece: &LogPiece) -> Vec<u8> {
    let bytes = piece.bytes();
    let packed = zstd::bulk::compress(bytes, ZSTD_LEVEL).ok().filter(|packed| packed.len() < bytes.len());
    let (codec, stored) = match &packed {
        Some(packed) => (STORED_BY_ZSTD, &packed[..]),
        None => (STORED_AS_IT_IS, bytes),
    };
    let mut frame = Vec::with_capacity(FRAME_HEADER_BYTES + stored.len());
    frame.extend_from_slice(&FRAME_MAGIC);
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(&piece.start().to_le_bytes());
    frame.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    frame.extend_from_slice(&(stored.len() as u32).to_le_bytes());
    frame.extend_from_slice(&[codec, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend_from_slice(stored);
    let crc = crc_fast::crc32_iscsi(&frame[8..]);
    frame[4..8].copy_from_slice(&crc.to_le_bytes());
    debug_assert!(
        FrameHeader::decode(&frame).and_then(|header| header.piece(&frame)).as_ref() == Some(piece),
        "a frame is written as it is read"
    );
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_damage_is_noticed() {
        let head = Head { segment_bytes: 128 << 10, log_id: 77 };
        let bytes = head.encode();
        assert_eq!(Head::decode(&bytes), Some(head));
        for bit in 0..HEAD_BYTES * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::decode(&damaged), None, "bit {bit}");
        }
    }

    #[test]
    fn any_bytes_are_no_panic() {
        for fill in 0..=255_u8 {
            let mut bytes = vec![fill; 200];
            assert!(FrameHeader::decode(&bytes).is_none());
            bytes[..4].copy_from_slice(&FRAME_MAGIC);
            if let Some(header) = FrameHeader::decode(&bytes) {
                assert_eq!(header.piece(&bytes), None);
            }
        }
    }
}
