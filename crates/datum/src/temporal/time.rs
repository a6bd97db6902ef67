//! TIME: a signed span up to 838:59:59.
use super::{MICROS_PER_SECOND, round_micros, write_fraction, write_padded};

/// Signed microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    pub const ZERO: Time = Time(0);
    /// 838:59:59, which has no fraction in MySQL when a value is clipped to it.
    pub const MAX: Time = Time((838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND);
    pub const MIN: Time = Time(-Time::MAX.0);

    /// `None` beyond 838:59:59.999999 in either direction.
    pub fn from_micros(micros: i64) -> Option<Time> {
        (micros.unsigned_abs() < Time::MAX.0 as u64 + MICROS_PER_SECOND as u64).then_some(Time(micros))
    }

    /// As `from_micros`, clipped to the range; the flag tells whether it was.
    pub fn clipped(micros: i64) -> (Time, bool) {
        match Time::from_micros(micros) {
            Some(time) => (time, false),
            None if micros < 0 => (Time::MIN, true),
            None => (Time::MAX, true),
        }
    }

    pub fn new(negative: bool, hours: u16, minutes: u8, seconds: u8, micros: u32) -> Option<Time> {
        if minutes > 59 || seconds > 59 || micros > 999_999 {
            return None;
        }
        let total = i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds);
        let magnitude = total * MICROS_PER_SECOND + i64::from(micros);
        Time::from_micros(if negative { -magnitude } else { magnitude })
    }

    pub fn to_micros(self) -> i64 {
        self.0
    }

    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    fn whole_seconds(self) -> u64 {
        self.0.unsigned_abs() / MICROS_PER_SECOND as u64
    }

    pub fn hours(self) -> u16 {
        (self.whole_seconds() / 3600) as u16
    }

    pub fn minutes(self) -> u8 {
        (self.whole_seconds() / 60 % 60) as u8
    }

    pub fn seconds(self) -> u8 {
        (self.whole_seconds() % 60) as u8
    }

    pub fn micros(self) -> u32 {
        (self.0.unsigned_abs() % MICROS_PER_SECOND as u64) as u32
    }

    /// Rounded half away from zero to `fsp` fractional digits, clipped at the end of the range.
    #[must_use]
    pub fn rounded(self, fsp: u8) -> Time {
        let magnitude = round_micros(self.0.abs(), fsp);
        Time::clipped(if self.0 < 0 { -magnitude } else { magnitude }).0
    }

    /// Cut to `fsp` fractional digits (SQL mode TIME_TRUNCATE_FRACTIONAL).
    #[must_use]
    pub fn truncated(self, fsp: u8) -> Time {
        let unit = 10i64.pow(6 - u32::from(fsp.min(6)));
        Time(self.0 - self.0 % unit)
    }

    /// [-]HHMMSS, without the fraction.
    pub fn to_number(self) -> i64 {
        let number =
            i64::from(self.hours()) * 10_000 + i64::from(self.minutes()) * 100 + i64::from(self.seconds());
        if self.is_negative() { -number } else { number }
    }

    pub fn write_text(self, fsp: u8, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        write_padded(u64::from(self.hours()), 2, out);
        out.push(b':');
        write_padded(u64::from(self.minutes()), 2, out);
        out.push(b':');
        write_padded(u64::from(self.seconds()), 2, out);
        write_fraction(self.micros(), fsp, out);
    }
}
