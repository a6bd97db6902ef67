//! The two encodings that the protocol is made of: little-endian integers and length-encoded fields.
//!
//! Invariant: a read past the end is an error. Called by every file that takes a packet apart.

use crate::{Error, Result};

/// Reads a packet from its front.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, rest) =
            self.rest.split_at_checked(count).ok_or(Error::Protocol("a packet is cut short"))?;
        self.rest = rest;
        Ok(head)
    }

    /// An integer of `count` bytes, at most eight.
    pub fn integer(&mut self, count: usize) -> Result<u64> {
        let mut wide = [0; 8];
        wide[..count].copy_from_slice(self.bytes(count)?);
        Ok(u64::from_le_bytes(wide))
    }

    /// A length-encoded integer; `None` is the mark of NULL.
    pub fn length(&mut self) -> Result<Option<u64>> {
        Ok(match self.integer(1)? {
            0xfb => None,
            0xfc => Some(self.integer(2)?),
            0xfd => Some(self.integer(3)?),
            0xfe => Some(self.integer(8)?),
            small => Some(small),
        })
    }

    pub fn field(&mut self) -> Result<Option<&'a [u8]>> {
        match self.length()? {
            None => Ok(None),
            Some(length) => {
                let length = usize::try_from(length).map_err(|_| Error::Protocol("a field is too long"))?;
                Ok(Some(self.bytes(length)?))
            }
        }
    }

    /// Bytes up to a zero, which is taken too.
    pub fn zero_ended(&mut self) -> Result<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == 0).ok_or(Error::Protocol("a text has no end"))?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(text)
    }
}

pub fn put_length(out: &mut Vec<u8>, length: u64) {
    let bytes = length.to_le_bytes();
    match length {
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

pub fn put_field(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
