//! TIMESTAMP: an instant, stored as UTC.
use super::calendar::DAY_NUMBER_EPOCH;
use super::{DateTime, MICROS_PER_DAY, MICROS_PER_SECOND};

/// Microseconds since 1970-01-01 UTC. 0 is the zero value '0000-00-00 00:00:00', which MySQL stores so too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const ZERO: Timestamp = Timestamp(0);
    /// 1970-01-01 00:00:01 UTC.
    pub const MIN: Timestamp = Timestamp(MICROS_PER_SECOND);
    /// 2038-01-19 03:14:07.999999 UTC.
    pub const MAX: Timestamp = Timestamp(((1i64 << 31) - 1) * MICROS_PER_SECOND + 999_999);

    /// `None` outside the range of a TIMESTAMP column.
    pub fn from_micros(micros: i64) -> Option<Timestamp> {
        let is_valid = micros == 0 || (Timestamp::MIN.0..=Timestamp::MAX.0).contains(&micros);
        is_valid.then_some(Timestamp(micros))
    }

    pub fn micros(self) -> i64 {
        self.0
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl DateTime {
    /// Reads the civil time as UTC.
    pub fn to_utc_micros(self) -> i64 {
        self.total_micros() - DAY_NUMBER_EPOCH * MICROS_PER_DAY
    }

    /// The civil time in UTC of an instant; `None` outside years 1 to 9999.
    pub fn from_utc_micros(micros: i64) -> Option<DateTime> {
        DateTime::from_total_micros(micros.checked_add(DAY_NUMBER_EPOCH * MICROS_PER_DAY)?)
    }
}
