//! DECIMAL values.

/// An exact decimal number.
#[derive(Clone, Debug, PartialEq)]
pub struct Decimal {
    low: u64,
    high: i64,
    scale: u8,
}
