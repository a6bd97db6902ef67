//! DECIMAL as the binary log has it: groups of nine digits in four bytes each, the sign in the first bit.
//!
//! Invariant: the width follows from precision and scale alone, and the bytes order as the numbers do.
use crate::BinlogError;
use crate::bytes::Reader;
use datum::Decimal;

const GROUP_DIGITS: usize = 9;
/// The bytes of so many digits.
const DIGIT_BYTES: [usize; GROUP_DIGITS + 1] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// The groups of a number, as digits: a short one first, whole ones, a short one at the end.
fn groups(precision: u8, scale: u8) -> Result<Vec<usize>, BinlogError> {
    let whole = precision.checked_sub(scale).ok_or(BinlogError::Invalid("precision of a DECIMAL"))?;
    let (whole, scale) = (usize::from(whole), usize::from(scale));
    let mut groups = vec![whole % GROUP_DIGITS];
    groups.resize(1 + whole / GROUP_DIGITS + scale / GROUP_DIGITS, GROUP_DIGITS);
    groups.push(scale % GROUP_DIGITS);
    groups.retain(|digits| *digits > 0);
    Ok(groups)
}

/// Appends a number that fits the type.
pub(crate) fn put_decimal(
    number: &Decimal,
    precision: u8,
    scale: u8,
    out: &mut Vec<u8>,
) -> Result<(), BinlogError> {
    let misfit = BinlogError::Invalid("value of a DECIMAL");
    let number = number.rescale(scale).map_err(|_| misfit)?;
    let mut text = Vec::with_capacity(70);
    number.absolute().write_text(&mut text);
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let whole = usize::from(precision.saturating_sub(scale));
    let integer = text[..point].iter().skip_while(|digit| **digit == b'0').copied();
    let integer: Vec<u8> = integer.collect();
    let padding = whole.checked_sub(integer.len()).ok_or(misfit)?;
    let mut digits = vec![b'0'; padding];
    digits.extend_from_slice(&integer);
    digits.extend(text[point..].iter().skip(1));
    digits.resize(usize::from(precision), b'0');
    debug_assert_eq!(digits.len(), usize::from(precision), "a number has the digits of its type");
    let flip = if number.is_negative() { 0xFF } else { 0 };
    let start = out.len();
    let mut rest = &digits[..];
    for count in groups(precision, scale)? {
        let (group, behind) = rest.split_at(count);
        rest = behind;
        let value = group.iter().fold(0u32, |value, digit| value * 10 + u32::from(digit - b'0'));
        out.extend(value.to_be_bytes()[4 - DIGIT_BYTES[count]..].iter().map(|byte| byte ^ flip));
    }
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
    Ok(())
}

pub(crate) fn read_decimal(
    reader: &mut Reader<'_>,
    precision: u8,
    scale: u8,
) -> Result<Decimal, BinlogError> {
    let wrong = BinlogError::Invalid("value of a DECIMAL");
    let groups = groups(precision, scale)?;
    let width = groups.iter().map(|digits| DIGIT_BYTES[*digits]).sum();
    let mut bytes = reader.take(width)?.to_vec();
    let Some(first) = bytes.first_mut() else { return Ok(Decimal::ZERO) };
    let negative = *first & 0x80 == 0;
    *first ^= 0x80;
    if negative {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let mut text = String::from(if negative { "-0" } else { "0" });
    let (mut written, whole) = (0, usize::from(precision - scale));
    let mut rest = Reader(&bytes);
    for digits in groups {
        let value = rest.uint_be(DIGIT_BYTES[digits])?;
        if value >= 10u64.pow(digits as u32) {
            return Err(wrong);
        }
        if written == whole {
            text.push('.');
        }
        text.push_str(&format!("{value:0digits$}"));
        written += digits;
    }
    let number = Decimal::parse(&text).ok_or(wrong)?;
    number.rescale(scale).map_err(|_| wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_come_back_and_order() {
        let texts = ["-99999.99999", "-1.00001", "-0.00001", "0", "0.00001", "1.5", "123.4", "99999.99999"];
        let mut before = Vec::new();
        for text in texts {
            let number = Decimal::parse(text).unwrap();
            let mut bytes = Vec::new();
            put_decimal(&number, 10, 5, &mut bytes).unwrap();
            assert!(bytes > before, "{text}");
            let back = read_decimal(&mut Reader(&bytes), 10, 5).unwrap();
            assert_eq!(back.compare(&number), std::cmp::Ordering::Equal, "{text}");
            before = bytes;
        }
        for (precision, scale) in [(65, 30), (65, 0), (30, 30), (1, 0), (18, 9), (20, 5)] {
            for number in [Decimal::max_of(precision, scale), Decimal::max_of(precision, scale).negated()] {
                let mut bytes = Vec::new();
                put_decimal(&number, precision, scale, &mut bytes).unwrap();
                assert_eq!(read_decimal(&mut Reader(&bytes), precision, scale).unwrap(), number);
            }
        }
    }
}
