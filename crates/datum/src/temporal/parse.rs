//! Dates and times from text and numbers, with everything MySQL's relaxed formats allow.
//!
//! Text: any punctuation between parts, 'T' or spaces before the time, two-digit years (70-99 are 19xx), parts
//! without delimiters by their count of digits, up to 6 fractional digits (a seventh rounds), an offset at the
//! end. Rules: MySQL manual, "Date and Time Literals". Bytes that are no date give `None`, never a panic.
use super::{Date, DateTime, MICROS_PER_SECOND, Time};
use crate::time_zone::parse_offset;

/// A value read from text and whether text was left over, clipped or otherwise lost (warning 1292).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    pub value: T,
    pub truncated: bool,
    /// The offset from UTC in seconds that a datetime literal carried.
    pub offset_seconds: Option<i32>,
}

impl<T> Parsed<T> {
    fn whole(value: T) -> Parsed<T> {
        Parsed { value, truncated: false, offset_seconds: None }
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Parsed<U> {
        Parsed { value: change(self.value), truncated: self.truncated, offset_seconds: self.offset_seconds }
    }
}

/// The text that is not yet read.
struct Reader<'t> {
    rest: &'t [u8],
}

impl<'t> Reader<'t> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn digits_ahead(&self) -> usize {
        self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// Reads at most `most` digits as a number; `None` if there is no digit.
    fn number(&mut self, most: usize) -> Option<u32> {
        let count = self.digits_ahead().min(most).min(9);
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        (count > 0).then(|| digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
    }

    fn skip(&mut self, accepts: impl Fn(u8) -> bool) -> bool {
        let skipped = self.peek().is_some_and(accepts);
        self.rest = &self.rest[usize::from(skipped)..];
        skipped
    }

    fn skip_punctuation(&mut self) -> bool {
        let mut any = false;
        while self.skip(|byte| byte.is_ascii_punctuation()) {
            any = true;
        }
        any
    }

    fn offset_ahead(&self) -> bool {
        matches!(self.peek(), Some(b'+' | b'-')) && parse_offset(self.rest.trim_ascii_end()).is_some()
    }

    /// The digits after a decimal point in microseconds; the seventh rounds, so the result may be 1,000,000.
    fn fraction(&mut self) -> u32 {
        let count = self.digits_ahead();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        let kept = (0..6).fold(0, |micros, place| {
            micros * 10 + digits.get(place).map_or(0, |digit| u32::from(digit - b'0'))
        });
        kept + u32::from(digits.get(6).is_some_and(|digit| *digit >= b'5'))
    }
}

fn full_year(year: u32, digits: usize) -> u32 {
    match year {
        0..=69 if digits <= 2 => 2000 + year,
        70..=99 if digits <= 2 => 1900 + year,
        _ => year,
    }
}

struct Parts {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
}

impl Parts {
    fn build(&self, lenient: bool) -> Option<DateTime> {
        let year = u16::try_from(self.year).ok()?;
        let [month, day, hour, minute, second] =
            [self.month, self.day, self.hour, self.minute, self.second].map(|part| u8::try_from(part).ok());
        let new = if lenient { Date::new_lenient } else { Date::new };
        let date = new(year, month?, day?)?;
        if self.micros < 1_000_000 {
            return DateTime::new(date, hour?, minute?, second?, self.micros);
        }
        DateTime::new(date, hour?, minute?, second?, 0)?.add_micros(MICROS_PER_SECOND)
    }
}

impl DateTime {
    /// `lenient` allows days that the month does not have (SQL mode ALLOW_INVALID_DATES).
    pub fn parse(text: &[u8], lenient: bool) -> Option<Parsed<DateTime>> {
        let mut reader = Reader { rest: text };
        reader.skip_spaces();
        let digits = reader.digits_ahead();
        if digits == 0 {
            return None;
        }
        let delimited = digits <= 4 || (digits == 5 && reader.rest.get(5).is_some_and(|byte| *byte != b'.'));
        let delimited = delimited && reader.rest.len() > digits;
        let parts =
            if delimited { delimited_parts(&mut reader)? } else { packed_parts(&mut reader, digits)? };
        let offset_seconds = trailing_offset(&mut reader);
        reader.skip_spaces();
        let value = parts.build(lenient)?;
        Some(Parsed { value, truncated: !reader.rest.is_empty(), offset_seconds })
    }

    /// YYYYMMDD, YYMMDD, YYYYMMDDHHMMSS or YYMMDDHHMMSS.
    pub fn from_number(number: i64, lenient: bool) -> Option<DateTime> {
        let full = match number {
            0 => return Some(DateTime::ZERO),
            10_000_101_000_000.. => number,
            101..=691_231 => (number + 20_000_000) * 1_000_000,
            700_101..=991_231 => (number + 19_000_000) * 1_000_000,
            10_000_101..=99_991_231 => number * 1_000_000,
            101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
            700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
            _ => return None,
        };
        let part = |unit: i64, size: i64| (full / unit % size) as u32;
        let parts = Parts {
            year: u32::try_from(full / 10_000_000_000).ok()?,
            month: part(100_000_000, 100),
            day: part(1_000_000, 100),
            hour: part(10_000, 100),
            minute: part(100, 100),
            second: part(1, 100),
            micros: 0,
        };
        parts.build(lenient)
    }
}

fn delimited_parts(reader: &mut Reader<'_>) -> Option<Parts> {
    let year_digits = reader.digits_ahead();
    let year = full_year(reader.number(5)?, year_digits);
    if !reader.skip_punctuation() {
        return None;
    }
    let month = reader.number(2)?;
    if !reader.skip_punctuation() {
        return None;
    }
    let day = reader.number(2)?;
    let mut parts = Parts { year, month, day, hour: 0, minute: 0, second: 0, micros: 0 };
    if month == 0 && day == 0 && year_digits <= 2 && year == 2000 {
        parts.year = 0; // '00-00-00' is the zero date.
    }
    let before_time = reader.rest;
    let separated = match reader.peek() {
        Some(b'T') => reader.skip(|_| true),
        Some(byte) if byte.is_ascii_whitespace() => {
            reader.skip_spaces();
            true
        }
        _ => reader.skip_punctuation(),
    };
    if separated && reader.digits_ahead() > 0 {
        read_time_of_day(reader, &mut parts);
    } else {
        reader.rest = before_time;
    }
    Some(parts)
}

fn read_time_of_day(reader: &mut Reader<'_>, parts: &mut Parts) {
    parts.hour = reader.number(2).unwrap_or(0);
    let mut fields = [&mut parts.minute, &mut parts.second].into_iter();
    while reader.peek().is_some_and(|byte| byte.is_ascii_punctuation()) && !reader.offset_ahead() {
        let Some(field) = fields.next() else { break };
        let before = reader.rest;
        reader.skip_punctuation();
        match reader.number(2) {
            Some(number) => *field = number,
            None => {
                reader.rest = before;
                return;
            }
        }
    }
    if reader.peek() == Some(b'.') {
        reader.skip(|_| true);
        parts.micros = reader.fraction();
    }
}

/// Parts without delimiters: 14 or 8 digits have a year of four, others of two.
fn packed_parts(reader: &mut Reader<'_>, digits: usize) -> Option<Parts> {
    let year_digits = if digits == 8 || digits >= 14 || digits == 4 { 4 } else { 2 };
    let year = full_year(reader.number(year_digits)?, year_digits);
    let month = reader.number(2)?;
    let day = reader.number(2)?;
    let mut parts = Parts { year, month, day, hour: 0, minute: 0, second: 0, micros: 0 };
    if digits <= 6 && month == 0 && day == 0 && year == 2000 {
        parts.year = 0;
    }
    if reader.peek() == Some(b'T') && reader.rest.get(1).is_some_and(u8::is_ascii_digit) {
        reader.skip(|_| true);
    }
    for field in [&mut parts.hour, &mut parts.minute, &mut parts.second] {
        *field = reader.number(2).unwrap_or(0);
    }
    if digits >= 12 && reader.peek() == Some(b'.') {
        reader.skip(|_| true);
        parts.micros = reader.fraction();
    }
    Some(parts)
}

fn trailing_offset(reader: &mut Reader<'_>) -> Option<i32> {
    if !matches!(reader.peek(), Some(b'+' | b'-')) {
        return None;
    }
    let offset = parse_offset(reader.rest.trim_ascii_end())?;
    reader.rest = &[];
    Some(offset)
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

impl Time {
    /// '[-][D ]HH:MM:SS[.f]', 'HH:MM', '[-]HHMMSS', 'SS', or the time of a full datetime. Too large a value is
    /// clipped and flagged.
    pub fn parse(text: &[u8]) -> Option<Parsed<Time>> {
        let trimmed = text.trim_ascii();
        let (negative, body) = match trimmed.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, trimmed),
        };
        let looks_like_datetime = !negative
            && body.len() >= 12
            && (body.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
                || body.get(4).is_some_and(|byte| matches!(byte, b'-' | b'/' | b'.'))
                || body.get(2).is_some_and(|byte| matches!(byte, b'-' | b'/')));
        if looks_like_datetime && let Some(parsed) = DateTime::parse(body, true) {
            return Some(parsed.map(DateTime::time));
        }
        let mut reader = Reader { rest: body };
        let magnitude = span_micros(&mut reader)?;
        let (value, clipped) = Time::clipped(if negative { -magnitude } else { magnitude });
        Some(Parsed { value, truncated: clipped || !reader.rest.is_empty(), offset_seconds: None })
    }

    /// HHMMSS; numbers of a whole datetime give its time. The flag tells that the value was clipped.
    pub fn from_number(number: i64) -> Option<Parsed<Time>> {
        let magnitude = i64::try_from(number.unsigned_abs()).ok()?;
        if magnitude > 8_385_959 {
            if magnitude >= 10_000_000_000
                && let Some(moment) = DateTime::from_number(number, true)
            {
                return Some(Parsed::whole(moment.time()));
            }
            let value = if number < 0 { Time::MIN } else { Time::MAX };
            return Some(Parsed { value, truncated: true, offset_seconds: None });
        }
        let (hours, minutes, seconds) = (magnitude / 10_000, magnitude / 100 % 100, magnitude % 100);
        Time::new(number < 0, hours as u16, minutes as u8, seconds as u8, 0).map(Parsed::whole)
    }
}

fn span_micros(reader: &mut Reader<'_>) -> Option<i64> {
    let digits = reader.digits_ahead();
    let first = i64::from(reader.number(usize::MAX)?);
    if digits > 9 {
        return Some(i64::MAX / 2); // Beyond any time: clipped by the caller.
    }
    let after = reader.rest;
    let mut days = 0;
    let (hours, minutes, seconds);
    if reader.peek() == Some(b':') {
        (hours, minutes, seconds) = clock_parts(reader, first)?;
    } else if reader.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
        reader.skip_spaces();
        match reader.number(usize::MAX) {
            Some(number) => {
                days = first;
                (hours, minutes, seconds) = clock_parts(reader, i64::from(number))?;
            }
            None => {
                reader.rest = after;
                (hours, minutes, seconds) = (first / 10_000, first / 100 % 100, first % 100);
            }
        }
    } else {
        (hours, minutes, seconds) = (first / 10_000, first / 100 % 100, first % 100);
    }
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let mut micros = 0;
    if reader.skip(|byte| byte == b'.') {
        micros = i64::from(reader.fraction());
    }
    let total = days.min(10_000) * 86_400 + hours * 3600 + minutes * 60 + seconds;
    Some(total * MICROS_PER_SECOND + micros)
}

/// ':MM[:SS]' after the hours.
fn clock_parts(reader: &mut Reader<'_>, hours: i64) -> Option<(i64, i64, i64)> {
    let mut parts = [0i64; 2];
    for part in &mut parts {
        if reader.peek() == Some(b':') && reader.rest.get(1).is_some_and(u8::is_ascii_digit) {
            reader.skip(|_| true);
            *part = i64::from(reader.number(usize::MAX)?);
        }
    }
    Some((hours, parts[0], parts[1]))
}
