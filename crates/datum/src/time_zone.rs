//! Session time zones: SYSTEM, fixed offsets and named zones.
//!
//! Civil times that a zone skips (clocks going forward) map to the instant of the change; those it repeats map to
//! the earlier one, as MySQL does.
use jiff::civil;
use jiff::tz::Offset;

use crate::temporal::{Civil, DateTime};

#[derive(Clone, Debug, PartialEq)]
pub struct TimeZone {
    /// As `@@time_zone` shows it.
    name: Box<str>,
    zone: jiff::tz::TimeZone,
    /// The offset in microseconds of zones that have only one, so that common zones skip the zone rules.
    fixed_offset_micros: Option<i64>,
}

/// A civil time as an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonedInstant {
    pub utc_micros: i64,
    /// The civil time does not exist in the zone.
    pub is_in_gap: bool,
}

impl TimeZone {
    pub fn utc() -> TimeZone {
        TimeZone::fixed("+00:00", 0)
    }

    /// The zone of the machine, shown as SYSTEM.
    pub fn system() -> TimeZone {
        let zone = jiff::tz::TimeZone::system();
        let fixed_offset_micros =
            zone.to_fixed_offset().ok().map(|offset| i64::from(offset.seconds()) * 1_000_000);
        TimeZone { name: "SYSTEM".into(), zone, fixed_offset_micros }
    }

    fn fixed(name: &str, offset_seconds: i32) -> TimeZone {
        let offset =
            Offset::from_seconds(offset_seconds).expect("callers check that offsets are within a day");
        TimeZone {
            name: name.into(),
            zone: jiff::tz::TimeZone::fixed(offset),
            fixed_offset_micros: Some(i64::from(offset_seconds) * 1_000_000),
        }
    }

    /// What `SET time_zone` accepts: SYSTEM, ±hh:mm from -13:59 to +14:00, or a zone of the machine's database.
    pub fn parse(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::system());
        }
        if name.starts_with(['+', '-']) {
            let offset_seconds = parse_offset(name)?;
            return Some(TimeZone::fixed(name, offset_seconds));
        }
        if name.eq_ignore_ascii_case("UTC") {
            return Some(TimeZone::fixed("UTC", 0));
        }
        let zone = jiff::tz::TimeZone::get(name).ok()?;
        Some(TimeZone { name: name.into(), zone, fixed_offset_micros: None })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The civil time of an instant; `None` outside the calendar.
    pub fn to_civil(&self, utc_micros: i64) -> Option<DateTime> {
        let offset_micros = match self.fixed_offset_micros {
            Some(offset) => offset,
            None => {
                let instant = jiff::Timestamp::from_microsecond(utc_micros).ok()?;
                i64::from(self.zone.to_offset(instant).seconds()) * 1_000_000
            }
        };
        DateTime::from_utc_micros(utc_micros.checked_add(offset_micros)?)
    }

    /// The instant of a civil time; `None` for dates with zero parts and outside the calendar.
    pub fn to_instant(&self, civil: DateTime) -> Option<ZonedInstant> {
        if civil.date().has_zero_part() {
            return None;
        }
        if let Some(offset) = self.fixed_offset_micros {
            return Some(ZonedInstant { utc_micros: civil.to_utc_micros() - offset, is_in_gap: false });
        }
        let ambiguous = self.zone.to_ambiguous_timestamp(to_jiff(civil.civil())?);
        match ambiguous.offset() {
            jiff::tz::AmbiguousOffset::Gap { before, after } => {
                // The first instant after the gap: the civil time at which the clocks jumped, in the old offset.
                let jumped = civil.to_utc_micros() - i64::from(before.seconds()) * 1_000_000;
                let transition = self.transition_before(jumped, after);
                Some(ZonedInstant { utc_micros: transition, is_in_gap: true })
            }
            _ => {
                let utc_micros = ambiguous.earlier().ok()?.as_microsecond();
                Some(ZonedInstant { utc_micros, is_in_gap: false })
            }
        }
    }

    fn transition_before(&self, utc_micros: i64, after: Offset) -> i64 {
        let Ok(instant) = jiff::Timestamp::from_microsecond(utc_micros + 1) else { return utc_micros };
        self.zone
            .preceding(instant)
            .find(|transition| transition.offset() == after)
            .map_or(utc_micros, |transition| transition.timestamp().as_microsecond())
    }
}

fn to_jiff(civil: Civil) -> Option<civil::DateTime> {
    civil::DateTime::new(
        civil.year as i16,
        civil.month as i8,
        civil.day as i8,
        civil.hour as i8,
        civil.minute as i8,
        civil.second as i8,
        civil.microsecond as i32 * 1000,
    )
    .ok()
}

/// The seconds of `±h:mm` or `±hh:mm` within MySQL's bounds.
pub(crate) fn parse_offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let is_number =
        |part: &str| !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(hours) || !is_number(minutes) || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = sign * (hours * 60 + minutes);
    (minutes < 60 && (-839..=840).contains(&total)).then_some(total * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_within_bounds() {
        for (text, expected) in [
            ("+00:00", Some(0)),
            ("+05:30", Some(19_800)),
            ("-13:59", Some(-50_340)),
            ("+14:00", Some(50_400)),
            ("+14:01", None),
            ("-14:00", None),
            ("+5:3", None),
            ("5:30", None),
        ] {
            assert_eq!(parse_offset(text), expected, "{text}");
        }
    }

    #[test]
    fn civil_times_and_instants() {
        let noon =
            DateTime::new(Civil { year: 2024, month: 7, day: 1, hour: 12, ..Civil::default() }).unwrap();
        let india = TimeZone::parse("+05:30").unwrap();
        let instant = india.to_instant(noon).unwrap();
        assert_eq!(instant.utc_micros, 1_719_815_400_000_000);
        assert_eq!(india.to_civil(instant.utc_micros), Some(noon));
        assert_eq!(TimeZone::parse("Mars/Olympus"), None);
    }
}
