//! DECIMAL arithmetic, rounding and comparison.
//!
//! Every operation tries i128 first and falls back to `Magnitude`. Results with more than 81 digits lose those
//! after the point, in groups of nine; too many before the point is `DecimalOverflow`.
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::magnitude::Magnitude;
use super::{COMPUTED_DIGITS_MAX, DIGITS_PER_GROUP, Decimal, GROUPS_MAX, scale_beside};

/// The result needs more digits before the point than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalOverflow;

const POWERS_OF_TEN: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut exponent = 1;
    while exponent < 39 {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// The product if it fits. Factors of 64 bits, which most are, need no overflow check: that of i128 is a call.
#[inline]
fn multiply_coefficients(left: i128, right: i128) -> Option<i128> {
    match (i64::try_from(left), i64::try_from(right)) {
        (Ok(left), Ok(right)) => Some(i128::from(left).wrapping_mul(i128::from(right))),
        _ => left.checked_mul(right),
    }
}

impl Decimal {
    pub fn add(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        if let Some((left, right, scale)) = self.aligned(other)
            && let Some(sum) = left.checked_add(right)
        {
            return Ok(Decimal::new(sum, scale));
        }
        let (left, right, scale) = self.aligned_wide(other);
        let (left_negative, right_negative) = (self.is_negative(), other.is_negative());
        if left_negative == right_negative {
            Decimal::limit(left_negative, left.plus(&right), scale)
        } else if left >= right {
            Decimal::limit(left_negative, left.minus(&right), scale)
        } else {
            Decimal::limit(right_negative, right.minus(&left), scale)
        }
    }

    pub fn subtract(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        self.add(&other.negated())
    }

    pub fn multiply(&self, other: &Decimal) -> Result<Decimal, DecimalOverflow> {
        let scale = self.scale() + other.scale();
        // The digits of an i128 fit, wherever the point is.
        if scale <= COMPUTED_DIGITS_MAX
            && let (Some(left), Some(right)) = (self.coefficient(), other.coefficient())
            && let Some(product) = multiply_coefficients(left, right)
        {
            return Ok(Decimal::new(product, scale));
        }
        let (left, right) = self.cut_factors(other)?;
        let is_negative = left.is_negative() != right.is_negative();
        Decimal::limit(is_negative, left.magnitude().times(&right.magnitude()), left.scale() + right.scale())
    }

    /// The factors without the groups of digits after the point for which a product has no room.
    fn cut_factors(&self, other: &Decimal) -> Result<(Decimal, Decimal), DecimalOverflow> {
        let groups = |digits: u32| digits.div_ceil(u32::from(DIGITS_PER_GROUP));
        let integer = groups(self.integer_digit_count() + other.integer_digit_count());
        let room = u32::from(GROUPS_MAX).checked_sub(integer).ok_or(DecimalOverflow)?;
        let (mut left, mut right) = (groups(u32::from(self.scale())), groups(u32::from(other.scale())));
        let excess = (left + right).saturating_sub(room);
        if excess == 0 {
            return Ok((self.clone(), other.clone()));
        }
        let (fewer, more) = (excess / 2, excess - excess / 2);
        let (of_left, of_right) = if left <= right { (fewer, more) } else { (more, fewer) };
        (left, right) = (left.saturating_sub(of_left), right.saturating_sub(of_right));
        let cut =
            |number: &Decimal, groups: u32| number.truncate((groups * u32::from(DIGITS_PER_GROUP)) as i32);
        Ok((cut(self, left), cut(other, right)))
    }

    /// The quotient, with the digits MySQL computes: at least scale + `increment`, filled up to groups of nine, so that it
    /// has some that it does not show.
    /// `None` for a zero divisor.
    pub fn divide(&self, other: &Decimal, increment: u8) -> Result<Option<Decimal>, DecimalOverflow> {
        if other.is_zero() {
            return Ok(None);
        }
        let scale = Decimal::quotient_scale(self.scale(), other.scale(), increment);
        // Where the quotient is large, digits that no room is left for need not be computed.
        let integer_digits = (self.integer_digit_count() + u32::from(other.scale()))
            .saturating_sub(other.digit_count().saturating_sub(1));
        let scale = scale.min(scale_beside(integer_digits).unwrap_or(0).max(DIGITS_PER_GROUP));
        // self / 10^s1 divided by other / 10^s2, times 10^scale.
        let shift =
            u32::from(scale) + u32::from(other.scale()) - u32::from(self.scale()).min(u32::from(scale));
        let extra_down = u32::from(self.scale()).saturating_sub(u32::from(scale));
        let is_negative = self.is_negative() != other.is_negative();
        if extra_down == 0
            && let (Some(dividend), Some(divisor)) = (self.coefficient(), other.coefficient())
            && let Some(power) = POWERS_OF_TEN.get(shift as usize)
            && let Some(scaled) = multiply_coefficients(dividend, *power)
            && let Some(quotient) = scaled.checked_div(divisor)
        {
            return Ok(Some(Decimal::new(quotient, scale)));
        }
        let mut dividend = self.magnitude();
        dividend.scale_up(shift);
        let mut divisor = other.magnitude();
        divisor.scale_up(extra_down);
        let (quotient, _) = dividend.divide(&divisor);
        Decimal::limit(is_negative, quotient, scale).map(Some)
    }

    fn quotient_scale(dividend_scale: u8, divisor_scale: u8, increment: u8) -> u8 {
        const GROUP: u32 = DIGITS_PER_GROUP as u32;
        let up = |scale: u8| u32::from(scale).div_ceil(GROUP) * GROUP;
        let (dividend_group, divisor_group) = (up(dividend_scale), up(divisor_scale));
        let slack = dividend_group - u32::from(dividend_scale) + divisor_group - u32::from(divisor_scale);
        let extra = u32::from(increment).saturating_sub(slack);
        let scale = (dividend_group + divisor_group + extra).div_ceil(GROUP) * GROUP;
        scale.min(u32::from(COMPUTED_DIGITS_MAX)) as u8
    }

    /// The remainder with the sign of the dividend; `None` for a zero divisor.
    pub fn remainder(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        if let Some((left, right, scale)) = self.aligned(other) {
            return Some(Decimal::new(left.wrapping_rem(right), scale));
        }
        let (left, right, scale) = self.aligned_wide(other);
        let (_, remainder) = left.divide(&right);
        Some(Decimal::assemble(self.is_negative(), remainder, scale))
    }

    #[must_use]
    pub fn negated(&self) -> Decimal {
        match self.coefficient().and_then(i128::checked_neg) {
            Some(coefficient) => Decimal::new(coefficient, self.scale()),
            None => Decimal::assemble(!self.is_negative(), self.magnitude(), self.scale()),
        }
    }

    #[must_use]
    pub fn absolute(&self) -> Decimal {
        if self.is_negative() { self.negated() } else { self.clone() }
    }

    /// Rounds half away from zero to `digits` after the point; negative counts round before the point.
    pub fn round(&self, digits: i32) -> Result<Decimal, DecimalOverflow> {
        self.cut(digits, |_, is_half, _| is_half)
    }

    /// Drops digits after `digits`.
    #[must_use]
    pub fn truncate(&self, digits: i32) -> Decimal {
        self.cut(digits, |_, _, _| false).expect("dropping digits cannot overflow")
    }

    /// The smallest integer not below.
    pub fn ceiling(&self) -> Result<Decimal, DecimalOverflow> {
        self.cut(0, |is_negative, _, is_zero| !is_negative && !is_zero)
    }

    /// The largest integer not above.
    pub fn floor(&self) -> Result<Decimal, DecimalOverflow> {
        self.cut(0, |is_negative, _, is_zero| is_negative && !is_zero)
    }

    /// The same value with exactly `scale` digits after the point, rounding when digits must go.
    pub fn rescale(&self, scale: u8) -> Result<Decimal, DecimalOverflow> {
        if scale == self.scale() {
            return Ok(self.clone());
        }
        if scale < self.scale() {
            return self.round(i32::from(scale));
        }
        let shift = scale - self.scale();
        if let Some(coefficient) = self.coefficient()
            && let Some(power) = POWERS_OF_TEN.get(usize::from(shift))
            && let Some(scaled) = multiply_coefficients(coefficient, *power)
        {
            return Ok(Decimal::new(scaled, scale));
        }
        let mut magnitude = self.magnitude();
        magnitude.scale_up(u32::from(shift));
        Decimal::limit(self.is_negative(), magnitude, scale)
    }

    /// Keeps `digits` after the point; `rounds_up` decides from (sign, dropped at least half, dropped nothing).
    fn cut(
        &self,
        digits: i32,
        rounds_up: impl Fn(bool, bool, bool) -> bool,
    ) -> Result<Decimal, DecimalOverflow> {
        let scale = i32::from(self.scale());
        if digits >= scale {
            return Ok(self.clone());
        }
        let dropped_digits = (scale - digits.max(-100)) as u32;
        let mut magnitude = self.magnitude();
        let dropped = magnitude.scale_down(dropped_digits);
        if rounds_up(self.is_negative(), dropped.is_half_or_more, dropped.is_zero) {
            magnitude = magnitude.plus(&Magnitude::from_u128(1));
        }
        if digits < 0 && !magnitude.is_zero() {
            magnitude.scale_up(digits.unsigned_abs());
        }
        Decimal::limit(self.is_negative(), magnitude, digits.max(0) as u8)
    }

    /// Both coefficients at the larger scale, when that fits in i128.
    #[inline]
    fn aligned(&self, other: &Decimal) -> Option<(i128, i128, u8)> {
        let (left, right) = (self.coefficient()?, other.coefficient()?);
        let (left_scale, right_scale) = (self.scale(), other.scale());
        match left_scale.cmp(&right_scale) {
            Ordering::Equal => Some((left, right, left_scale)),
            Ordering::Less => {
                let power = POWERS_OF_TEN.get(usize::from(right_scale - left_scale))?;
                Some((multiply_coefficients(left, *power)?, right, right_scale))
            }
            Ordering::Greater => {
                let power = POWERS_OF_TEN.get(usize::from(left_scale - right_scale))?;
                Some((left, multiply_coefficients(right, *power)?, left_scale))
            }
        }
    }

    fn aligned_wide(&self, other: &Decimal) -> (Magnitude, Magnitude, u8) {
        let scale = self.scale().max(other.scale());
        let (mut left, mut right) = (self.magnitude(), other.magnitude());
        left.scale_up(u32::from(scale - self.scale()));
        right.scale_up(u32::from(scale - other.scale()));
        (left, right, scale)
    }

    /// Brings a result of any width back within the digits that there are.
    fn limit(is_negative: bool, mut magnitude: Magnitude, scale: u8) -> Result<Decimal, DecimalOverflow> {
        let integer_digits = magnitude.digit_count().saturating_sub(u32::from(scale));
        let room = scale_beside(integer_digits).ok_or(DecimalOverflow)?;
        let kept = scale.min(room);
        magnitude.scale_down(u32::from(scale - kept));
        Ok(Decimal::assemble(is_negative, magnitude, kept))
    }

    /// Compares values: 1.0 equals 1.00.
    pub fn compare(&self, other: &Decimal) -> Ordering {
        if let Some((left, right, _)) = self.aligned(other) {
            return left.cmp(&right);
        }
        match (self.is_negative(), other.is_negative()) {
            (false, true) => return Ordering::Greater,
            (true, false) => return Ordering::Less,
            _ => {}
        }
        let (left, right, _) = self.aligned_wide(other);
        let ordering = left.cmp(&right);
        if self.is_negative() { ordering.reverse() } else { ordering }
    }

    /// Hashes the value, not its scale, so that values that compare equal hash alike.
    pub fn hash_value(&self, hasher: &mut impl Hasher) {
        match self.coefficient() {
            Some(0) => 0i128.hash(hasher),
            Some(mut coefficient) => {
                let mut scale = i32::from(self.scale());
                while coefficient % 10 == 0 {
                    coefficient /= 10;
                    scale -= 1;
                }
                coefficient.hash(hasher);
                scale.hash(hasher);
            }
            None => {
                // A wide number with trailing zeros may equal a small one, so strip them before deciding.
                let mut magnitude = self.magnitude();
                let mut scale = i32::from(self.scale());
                loop {
                    let mut shorter = magnitude.clone();
                    if shorter.divide_small(10) != 0 {
                        break;
                    }
                    magnitude = shorter;
                    scale -= 1;
                }
                match magnitude.to_u128().and_then(|small| i128::try_from(small).ok()) {
                    Some(small) => (if self.is_negative() { -small } else { small }).hash(hasher),
                    None => (self.is_negative(), magnitude.to_digits()).hash(hasher),
                }
                scale.hash(hasher);
            }
        }
    }
}
