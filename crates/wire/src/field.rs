//! The field encodings that all packets share: fixed and length-encoded integers and strings.
//!
//! Invariant: `FieldReader` only moves forward inside its packet; a read past the end is `Truncated`, never a panic.

/// The packet ended inside a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

/// Reads fields from the front of one packet.
#[derive(Clone, Copy, Debug)]
pub struct FieldReader<'a> {
    rest: &'a [u8],
}

impl<'a> FieldReader<'a> {
    pub fn new(packet: &'a [u8]) -> Self {
        Self { rest: packet }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything that has not been read; the reader is then empty.
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Truncated> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Truncated)?;
        self.rest = tail;
        Ok(*head)
    }

    pub fn u8(&mut self) -> Result<u8, Truncated> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub fn u16(&mut self) -> Result<u16, Truncated> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u24(&mut self) -> Result<u32, Truncated> {
        let [low, middle, high] = self.array()?;
        Ok(u32::from_le_bytes([low, middle, high, 0]))
    }

    pub fn u32(&mut self) -> Result<u32, Truncated> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, Truncated> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// 0xfb means NULL in rows and 0xff starts an error packet; as an integer both are malformed.
    pub fn length_encoded_integer(&mut self) -> Result<u64, Truncated> {
        match self.u8()? {
            value @ 0..=0xfa => Ok(u64::from(value)),
            0xfc => Ok(u64::from(self.u16()?)),
            0xfd => Ok(u64::from(self.u24()?)),
            0xfe => self.u64(),
            0xfb | 0xff => Err(Truncated),
        }
    }

    pub fn length_encoded_bytes(&mut self) -> Result<&'a [u8], Truncated> {
        let length = self.length_encoded_integer()?;
        self.bytes(usize::try_from(length).map_err(|_| Truncated)?)
    }

    /// A string up to a NUL. Several clients leave out the last NUL of a packet, so its end counts as one.
    pub fn nul_terminated(&mut self) -> &'a [u8] {
        match self.rest.iter().position(|&byte| byte == 0) {
            Some(end) => {
                let text = &self.rest[..end];
                self.rest = &self.rest[end + 1..];
                text
            }
            None => self.take_rest(),
        }
    }
}

pub fn put_length_encoded_integer(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

pub fn put_length_encoded_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length_encoded_integer(out, bytes.len() as u64);
    for piece in bytes.chunks(COPY_PIECE) {
        out.extend_from_slice(piece);
        env::tick_long(piece.len() / 4);
    }
}

/// Bytes that are copied between two looks at others.
const COPY_PIECE: usize = 64 * 1024;
