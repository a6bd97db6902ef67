//! Session time zones: SYSTEM, fixed offsets and the zones of the tz database.
//!
//! The rules of named zones come from `jiff`; zones of a fixed offset, which most servers run with, take a
//! shortcut of one addition.
use jiff::civil;
use jiff::tz;

use crate::temporal::{Date, DateTime, MICROS_PER_SECOND};

const EPOCH_LINEAR_MICROS: i64 = 719_528 * 86_400 * MICROS_PER_SECOND;
/// '-13:59' to '+14:00', the range MySQL 8 allows.
const OFFSET_SECONDS: std::ops::RangeInclusive<i32> = -(13 * 3600 + 59 * 60)..=14 * 3600;

#[derive(Clone, Debug, PartialEq)]
pub struct TimeZone {
    /// As `SELECT @@time_zone` shows it.
    name: Box<str>,
    rules: Rules,
}

#[derive(Clone, Debug, PartialEq)]
enum Rules {
    /// Seconds east of UTC, always the same.
    Fixed(i32),
    Named(tz::TimeZone),
}

impl TimeZone {
    pub fn utc() -> TimeZone {
        TimeZone { name: "UTC".into(), rules: Rules::Fixed(0) }
    }

    /// The zone of the machine, named SYSTEM.
    pub fn system() -> TimeZone {
        TimeZone { name: "SYSTEM".into(), rules: rules_of(tz::TimeZone::system()) }
    }

    /// 'SYSTEM', '+hh:mm', '-h:mm' or a name of the tz database; `None` if it is none of these.
    pub fn parse(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::system());
        }
        if name.starts_with(['+', '-']) {
            let seconds = parse_offset(name.as_bytes())?;
            let sign = if seconds < 0 { '-' } else { '+' };
            let minutes = seconds.abs() / 60;
            let name = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            return Some(TimeZone { name: name.into(), rules: Rules::Fixed(seconds) });
        }
        let zone = tz::TimeZone::get(name).ok()?;
        Some(TimeZone { name: name.into(), rules: rules_of(zone) })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The clock reading at microseconds since the epoch; `None` outside year 1 to 9999.
    pub fn to_local(&self, unix_micros: i64) -> Option<DateTime> {
        let offset = match &self.rules {
            Rules::Fixed(seconds) => *seconds,
            Rules::Named(zone) => {
                zone.to_offset(jiff::Timestamp::from_microsecond(unix_micros).ok()?).seconds()
            }
        };
        let local = unix_micros.checked_add(i64::from(offset) * MICROS_PER_SECOND)?;
        DateTime::from_linear_micros(local.checked_add(EPOCH_LINEAR_MICROS)?)
    }

    /// Whether clocks of the zone never read so, because they are put forward over it.
    pub fn skips(&self, local: DateTime) -> bool {
        let Some(micros) = self.to_unix_micros(local) else { return false };
        self.to_local(micros).is_some_and(|shown| shown != local)
    }

    /// Microseconds since the epoch of a clock reading. One that the zone skips counts as the end of the gap (with
    /// its own fraction of a second), one that it has twice as the first.
    pub fn to_unix_micros(&self, local: DateTime) -> Option<i64> {
        let date: Date = local.date();
        if date.month() == 0 || date.day() == 0 {
            return None;
        }
        let linear = local.linear_micros() - EPOCH_LINEAR_MICROS;
        match &self.rules {
            Rules::Fixed(seconds) => Some(linear - i64::from(*seconds) * MICROS_PER_SECOND),
            Rules::Named(zone) => {
                let civil = civil::DateTime::new(
                    i16::try_from(date.year()).ok()?,
                    date.month() as i8,
                    date.day() as i8,
                    local.hour() as i8,
                    local.minute() as i8,
                    local.second() as i8,
                    local.micros() as i32 * 1000,
                );
                let ambiguous = zone.to_ambiguous_timestamp(civil.ok()?);
                if let tz::AmbiguousOffset::Gap { before, .. } = ambiguous.offset() {
                    let late = linear - i64::from(before.seconds()) * MICROS_PER_SECOND;
                    return end_of_gap(zone, late, i64::from(local.micros()));
                }
                Some(ambiguous.compatible().ok()?.as_microsecond())
            }
        }
    }
}

/// The instant of the last change before `late`, which is less than the gap after it.
fn end_of_gap(zone: &tz::TimeZone, late: i64, micros: i64) -> Option<i64> {
    let after = jiff::Timestamp::from_microsecond(late + 1).ok()?;
    let change = zone.preceding(after).next()?.timestamp();
    Some(change.as_microsecond() + micros)
}

fn rules_of(zone: tz::TimeZone) -> Rules {
    match zone.to_fixed_offset() {
        Ok(offset) => Rules::Fixed(offset.seconds()),
        Err(_) => Rules::Named(zone),
    }
}

/// '+hh:mm' or '-h:mm' in seconds east of UTC.
pub(crate) fn parse_offset(text: &[u8]) -> Option<i32> {
    let (sign, rest) = text.split_first()?;
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let (hours, minutes) = (&rest[..colon], &rest[colon + 1..]);
    let digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    if !(1..=2).contains(&hours.len()) || minutes.len() != 2 || !digits(hours) || !digits(minutes) {
        return None;
    }
    let number = |text: &[u8]| text.iter().fold(0, |number, digit| number * 10 + i32::from(digit - b'0'));
    let minutes = number(minutes);
    let magnitude = number(hours) * 3600 + minutes * 60;
    let seconds = if *sign == b'-' { -magnitude } else { magnitude };
    (minutes < 60 && OFFSET_SECONDS.contains(&seconds)).then_some(seconds)
}
