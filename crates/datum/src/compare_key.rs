//! Operands of a comparison as bytes, so that many can be looked up at once.
//!
//! Invariant: two keys of one mode are equal exactly where `compare` says that the operands are, and no key is the
//! beginning of another, so keys of several operands may follow one another. Called by long IN lists.
use crate::compare::{CompareMode, Operand, date_or_zero, in_zone, moment_or_zero, time_or_zero};
use crate::moment::MomentContext;
use crate::number::WarningSink;

/// The first byte of the key of 0, and of no NULL's; the count of bytes behind it is added, or taken off for negative numbers.
const ZERO: u8 = 0x80;

/// Appends an integer in as few bytes as it needs, which compare as the numbers do.
#[inline]
pub fn write_integer_key(number: i128, key: &mut Vec<u8>) {
    let is_negative = number < 0;
    let magnitude = if is_negative { !number } else { number };
    let count = 16 - magnitude.leading_zeros() as usize / 8;
    let tag = count as u8;
    key.push(if is_negative { ZERO - 1 - tag } else { ZERO + tag });
    key.extend_from_slice(&number.to_be_bytes()[16 - count..]);
}

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
            Some(number) => write_integer_key(number, key),
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
        CompareMode::Date => {
            let date = date_or_zero(operand, context, warn);
            key.extend_from_slice(&date.to_packed().to_be_bytes());
        }
        CompareMode::Time => {
            let time = time_or_zero(operand, context, warn);
            key.extend_from_slice(&time.to_micros().to_be_bytes());
        }
        CompareMode::Json => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::write_integer_key;

    #[test]
    fn keys_of_integers_order_as_the_integers() {
        let mut numbers = vec![0, 1, -1, i128::from(u64::MAX), i128::from(i64::MIN), i128::MAX, i128::MIN];
        for bits in 1..120 {
            let power = 1i128 << bits;
            numbers.extend([power - 1, power, power + 1, -power - 1, -power, 1 - power]);
        }
        numbers.sort_unstable();
        numbers.dedup();
        let keys: Vec<Vec<u8>> = numbers
            .iter()
            .map(|&number| {
                let mut key = Vec::new();
                write_integer_key(number, &mut key);
                key
            })
            .collect();
        for pair in keys.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
            assert!(!pair[1].starts_with(&pair[0]));
        }
        assert_eq!(keys[numbers.binary_search(&0).expect("it is there")].len(), 1);
    }
}
