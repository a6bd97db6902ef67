//! When an event happens next.
//!
//! Invariant: an event that recurs happens at its start and at whole intervals after it by the clocks of its time zone, so a
//! daily one stays at its hour when clocks are put forward or back; what was missed is not made up for. Called by the queue
//! of events and by whoever changes their definitions.
use datum::{DateTime, TimeZone};
use schema::{EventDef, EventState};

use crate::interval::EventInterval;

const MICROS: i64 = 1_000_000;
/// The last second that TIMESTAMP functions know.
const SECOND_MAX: i64 = 32_536_771_199;

/// The second of the next execution after `now`, or at it when there was none before; `None` when there is none any more.
pub fn next_execution(event: &EventDef, now: i64) -> Option<i64> {
    if event.state != EventState::Enabled {
        return None;
    }
    let last = event.last_executed_us.map(second_of);
    let Some((value, unit)) = &event.every else {
        let at = second_of(event.at_us?);
        // It was another schedule that it was last executed for, if that was before.
        return last.is_none_or(|last| last < at).then_some(at);
    };
    let ends = event.ends_us.map(second_of);
    if ends.is_some_and(|ends| ends < now) {
        return None;
    }
    let starts = event.starts_us.map_or(now, second_of);
    let was_at_start = last.is_some_and(|last| last >= starts);
    if now < starts || (now == starts && !was_at_start) {
        return Some(starts);
    }
    let zone = TimeZone::parse(&event.time_zone).unwrap_or_else(TimeZone::utc);
    let interval = EventInterval::parse(value, unit)?;
    let next = following(&zone, starts, now, &interval)?;
    (next <= SECOND_MAX && ends.is_none_or(|ends| next <= ends)).then_some(next)
}

pub fn second_of(micros: i64) -> i64 {
    micros.div_euclid(MICROS)
}

/// The first moment after `now` that is whole intervals after the start.
fn following(zone: &TimeZone, start: i64, now: i64, interval: &EventInterval) -> Option<i64> {
    let local_start = zone.to_local(start * MICROS)?;
    let local_now = zone.to_local(now * MICROS)?;
    let second = |local: DateTime| zone.to_unix_micros(local).map(second_of);
    if let Some(length) = interval.seconds() {
        let passed = (local_now.linear_micros() - local_start.linear_micros()) / MICROS;
        let mut offset = if passed >= 0 { passed - passed % length + length } else { 0 };
        loop {
            let next = second(local_start.add_micros(offset.checked_mul(MICROS)?)?)?;
            // In the hour that clocks read twice, local times to come are moments that have gone.
            if next > now {
                return Some(next);
            }
            offset = offset.checked_add(length)?;
        }
    }
    let length = interval.months()?;
    let month = |local: DateTime| i64::from(local.date().year()) * 12 + i64::from(local.date().month());
    let passed = month(local_now) - month(local_start);
    let mut offset = passed - passed % length;
    loop {
        // From the start each time: after a short month it is the start's day again.
        let next = second(local_start.add_months(offset)?)?;
        if next > now {
            return Some(next);
        }
        offset += length;
    }
}

#[cfg(test)]
mod tests;
