//! Dates and times from the relaxed text and number formats MySQL accepts.
//!
//! Parsing says what it read and what it had to ignore; which of that is a warning or an error is the caller's
//! decision, because it depends on the statement. Callers: casts, storing into columns, comparison with text.
use super::calendar::days_in_month;
use super::{Civil, Date, DateTime, Time};
use crate::sql_mode::SqlMode;
use crate::time_zone::parse_offset;

/// What kinds of odd dates are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateFlags {
    /// Refuse '2020-00-10'.
    pub no_zero_in_date: bool,
    /// Refuse '0000-00-00'.
    pub no_zero_date: bool,
    /// Accept '2020-02-31'.
    pub allow_invalid_dates: bool,
}

impl DateFlags {
    /// What sql_mode asks for when storing.
    pub fn from_mode(mode: SqlMode) -> DateFlags {
        DateFlags {
            no_zero_in_date: mode.contains(SqlMode::NO_ZERO_IN_DATE),
            no_zero_date: mode.contains(SqlMode::NO_ZERO_DATE),
            allow_invalid_dates: mode.contains(SqlMode::ALLOW_INVALID_DATES),
        }
    }

    /// Whether the parts make an acceptable date.
    pub fn accepts(self, year: u32, month: u32, day: u32) -> bool {
        if year > 9999 || month > 12 || day > 31 {
            return false;
        }
        if year == 0 && month == 0 && day == 0 {
            return !self.no_zero_date;
        }
        if month == 0 || day == 0 {
            return !self.no_zero_in_date;
        }
        self.allow_invalid_dates || day <= days_in_month(year, month)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedDateTime {
    pub value: DateTime,
    /// Only a date was given.
    pub is_date_only: bool,
    /// Something after the value was ignored.
    pub is_truncated: bool,
    /// Digits after the sixth of the fraction round up.
    pub rounds_up: bool,
    /// The text ended in ±hh:mm: the value is the civil time at this offset from UTC, in seconds.
    pub offset_seconds: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedTime {
    pub value: Time,
    pub is_truncated: bool,
    /// The value was beyond ±838:59:59 and was cut to it.
    pub is_out_of_range: bool,
}

/// Why a text or number is no date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseFailure {
    /// It cannot be read at all, or a part is out of range.
    Invalid,
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn is_digit(&self) -> bool {
        self.peek().is_some_and(|byte| byte.is_ascii_digit())
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Reads up to `limit` digits; saturates at a value no part accepts.
    fn number(&mut self, limit: usize) -> (u64, usize) {
        let start = self.at;
        let mut number = 0u64;
        while self.is_digit() && self.at - start < limit {
            number = number.saturating_mul(10).saturating_add(u64::from(self.text[self.at] - b'0'));
            self.at += 1;
        }
        (number, self.at - start)
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    fn has_garbage(&self) -> bool {
        self.rest().iter().any(|byte| !byte.is_ascii_whitespace())
    }
}

const DAY: usize = 2;
const SECOND: usize = 5;
const FRACTION: usize = 6;

/// The numbers read so far, in the order year to microsecond.
struct Parts {
    numbers: [u64; 7],
    lengths: [usize; 7],
    count: usize,
    /// Parts were separated, and none of it by spaces: as a TIME such a text is no date.
    is_delimited_without_space: bool,
    has_space: bool,
}

impl DateTime {
    pub fn parse(text: &[u8], flags: DateFlags) -> Result<ParsedDateTime, ParseFailure> {
        let mut cursor = Cursor { text, at: 0 };
        cursor.skip_spaces();
        if !cursor.is_digit() {
            return Err(ParseFailure::Invalid);
        }
        let parts = read_parts(&mut cursor)?;
        let mut rounds_up = false;
        if parts.count == 7 && parts.lengths[FRACTION] == 6 && cursor.is_digit() {
            rounds_up = cursor.text[cursor.at] >= b'5';
            cursor.number(usize::MAX);
        }
        let offset_seconds = if parts.count >= 6 { read_offset(&mut cursor) } else { None };
        let mut year = parts.numbers[0];
        let is_nonzero = parts.numbers.iter().any(|number| *number != 0);
        if parts.lengths[0] == 2 && is_nonzero {
            year += if year < 70 { 2000 } else { 1900 };
        }
        let limits = [9999, 12, 31, 23, 59, 59, 999_999];
        let mut numbers = parts.numbers;
        numbers[0] = year;
        let missing = 6usize.saturating_sub(parts.lengths[FRACTION]) as u32;
        if parts.count == 7 {
            numbers[FRACTION] *= 10u64.pow(missing);
        }
        let in_range = numbers.iter().zip(limits).all(|(number, limit)| *number <= limit);
        if parts.count < 3 || !in_range {
            return Err(ParseFailure::Invalid);
        }
        let [year, month, day, hour, minute, second, microsecond] = numbers.map(|number| number as u32);
        let garbage = cursor.has_garbage();
        if !flags.accepts(year, month, day) || (!is_nonzero && garbage) {
            return Err(ParseFailure::Invalid);
        }
        let civil = Civil { year, month, day, hour, minute, second, microsecond };
        Ok(ParsedDateTime {
            value: DateTime::from_date_and_civil(Date::from_parts(year, month, day), civil),
            is_date_only: parts.count == 3,
            is_truncated: garbage,
            rounds_up,
            offset_seconds,
        })
    }

    /// YYMMDD, YYYYMMDD, YYMMDDHHMMSS or YYYYMMDDHHMMSS as a number.
    pub fn from_number(number: i64, flags: DateFlags) -> Result<ParsedDateTime, ParseFailure> {
        let (full, is_date_only) = match number {
            0 => (0, false),
            101..=691_231 => ((number + 20_000_000) * 1_000_000, true),
            700_101..=991_231 => ((number + 19_000_000) * 1_000_000, true),
            10_000_101..=99_991_231 => (number * 1_000_000, true),
            101_000_000..=691_231_235_959 => (number + 20_000_000_000_000, false),
            700_101_000_000..=991_231_235_959 => (number + 19_000_000_000_000, false),
            10_000_101_000_000..=99_991_231_235_959 => (number, false),
            _ => return Err(ParseFailure::Invalid),
        };
        let part = |divisor: i64, modulus: i64| (full / divisor % modulus) as u32;
        let civil = Civil {
            year: part(10_000_000_000, 10_000),
            month: part(100_000_000, 100),
            day: part(1_000_000, 100),
            hour: part(10_000, 100),
            minute: part(100, 100),
            second: part(1, 100),
            microsecond: 0,
        };
        let is_valid = flags.accepts(civil.year, civil.month, civil.day)
            && civil.hour < 24
            && civil.minute < 60
            && civil.second < 60;
        if !is_valid {
            return Err(ParseFailure::Invalid);
        }
        let date = Date::from_parts(civil.year, civil.month, civil.day);
        Ok(ParsedDateTime {
            value: DateTime::from_date_and_civil(date, civil),
            is_date_only,
            is_truncated: false,
            rounds_up: false,
            offset_seconds: None,
        })
    }
}

fn read_parts(cursor: &mut Cursor<'_>) -> Result<Parts, ParseFailure> {
    let run = cursor.rest().iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    let is_compact = matches!(cursor.rest().get(run), None | Some(b'.'));
    let year_length = if is_compact && !(run == 4 || run == 8 || run >= 14) { 2 } else { 4 };
    let mut parts = Parts {
        numbers: [0; 7],
        lengths: [0; 7],
        count: 0,
        is_delimited_without_space: false,
        has_space: false,
    };
    let (mut has_delimiter, mut has_space) = (false, false);
    let mut end = cursor.at;
    while parts.count < 7 && cursor.is_digit() {
        let index = parts.count;
        let limit = match index {
            FRACTION => 6,
            _ if !is_compact => usize::MAX,
            0 => year_length,
            _ => 2,
        };
        let (number, length) = cursor.number(limit);
        if number > 999_999 {
            return Err(ParseFailure::Invalid);
        }
        parts.numbers[index] = number;
        parts.lengths[index] = length;
        parts.count += 1;
        end = cursor.at;
        match cursor.peek() {
            None => break,
            Some(b'T') if index == DAY => cursor.at += 1,
            Some(b'.') if index == SECOND => {
                cursor.at += 1;
                end = cursor.at;
            }
            _ if index == SECOND || index == FRACTION => break,
            _ => {
                let start = cursor.at;
                has_space |= skip_delimiters(cursor, index)?;
                has_delimiter |= cursor.at > start;
            }
        }
    }
    cursor.at = end;
    parts.is_delimited_without_space = has_delimiter && !has_space;
    parts.has_space = has_space;
    Ok(parts)
}

/// Any punctuation separates parts; spaces only separate the day from the hour. Tells whether there was a space.
fn skip_delimiters(cursor: &mut Cursor<'_>, index: usize) -> Result<bool, ParseFailure> {
    let mut has_space = false;
    while let Some(byte) = cursor.peek() {
        if byte.is_ascii_whitespace() {
            let is_allowed = index == DAY || !cursor.has_garbage();
            if !is_allowed {
                return Err(ParseFailure::Invalid);
            }
            has_space = true;
        } else if !byte.is_ascii_punctuation() {
            break;
        }
        cursor.at += 1;
    }
    Ok(has_space)
}

fn read_offset(cursor: &mut Cursor<'_>) -> Option<i32> {
    let rest = cursor.rest();
    if rest.len() != 6 || !matches!(rest[0], b'+' | b'-') {
        return None;
    }
    // '-14:00' is accepted here although it is no session time zone; '-00:00' is not.
    let text = std::str::from_utf8(rest).ok()?;
    let offset = if text == "-14:00" { Some(-50_400) } else { parse_offset(text) }?;
    if text == "-00:00" {
        return None;
    }
    cursor.at = cursor.text.len();
    Some(offset)
}

impl Time {
    pub fn parse(text: &[u8]) -> Result<ParsedTime, ParseFailure> {
        let mut cursor = Cursor { text, at: 0 };
        cursor.skip_spaces();
        let is_negative = cursor.peek() == Some(b'-');
        if is_negative {
            cursor.at += 1;
        }
        // Long texts are dates with times first of all; a date alone is read as a time all the same.
        if cursor.rest().len() >= 12 && !is_negative && looks_like_datetime(cursor.rest()) {
            let parsed = DateTime::parse(cursor.rest(), DateFlags::default())?;
            return if parsed.is_date_only { Err(ParseFailure::Invalid) } else { Ok(time_of_day(parsed)) };
        }
        let Some([days, hours, minutes, seconds]) = read_clock(&mut cursor) else {
            return Err(ParseFailure::Invalid);
        };
        let (micros, rounds_up) = read_fraction(&mut cursor);
        if minutes > 59 || seconds > 59 {
            return Err(ParseFailure::Invalid);
        }
        let is_truncated = cursor.has_garbage();
        let hours = days.saturating_mul(24).saturating_add(hours).min(1_000_000);
        let whole = hours as i64 * 3600 + minutes as i64 * 60 + seconds as i64;
        let total = whole * 1_000_000 + i64::from(micros) + i64::from(rounds_up);
        let signed = if is_negative { -total } else { total };
        let value = Time::from_micros_clamped(signed);
        Ok(ParsedTime { value, is_truncated, is_out_of_range: value.micros() != signed })
    }

    /// HHMMSS as a number; longer numbers are dates with times.
    pub fn from_number(number: i64) -> Result<ParsedTime, ParseFailure> {
        let magnitude = number.unsigned_abs();
        if magnitude > 8_385_959 {
            if number >= 10_000_000_000
                && let Ok(parsed) = DateTime::from_number(number, DateFlags::default())
            {
                return Ok(time_of_day(parsed));
            }
            return Err(ParseFailure::Invalid);
        }
        let (hours, minutes, seconds) = (magnitude / 10_000, magnitude / 100 % 100, magnitude % 100);
        if minutes > 59 || seconds > 59 {
            return Err(ParseFailure::Invalid);
        }
        let micros = ((hours * 60 + minutes) * 60 + seconds) as i64 * 1_000_000;
        let value = Time::from_micros_clamped(if number < 0 { -micros } else { micros });
        Ok(ParsedTime { value, is_truncated: false, is_out_of_range: false })
    }
}

fn time_of_day(parsed: ParsedDateTime) -> ParsedTime {
    let micros = parsed.value.micros_of_day() + i64::from(parsed.rounds_up);
    let value = Time::from_micros_clamped(micros);
    ParsedTime { value, is_truncated: parsed.is_truncated, is_out_of_range: false }
}

/// A date followed by something that starts like a time: its failure is not retried as a time.
fn looks_like_datetime(text: &[u8]) -> bool {
    let mut cursor = Cursor { text, at: 0 };
    match read_parts(&mut cursor) {
        Ok(parts) => (parts.count > 3 || parts.has_space) && !parts.is_delimited_without_space,
        Err(ParseFailure::Invalid) => false,
    }
}

/// Days, hours, minutes and seconds of `[D ]H:M:S`, `[D ]H:M`, `D H`, or `HHMMSS` without colons.
fn read_clock(cursor: &mut Cursor<'_>) -> Option<[u64; 4]> {
    let (mut first, length) = cursor.number(usize::MAX);
    if length == 0 && !matches!(cursor.peek(), Some(b':' | b'.')) {
        return None;
    }
    let mut days = 0;
    let mut has_days = false;
    if cursor.peek() == Some(b' ') {
        let start = cursor.at;
        cursor.skip_spaces();
        if cursor.is_digit() {
            days = first;
            has_days = true;
            first = cursor.number(usize::MAX).0;
        } else {
            cursor.at = start;
        }
    }
    let next_is_part = |cursor: &Cursor<'_>| {
        cursor.peek() == Some(b':') && cursor.text.get(cursor.at + 1).is_some_and(u8::is_ascii_digit)
    };
    if next_is_part(cursor) {
        cursor.at += 1;
        let minutes = cursor.number(usize::MAX).0;
        let mut seconds = 0;
        if next_is_part(cursor) {
            cursor.at += 1;
            seconds = cursor.number(usize::MAX).0;
        }
        return Some([days, first, minutes, seconds]);
    }
    if has_days {
        return Some([days, first, 0, 0]);
    }
    Some([0, first / 10_000, first / 100 % 100, first % 100])
}

/// Microseconds after a point, and whether a seventh digit rounds them up.
fn read_fraction(cursor: &mut Cursor<'_>) -> (u32, bool) {
    if cursor.peek() != Some(b'.') {
        return (0, false);
    }
    cursor.at += 1;
    let (number, length) = cursor.number(6);
    let micros = number as u32 * 10u32.pow(6 - length as u32);
    let rounds_up = cursor.peek().is_some_and(|byte| (b'5'..=b'9').contains(&byte));
    cursor.number(usize::MAX);
    (micros, rounds_up)
}
