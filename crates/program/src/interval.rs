//! How often an event happens: whole months, or seconds.
//!
//! Invariant: the amount is positive and at most what MySQL takes. Made by CREATE and ALTER EVENT from the parts that are
//! written, and of the stored text by `schedule`.
use parser::ast::IntervalUnit;

/// More of the unit's smallest part is refused.
const COUNT_MAX: i64 = 1_000_000_000;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

#[derive(Debug, PartialEq, Eq)]
struct Unit {
    name: &'static str,
    is_months: bool,
    /// What each number of the text counts, the largest first: months or seconds.
    parts: &'static [i64],
    /// Between the numbers.
    separators: &'static [char],
    /// What the limit counts.
    counted: i64,
}

const fn months(name: &'static str, parts: &'static [i64], separators: &'static [char]) -> Unit {
    let counted = if parts.len() == 1 && parts[0] == 12 { 12 } else { 1 };
    Unit { name, is_months: true, parts, separators, counted }
}

const fn seconds(name: &'static str, parts: &'static [i64], separators: &'static [char]) -> Unit {
    let last = parts[parts.len() - 1];
    let counted = if last > DAY { DAY } else { last };
    Unit { name, is_months: false, parts, separators, counted }
}

const UNITS: [Unit; 15] = [
    months("YEAR", &[12], &[]),
    months("QUARTER", &[3], &[]),
    months("MONTH", &[1], &[]),
    months("YEAR_MONTH", &[12, 1], &['-']),
    seconds("WEEK", &[7 * DAY], &[]),
    seconds("DAY", &[DAY], &[]),
    seconds("HOUR", &[HOUR], &[]),
    seconds("MINUTE", &[MINUTE], &[]),
    seconds("SECOND", &[1], &[]),
    seconds("DAY_HOUR", &[DAY, HOUR], &[' ']),
    seconds("DAY_MINUTE", &[DAY, HOUR, MINUTE], &[' ', ':']),
    seconds("DAY_SECOND", &[DAY, HOUR, MINUTE, 1], &[' ', ':', ':']),
    seconds("HOUR_MINUTE", &[HOUR, MINUTE], &[':']),
    seconds("HOUR_SECOND", &[HOUR, MINUTE, 1], &[':', ':']),
    seconds("MINUTE_SECOND", &[MINUTE, 1], &[':']),
];

/// A unit that events may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventUnit(&'static Unit);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventInterval {
    unit: EventUnit,
    /// Months or seconds.
    amount: i64,
}

/// Why numbers are no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// There are more than the unit has parts.
    Malformed,
    NotPositiveOrTooBig,
}

impl EventUnit {
    /// `None` for units with microseconds.
    pub fn of(unit: IntervalUnit) -> Option<EventUnit> {
        use IntervalUnit::*;
        let name = match unit {
            Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond => {
                return None;
            }
            Second => "SECOND",
            Minute => "MINUTE",
            Hour => "HOUR",
            Day => "DAY",
            Week => "WEEK",
            Month => "MONTH",
            Quarter => "QUARTER",
            Year => "YEAR",
            MinuteSecond => "MINUTE_SECOND",
            HourSecond => "HOUR_SECOND",
            HourMinute => "HOUR_MINUTE",
            DaySecond => "DAY_SECOND",
            DayMinute => "DAY_MINUTE",
            DayHour => "DAY_HOUR",
            YearMonth => "YEAR_MONTH",
        };
        EventUnit::named(name)
    }

    fn named(name: &str) -> Option<EventUnit> {
        UNITS.iter().find(|unit| unit.name == name).map(EventUnit)
    }

    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Its amount is a text of several numbers.
    pub fn is_composite(self) -> bool {
        self.0.parts.len() > 1
    }
}

impl EventInterval {
    /// Fewer numbers than the unit has parts are the smallest ones.
    pub fn of_numbers(unit: EventUnit, numbers: &[i64]) -> Result<EventInterval, NoInterval> {
        let parts = unit.0.parts;
        let skipped = parts.len().checked_sub(numbers.len()).ok_or(NoInterval::Malformed)?;
        let scaled = numbers.iter().zip(&parts[skipped..]).map(|(number, part)| number.checked_mul(*part));
        let sum = scaled.reduce(|sum, part| sum?.checked_add(part?)).flatten().unwrap_or(0);
        let is_sound = sum > 0 && sum / unit.0.counted <= COUNT_MAX;
        if is_sound { Ok(EventInterval { unit, amount: sum }) } else { Err(NoInterval::NotPositiveOrTooBig) }
    }

    /// As `text` and the unit's name show it.
    pub fn parse(text: &str, unit: &str) -> Option<EventInterval> {
        EventInterval::of_numbers(EventUnit::named(unit)?, &numbers_in(text)).ok()
    }

    /// As SHOW CREATE EVENT shows it, with quotes around several numbers.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut rest = self.amount;
        for (position, part) in self.unit.0.parts.iter().enumerate() {
            if position > 0 {
                text.push(self.unit.0.separators[position - 1]);
            }
            text += &(rest / part).to_string();
            rest %= part;
        }
        if self.unit.is_composite() { format!("'{text}'") } else { text }
    }

    pub fn unit(&self) -> EventUnit {
        self.unit
    }

    pub fn months(&self) -> Option<i64> {
        self.unit.0.is_months.then_some(self.amount)
    }

    pub fn seconds(&self) -> Option<i64> {
        (!self.unit.0.is_months).then_some(self.amount)
    }
}

/// The numbers in a text such as '1 2:30'.
pub fn numbers_in(text: &str) -> Vec<i64> {
    let runs = text.split(|character: char| !character.is_ascii_digit()).filter(|run| !run.is_empty());
    runs.map(|run| run.parse().unwrap_or(i64::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(unit: &str, text: &str) -> Result<String, NoInterval> {
        let unit = EventUnit::named(unit).expect("a unit of events");
        EventInterval::of_numbers(unit, &numbers_in(text)).map(|interval| interval.text())
    }

    /// As MySQL 9.7 shows them.
    #[test]
    fn intervals_are_shown_by_their_parts() {
        for (unit, given, expected) in [
            ("DAY", "2", "2"),
            ("HOUR_MINUTE", "1:90", "'2:30'"),
            ("HOUR_MINUTE", "5", "'0:5'"),
            ("YEAR_MONTH", "3-2", "'3-2'"),
            ("DAY_SECOND", "1 2:3:4", "'1 2:3:4'"),
            ("DAY_MINUTE", "2 3:4", "'2 3:4'"),
            ("QUARTER", "2", "2"),
            ("WEEK", "1000000", "1000000"),
        ] {
            assert_eq!(shown(unit, given), Ok(expected.to_owned()), "{given} {unit}");
        }
    }

    #[test]
    fn what_is_no_interval_is_refused() {
        assert_eq!(shown("HOUR_MINUTE", "1 2 3"), Err(NoInterval::Malformed));
        assert_eq!(shown("DAY", "0"), Err(NoInterval::NotPositiveOrTooBig));
        assert_eq!(shown("DAY", ""), Err(NoInterval::NotPositiveOrTooBig));
        assert_eq!(shown("DAY", "1000000001"), Err(NoInterval::NotPositiveOrTooBig));
        assert_eq!(shown("WEEK", "200000000"), Err(NoInterval::NotPositiveOrTooBig));
        assert_eq!(shown("DAY", "99999999999999999999"), Err(NoInterval::NotPositiveOrTooBig));
    }

    #[test]
    fn what_is_shown_reads_back() {
        let interval = EventInterval::parse("'1 2:3:4'", "DAY_SECOND");
        assert_eq!(interval.and_then(|interval| interval.seconds()), Some(93_784));
        let interval = EventInterval::parse("'3-2'", "YEAR_MONTH");
        assert_eq!(interval.and_then(|interval| interval.months()), Some(38));
        assert_eq!(EventInterval::parse("1", "FORTNIGHT"), None);
    }
}
