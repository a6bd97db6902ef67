//! What a channel has applied: stored in the transaction that applies it, so a crash separates them never.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | 1, the version |
//! | 8 | position in the source's file |
//! | 2 + n | the file's name |
//! | 2 + n | what has begun |
//! | rest | identifiers of the applied transactions |
use binlog::GtidSet;

const VERSION: u8 = 1;

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Applied {
    /// Of the source's binary log; empty for its first one.
    pub file: String,
    /// Behind the last transaction that was applied.
    pub position: u64,
    /// A transaction of which a table is there already, but not its rows: its identifier and the table.
    pub begun: String,
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
        self.executed.encode(&mut out);
        out
    }

    /// `None` for bytes that are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Applied> {
        let (&VERSION, rest) = bytes.split_first()? else { return None };
        let (position, rest) = rest.split_first_chunk::<8>()?;
        let text = |rest: &mut &[u8]| {
            let (length, behind) = rest.split_first_chunk::<2>()?;
            let (text, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            *rest = behind;
            String::from_utf8(text.to_vec()).ok()
        };
        let mut rest = rest;
        Some(Applied {
            file: text(&mut rest)?,
            begun: text(&mut rest)?,
            position: u64::from_le_bytes(*position),
            executed: GtidSet::decode(rest).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_applied_comes_back() {
        let executed = GtidSet::parse("494816f8-eab3-11f1-b506-02fc00000001:1-9").unwrap();
        let applied =
            Applied { file: "binlog.000002".to_owned(), position: 4711, begun: "t".to_owned(), executed };
        let bytes = applied.encode();
        assert_eq!(Applied::decode(&bytes), Some(applied));
        assert!((0..bytes.len()).all(|end| Applied::decode(&bytes[..end]).is_none()));
    }
}
