//! Operands of a comparison as bytes, so that many can be looked up at once.
//!
//! Invariant: two keys of one mode are equal exactly where `compare` says that the operands are, and no key is the
//! beginning of another, so keys of several operands may follow one another. Called by long IN lists.
use crate::compare::{CompareMode, Operand, in_zone, moment_or_zero, time_or_zero};
use crate::moment::MomentContext;
use crate::number::WarningSink;

/// Appends the key of an operand; false for what compares with nothing (NULL) and for documents, which have none.
pub fn write_compare_key(
    mode: CompareMode,
    operand: Operand<'_>,
    context: &MomentContext<'_>,
    warn: WarningSink<'_>,
    key: &mut Vec<u8>,
) -> bool {
    let Operand { value, column } = operand;
    if value.is_null() {
        return false;
    }
    match mode {
        CompareMode::Integer => match value.to_integer(column, warn) {
            Some(number) => key.extend_from_slice(&number.to_be_bytes()),
            None => return false,
        },
        CompareMode::Decimal => match in_zone(operand, context).to_decimal(column, warn) {
            Some(number) => number.write_key(key),
            None => return false,
        },
        // Lists are compared without regard to fixed digits; joins do not look such numbers up.
        CompareMode::Double | CompareMode::FixedReal(_) => {
            match in_zone(operand, context).to_f64(column, warn) {
                // Both zeros are equal.
                Some(number) => key.extend_from_slice(&(number + 0.0).to_bits().to_be_bytes()),
                None => return false,
            }
        }
        CompareMode::Text(collation) => collation.write_sort_key(&value.to_text(column), key),
        CompareMode::DateTime => {
            let moment = moment_or_zero(operand, context, warn);
            key.extend_from_slice(&moment.to_packed().to_be_bytes());
        }
        CompareMode::Time => {
            let time = time_or_zero(operand, context, warn);
            key.extend_from_slice(&time.to_micros().to_be_bytes());
        }
        CompareMode::Json => return false,
    }
    true
}
