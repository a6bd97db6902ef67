//! TIME: a signed duration up to 838:59:59.
use super::MICROS_PER_SECOND;
use super::date::write_digits;

/// Signed microseconds within ±838:59:59.000000; a stored fraction never exceeds that bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    pub const ZERO: Time = Time(0);
    pub const MAX: Time = Time((838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND);
    pub const MIN: Time = Time(-Time::MAX.0);

    /// `None` beyond ±838:59:59.
    pub fn from_micros(micros: i64) -> Option<Time> {
        (Time::MIN.0..=Time::MAX.0).contains(&micros).then_some(Time(micros))
    }

    pub fn from_micros_clamped(micros: i64) -> Time {
        Time(micros.clamp(Time::MIN.0, Time::MAX.0))
    }

    pub fn micros(self) -> i64 {
        self.0
    }

    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    pub fn hours(self) -> u32 {
        (self.0.unsigned_abs() / 3_600_000_000) as u32
    }

    pub fn minutes(self) -> u32 {
        (self.0.unsigned_abs() / 60_000_000 % 60) as u32
    }

    pub fn seconds(self) -> u32 {
        (self.0.unsigned_abs() / 1_000_000 % 60) as u32
    }

    pub fn microseconds(self) -> u32 {
        (self.0.unsigned_abs() % 1_000_000) as u32
    }

    /// Rounds (or cuts) to `fsp` digits after the second, staying within the bounds.
    #[must_use]
    pub fn round_to(self, fsp: u8, truncates: bool) -> Time {
        let unit = 10i64.pow(6 - u32::from(fsp.min(6)));
        let magnitude = self.0.abs();
        let excess = magnitude % unit;
        let mut rounded = magnitude - excess;
        if !truncates && excess * 2 >= unit {
            rounded += unit;
        }
        Time::from_micros_clamped(if self.is_negative() { -rounded } else { rounded })
    }

    /// Signed HHMMSS, without the fraction.
    pub fn to_number(self) -> i64 {
        let magnitude =
            i64::from(self.hours()) * 10_000 + i64::from(self.minutes()) * 100 + i64::from(self.seconds());
        if self.is_negative() { -magnitude } else { magnitude }
    }

    pub fn write_text(self, fsp: u8, text: &mut Vec<u8>) {
        if self.is_negative() {
            text.push(b'-');
        }
        write_digits(text, self.hours(), if self.hours() >= 100 { 3 } else { 2 });
        text.push(b':');
        write_digits(text, self.minutes(), 2);
        text.push(b':');
        write_digits(text, self.seconds(), 2);
        write_fraction(self.microseconds(), fsp, text);
    }
}

/// The point and the first `fsp` digits of a fraction; nothing for `fsp` 0.
pub(crate) fn write_fraction(microseconds: u32, fsp: u8, text: &mut Vec<u8>) {
    if fsp > 0 {
        text.push(b'.');
        let digits = u32::from(fsp.min(6));
        write_digits(text, microseconds / 10u32.pow(6 - digits), digits);
    }
}
