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
