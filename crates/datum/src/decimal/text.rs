//! DECIMAL to and from text.
use std::fmt;

use super::magnitude::Magnitude;
use super::{COMPUTED_DIGITS_MAX, Decimal, PRECISION_MAX, scale_beside};

/// What parsing found at the start of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedDecimal {
    pub value: Decimal,
    /// Bytes read, leading spaces included; 0 when there is no number at all.
    pub consumed: usize,
    /// The number had more digits after the point than there is room for.
    pub is_rounded: bool,
    /// The number has too many digits before the point; the value is the nearest possible.
    pub is_overflow: bool,
}

impl Decimal {
    /// Reads the longest decimal or scientific number at the start, after spaces.
    pub fn parse_prefix(text: &[u8]) -> ParsedDecimal {
        let mut scan = Scan::new(text);
        let is_negative = scan.sign();
        let integer = scan.digits();
        let fraction = if scan.peek() == Some(b'.') {
            scan.at += 1;
            scan.digits()
        } else {
            &[][..]
        };
        if integer.is_empty() && fraction.is_empty() {
            return ParsedDecimal {
                value: Decimal::ZERO,
                consumed: 0,
                is_rounded: false,
                is_overflow: false,
            };
        }
        let exponent = scan.exponent();
        let consumed = scan.at;
        assemble_parsed(is_negative, integer, fraction, exponent, consumed)
    }

    /// Parses a whole text; `None` unless it is a number and nothing else.
    pub fn parse(text: &str) -> Option<Decimal> {
        let parsed = Decimal::parse_prefix(text.as_bytes());
        (parsed.consumed > 0 && parsed.consumed == text.len() && !parsed.is_overflow).then_some(parsed.value)
    }

    pub fn write_text(&self, text: &mut Vec<u8>) {
        use std::io::Write;
        write!(text, "{self}").expect("writing to a vector cannot fail");
    }
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8]) -> Scan<'a> {
        let at = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        Scan { text, at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn sign(&mut self) -> bool {
        let sign = self.peek();
        if matches!(sign, Some(b'-' | b'+')) {
            self.at += 1;
        }
        sign == Some(b'-')
    }

    fn digits(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        &rest[..count]
    }

    /// The exponent, if a complete one follows; saturated, since anything beyond hundreds is out of range anyway.
    fn exponent(&mut self) -> i32 {
        if !matches!(self.peek(), Some(b'e' | b'E')) {
            return 0;
        }
        let start = self.at;
        self.at += 1;
        let is_negative = self.sign();
        let digits = self.digits();
        if digits.is_empty() {
            self.at = start;
            return 0;
        }
        let exponent = digits.iter().fold(0i32, |number, digit| {
            (number.saturating_mul(10).saturating_add(i32::from(digit - b'0'))).min(100_000)
        });
        if is_negative { -exponent } else { exponent }
    }
}

fn assemble_parsed(
    is_negative: bool,
    integer: &[u8],
    fraction: &[u8],
    exponent: i32,
    consumed: usize,
) -> ParsedDecimal {
    // The fast path: up to 38 digits fit an i128 without looking further.
    if exponent == 0
        && integer.len() + fraction.len() <= 38
        && fraction.len() <= usize::from(COMPUTED_DIGITS_MAX)
    {
        let magnitude = integer
            .iter()
            .chain(fraction)
            .fold(0i128, |number, digit| number * 10 + i128::from(digit - b'0'));
        let coefficient = if is_negative { -magnitude } else { magnitude };
        let value = Decimal::new(coefficient, fraction.len() as u8);
        return ParsedDecimal { value, consumed, is_rounded: false, is_overflow: false };
    }
    let digits: Vec<u8> = integer.iter().chain(fraction).copied().collect();
    let leading_zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let significant = &digits[leading_zeros..];
    if significant.is_empty() {
        let value = Decimal::zero_of_scale(fraction.len().min(usize::from(COMPUTED_DIGITS_MAX)) as u8);
        return ParsedDecimal { value, consumed, is_rounded: false, is_overflow: false };
    }
    // Digits before the point after the exponent is applied.
    let point = integer.len() as i64 - leading_zeros as i64 + i64::from(exponent);
    let Some(scale_limit) = scale_beside(u32::try_from(point.max(0)).unwrap_or(u32::MAX)) else {
        let value = signed(Decimal::max_of(PRECISION_MAX, 0), is_negative);
        return ParsedDecimal { value, consumed, is_rounded: false, is_overflow: true };
    };
    let fraction_digits = significant.len() as i64 - point;
    let scale = fraction_digits.clamp(0, i64::from(scale_limit));
    let kept = (point + scale).clamp(0, significant.len() as i64) as usize;
    let mut magnitude = Magnitude::from_digits(&significant[..kept]);
    if fraction_digits < 0 {
        magnitude.scale_up(-fraction_digits as u32);
    }
    let is_rounded = fraction_digits > scale;
    let value = Decimal::assemble(is_negative, magnitude, scale as u8);
    ParsedDecimal { value, consumed, is_rounded, is_overflow: false }
}

fn signed(value: Decimal, is_negative: bool) -> Decimal {
    if is_negative { value.negated() } else { value }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = usize::from(self.scale());
        let digits = match self.coefficient() {
            Some(coefficient) => coefficient.unsigned_abs().to_string(),
            None => self.magnitude().to_digits(),
        };
        if self.is_negative() {
            formatter.write_str("-")?;
        }
        if scale == 0 {
            return formatter.write_str(&digits);
        }
        if digits.len() > scale {
            let (integer, fraction) = digits.split_at(digits.len() - scale);
            write!(formatter, "{integer}.{fraction}")
        } else {
            write!(formatter, "0.{digits:0>scale$}")
        }
    }
}
