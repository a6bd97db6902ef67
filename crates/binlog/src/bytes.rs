//! Reading and writing little-endian fields, length-encoded integers and bitmaps.
//!
//! Invariant: a reader never goes beyond its slice; what is missing is `BinlogError::Truncated`.
use crate::BinlogError;

/// A position in a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], BinlogError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(BinlogError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], BinlogError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(BinlogError::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8, BinlogError> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16, BinlogError> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, BinlogError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, BinlogError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A little-endian integer of 1 to 8 bytes.
    pub fn uint(&mut self, width: usize) -> Result<u64, BinlogError> {
        let mut all = [0; 8];
        let place = all.get_mut(..width).ok_or(BinlogError::Invalid("width of a number"))?;
        place.copy_from_slice(self.take(width)?);
        Ok(u64::from_le_bytes(all))
    }

    /// A big-endian integer of 1 to 8 bytes.
    pub fn uint_be(&mut self, width: usize) -> Result<u64, BinlogError> {
        let taken = self.take(width)?;
        Ok(taken.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// A length-encoded integer.
    pub fn packed(&mut self) -> Result<u64, BinlogError> {
        match self.u8()? {
            short @ 0..=250 => Ok(u64::from(short)),
            252 => self.uint(2),
            253 => self.uint(3),
            254 => self.uint(8),
            _ => Err(BinlogError::Invalid("length-encoded integer")),
        }
    }

    /// A length-encoded integer that counts things in memory.
    pub fn packed_len(&mut self) -> Result<usize, BinlogError> {
        usize::try_from(self.packed()?).map_err(|_| BinlogError::Invalid("length"))
    }

    /// Bytes behind their length-encoded length.
    pub fn packed_bytes(&mut self) -> Result<&'a [u8], BinlogError> {
        let length = self.packed_len()?;
        self.take(length)
    }

    /// Text behind a length of one byte.
    pub fn short_text(&mut self) -> Result<String, BinlogError> {
        let length = usize::from(self.u8()?);
        text(self.take(length)?)
    }
}

/// Bytes that have to be UTF-8.
pub(crate) fn text(bytes: &[u8]) -> Result<String, BinlogError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| BinlogError::Invalid("name"))
}

/// Appends a length-encoded integer.
pub(crate) fn put_packed(number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_le_bytes();
    match number {
        0..=250 => out.push(bytes[0]),
        251..=0xFFFF => {
            out.push(252);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(253);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(254);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends bytes behind their length-encoded length.
pub(crate) fn put_packed_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_packed(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends text behind a length of one byte; longer text is cut, which names of ours never are.
pub(crate) fn put_short_text(text: &str, out: &mut Vec<u8>) {
    let bytes = &text.as_bytes()[..text.len().min(255)];
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

/// Appends a bitmap, the first bit the lowest of the first byte.
pub(crate) fn put_bitmap(bits: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    for (place, bit) in bits.enumerate() {
        if place % 8 == 0 {
            out.push(0);
        }
        let last = out.last_mut().expect("a byte was just added");
        *last |= u8::from(bit) << (place % 8);
    }
}

/// A bitmap of `count` bits.
pub(crate) fn read_bitmap(reader: &mut Reader<'_>, count: usize) -> Result<Vec<bool>, BinlogError> {
    let bytes = reader.take(count.div_ceil(8))?;
    Ok((0..count).map(|place| bytes[place / 8] >> (place % 8) & 1 == 1).collect())
}
