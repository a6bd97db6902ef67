//! DATE and DATETIME as packed integers.
//!
//! Invariant: the packing keeps chronological order, also for dates with zero parts; years are 0..=9999 and every
//! part is in its field's range.
use super::calendar::{date_from_day_number, day_number, days_in_month, weekday_from_day_number};
use super::time::{Time, write_fraction};
use super::{MICROS_PER_DAY, MICROS_PER_SECOND};

/// Year (14 bits), month (4), day (5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(u32);

/// A `Date` (23 bits), hour (5), minute (6), second (6), microsecond (20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(u64);

/// The parts of a date and time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Civil {
    pub year: u32,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub microsecond: u32,
}

impl Date {
    pub const ZERO: Date = Date(0);

    /// A date whose parts are in range; parts may be zero. `None` otherwise (30 February included).
    pub fn new(year: u32, month: u32, day: u32) -> Option<Date> {
        let is_valid = year <= 9999 && month <= 12 && day <= days_in_month(year, month);
        is_valid.then(|| Date::from_parts(year, month, day))
    }

    /// For parts that were checked; days up to 31 in any month are accepted (ALLOW_INVALID_DATES).
    pub(crate) fn from_parts(year: u32, month: u32, day: u32) -> Date {
        assert!(year <= 9999 && month <= 12 && day <= 31, "date parts out of range");
        Date(year << 9 | month << 5 | day)
    }

    pub fn year(self) -> u32 {
        self.0 >> 9
    }

    pub fn month(self) -> u32 {
        self.0 >> 5 & 15
    }

    pub fn day(self) -> u32 {
        self.0 & 31
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether month or day is zero.
    pub fn has_zero_part(self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    /// TO_DAYS.
    pub fn day_number(self) -> i64 {
        day_number(self.year(), self.month(), self.day())
    }

    /// FROM_DAYS; `None` outside 0001-01-01 to 9999-12-31.
    pub fn from_day_number(number: i64) -> Option<Date> {
        date_from_day_number(number).map(|(year, month, day)| Date::from_parts(year, month, day))
    }

    pub fn day_of_year(self) -> u32 {
        (self.day_number() - day_number(self.year(), 1, 1) + 1) as u32
    }

    /// 0 is Monday.
    pub fn weekday(self) -> u32 {
        weekday_from_day_number(self.day_number())
    }

    pub fn at_midnight(self) -> DateTime {
        DateTime(u64::from(self.0) << 37)
    }

    /// YYYYMMDD, the number a date is in numeric context.
    pub fn to_number(self) -> i64 {
        i64::from(self.year()) * 10_000 + i64::from(self.month()) * 100 + i64::from(self.day())
    }

    pub fn packed(self) -> u32 {
        self.0
    }

    /// From `packed`; `None` for bits that are no date.
    pub fn from_packed(packed: u32) -> Option<Date> {
        let date = Date(packed);
        (date.year() <= 9999 && date.month() <= 12).then_some(date)
    }

    pub fn write_text(self, text: &mut Vec<u8>) {
        write_digits(text, self.year(), 4);
        text.push(b'-');
        write_digits(text, self.month(), 2);
        text.push(b'-');
        write_digits(text, self.day(), 2);
    }
}

impl DateTime {
    pub const ZERO: DateTime = DateTime(0);

    /// `None` when a part is out of range.
    pub fn new(civil: Civil) -> Option<DateTime> {
        let date = Date::new(civil.year, civil.month, civil.day)?;
        let is_valid =
            civil.hour < 24 && civil.minute < 60 && civil.second < 60 && civil.microsecond < 1_000_000;
        is_valid.then(|| DateTime::from_date_and_civil(date, civil))
    }

    pub(crate) fn from_date_and_civil(date: Date, civil: Civil) -> DateTime {
        let time = civil.hour << 12 | civil.minute << 6 | civil.second;
        DateTime(u64::from(date.0) << 37 | u64::from(time) << 20 | u64::from(civil.microsecond))
    }

    pub fn date(self) -> Date {
        Date((self.0 >> 37) as u32)
    }

    /// The time of day.
    pub fn time(self) -> Time {
        Time::from_micros_clamped(self.micros_of_day())
    }

    pub fn civil(self) -> Civil {
        let date = self.date();
        Civil {
            year: date.year(),
            month: date.month(),
            day: date.day(),
            hour: (self.0 >> 32) as u32 & 31,
            minute: (self.0 >> 26) as u32 & 63,
            second: (self.0 >> 20) as u32 & 63,
            microsecond: self.0 as u32 & 0xF_FFFF,
        }
    }

    pub fn micros_of_day(self) -> i64 {
        let civil = self.civil();
        let seconds = i64::from(civil.hour) * 3600 + i64::from(civil.minute) * 60 + i64::from(civil.second);
        seconds * MICROS_PER_SECOND + i64::from(civil.microsecond)
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Microseconds since day number 0, the scale that adding and subtracting works on.
    pub fn total_micros(self) -> i64 {
        self.date().day_number() * MICROS_PER_DAY + self.micros_of_day()
    }

    /// From `total_micros`; `None` outside the calendar.
    pub fn from_total_micros(micros: i64) -> Option<DateTime> {
        let date = Date::from_day_number(micros.div_euclid(MICROS_PER_DAY))?;
        Some(date.with_micros_of_day(micros.rem_euclid(MICROS_PER_DAY)))
    }

    /// Rounds (or cuts) to `fsp` digits after the second; `None` when rounding leaves the calendar.
    pub fn round_to(self, fsp: u8, truncates: bool) -> Option<DateTime> {
        let unit = 10i64.pow(6 - u32::from(fsp.min(6)));
        let excess = i64::from(self.civil().microsecond) % unit;
        if excess == 0 {
            return Some(self);
        }
        let lowered = DateTime(self.0 - excess as u64);
        if truncates || excess * 2 < unit { Some(lowered) } else { lowered.plus_micros(unit) }
    }

    /// Adds microseconds; dates with zero parts only take carries that stay within the day.
    pub fn plus_micros(self, micros: i64) -> Option<DateTime> {
        let of_day = self.micros_of_day().checked_add(micros)?;
        if (0..MICROS_PER_DAY).contains(&of_day) {
            return Some(self.date().with_micros_of_day(of_day));
        }
        DateTime::from_total_micros(self.total_micros().checked_add(micros)?)
    }

    /// YYYYMMDDHHMMSS, without the fraction.
    pub fn to_number(self) -> i64 {
        let civil = self.civil();
        let time = i64::from(civil.hour) * 10_000 + i64::from(civil.minute) * 100 + i64::from(civil.second);
        self.date().to_number() * 1_000_000 + time
    }

    pub fn packed(self) -> u64 {
        self.0
    }

    /// From `packed`; `None` for bits that are no date and time.
    pub fn from_packed(packed: u64) -> Option<DateTime> {
        let value = DateTime(packed);
        let civil = value.civil();
        let is_valid = packed >> 60 == 0
            && civil.hour < 24
            && civil.minute < 60
            && civil.second < 60
            && civil.microsecond < 1_000_000;
        Date::from_packed((packed >> 37) as u32).filter(|_| is_valid).map(|_| value)
    }

    pub fn write_text(self, fsp: u8, text: &mut Vec<u8>) {
        let civil = self.civil();
        self.date().write_text(text);
        text.push(b' ');
        write_digits(text, civil.hour, 2);
        text.push(b':');
        write_digits(text, civil.minute, 2);
        text.push(b':');
        write_digits(text, civil.second, 2);
        write_fraction(civil.microsecond, fsp, text);
    }
}

impl Date {
    fn with_micros_of_day(self, micros: i64) -> DateTime {
        let seconds = (micros / MICROS_PER_SECOND) as u32;
        let civil = Civil {
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            microsecond: (micros % MICROS_PER_SECOND) as u32,
            ..Civil::default()
        };
        DateTime::from_date_and_civil(self, civil)
    }
}

/// Decimal digits with leading zeros.
pub(super) fn write_digits(text: &mut Vec<u8>, number: u32, width: u32) {
    for place in (0..width).rev() {
        text.push(b'0' + (number / 10u32.pow(place) % 10) as u8);
    }
}
