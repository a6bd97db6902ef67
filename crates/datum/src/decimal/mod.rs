//! DECIMAL: exact decimal numbers. Columns have up to 65 digits, 30 of them after the point; what is written in a
//! statement or computed has up to 81, as MySQL has.
//!
//! Invariant: the value is coefficient / 10^scale. The digits before the point and those after it fit in nine groups of
//! nine together, no group holding some of both. Coefficients that fit in an i128 are always held as one, so the common
//! arithmetic is plain integer arithmetic; only wider ones take the boxed path through `Magnitude`.
mod arithmetic;
mod key;
mod magnitude;
mod number;
mod text;

#[cfg(test)]
mod tests;

pub use arithmetic::DecimalOverflow;
use magnitude::Magnitude;
pub use text::ParsedDecimal;

/// The most digits that the type DECIMAL has.
pub const PRECISION_MAX: u8 = 65;
/// The most of them after the point.
pub const SCALE_MAX: u8 = 30;
/// The most digits of a number that is written or computed, on one side of the point.
pub const COMPUTED_DIGITS_MAX: u8 = GROUPS_MAX * DIGITS_PER_GROUP;
/// Digits are counted in groups, which the point begins.
const DIGITS_PER_GROUP: u8 = 9;
const GROUPS_MAX: u8 = 9;

/// The digits after the point that a number with so many before it can have; `None` where those are too many themselves.
fn scale_beside(integer_digits: u32) -> Option<u8> {
    let groups = u8::try_from(integer_digits.div_ceil(u32::from(DIGITS_PER_GROUP))).ok()?;
    GROUPS_MAX.checked_sub(groups).map(|groups| groups * DIGITS_PER_GROUP)
}

#[derive(Clone, PartialEq)]
pub struct Decimal {
    repr: Repr,
}

#[derive(Clone, PartialEq)]
enum Repr {
    /// The i128 coefficient as two words, because an i128 would align every `Value` to 16 bytes.
    Small {
        low: u64,
        high: i64,
        scale: u8,
    },
    Wide(Box<Wide>),
}

#[derive(Clone, PartialEq)]
struct Wide {
    is_negative: bool,
    scale: u8,
    magnitude: Magnitude,
}

impl Decimal {
    pub const ZERO: Decimal = Decimal { repr: Repr::Small { low: 0, high: 0, scale: 0 } };

    /// `coefficient / 10^scale`.
    #[inline]
    pub fn new(coefficient: i128, scale: u8) -> Decimal {
        assert!(scale <= COMPUTED_DIGITS_MAX, "DECIMAL scale {scale} exceeds {COMPUTED_DIGITS_MAX}");
        Decimal { repr: Repr::Small { low: coefficient as u64, high: (coefficient >> 64) as i64, scale } }
    }

    pub fn from_i64(number: i64) -> Decimal {
        Decimal::new(i128::from(number), 0)
    }

    pub fn from_u64(number: u64) -> Decimal {
        Decimal::new(i128::from(number), 0)
    }

    #[inline]
    pub fn scale(&self) -> u8 {
        match &self.repr {
            Repr::Small { scale, .. } => *scale,
            Repr::Wide(wide) => wide.scale,
        }
    }

    /// The coefficient when it fits in an i128.
    #[inline]
    pub fn coefficient(&self) -> Option<i128> {
        match &self.repr {
            Repr::Small { low, high, .. } => Some(i128::from(*high) << 64 | i128::from(*low)),
            Repr::Wide(_) => None,
        }
    }

    pub fn is_negative(&self) -> bool {
        match &self.repr {
            Repr::Small { high, .. } => *high < 0,
            Repr::Wide(wide) => wide.is_negative,
        }
    }

    pub fn is_zero(&self) -> bool {
        self.coefficient() == Some(0)
    }

    fn magnitude(&self) -> Magnitude {
        match &self.repr {
            Repr::Small { .. } => {
                Magnitude::from_u128(self.coefficient().expect("small has a coefficient").unsigned_abs())
            }
            Repr::Wide(wide) => wide.magnitude.clone(),
        }
    }

    /// Puts sign, magnitude and scale together in the canonical representation.
    fn assemble(is_negative: bool, magnitude: Magnitude, scale: u8) -> Decimal {
        match magnitude.to_u128().and_then(|small| i128::try_from(small).ok()) {
            Some(small) => Decimal::new(if is_negative { -small } else { small }, scale),
            None => Decimal { repr: Repr::Wide(Box::new(Wide { is_negative, scale, magnitude })) },
        }
    }

    /// The number of significant digits, at least 1.
    pub fn digit_count(&self) -> u32 {
        match self.coefficient() {
            Some(coefficient) => coefficient.unsigned_abs().checked_ilog10().unwrap_or(0) + 1,
            None => self.magnitude().digit_count(),
        }
    }

    /// The digits before the point; 0 for fractions.
    pub fn integer_digit_count(&self) -> u32 {
        if self.is_zero() { 0 } else { self.digit_count().saturating_sub(u32::from(self.scale())) }
    }

    /// The largest value of DECIMAL(precision, scale).
    pub fn max_of(precision: u8, scale: u8) -> Decimal {
        let magnitude = Magnitude::power_of_ten(u32::from(precision)).minus(&Magnitude::from_u128(1));
        Decimal::assemble(false, magnitude, scale)
    }

    /// Zero with digits after the point.
    pub fn zero_of_scale(scale: u8) -> Decimal {
        Decimal::new(0, scale)
    }
}

impl std::fmt::Debug for Decimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, formatter)
    }
}
