//! TIMESTAMP: an instant, stored as microseconds since 1970-01-01 00:00:00 UTC.
use super::{DateTime, MICROS_PER_SECOND};
use crate::TimeZone;

/// 0 is the zero value '0000-00-00 00:00:00'; others are 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const ZERO: Timestamp = Timestamp(0);
    pub const SECONDS_MAX: i64 = i32::MAX as i64;

    /// `None` outside the range of the type.
    pub fn from_unix_micros(micros: i64) -> Option<Timestamp> {
        let seconds = micros.div_euclid(MICROS_PER_SECOND);
        (micros == 0 || (1..=Timestamp::SECONDS_MAX).contains(&seconds)).then_some(Timestamp(micros))
    }

    pub fn to_unix_micros(self) -> i64 {
        self.0
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// What the instant reads on a clock of the zone.
    pub fn in_zone(self, zone: &TimeZone) -> DateTime {
        if self.is_zero() { DateTime::ZERO } else { zone.to_local(self.0).unwrap_or(DateTime::ZERO) }
    }

    /// The instant at which a clock of the zone reads so; `None` outside the range.
    pub fn from_zone(local: DateTime, zone: &TimeZone) -> Option<Timestamp> {
        if local.is_zero() {
            return Some(Timestamp::ZERO);
        }
        let micros = zone.to_unix_micros(local)?;
        if micros == 0 { None } else { Timestamp::from_unix_micros(micros) }
    }
}
