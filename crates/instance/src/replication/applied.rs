//! What a channel has applied: stored in the transaction that applies it, so a crash separates them never.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | 2, the version; 1 has no domains |
//! | 8 | position in the source's file |
//! | 2 + n | the file's name |
//! | 2 + n | what has begun |
//! | 2 + 16 n | domains of a MariaDB source, each with its last transaction |
//! | rest | identifiers of the applied transactions |
use binlog::{GtidSet, MariaDbPosition};

const VERSION: u8 = 2;
const WITHOUT_DOMAINS: u8 = 1;

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Applied {
    /// Of the source's binary log; empty for its first one.
    pub file: String,
    /// Behind the last transaction that was applied.
    pub position: u64,
    /// A transaction of which a table is there already, but not its rows: its identifier and the table.
    pub begun: String,
    /// Of a MariaDB source.
    pub domains: MariaDbPosition,
    /// What has come by this channel.
    pub executed: GtidSet,
}

impl Applied {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.position.to_le_bytes());
        for text in [&self.file, &self.begun] {
            out.extend_from_slice(&(text.len() as u16).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        self.domains.encode(&mut out);
        self.executed.encode(&mut out);
        out
    }

    /// `None` for bytes that are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Applied> {
        let (version, rest) = bytes.split_first()?;
        let (position, rest) = rest.split_first_chunk::<8>()?;
        let text = |rest: &mut &[u8]| {
            let (length, behind) = rest.split_first_chunk::<2>()?;
            let (text, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            *rest = behind;
            String::from_utf8(text.to_vec()).ok()
        };
        let mut rest = rest;
        let (file, begun) = (text(&mut rest)?, text(&mut rest)?);
        let (domains, rest) = match *version {
            VERSION => MariaDbPosition::decode(rest).ok()?,
            WITHOUT_DOMAINS => (MariaDbPosition::default(), rest),
            _ => return None,
        };
        let executed = GtidSet::decode(rest).ok()?;
        Some(Applied { file, position: u64::from_le_bytes(*position), begun, domains, executed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_applied_comes_back() {
        let executed = GtidSet::parse("494816f8-eab3-11f1-b506-02fc00000001:1-9").unwrap();
        let domains = MariaDbPosition::parse("0-1-42").unwrap();
        let (file, begun) = ("binlog.000002".to_owned(), "t".to_owned());
        let mut applied = Applied { file, position: 4711, begun, domains, executed };
        let bytes = applied.encode();
        assert_eq!(Applied::decode(&bytes).as_ref(), Some(&applied));
        assert!((0..bytes.len()).all(|end| Applied::decode(&bytes[..end]).is_none()));
        // As it was stored before.
        applied.domains = MariaDbPosition::default();
        let mut old = applied.encode();
        let places = 1 + 8 + 2 + applied.file.len() + 2 + applied.begun.len();
        old.drain(places..places + 2);
        old[0] = WITHOUT_DOMAINS;
        assert_eq!(Applied::decode(&old), Some(applied));
    }
}
