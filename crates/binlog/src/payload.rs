//! TRANSACTION_PAYLOAD: the events of one transaction, compressed. They have no checksums of their own.
//!
//! Fields (number, length, value; all packed): 2 the kind of compression, 3 the size before, 1 the size, 0 the end; then
//! the bytes. Invariant: unpacking never makes more than the event says, and no more than the limit.
use crate::BinlogError;
use crate::bytes::{Reader, put_packed};
use std::io::Read;

const END: u64 = 0;
const SIZE: u64 = 1;
const COMPRESSION: u64 = 2;
const UNPACKED_SIZE: u64 = 3;
const ZSTD: u64 = 0;
const NOT_COMPRESSED: u64 = 255;

/// The most that a transaction may unpack to: MySQL's largest packet.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;

/// Writes events, one behind the other without checksums, as the body of one event.
pub fn pack_transaction(events: &[u8], level: i32) -> Result<Vec<u8>, BinlogError> {
    let packed = zstd::bulk::compress(events, level).map_err(|_| BinlogError::Invalid("compression"))?;
    let mut body = Vec::with_capacity(packed.len() + 32);
    for (field, number) in
        [(COMPRESSION, ZSTD), (UNPACKED_SIZE, events.len() as u64), (SIZE, packed.len() as u64)]
    {
        let mut value = Vec::new();
        put_packed(number, &mut value);
        put_packed(field, &mut body);
        put_packed(value.len() as u64, &mut body);
        body.extend_from_slice(&value);
    }
    put_packed(END, &mut body);
    body.extend_from_slice(&packed);
    Ok(body)
}

/// The events in such a body.
pub fn unpack_transaction(body: &[u8]) -> Result<Vec<u8>, BinlogError> {
    let wrong = BinlogError::Invalid("compressed transaction");
    let mut reader = Reader(body);
    let (mut compression, mut unpacked) = (NOT_COMPRESSED, None);
    loop {
        let field = reader.packed()?;
        if field == END {
            break;
        }
        let mut value = Reader(reader.packed_bytes()?);
        match field {
            COMPRESSION => compression = value.packed()?,
            UNPACKED_SIZE => unpacked = Some(value.packed()?),
            _ => {}
        }
    }
    let packed = reader.rest();
    if compression == NOT_COMPRESSED {
        return Ok(packed.to_vec());
    }
    if compression != ZSTD {
        return Err(BinlogError::Unsupported("compression of another kind"));
    }
    let size = unpacked.filter(|size| *size <= UNPACKED_BYTES_MAX).ok_or(wrong)?;
    let mut events = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(packed).map_err(|_| wrong)?;
    decoder.take(size + 1).read_to_end(&mut events).map_err(|_| wrong)?;
    if events.len() as u64 == size { Ok(events) } else { Err(wrong) }
}
