//! Calendar arithmetic on day numbers as TO_DAYS counts them: 0000-01-01 is day 1, 1970-01-01 is day 719528.
//!
//! Invariant: for years 1 to 9999 this is the proleptic Gregorian calendar; year 0 has 365 days, as in MySQL.

/// The last representable day, 9999-12-31.
pub(crate) const DAY_NUMBER_MAX: i64 = 3_652_424;
/// TO_DAYS('1970-01-01').
pub(crate) const DAY_NUMBER_EPOCH: i64 = 719_528;

fn is_leap_year(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) && year != 0
}

pub fn days_in_year(year: u32) -> u32 {
    if is_leap_year(year) { 366 } else { 365 }
}

/// Days in a month, 1..=12; 31 for month 0, which dates with zero parts have.
pub fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before the first of each month in a common year.
const DAYS_BEFORE_MONTH: [i64; 13] = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// TO_DAYS of a date; months and days of 0 count as if they were the month or day before the first.
pub(crate) fn day_number(year: u32, month: u32, day: u32) -> i64 {
    if year == 0 && month == 0 {
        return 0;
    }
    let year_before = i64::from(year) - 1;
    let leap_days = if year == 0 { 0 } else { year_before / 4 - year_before / 100 + year_before / 400 };
    let leap_day = i64::from(month > 2 && is_leap_year(year));
    i64::from(year) * 365 + leap_days + DAYS_BEFORE_MONTH[month as usize] + leap_day + i64::from(day)
}

/// The date of a day number; `None` before 0001-01-01's era (as FROM_DAYS gives zero dates there) and after 9999.
pub(crate) fn date_from_day_number(number: i64) -> Option<(u32, u32, u32)> {
    if !(366..=DAY_NUMBER_MAX).contains(&number) {
        return None;
    }
    let mut year = (number * 400 / 146_097) as u32;
    while number > day_number(year, 12, 31) {
        year += 1;
    }
    while year > 0 && number <= day_number(year - 1, 12, 31) {
        year -= 1;
    }
    let mut day_of_year = (number - day_number(year, 1, 1) + 1) as u32;
    let mut month = 1;
    while day_of_year > days_in_month(year, month) {
        day_of_year -= days_in_month(year, month);
        month += 1;
    }
    Some((year, month, day_of_year))
}

/// 0 is Monday, as WEEKDAY counts.
pub fn weekday_from_day_number(number: i64) -> u32 {
    (number + 5).rem_euclid(7) as u32
}

/// WEEK(date, mode) and the year it belongs to. Mode bits: 1 weeks start on Monday, 2 never week 0, 4 the first
/// week is the one with a Monday or Sunday as its first day rather than the one with four days in the year.
pub fn week_number(year: u32, month: u32, day: u32, mode: u8) -> (u32, u32) {
    let is_monday_first = mode & 1 != 0;
    let mut is_week_year = mode & 2 != 0;
    // MySQL stores the third bit inverted for Monday-first weeks (manual, WEEK()).
    let is_first_weekday = (mode & 4 != 0) != is_monday_first;
    let number = day_number(year, month, day);
    let mut first_day = day_number(year, 1, 1);
    let weekday_of =
        |day: i64| -> i64 { if is_monday_first { (day + 5).rem_euclid(7) } else { (day + 6).rem_euclid(7) } };
    let mut weekday = weekday_of(first_day);
    let mut week_year = year;
    let starts_late = |weekday: i64| if is_first_weekday { weekday != 0 } else { weekday >= 4 };
    if month == 1 && i64::from(day) <= 7 - weekday {
        if !is_week_year && starts_late(weekday) {
            return (0, week_year);
        }
        if starts_late(weekday) {
            is_week_year = true;
            week_year = year.saturating_sub(1);
            let days = i64::from(days_in_year(week_year));
            first_day -= days;
            weekday = (weekday + 53 * 7 - days).rem_euclid(7);
        }
    }
    let days = if starts_late(weekday) {
        number - (first_day + (7 - weekday))
    } else {
        number - (first_day - weekday)
    };
    if is_week_year && days >= 52 * 7 {
        let next_weekday = (weekday + i64::from(days_in_year(week_year))).rem_euclid(7);
        if !starts_late(next_weekday) {
            return (1, week_year + 1);
        }
    }
    ((days / 7 + 1) as u32, week_year)
}
