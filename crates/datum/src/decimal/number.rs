//! DECIMAL to and from the other number types.
use super::{COMPUTED_DIGITS_MAX, Decimal};

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl Decimal {
    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        if let Some(coefficient) = self.coefficient()
            && coefficient.unsigned_abs() < 1 << 53
            && let Some(power) = EXACT_POWERS.get(usize::from(self.scale()))
        {
            // Both are exact, so the quotient is rounded once.
            return coefficient as f64 / power;
        }
        self.to_string().parse().expect("the text of a DECIMAL is a number")
    }

    /// The value of a finite double through its shortest text; `None` for infinities, NaN and numbers too large.
    pub fn from_f64(number: f64) -> Option<Decimal> {
        if !number.is_finite() {
            return None;
        }
        let parsed = Decimal::parse_prefix(format!("{number:e}").as_bytes());
        (!parsed.is_overflow).then_some(parsed.value)
    }

    /// Rounded to an integer; `None` when it does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(self.rounded_integer()?).ok()
    }

    /// Rounded to an integer; `None` when it does not fit.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(self.rounded_integer()?).ok()
    }

    pub(crate) fn rounded_integer(&self) -> Option<i128> {
        if self.scale() == 0 {
            return self.coefficient();
        }
        self.round(0).ok()?.coefficient()
    }

    /// A fixed-point number of microseconds and the like: `number / 10^scale`.
    pub fn from_i128(number: i128, scale: u8) -> Decimal {
        Decimal::new(number, scale.min(COMPUTED_DIGITS_MAX))
    }
}
