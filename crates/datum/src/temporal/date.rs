//! DATE: year, month and day, each of which may be zero.
use super::calendar;
use super::{DateTime, write_padded};

/// Packed as year << 9 | month << 5 | day, so that numbers order as dates do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(u32);

impl Date {
    /// '0000-00-00'.
    pub const ZERO: Date = Date(0);

    /// A date whose parts are in range: year to 9999, month to 12, day to what the month has (31 in month 0).
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        let days = if month == 0 { 31 } else { calendar::days_in_month(year, month) };
        (year <= 9999 && month <= 12 && day <= days).then(|| Date::packed(year, month, day))
    }

    /// As `new`, but any day to 31 in any month (SQL mode ALLOW_INVALID_DATES).
    pub fn new_lenient(year: u16, month: u8, day: u8) -> Option<Date> {
        (year <= 9999 && month <= 12 && day <= 31).then(|| Date::packed(year, month, day))
    }

    fn packed(year: u16, month: u8, day: u8) -> Date {
        Date(u32::from(year) << 9 | u32::from(month) << 5 | u32::from(day))
    }

    /// The number from storage; `None` if it is no date.
    pub fn from_packed(bits: u32) -> Option<Date> {
        let year = u16::try_from(bits >> 9).ok()?;
        Date::new_lenient(year, (bits >> 5 & 15) as u8, (bits & 31) as u8)
    }

    pub fn to_packed(self) -> u32 {
        self.0
    }

    pub fn year(self) -> u16 {
        (self.0 >> 9) as u16
    }

    pub fn month(self) -> u8 {
        (self.0 >> 5 & 15) as u8
    }

    pub fn day(self) -> u8 {
        (self.0 & 31) as u8
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether month or day is zero while the date as a whole is not.
    pub fn has_zero_part(self) -> bool {
        !self.is_zero() && (self.month() == 0 || self.day() == 0)
    }

    /// TO_DAYS.
    pub fn day_number(self) -> i64 {
        calendar::day_number(self.year(), self.month(), self.day())
    }

    /// FROM_DAYS; `None` outside 0000-01-01 to 9999-12-31.
    pub fn from_day_number(number: i64) -> Option<Date> {
        calendar::date_of(number).map(|(year, month, day)| Date::packed(year, month, day))
    }

    /// 0 is Monday.
    pub fn weekday(self) -> u8 {
        calendar::weekday(self.day_number())
    }

    /// Below 1 for a day of month 0.
    pub fn day_of_year(self) -> i64 {
        self.day_number() - calendar::day_number(self.year(), 1, 1) + 1
    }

    /// The year and the week of WEEK(date, mode).
    pub fn week(self, mode: u8) -> (u16, u32) {
        calendar::week(self.year(), self.month(), self.day(), mode)
    }

    pub fn add_days(self, days: i64) -> Option<Date> {
        Date::from_day_number(self.day_number().checked_add(days)?)
    }

    /// The day is cut to the length of the month that is reached.
    pub fn add_months(self, months: i64) -> Option<Date> {
        let total = (i64::from(self.year()) * 12 + i64::from(self.month()) - 1).checked_add(months)?;
        let year = u16::try_from(total.div_euclid(12)).ok().filter(|year| *year <= 9999)?;
        let month = (total.rem_euclid(12) + 1) as u8;
        Some(Date::packed(year, month, self.day().min(calendar::days_in_month(year, month))))
    }

    pub fn at_midnight(self) -> DateTime {
        DateTime::new(self, 0, 0, 0, 0).expect("midnight exists on every day")
    }

    /// YYYYMMDD.
    pub fn to_number(self) -> i64 {
        i64::from(self.year()) * 10_000 + i64::from(self.month()) * 100 + i64::from(self.day())
    }

    pub fn write_text(self, out: &mut Vec<u8>) {
        write_padded(u64::from(self.year()), 4, out);
        out.push(b'-');
        write_padded(u64::from(self.month()), 2, out);
        out.push(b'-');
        write_padded(u64::from(self.day()), 2, out);
    }
}
