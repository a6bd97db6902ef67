//! Comparison of values of any two types by MySQL's rules.
use collation::CollationId;

/// The domain in which two operands are compared, decided once from their types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareMode {
    /// Two integers of any signedness.
    Integer,
    Decimal,
    Double,
    Text(CollationId),
    /// DATE, DATETIME and TIMESTAMP, and text or numbers compared with them.
    DateTime,
    Time,
    Json,
}
