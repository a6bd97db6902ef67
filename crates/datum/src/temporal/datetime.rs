//! DATETIME: a date and a time of day to the microsecond, without a zone.
use super::{Date, MICROS_PER_DAY, MICROS_PER_SECOND, Time, round_micros, write_fraction, write_padded};

/// Packed as date << 37 | hour << 32 | minute << 26 | second << 20 | microsecond, so that numbers order as
/// moments do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(u64);

impl DateTime {
    /// '0000-00-00 00:00:00'.
    pub const ZERO: DateTime = DateTime(0);

    pub fn new(date: Date, hour: u8, minute: u8, second: u8, micros: u32) -> Option<DateTime> {
        let valid = hour < 24 && minute < 60 && second < 60 && micros < 1_000_000;
        valid.then(|| {
            let time = u64::from(hour) << 32 | u64::from(minute) << 26 | u64::from(second) << 20;
            DateTime(u64::from(date.to_packed()) << 37 | time | u64::from(micros))
        })
    }

    /// The number from storage; `None` if it is no moment.
    pub fn from_packed(bits: u64) -> Option<DateTime> {
        let date = Date::from_packed(u32::try_from(bits >> 37).ok()?)?;
        let field = |shift: u32, mask: u64| (bits >> shift & mask) as u8;
        DateTime::new(date, field(32, 31), field(26, 63), field(20, 63), (bits & 0xF_FFFF) as u32)
    }

    pub fn to_packed(self) -> u64 {
        self.0
    }

    pub fn date(self) -> Date {
        Date::from_packed((self.0 >> 37) as u32).expect("a moment holds a date")
    }

    pub fn hour(self) -> u8 {
        (self.0 >> 32 & 31) as u8
    }

    pub fn minute(self) -> u8 {
        (self.0 >> 26 & 63) as u8
    }

    pub fn second(self) -> u8 {
        (self.0 >> 20 & 63) as u8
    }

    pub fn micros(self) -> u32 {
        (self.0 & 0xF_FFFF) as u32
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Microseconds since midnight.
    pub fn micros_of_day(self) -> i64 {
        let seconds =
            i64::from(self.hour()) * 3600 + i64::from(self.minute()) * 60 + i64::from(self.second());
        seconds * MICROS_PER_SECOND + i64::from(self.micros())
    }

    /// The time of day as a TIME.
    pub fn time(self) -> Time {
        Time::from_micros(self.micros_of_day()).expect("a day is shorter than 838 hours")
    }

    /// A date and microseconds after its midnight, less than a day.
    fn at(date: Date, micros_of_day: i64) -> DateTime {
        let seconds = micros_of_day / MICROS_PER_SECOND;
        let [hour, minute, second] = [seconds / 3600, seconds / 60 % 60, seconds % 60].map(|part| part as u8);
        let micros = (micros_of_day % MICROS_PER_SECOND) as u32;
        DateTime::new(date, hour, minute, second, micros).expect("less than a day")
    }

    /// Microseconds since the start of day number 0; differences of these are exact.
    pub fn linear_micros(self) -> i64 {
        self.date().day_number() * MICROS_PER_DAY + self.micros_of_day()
    }

    pub fn from_linear_micros(micros: i64) -> Option<DateTime> {
        let date = Date::from_day_number(micros.div_euclid(MICROS_PER_DAY))?;
        Some(DateTime::at(date, micros.rem_euclid(MICROS_PER_DAY)))
    }

    /// `None` when the result is outside year 1 to 9999.
    pub fn add_micros(self, micros: i64) -> Option<DateTime> {
        DateTime::from_linear_micros(self.linear_micros().checked_add(micros)?)
    }

    pub fn add_days(self, days: i64) -> Option<DateTime> {
        Some(DateTime::at(self.date().add_days(days)?, self.micros_of_day()))
    }

    pub fn add_months(self, months: i64) -> Option<DateTime> {
        Some(DateTime::at(self.date().add_months(months)?, self.micros_of_day()))
    }

    /// Rounded half up to `fsp` fractional digits; `None` past the end of year 9999, and where a date with zero parts, which
    /// has no next day, would have to take a whole second more.
    pub fn rounded(self, fsp: u8) -> Option<DateTime> {
        DateTime(self.0 & !0xF_FFFF).plus_fraction(round_micros(i64::from(self.micros()), fsp))
    }

    /// So many microseconds later, at most a second; `None` as for `rounded`.
    pub(crate) fn plus_fraction(self, micros: i64) -> Option<DateTime> {
        let sum = i64::from(self.micros()) + micros;
        debug_assert!((0..2 * MICROS_PER_SECOND).contains(&sum), "two parts of a second");
        if sum < MICROS_PER_SECOND {
            return Some(DateTime(self.0 & !0xF_FFFF | sum as u64));
        }
        let has_zero_part = self.date().month() == 0 || self.date().day() == 0;
        if has_zero_part { None } else { self.add_micros(micros) }
    }

    /// Cut to `fsp` fractional digits (SQL mode TIME_TRUNCATE_FRACTIONAL).
    #[must_use]
    pub fn truncated(self, fsp: u8) -> DateTime {
        let unit = 10u64.pow(6 - u32::from(fsp.min(6)));
        DateTime(self.0 - u64::from(self.micros()) % unit)
    }

    /// YYYYMMDDHHMMSS, without the fraction.
    pub fn to_number(self) -> i64 {
        let time =
            i64::from(self.hour()) * 10_000 + i64::from(self.minute()) * 100 + i64::from(self.second());
        self.date().to_number() * 1_000_000 + time
    }

    pub fn write_text(self, fsp: u8, out: &mut Vec<u8>) {
        self.date().write_text(out);
        out.push(b' ');
        write_padded(u64::from(self.hour()), 2, out);
        out.push(b':');
        write_padded(u64::from(self.minute()), 2, out);
        out.push(b':');
        write_padded(u64::from(self.second()), 2, out);
        write_fraction(self.micros(), fsp, out);
    }
}
