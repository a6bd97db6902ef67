//! `Lsn`: a position in the endless log stream.

use std::fmt;

/// A byte offset in the log stream; it never goes back. The LSN of a record is its end: the position just
/// behind its last byte. Offset 0 is inside the first chunk header, so `Lsn::ZERO` is before every record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(u64::MAX);

    pub fn advance(self, bytes: u64) -> Self {
        Self(self.0.checked_add(bytes).expect("2^64 bytes of log are never written"))
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
