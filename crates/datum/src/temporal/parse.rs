//! Dates and times from text and numbers, with everything MySQL's relaxed formats allow.
//!
//! Parsing says what it read and whether it had to ignore or cut anything; which of that is a warning or an error
//! is the caller's decision, because it depends on the statement. Bytes that are no date give `None`, never a
//! panic. Callers: casts, storing into columns, comparison with text.
use super::{Date, DateTime, MICROS_PER_SECOND, Time};
use crate::error::SqlError;
use crate::error_code::{ER_WARN_DEPRECATED_DATETIME_DELIMITER, ER_WARN_DEPRECATED_SUPERFLUOUS_DELIMITER};
use crate::time_zone::parse_offset;

/// A value read from text and whether text was left over, clipped or otherwise lost (warning 1292).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    pub value: T,
    pub truncated: bool,
    /// The offset from UTC in seconds that a datetime literal carried.
    pub offset_seconds: Option<i32>,
    /// What separates parts of a moment but should not.
    pub delimiter: Option<Delimiter>,
}

/// A deprecated delimiter: another one than the standard's, or one too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter {
    byte: u8,
    /// From the start of the text.
    position: usize,
    /// The standard's; `None` for one too many.
    preferred: Option<u8>,
}

impl Delimiter {
    /// Warning 4095 or 4096 about the text of a moment.
    pub fn warning(self, text: &[u8]) -> SqlError {
        let (shown, character) = (crate::number::shown(text), char::from(self.byte));
        match self.preferred {
            Some(preferred) => ER_WARN_DEPRECATED_DATETIME_DELIMITER.with(&[
                &character,
                &self.position,
                &shown,
                &1,
                &char::from(preferred),
            ]),
            None => ER_WARN_DEPRECATED_SUPERFLUOUS_DELIMITER.with(&[&character, &self.position, &shown, &1]),
        }
    }
}

impl<T> Parsed<T> {
    fn whole(value: T) -> Parsed<T> {
        Parsed { value, truncated: false, offset_seconds: None, delimiter: None }
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Parsed<U> {
        let Parsed { value, truncated, offset_seconds, delimiter } = self;
        Parsed { value: change(value), truncated, offset_seconds, delimiter }
    }
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
    fn number(&mut self, limit: usize) -> (u32, usize) {
        let start = self.at;
        let mut number = 0u32;
        while self.is_digit() && self.at - start < limit {
            number = number.saturating_mul(10).saturating_add(u32::from(self.text[self.at] - b'0'));
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
    numbers: [u32; 7],
    lengths: [usize; 7],
    count: usize,
    /// Parts were separated, and none of it by spaces: as a TIME such a text is no date.
    is_delimited_without_space: bool,
    has_space: bool,
    delimiter: Option<Delimiter>,
    /// The year stands without its century.
    has_short_year: bool,
}

/// A datetime and whether only a date was given.
type ReadDateTime = (Parsed<DateTime>, bool);

impl DateTime {
    /// `lenient` allows days that the month does not have (SQL mode ALLOW_INVALID_DATES).
    pub fn parse(text: &[u8], lenient: bool) -> Option<Parsed<DateTime>> {
        read_datetime(text, lenient).map(|(parsed, _)| parsed)
    }

    /// As `parse`, and whether the text is a date without a time.
    pub fn parse_with_kind(text: &[u8], lenient: bool) -> Option<(Parsed<DateTime>, bool)> {
        read_datetime(text, lenient)
    }

    /// YYMMDD, YYYYMMDD, YYMMDDHHMMSS or YYYYMMDDHHMMSS as a number.
    pub fn from_number(number: i64, lenient: bool) -> Option<DateTime> {
        let full = match number {
            0 => return Some(DateTime::ZERO),
            101..=691_231 => (number + 20_000_000) * 1_000_000,
            700_101..=991_231 => (number + 19_000_000) * 1_000_000,
            // Years before 1000 are written with less digits.
            991_232..=99_991_231 => number * 1_000_000,
            101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
            700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
            991_231_235_960..=99_991_231_235_959 => number,
            _ => return None,
        };
        let part = |divisor: i64, modulus: i64| (full / divisor % modulus) as u32;
        let numbers =
            [part(10_000_000_000, 10_000), part(100_000_000, 100), part(1_000_000, 100), part(10_000, 100)];
        assemble(numbers, part(100, 100), part(1, 100), 0, lenient)
    }
}

fn assemble(
    [year, month, day, hour]: [u32; 4],
    minute: u32,
    second: u32,
    micros: u32,
    lenient: bool,
) -> Option<DateTime> {
    let year = u16::try_from(year).ok()?;
    let [month, day, hour, minute, second] =
        [month, day, hour, minute, second].map(|part| u8::try_from(part).unwrap_or(u8::MAX));
    let new = if lenient { Date::new_lenient } else { Date::new };
    DateTime::new(new(year, month, day)?, hour, minute, second, micros)
}

/// The space that stands before a moment, if there is one.
fn leading_space(text: &[u8]) -> Option<Delimiter> {
    let byte = *text.first().filter(|byte| byte.is_ascii_whitespace())?;
    Some(Delimiter { byte, position: 0, preferred: None })
}

/// The first of the spaces that stand behind a moment, if nothing else does.
fn trailing_space(cursor: &Cursor<'_>) -> Option<Delimiter> {
    let byte = cursor.peek().filter(|_| !cursor.has_garbage())?;
    Some(Delimiter { byte, position: cursor.at, preferred: None })
}

fn read_datetime(text: &[u8], lenient: bool) -> Option<ReadDateTime> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.skip_spaces();
    if !cursor.is_digit() {
        return None;
    }
    let parts = read_parts(&mut cursor)?;
    if parts.count < 3 {
        return None;
    }
    let mut rounds_up = false;
    if parts.lengths[FRACTION] == 6 && cursor.is_digit() {
        rounds_up = cursor.text[cursor.at] >= b'5';
        cursor.number(usize::MAX);
    }
    let offset_seconds = if parts.count >= 6 { read_offset(&mut cursor)? } else { None };
    let [mut year, month, day, hour, minute, second, mut micros] = parts.numbers;
    let is_nonzero = parts.numbers.iter().any(|number| *number != 0);
    if parts.has_short_year && is_nonzero {
        year += if year < 70 { 2000 } else { 1900 };
    }
    if parts.count == 7 {
        micros *= 10u32.pow(6 - parts.lengths[FRACTION] as u32);
    }
    let truncated = cursor.has_garbage();
    if !is_nonzero && truncated {
        return None;
    }
    let mut value = assemble([year, month, day, hour], minute, second, micros, lenient)?;
    if rounds_up {
        value = value.plus_fraction(1)?;
    }
    let delimiter = leading_space(text).or(parts.delimiter).or_else(|| trailing_space(&cursor));
    Some((Parsed { value, truncated, offset_seconds, delimiter }, parts.count == 3))
}

fn read_parts(cursor: &mut Cursor<'_>) -> Option<Parts> {
    let run = cursor.rest().iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    let is_compact = matches!(cursor.rest().get(run), None | Some(b'.'));
    let year_length = if is_compact && !(run == 4 || run == 8 || run >= 14) { 2 } else { 4 };
    let mut parts = Parts {
        numbers: [0; 7],
        lengths: [0; 7],
        count: 0,
        is_delimited_without_space: false,
        has_space: false,
        delimiter: None,
        has_short_year: is_compact && year_length == 2,
    };
    let mut between = None;
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
        // Only what stands before another part counts.
        parts.delimiter = parts.delimiter.or(between);
        let (number, length) = cursor.number(limit);
        if number > 999_999 {
            return None;
        }
        parts.numbers[index] = number;
        parts.lengths[index] = length;
        parts.has_short_year |= index == 0 && length == 2;
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
                between = deprecated_delimiter(&cursor.text[start..cursor.at], start, index);
            }
        }
    }
    cursor.at = end;
    parts.is_delimited_without_space = has_delimiter && !has_space;
    parts.has_space = has_space;
    Some(parts)
}

/// Any punctuation separates parts; spaces only separate the day from the hour. Tells whether there was a space.
fn skip_delimiters(cursor: &mut Cursor<'_>, index: usize) -> Option<bool> {
    let mut has_space = false;
    while let Some(byte) = cursor.peek() {
        if byte.is_ascii_whitespace() {
            let is_allowed = index == DAY || !cursor.has_garbage();
            if !is_allowed {
                return None;
            }
            has_space = true;
        } else if !byte.is_ascii_punctuation() {
            break;
        }
        cursor.at += 1;
    }
    Some(has_space)
}

/// What is wrong with the delimiters after part `index`.
fn deprecated_delimiter(delimiters: &[u8], start: usize, index: usize) -> Option<Delimiter> {
    let preferred = match index {
        0 | 1 => b'-',
        DAY => b' ',
        _ => b':',
    };
    let (first, others) = delimiters.split_first()?;
    if *first != preferred {
        return Some(Delimiter { byte: *first, position: start, preferred: Some(preferred) });
    }
    let byte = *others.first()?;
    Some(Delimiter { byte, position: start + 1, preferred: None })
}

/// What stands behind a sign has to be an offset; without a sign there is none.
fn read_offset(cursor: &mut Cursor<'_>) -> Option<Option<i32>> {
    let rest = cursor.rest();
    if !matches!(rest.first(), Some(b'+' | b'-')) {
        return Some(None);
    }
    if rest.len() != 6 {
        return None;
    }
    // '-14:00' is accepted here although it is no session time zone; '-00:00' is not.
    let offset = match rest {
        b"-14:00" => -50_400,
        b"-00:00" => return None,
        _ => parse_offset(rest)?,
    };
    cursor.at = cursor.text.len();
    Some(Some(offset))
}

impl Date {
    /// The date part of what `DateTime::parse` reads.
    pub fn parse(text: &[u8], lenient: bool) -> Option<Parsed<Date>> {
        DateTime::parse(text, lenient).map(|parsed| parsed.map(DateTime::date))
    }

    pub fn from_number(number: i64, lenient: bool) -> Option<Date> {
        DateTime::from_number(number, lenient).map(DateTime::date)
    }
}

/// Why a text is no time.
enum NoTime {
    Wrong,
    /// See `Time::is_given_up`.
    GivenUp,
}

impl Time {
    /// '[-][D ]HH:MM:SS[.f]', 'HH:MM', '[-]HHMMSS', 'SS', or the time of a full datetime. Too large a value is
    /// clipped and flagged.
    pub fn parse(text: &[u8]) -> Option<Parsed<Time>> {
        Time::read(text).ok()
    }

    /// Whether MySQL reads a text no further without a word about it: numbers with an exponent and those beyond 32 bits. A column
    /// keeps 00:00:00 of it.
    pub fn is_given_up(text: &[u8]) -> bool {
        matches!(Time::read(text), Err(NoTime::GivenUp))
    }

    fn read(text: &[u8]) -> Result<Parsed<Time>, NoTime> {
        let mut cursor = Cursor { text, at: 0 };
        cursor.skip_spaces();
        let is_negative = cursor.peek() == Some(b'-');
        if is_negative {
            cursor.at += 1;
        }
        if cursor.rest().len() >= 12 && is_no_datetime(cursor.rest()) {
            return Err(NoTime::Wrong);
        }
        // Long texts are dates with times first of all; a date alone is read as a time all the same.
        let rest = cursor.rest();
        if rest.len() >= 12 && !is_negative && looks_like_datetime(rest) && !has_wrong_offset(rest) {
            let (mut parsed, is_date_only) = read_datetime(cursor.rest(), false).ok_or(NoTime::Wrong)?;
            parsed.delimiter = leading_space(text);
            return if is_date_only { Err(NoTime::Wrong) } else { Ok(parsed.map(DateTime::time)) };
        }
        let [days, hours, minutes, seconds] = read_clock(&mut cursor).ok_or(NoTime::Wrong)?;
        let is_too_long = has_long_number(&text[..cursor.at]);
        let (micros, rounds_up) = read_fraction(&mut cursor);
        if is_too_long || has_exponent(cursor.rest()) {
            return Err(NoTime::GivenUp);
        }
        if minutes > 59 || seconds > 59 {
            return Err(NoTime::Wrong);
        }
        let hours = days.saturating_mul(24).saturating_add(hours).min(1_000_000);
        let whole = i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds);
        let total = whole * MICROS_PER_SECOND + i64::from(micros) + i64::from(rounds_up);
        let (value, is_clipped) = clip(if is_negative { -total } else { total });
        Ok(Parsed {
            value,
            truncated: is_clipped || cursor.has_garbage(),
            offset_seconds: None,
            delimiter: leading_space(text).or_else(|| trailing_space(&cursor)),
        })
    }

    /// HHMMSS as a number; numbers of a whole datetime give its time.
    pub fn from_number(number: i64) -> Option<Parsed<Time>> {
        let magnitude = number.unsigned_abs();
        if magnitude > 8_385_959 {
            let moment = DateTime::from_number(number, false).filter(|_| number >= 10_000_000_000)?;
            return Some(Parsed::whole(moment.time()));
        }
        let [minutes, seconds] = [magnitude / 100 % 100, magnitude % 100].map(|part| part as u8);
        Time::new(number < 0, (magnitude / 10_000) as u16, minutes, seconds, 0).map(Parsed::whole)
    }
}

/// Text is cut to 838:59:59 without a fraction, although arithmetic may go up to 838:59:59.999999.
fn clip(micros: i64) -> (Time, bool) {
    let clipped = micros.clamp(Time::MIN.to_micros(), Time::MAX.to_micros());
    (Time::from_micros(clipped).expect("clamped into the range"), clipped != micros)
}

/// A number with letters behind it, of which a date with a time is read in vain.
fn is_no_datetime(text: &[u8]) -> bool {
    const DATE_DIGITS: usize = 8;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_followed = text.get(digits).is_some_and(|byte| {
        byte.is_ascii_alphabetic() && *byte != b'T' || byte.is_ascii_control() && !byte.is_ascii_whitespace()
    });
    (1..DATE_DIGITS).contains(&digits) && is_followed
}

/// A date followed by something that starts like a time: its failure is not retried as a time.
fn looks_like_datetime(text: &[u8]) -> bool {
    let mut cursor = Cursor { text, at: 0 };
    match read_parts(&mut cursor) {
        Some(parts) => {
            (parts.count > 3 || parts.count == 3 && parts.has_space) && !parts.is_delimited_without_space
        }
        None => false,
    }
}

/// A moment with a sign behind it that begins no offset. It is read as a time all the same.
fn has_wrong_offset(text: &[u8]) -> bool {
    let mut cursor = Cursor { text, at: 0 };
    let Some(parts) = read_parts(&mut cursor) else { return false };
    if parts.lengths[FRACTION] == 6 {
        cursor.number(usize::MAX);
    }
    parts.count >= 6 && read_offset(&mut cursor).is_none()
}

/// Days, hours, minutes and seconds of `[D ]H:M:S`, `[D ]H:M`, `D H`, or `HHMMSS` without colons.
fn read_clock(cursor: &mut Cursor<'_>) -> Option<[u32; 4]> {
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

/// Whether one of the numbers is beyond 32 bits.
fn has_long_number(text: &[u8]) -> bool {
    let is_long = |digits: &[u8]| {
        let digits = digits.iter().skip_while(|digit| **digit == b'0');
        let number = digits
            .fold(0u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        number > u64::from(u32::MAX)
    };
    text.split(|byte| !byte.is_ascii_digit()).any(is_long)
}

/// Whether a number goes on with an exponent, which no time has.
fn has_exponent(rest: &[u8]) -> bool {
    match rest {
        [b'e' | b'E', b'+' | b'-', digit, ..] | [b'e' | b'E', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
}

/// Microseconds after a point, and whether a seventh digit rounds them up.
fn read_fraction(cursor: &mut Cursor<'_>) -> (u32, bool) {
    if cursor.peek() != Some(b'.') {
        return (0, false);
    }
    cursor.at += 1;
    let (number, length) = cursor.number(6);
    let micros = number * 10u32.pow(6 - length as u32);
    let rounds_up = cursor.peek().is_some_and(|byte| (b'5'..=b'9').contains(&byte));
    cursor.number(usize::MAX);
    (micros, rounds_up)
}
