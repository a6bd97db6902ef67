//! Day numbers and week numbers of the proleptic Gregorian calendar, as MySQL counts them: TO_DAYS('1970-01-01')
//! is 719528, and the year 0 has no 29 February.

/// The last day number, 9999-12-31.
pub(super) const DAY_NUMBER_MAX: i64 = 3_652_424;

pub fn is_leap_year(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// 0 for a month outside 1..=12.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 0,
    }
}

pub fn days_in_year(year: u16) -> u16 {
    if is_leap_year(year) { 366 } else { 365 }
}

/// What TO_DAYS gives; the parts need not be a real date (day 0, or 31 February).
pub(super) fn day_number(year: u16, month: u8, day: u8) -> i64 {
    if year == 0 && month == 0 {
        return 0;
    }
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    // Years are counted from March, so that the leap day is the last of its year.
    let (counted, in_year) = if month <= 2 {
        (year - 1, 31 * (month - 1) + day)
    } else {
        (year, 31 * (month - 1) + day - (4 * month + 23) / 10)
    };
    let centuries = (counted / 100 + 1) * 3 / 4;
    365 * year + in_year + counted / 4 - centuries
}

/// The date of a day number from 1 to the last. The year 0 has the 365 days before 366 (0001-01-01).
pub(super) fn date_of(day_number: i64) -> Option<(u16, u8, u8)> {
    const YEAR_0_DAYS: i64 = 365;
    if (1..=YEAR_0_DAYS).contains(&day_number) {
        return date_of(day_number + YEAR_0_DAYS).map(|(_, month, day)| (0, month, day));
    }
    if !(366..=DAY_NUMBER_MAX).contains(&day_number) {
        return None;
    }
    // An estimate that is at most one year too high, then exact.
    let mut year = u16::try_from(day_number * 400 / 146_097).ok()?;
    while self::day_number(year, 1, 1) > day_number {
        year -= 1;
    }
    while self::day_number(year, 12, 31) < day_number {
        year += 1;
    }
    let mut rest = day_number - self::day_number(year, 1, 1);
    let mut month = 1;
    while rest >= i64::from(days_in_month(year, month)) {
        rest -= i64::from(days_in_month(year, month));
        month += 1;
    }
    Some((year, month, u8::try_from(rest).ok()? + 1))
}

/// 0 is Monday.
pub(super) fn weekday(day_number: i64) -> u8 {
    (day_number + 5).rem_euclid(7) as u8
}

/// The position of a weekday's name in a list that starts with Monday.
pub fn weekday_name_index(day_number: i64) -> usize {
    usize::from(weekday(day_number))
}

/// Week and year of a date for a mode of WEEK() (0..=7): bit 0 weeks start on Monday, bit 1 weeks 1..=53
/// (the year then being the one the week belongs to), bit 2 how the first week is found.
pub(super) fn week(year: u16, month: u8, day: u8, mode: u8) -> (u16, u32) {
    let monday_first = mode & 1 != 0;
    let belongs_to_week_year = mode & 2 != 0;
    // A first week is one that starts in the year, or one that has most of its days there.
    let starts_in_year = (mode & 4 != 0) == monday_first;
    let weekday_of = |number: i64| (number + 5 + i64::from(!monday_first)).rem_euclid(7);
    let starts_late = |weekday: i64| if starts_in_year { weekday != 0 } else { weekday >= 4 };

    let today = day_number(year, month, day);
    let mut in_year = year;
    let mut first = day_number(year, 1, 1);
    let mut weekday = weekday_of(first);
    let mut by_week_year = belongs_to_week_year;
    if month == 1 && i64::from(day) <= 7 - weekday && starts_late(weekday) {
        if !belongs_to_week_year {
            return (year, 0);
        }
        by_week_year = true;
        in_year = year.wrapping_sub(1);
        first -= i64::from(days_in_year(in_year));
        weekday = weekday_of(first);
    }
    let week_one = if starts_late(weekday) { first + 7 - weekday } else { first - weekday };
    // Days before the first week, as those of month 0 are, are a number without a sign in MySQL, too.
    let days = (today - week_one) as u32;
    if by_week_year && days >= 52 * 7 {
        let next_weekday = (weekday + i64::from(days_in_year(in_year))) % 7;
        if !starts_late(next_weekday) {
            return (in_year + 1, 1);
        }
    }
    (in_year, days / 7 + 1)
}
