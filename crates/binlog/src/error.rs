//! Why bytes are no event. Every decoder of this crate takes any bytes and ends in one of these, never in a panic.

/// What is wrong with bytes that should be an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinlogError {
    /// They end too early.
    Truncated,
    /// The CRC-32 behind the event does not match.
    Checksum,
    /// A field has a value that it cannot have; it is named.
    Invalid(&'static str),
    /// A part of the format that is known and that this version does not read; it is named.
    Unsupported(&'static str),
}

impl std::fmt::Display for BinlogError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BinlogError::Truncated => formatter.write_str("an event of the binary log is cut off"),
            BinlogError::Checksum => {
                formatter.write_str("the checksum of an event of the binary log is wrong")
            }
            BinlogError::Invalid(what) => write!(formatter, "an event of the binary log has a wrong {what}"),
            BinlogError::Unsupported(what) => write!(formatter, "the binary log has {what}, not supported"),
        }
    }
}

impl std::error::Error for BinlogError {}
