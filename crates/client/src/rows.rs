//! The rows of a query one after another, for results that are larger than memory.
//!
//! Invariant: after `begin_rows` nothing else is asked before `next_row` has said that there are no more. Called by whoever copies tables.

use crate::connection::Connection;
use crate::field::Reader;
use crate::greeting::server_error;
use crate::{Error, Result};

impl Connection {
    /// Asks in text; the rows come by `next_row`. Answers how many columns they have.
    pub async fn begin_rows(&mut self, text: &str) -> Result<u64> {
        self.put_query(text.as_bytes());
        self.flush().await?;
        let range = self.stream.next_packet().await?;
        let packet = self.stream.packet(range);
        let columns = match packet.first() {
            Some(0xff) => return Err(server_error(packet)),
            Some(0 | 0xfb) | None => return Err(Error::Protocol("a statement without rows")),
            _ => Reader::new(packet).length()?.unwrap_or(0),
        };
        for _ in 0..columns {
            self.stream.next_packet().await?;
        }
        if !self.ends_with_ok() {
            self.stream.next_packet().await?;
        }
        Ok(columns)
    }

    /// The next row as the server has it, to be read with `fields`; false behind the last one.
    pub async fn next_row(&mut self, row: &mut Vec<u8>) -> Result<bool> {
        self.stream.next_long(row).await?;
        match row.first() {
            Some(0xff) => Err(server_error(row)),
            // A first field of 16 MB or more begins with the same byte, in a longer packet.
            Some(0xfe) if row.len() < if self.ends_with_ok() { 0xff_ffff } else { 9 } => Ok(false),
            _ => Ok(true),
        }
    }
}

/// The fields of a row in text; `None` is NULL.
pub fn fields(row: &[u8]) -> impl Iterator<Item = Result<Option<&[u8]>>> {
    let mut reader = Reader::new(row);
    std::iter::from_fn(move || (!reader.rest.is_empty()).then(|| reader.field()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_to_the_end_and_one_that_is_cut_is_an_error() {
        let read: Result<Vec<_>> = fields(b"\x01a\xfb\x00\x02bc").collect();
        assert_eq!(read.unwrap(), [Some(&b"a"[..]), None, Some(b""), Some(b"bc")]);
        assert!(fields(b"\x05a").next().unwrap().is_err());
    }
}
