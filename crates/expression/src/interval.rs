//! The units of INTERVAL, EXTRACT, TIMESTAMPADD and TIMESTAMPDIFF.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    const NAMES: [(IntervalUnit, &'static str); 20] = [
        (IntervalUnit::Microsecond, "MICROSECOND"),
        (IntervalUnit::Second, "SECOND"),
        (IntervalUnit::Minute, "MINUTE"),
        (IntervalUnit::Hour, "HOUR"),
        (IntervalUnit::Day, "DAY"),
        (IntervalUnit::Week, "WEEK"),
        (IntervalUnit::Month, "MONTH"),
        (IntervalUnit::Quarter, "QUARTER"),
        (IntervalUnit::Year, "YEAR"),
        (IntervalUnit::SecondMicrosecond, "SECOND_MICROSECOND"),
        (IntervalUnit::MinuteMicrosecond, "MINUTE_MICROSECOND"),
        (IntervalUnit::MinuteSecond, "MINUTE_SECOND"),
        (IntervalUnit::HourMicrosecond, "HOUR_MICROSECOND"),
        (IntervalUnit::HourSecond, "HOUR_SECOND"),
        (IntervalUnit::HourMinute, "HOUR_MINUTE"),
        (IntervalUnit::DayMicrosecond, "DAY_MICROSECOND"),
        (IntervalUnit::DaySecond, "DAY_SECOND"),
        (IntervalUnit::DayMinute, "DAY_MINUTE"),
        (IntervalUnit::DayHour, "DAY_HOUR"),
        (IntervalUnit::YearMonth, "YEAR_MONTH"),
    ];

    /// The position in `NAMES`, by which bound calls carry a unit.
    pub(crate) fn number(self) -> i64 {
        self as i64
    }

    pub fn by_number(number: i64) -> Option<IntervalUnit> {
        usize::try_from(number).ok().and_then(|index| Self::NAMES.get(index)).map(|(unit, _)| *unit)
    }

    pub(crate) fn has_microseconds(self) -> bool {
        use IntervalUnit::{
            DayMicrosecond, HourMicrosecond, Microsecond, MinuteMicrosecond, SecondMicrosecond,
        };
        matches!(self, Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond)
    }

    /// Several units in one, whose amount is a text of several numbers.
    pub(crate) fn is_composite(self) -> bool {
        use IntervalUnit::{Day, Hour, Microsecond, Minute, Month, Quarter, Second, Week, Year};
        !matches!(self, Microsecond | Second | Minute | Hour | Day | Week | Month | Quarter | Year)
    }

    /// Whether adding the unit to a DATE gives a DATETIME.
    pub fn has_time(self) -> bool {
        use IntervalUnit::{Day, Month, Quarter, Week, Year, YearMonth};
        !matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// Whether the unit can be added to a TIME without making it a date.
    pub(crate) fn is_time_only(self) -> bool {
        use IntervalUnit::{DayHour, DayMicrosecond, DayMinute, DaySecond};
        self.has_time() && !matches!(self, DayHour | DayMicrosecond | DayMinute | DaySecond)
    }

    /// Finds a unit by its keyword; the `SQL_TSI_` prefix of TIMESTAMPADD is accepted.
    pub fn by_name(name: &str) -> Option<IntervalUnit> {
        let upper = name.to_ascii_uppercase();
        let bare = upper.strip_prefix("SQL_TSI_").unwrap_or(&upper);
        Self::NAMES.iter().find(|(_, candidate)| *candidate == bare).map(|(unit, _)| *unit)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(unit, _)| *unit == self).expect("every unit is named").1
    }
}
