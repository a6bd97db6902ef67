//! Unsigned 832-bit integers: the slow path of DECIMAL arithmetic.
//!
//! 832 bits hold 250 digits: the product of two coefficients of 81 digits, and every dividend of 81 digits that is
//! scaled by two scales. So callers need no overflow checks here; exceeding the width is a bug and asserts.
use std::cmp::Ordering;

const LIMBS: usize = 13;

/// Little-endian limbs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Magnitude([u64; LIMBS]);

impl Magnitude {
    pub(crate) const ZERO: Magnitude = Magnitude([0; LIMBS]);

    pub(crate) fn from_u128(number: u128) -> Magnitude {
        let mut limbs = [0; LIMBS];
        limbs[0] = number as u64;
        limbs[1] = (number >> 64) as u64;
        Magnitude(limbs)
    }

    pub(crate) fn to_u128(&self) -> Option<u128> {
        let fits = self.0[2..].iter().all(|limb| *limb == 0);
        fits.then(|| u128::from(self.0[1]) << 64 | u128::from(self.0[0]))
    }

    pub(crate) fn is_zero(&self) -> bool {
        *self == Magnitude::ZERO
    }

    pub(crate) fn power_of_ten(exponent: u32) -> Magnitude {
        let mut power = Magnitude::from_u128(1);
        power.scale_up(exponent);
        power
    }

    pub(crate) fn plus(&self, other: &Magnitude) -> Magnitude {
        let mut sum = self.clone();
        let mut carry = false;
        for (limb, addend) in sum.0.iter_mut().zip(other.0) {
            let (partial, first) = limb.overflowing_add(addend);
            let (total, second) = partial.overflowing_add(u64::from(carry));
            *limb = total;
            carry = first | second;
        }
        assert!(!carry, "DECIMAL magnitude exceeds its width");
        sum
    }

    /// The difference; `other` must not be larger.
    pub(crate) fn minus(&self, other: &Magnitude) -> Magnitude {
        let mut difference = self.clone();
        let mut borrow = false;
        for (limb, subtrahend) in difference.0.iter_mut().zip(other.0) {
            let (partial, first) = limb.overflowing_sub(subtrahend);
            let (total, second) = partial.overflowing_sub(u64::from(borrow));
            *limb = total;
            borrow = first | second;
        }
        assert!(!borrow, "DECIMAL magnitude below zero");
        difference
    }

    pub(crate) fn times(&self, other: &Magnitude) -> Magnitude {
        let mut product = Magnitude::ZERO;
        for (index, limb) in self.0.iter().enumerate().filter(|(_, limb)| **limb != 0) {
            let mut carry = 0u128;
            for (offset, factor) in other.0.iter().enumerate() {
                let partial = u128::from(*limb) * u128::from(*factor) + carry;
                match product.0.get_mut(index + offset) {
                    Some(slot) => {
                        let total = partial + u128::from(*slot);
                        *slot = total as u64;
                        carry = total >> 64;
                    }
                    None => assert!(partial == 0, "DECIMAL product exceeds its width"),
                }
            }
        }
        product
    }

    /// Multiplies by 10^digits in place.
    pub(crate) fn scale_up(&mut self, digits: u32) {
        let mut remaining = digits;
        while remaining > 0 {
            let step = remaining.min(19);
            let mut carry = 0u128;
            for limb in &mut self.0 {
                let product = u128::from(*limb) * u128::from(10u64.pow(step)) + carry;
                *limb = product as u64;
                carry = product >> 64;
            }
            assert!(carry == 0, "DECIMAL magnitude exceeds its width");
            remaining -= step;
        }
    }

    /// Divides by a small number in place and returns the remainder.
    pub(crate) fn divide_small(&mut self, divisor: u64) -> u64 {
        let mut remainder = 0u128;
        for limb in self.0.iter_mut().rev() {
            let dividend = remainder << 64 | u128::from(*limb);
            *limb = (dividend / u128::from(divisor)) as u64;
            remainder = dividend % u128::from(divisor);
        }
        remainder as u64
    }

    /// Drops `digits` decimal digits in place; tells how what was dropped compares with half a unit.
    pub(crate) fn scale_down(&mut self, digits: u32) -> Dropped {
        if digits == 0 {
            return Dropped { is_half_or_more: false, is_zero: true };
        }
        let mut is_zero = true;
        let mut remaining = digits - 1;
        while remaining > 0 {
            let step = remaining.min(19);
            is_zero &= self.divide_small(10u64.pow(step)) == 0;
            remaining -= step;
        }
        let last = self.divide_small(10);
        Dropped { is_half_or_more: last >= 5, is_zero: is_zero && last == 0 }
    }

    /// Quotient and remainder by shift and subtract; the divisor must not be zero. Only coefficients beyond i128
    /// come here, so some hundred plain steps are no concern.
    pub(crate) fn divide(&self, divisor: &Magnitude) -> (Magnitude, Magnitude) {
        assert!(!divisor.is_zero(), "division of a DECIMAL magnitude by zero");
        let mut quotient = Magnitude::ZERO;
        let mut remainder = Magnitude::ZERO;
        for bit in (0..self.bit_count()).rev() {
            remainder.shift_left_one();
            remainder.0[0] |= self.0[bit / 64] >> (bit % 64) & 1;
            if remainder >= *divisor {
                remainder = remainder.minus(divisor);
                quotient.0[bit / 64] |= 1 << (bit % 64);
            }
        }
        (quotient, remainder)
    }

    fn shift_left_one(&mut self) {
        let mut carry = 0;
        for limb in &mut self.0 {
            let next = *limb >> 63;
            *limb = *limb << 1 | carry;
            carry = next;
        }
    }

    fn bit_count(&self) -> usize {
        match self.0.iter().rposition(|limb| *limb != 0) {
            Some(index) => index * 64 + 64 - self.0[index].leading_zeros() as usize,
            None => 0,
        }
    }

    /// Decimal digits, at least 1.
    pub(crate) fn digit_count(&self) -> u32 {
        self.to_digits().len() as u32
    }

    /// The decimal digits as ASCII without leading zeros.
    pub(crate) fn to_digits(&self) -> String {
        const CHUNK: u64 = 10u64.pow(19);
        let mut rest = self.clone();
        let mut chunks = Vec::new();
        while !rest.is_zero() {
            chunks.push(rest.divide_small(CHUNK));
        }
        let mut digits = chunks.pop().unwrap_or(0).to_string();
        for chunk in chunks.iter().rev() {
            digits.push_str(&format!("{chunk:019}"));
        }
        digits
    }

    /// From ASCII digits; at most 150 of them.
    pub(crate) fn from_digits(digits: &[u8]) -> Magnitude {
        let mut magnitude = Magnitude::ZERO;
        for chunk in digits.chunks(19) {
            let number = chunk.iter().fold(0u64, |number, digit| number * 10 + u64::from(digit - b'0'));
            magnitude.scale_up(chunk.len() as u32);
            magnitude = magnitude.plus(&Magnitude::from_u128(u128::from(number)));
        }
        magnitude
    }
}

pub(crate) struct Dropped {
    pub is_half_or_more: bool,
    pub is_zero: bool,
}

impl PartialOrd for Magnitude {
    fn partial_cmp(&self, other: &Magnitude) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Magnitude {
    fn cmp(&self, other: &Magnitude) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}
