//! The identifier of an XA transaction, and its form in the engine's log.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | format, little-endian |
//! | 1 | length of the global part, and 128 if the binary log has the transaction |
//! | n | global part |
//! | m | branch part, to the end |

/// Two are the same when all three parts are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xid {
    pub format: u64,
    pub global: Box<[u8]>,
    pub branch: Box<[u8]>,
}

/// The X/Open limit of each part.
const PART_BYTES_MAX: usize = 64;
/// In the byte with the length.
const LOGGED: u8 = 128;

impl Xid {
    pub fn of(written: &parser::ast::Xid<'_>) -> Xid {
        Xid { format: written.format, global: written.global.into(), branch: written.branch.into() }
    }

    /// Its form, with whether the binary log has what was prepared under it.
    pub fn encode(&self, is_logged: bool) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(9 + self.global.len() + self.branch.len());
        bytes.extend_from_slice(&self.format.to_le_bytes());
        let length = u8::try_from(self.global.len()).expect("the parser limits its length");
        bytes.push(length | if is_logged { LOGGED } else { 0 });
        bytes.extend_from_slice(&self.global);
        bytes.extend_from_slice(&self.branch);
        bytes
    }

    /// `None` for bytes that `encode` did not make.
    pub fn decode(bytes: &[u8]) -> Option<Xid> {
        let (format, rest) = bytes.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first()?;
        let (global, branch) = rest.split_at_checked(usize::from(*length & !LOGGED))?;
        let fits = global.len() <= PART_BYTES_MAX && branch.len() <= PART_BYTES_MAX;
        let format = u64::from_le_bytes(*format);
        fits.then(|| Xid { format, global: global.into(), branch: branch.into() })
    }

    /// Of what `encode` made: whether the binary log has the transaction.
    pub fn is_logged(bytes: &[u8]) -> bool {
        bytes.get(8).is_some_and(|length| length & LOGGED != 0)
    }

    /// Both parts, as XA RECOVER shows them.
    pub fn data(&self) -> Vec<u8> {
        [&*self.global, &*self.branch].concat()
    }

    /// The same with CONVERT XID.
    pub fn hexadecimal(&self) -> String {
        use std::fmt::Write;
        let mut text = "0x".to_owned();
        for byte in self.data() {
            let _ = write!(text, "{byte:02X}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_come_back_and_cuts_are_refused() {
        for (format, global, branch) in
            [(1, &b"a"[..], &b""[..]), (u64::MAX, &[0; 64], &[255; 64]), (0, b"", b"b")]
        {
            let xid = Xid { format, global: global.into(), branch: branch.into() };
            for is_logged in [false, true] {
                let bytes = xid.encode(is_logged);
                assert_eq!(Xid::decode(&bytes), Some(xid.clone()));
                assert_eq!(Xid::is_logged(&bytes), is_logged);
                for cut in 0..9 + global.len() {
                    assert_eq!(Xid::decode(&bytes[..cut]), None);
                }
            }
        }
        assert_eq!(Xid::decode(&[0; 9 + 65]), None);
    }
}
