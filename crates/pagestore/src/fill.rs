//! Space is written with zeros and synced in full before anything in it counts, so that later writes change nothing of what
//! the file system knows about the file.
//!
//! A block that is only reserved reads as zeros until the file system has noted that it was written, and fdatasync may leave
//! that note in memory: a page in it, written and synced, could be gone after a power cut (docs/decisions/0014). Called
//! wherever a file of a store is made or grows.

use env::{File, IoBuf, IoError, IoErrorKind, IoOp};
use std::ops::Range;
use std::sync::Arc;

const PIECE_BYTES: u64 = 1 << 20;

/// Writes zeros, a large piece at a time. The caller calls `sync_all`. Where the file system could not reserve the space, a full
/// disk shows only here: that is a reservation refused, not a write that has failed.
pub(crate) async fn fill_with_zeros(file: &Arc<dyn File>, bytes: Range<u64>) -> Result<(), IoError> {
    debug_assert!(bytes.start <= bytes.end, "a file is filled forwards");
    let mut offset = bytes.start;
    let mut piece = IoBuf::zeroed(PIECE_BYTES.min(bytes.end.saturating_sub(offset)) as usize);
    while offset < bytes.end {
        piece.set_len((bytes.end - offset).min(piece.capacity() as u64) as usize);
        let (buffer, result) = file.write_at(offset, piece).await;
        result.map_err(|error| match error.is_no_space() {
            true => IoError::new(IoOp::Allocate, file.path(), IoErrorKind::NoSpace),
            false => error,
        })?;
        offset += buffer.len() as u64;
        piece = buffer;
    }
    debug_assert!(offset >= bytes.end, "all of it is filled");
    Ok(())
}
