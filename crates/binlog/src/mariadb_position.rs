//! How far a replica of MariaDB has come: of each domain its last transaction, as `domain-server-number`.
//!
//! Invariant: a domain stands once, with its highest transaction that was applied; transactions of a domain come in order. Kept with what a
//! channel has applied, sent to the source as `@slave_connect_state`, read and set as `gtid_slave_pos`.
use std::collections::BTreeMap;
use std::fmt;

use crate::BinlogError;
use crate::bytes::Reader;

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariaDbPosition {
    /// By domain: server and number.
    domains: BTreeMap<u32, (u32, u64)>,
}

/// Bytes of a domain: its number, the server, the transaction.
const DOMAIN_BYTES: usize = 16;

impl MariaDbPosition {
    /// Nothing was applied.
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    /// A transaction of a domain has been applied.
    pub fn advance(&mut self, domain: u32, server: u32, number: u64) {
        self.domains.insert(domain, (server, number));
    }

    /// All domains of another one, too.
    pub fn add_all(&mut self, other: &MariaDbPosition) {
        self.domains.extend(&other.domains);
    }

    /// `0-1-42,3-7-9`; spaces are passed over. `None` for anything else, and for a domain that stands twice.
    pub fn parse(text: &str) -> Option<MariaDbPosition> {
        let mut position = MariaDbPosition::default();
        for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let mut parts = one.split('-');
            let domain = parts.next()?.parse().ok()?;
            let place = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            if parts.next().is_some() || position.domains.insert(domain, place).is_some() {
                return None;
            }
        }
        Some(position)
    }

    /// A count of domains in two bytes, and their bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.domains.len() <= usize::from(u16::MAX), "a source has few domains");
        out.extend_from_slice(&(self.domains.len() as u16).to_le_bytes());
        for (domain, (server, number)) in &self.domains {
            out.extend_from_slice(&domain.to_le_bytes());
            out.extend_from_slice(&server.to_le_bytes());
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Reads what `encode` wrote and answers what follows it.
    pub fn decode(bytes: &[u8]) -> Result<(MariaDbPosition, &[u8]), BinlogError> {
        let mut reader = Reader(bytes);
        let count = usize::from(reader.u16()?);
        let mut domains = BTreeMap::new();
        for _ in 0..count {
            let (domain, server, number) = (reader.u32()?, reader.u32()?, reader.u64()?);
            domains.insert(domain, (server, number));
        }
        let read = size_of::<u16>() + count * DOMAIN_BYTES;
        Ok((MariaDbPosition { domains }, &bytes[read..]))
    }
}

impl fmt::Display for MariaDbPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (domain, (server, number))) in self.domains.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(formatter, "{comma}{domain}-{server}-{number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_come_back() {
        let mut position = MariaDbPosition::parse(" 3-7-9, 0-1-42 ,").expect("a position");
        assert_eq!(position.to_string(), "0-1-42,3-7-9");
        position.advance(0, 2, 43);
        assert_eq!(position.to_string(), "0-2-43,3-7-9");
        let mut bytes = Vec::new();
        position.encode(&mut bytes);
        bytes.push(7);
        assert_eq!(MariaDbPosition::decode(&bytes), Ok((position, &[7_u8][..])));
        assert!((0..bytes.len() - 1).all(|end| MariaDbPosition::decode(&bytes[..end]).is_err()));
        assert_eq!(MariaDbPosition::parse(""), Some(MariaDbPosition::default()));
        for wrong in ["1", "1-2", "1-2-3-4", "1-2-x", "0-1-2,0-1-3", "-1-2-3", "4294967296-1-1"] {
            assert_eq!(MariaDbPosition::parse(wrong), None, "{wrong}");
        }
    }
}
