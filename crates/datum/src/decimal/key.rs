//! The order-preserving bytes of a DECIMAL, the same for equal values of any scale.
//!
//! | part | bytes |
//! |---|---|
//! | sign | 1: 0 negative, 1 zero, 2 positive; zero ends here |
//! | exponent | 1: digits before the point + 128 (the value is 0.d1d2... times 10 to it) |
//! | digits | base 100, two digits each plus 1, trailing zeros dropped |
//! | end | 1: 0 |
//!
//! For negative numbers every byte after the sign is inverted.
use super::magnitude::Magnitude;
use super::{COMPUTED_DIGITS_MAX, Decimal};

const NEGATIVE: u8 = 0;
const ZERO: u8 = 1;
const POSITIVE: u8 = 2;
const EXPONENT_BIAS: i32 = 128;

impl Decimal {
    pub fn write_key(&self, key: &mut Vec<u8>) {
        if self.is_zero() {
            key.push(ZERO);
            return;
        }
        let digits = match self.coefficient() {
            Some(coefficient) => coefficient.unsigned_abs().to_string(),
            None => self.magnitude().to_digits(),
        };
        let exponent = digits.len() as i32 - i32::from(self.scale());
        let significant = digits.trim_end_matches('0').as_bytes();
        key.push(if self.is_negative() { NEGATIVE } else { POSITIVE });
        let start = key.len();
        key.push((exponent + EXPONENT_BIAS) as u8);
        for pair in significant.chunks(2) {
            let low = pair.get(1).map_or(0, |digit| digit - b'0');
            key.push((pair[0] - b'0') * 10 + low + 1);
        }
        key.push(0);
        if self.is_negative() {
            key[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Reads a key back with `scale` digits after the point; the second part is the number of bytes read.
    pub fn read_key(key: &[u8], scale: u8) -> Option<(Decimal, usize)> {
        let sign = *key.first()?;
        let flip = match sign {
            ZERO => return Some((Decimal::zero_of_scale(scale), 1)),
            NEGATIVE => 0xFF,
            POSITIVE => 0,
            _ => return None,
        };
        let exponent = i32::from(key.get(1)? ^ flip) - EXPONENT_BIAS;
        let mut digits = Vec::new();
        let mut at = 2;
        loop {
            let pair = key.get(at)? ^ flip;
            at += 1;
            match pair {
                0 => break,
                1..=100 => digits.extend_from_slice(&[(pair - 1) / 10 + b'0', (pair - 1) % 10 + b'0']),
                _ => return None,
            }
        }
        let wanted = exponent + i32::from(scale);
        // With the digits of the scale that is asked for.
        const DIGITS_MAX: usize = 2 * COMPUTED_DIGITS_MAX as usize;
        if digits.is_empty() || digits.len() > DIGITS_MAX || !(0..=DIGITS_MAX as i32).contains(&wanted) {
            return None;
        }
        digits.resize(wanted as usize, b'0');
        let value = Decimal::assemble(sign == NEGATIVE, Magnitude::from_digits(&digits), scale);
        Some((value, at))
    }
}
