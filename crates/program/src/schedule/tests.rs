//! Schedules across changes of clocks, ends of months and missed executions.
use super::*;

fn recurring(value: &str, unit: &str, zone: &str, starts: &str) -> EventDef {
    EventDef {
        at_us: None,
        every: Some((value.to_owned(), unit.to_owned())),
        starts_us: Some(moment(zone, starts) * MICROS),
        ends_us: None,
        state: EventState::Enabled,
        preserves: false,
        time_zone: zone.to_owned(),
        last_executed_us: None,
    }
}

/// The second at which clocks of the zone first read so.
fn moment(zone: &str, text: &str) -> i64 {
    let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().expect("a number");
    let date = datum::Date::new(number(0..4) as u16, number(5..7) as u8, number(8..10) as u8);
    let seconds = number(11..13) * 3600 + number(14..16) * 60 + number(17..19);
    let midnight = date.expect("a date").at_midnight();
    let local = midnight.add_micros(i64::from(seconds) * MICROS).expect("in range");
    second_of(TimeZone::parse(zone).expect("a zone").to_unix_micros(local).expect("in range"))
}

/// What clocks of the event's zone read at its next executions from `from` on.
fn executions(event: &EventDef, from: i64, count: usize) -> Vec<String> {
    let zone = TimeZone::parse(&event.time_zone).expect("a zone");
    let mut event = event.clone();
    let mut now = from;
    let mut found = Vec::new();
    while found.len() < count
        && let Some(next) = next_execution(&event, now)
    {
        let local = zone.to_local(next * MICROS).expect("in range");
        let mut text = Vec::new();
        local.write_text(0, &mut text);
        found.push(String::from_utf8(text).expect("ASCII"));
        event.last_executed_us = Some(next * MICROS);
        now = next;
    }
    found
}

const ZONE: &str = "Europe/Amsterdam";

#[test]
fn a_daily_event_stays_at_its_hour_when_clocks_change() {
    let event = recurring("1", "DAY", ZONE, "2026-03-27 02:30:00");
    let from = moment(ZONE, "2026-03-27 00:00:00");
    // There is no 02:30 on the 29th: it is at the end of the gap.
    let expected =
        ["2026-03-27 02:30:00", "2026-03-28 02:30:00", "2026-03-29 03:00:00", "2026-03-30 02:30:00"];
    assert_eq!(executions(&event, from, 4), expected);
    let event = recurring("1", "DAY", ZONE, "2026-10-24 02:30:00");
    let from = moment(ZONE, "2026-10-24 00:00:00");
    assert_eq!(
        executions(&event, from, 3),
        ["2026-10-24 02:30:00", "2026-10-25 02:30:00", "2026-10-26 02:30:00"]
    );
}

#[test]
fn nothing_happens_in_the_second_pass_of_an_hour_that_comes_twice() {
    let event = recurring("20", "MINUTE", ZONE, "2026-10-25 02:00:00");
    let from = moment(ZONE, "2026-10-25 02:00:00");
    assert_eq!(
        executions(&event, from, 4),
        ["2026-10-25 02:00:00", "2026-10-25 02:20:00", "2026-10-25 02:40:00", "2026-10-25 03:00:00"]
    );
    // In the second pass: 02:10 by the clock.
    let second_pass = moment(ZONE, "2026-10-25 02:10:00") + 3600;
    assert_eq!(executions(&event, second_pass, 1), ["2026-10-25 03:00:00"]);
}

#[test]
fn months_are_counted_from_the_start() {
    let event = recurring("1", "MONTH", "UTC", "2027-01-31 10:00:00");
    assert_eq!(
        executions(&event, moment("UTC", "2027-01-01 00:00:00"), 3),
        ["2027-01-31 10:00:00", "2027-02-28 10:00:00", "2027-03-31 10:00:00"]
    );
    let event = recurring("'1-1'", "YEAR_MONTH", "UTC", "2027-01-31 10:00:00");
    assert_eq!(
        executions(&event, moment("UTC", "2027-02-01 00:00:00"), 2),
        ["2028-02-29 10:00:00", "2029-03-31 10:00:00"]
    );
}

#[test]
fn what_was_missed_is_not_made_up_for() {
    let event = recurring("1", "HOUR", "+02:00", "2026-01-01 00:10:00");
    let from = moment("+02:00", "2026-05-05 05:05:05");
    assert_eq!(executions(&event, from, 2), ["2026-05-05 05:10:00", "2026-05-05 06:10:00"]);
    // A single one is.
    let mut once = EventDef { every: None, at_us: event.starts_us, starts_us: None, ..event };
    assert_eq!(next_execution(&once, from), once.at_us.map(second_of));
    once.last_executed_us = Some(from * MICROS);
    assert_eq!(next_execution(&once, from), None);
}

#[test]
fn ends_and_what_is_beyond_the_calendar_end_an_event() {
    let mut event = recurring("1", "DAY", "UTC", "2026-01-01 00:00:00");
    event.ends_us = Some(moment("UTC", "2026-01-03 00:00:00") * MICROS);
    assert_eq!(executions(&event, moment("UTC", "2025-01-03 00:00:00"), 9).len(), 3);
    let event = recurring("1000000", "WEEK", "UTC", "2026-01-01 00:00:00");
    assert_eq!(executions(&event, moment("UTC", "2026-01-01 00:00:00"), 9), ["2026-01-01 00:00:00"]);
    let event = EventDef { state: EventState::Disabled, ..event };
    assert_eq!(next_execution(&event, 0), None);
}
