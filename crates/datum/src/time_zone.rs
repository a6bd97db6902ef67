//! Session time zones: SYSTEM, fixed offsets and named zones.

#[derive(Clone, Debug, PartialEq)]
pub struct TimeZone(jiff::tz::TimeZone);

impl TimeZone {
    pub fn utc() -> TimeZone {
        TimeZone(jiff::tz::TimeZone::UTC)
    }
}
