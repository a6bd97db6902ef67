//! Adding intervals to dates and measuring the distance between them.
use super::calendar::days_in_month;
use super::{Civil, Date, DateTime, MICROS_PER_DAY};

/// An interval is either months, which follow the calendar, or microseconds; never both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    Months(i64),
    Micros(i128),
}

/// The distance of two dates in whole months and exact microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub months: i64,
    pub micros: i64,
}

impl DateTime {
    /// Adds an interval; months keep the day of month, cut to the month's last day. `None` outside the calendar.
    pub fn plus(self, interval: Interval) -> Option<DateTime> {
        match interval {
            Interval::Micros(micros) => {
                let total = i128::from(self.total_micros()).checked_add(micros)?;
                DateTime::from_total_micros_or_zero_year(i64::try_from(total).ok()?)
            }
            Interval::Months(months) => {
                let civil = self.civil();
                let total = i64::from(civil.year) * 12 + i64::from(civil.month) - 1;
                let total = total.checked_add(months)?;
                if !(0..120_000).contains(&total) {
                    return None;
                }
                let (year, month) = ((total / 12) as u32, (total % 12) as u32 + 1);
                let day = civil.day.min(days_in_month(year, month));
                DateTime::new(Civil { year, month, day, ..civil })
            }
        }
    }

    fn from_total_micros_or_zero_year(micros: i64) -> Option<DateTime> {
        let day = micros.div_euclid(MICROS_PER_DAY);
        if (1..366).contains(&day) {
            // Days of year 0 have no date of their own in MySQL's calendar; they give the zero date.
            let midnight = Date::ZERO.at_midnight();
            return midnight.plus_micros(micros.rem_euclid(MICROS_PER_DAY));
        }
        DateTime::from_total_micros(micros)
    }

    /// The distance from `earlier` to this, negative when it is later. Months count when day and time reached.
    pub fn since(self, earlier: DateTime) -> Span {
        let micros = self.total_micros() - earlier.total_micros();
        let (from, to, sign) = if micros >= 0 { (earlier, self, 1) } else { (self, earlier, -1) };
        let (start, end) = (from.civil(), to.civil());
        let mut months = (i64::from(end.year) - i64::from(start.year)) * 12 + i64::from(end.month)
            - i64::from(start.month);
        if (end.day, to.micros_of_day()) < (start.day, from.micros_of_day()) {
            months -= 1;
        }
        Span { months: months * sign, micros }
    }
}
