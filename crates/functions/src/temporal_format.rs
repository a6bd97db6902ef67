//! DATE_FORMAT and TIME_FORMAT: moments to text by a format of `%` letters; names are those of `lc_time_names`.
use datum::{Date, DateTime, Locale, SqlError, Time, Value};

use expression::BindContext;
use expression::Volatility::Pure;
use expression::call::MomentOrTime;
use expression::call::infer::{cast_datetime, cast_text, made_text};
use expression::call::width::text_width;
use expression::{Arguments, Function};
use expression::{Expr, ExprKind, ExprType};

type Infer = fn(&BindContext, &'static str, &mut [Expr]) -> Result<ExprType, SqlError>;
type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(name: &'static str, infer: Infer, evaluate: Evaluate) -> Function {
    Function { name, arguments_min: 2, arguments_max: 2, volatility: Pure, infer, evaluate }
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry("date_format", infer_date_format, date_format),
    entry("time_format", infer_time_format, time_format),
];

fn infer_date_format(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_datetime(bind, &mut arguments[0])?;
    Ok(made_text(bind, format_width(bind, &mut arguments[1])?))
}

fn infer_time_format(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(made_text(bind, format_width(bind, &mut arguments[1])?))
}

/// The characters that a format makes: of one that is not known each may be a name.
pub(super) fn format_width(bind: &BindContext, format: &mut Expr) -> Result<u64, SqlError> {
    const WIDTH_OF_KNOWN: u64 = 1024;
    const NAME_WIDTH: u64 = 10;
    let written = match &format.kind {
        ExprKind::Literal(Value::Bytes(letters)) => Some(written_width(letters)),
        _ => None,
    };
    let is_known = bind.peek(format).is_some_and(|value| !value.is_null());
    cast_text(bind, format)?;
    Ok(match written {
        Some(width) => width,
        None if is_known => WIDTH_OF_KNOWN,
        None => text_width(format) * NAME_WIDTH,
    })
}

/// The characters that a format makes at most: names may be long in other languages, hours have up to seven digits.
fn written_width(format: &[u8]) -> u64 {
    let mut width = 0;
    let mut letters = format.iter();
    while let Some(letter) = letters.next() {
        let letter = if *letter == b'%' { letters.next() } else { None };
        width += match letter {
            None => 1,
            Some(b'M' | b'W') => 64,
            Some(b'D' | b'Y' | b'x' | b'X') => 4,
            Some(b'a' | b'b') => 32,
            Some(b'j') => 3,
            Some(
                b'U' | b'u' | b'V' | b'v' | b'y' | b'm' | b'd' | b'h' | b'I' | b'i' | b'l' | b'p' | b'S'
                | b's' | b'c' | b'e',
            ) => 2,
            Some(b'k' | b'H') => 7,
            Some(b'r') => 11,
            Some(b'T') => 8,
            Some(b'f') => 6,
            Some(b'w' | b'%') => 1,
            Some(_) => 0,
        };
    }
    width
}

fn date_format(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(moment), Some(format)) = (arguments.datetime(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    if format.is_empty() {
        return Ok(Value::Null);
    }
    let locale = arguments.context.settings.locale;
    Ok(format_datetime(moment, &format, locale).map_or(Value::Null, Value::Bytes))
}

/// Hours may exceed 23; names of months and days, and weeks, make the result NULL.
fn time_format(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(start), Some(format)) = (arguments.formatted_moment(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    if format.is_empty() {
        return Ok(Value::Null);
    }
    let locale = arguments.context.settings.locale;
    let (date, time) = match start {
        MomentOrTime::Moment(moment) => (moment.date(), moment.time()),
        MomentOrTime::Time(time) => (Date::ZERO, time),
    };
    let mut out = Vec::new();
    let clock = Clock::of_time(time);
    if time.is_negative() {
        out.push(b'-');
    }
    let mut letters = format.iter().copied();
    while let Some(byte) = letters.next() {
        match (byte, if byte == b'%' { letters.next() } else { None }) {
            (b'%', Some(letter)) if clock.write(letter, &mut out) => {}
            (b'%', Some(letter)) if b"abjMUuVvWwXx".contains(&letter) => {
                return Ok(Value::Null);
            }
            (b'%', Some(letter)) => {
                if write_date_letter(date, letter, locale, &mut out).is_none() {
                    return Ok(Value::Null);
                }
            }
            (other, _) => out.push(other),
        }
    }
    Ok(Value::Bytes(out))
}

/// The time-of-day letters, shared by both formats.
struct Clock {
    hours: u32,
    minutes: u8,
    seconds: u8,
    micros: u32,
}

impl Clock {
    fn of_time(time: Time) -> Clock {
        Clock {
            hours: u32::from(time.hours()),
            minutes: time.minutes(),
            seconds: time.seconds(),
            micros: time.micros(),
        }
    }

    /// Whether the letter is one of time.
    fn write(&self, letter: u8, out: &mut Vec<u8>) -> bool {
        let (hours, minutes, seconds) = (self.hours, self.minutes, self.seconds);
        let of_twelve = (hours % 24 + 11) % 12 + 1;
        let half = if hours % 24 < 12 { "AM" } else { "PM" };
        let text = match letter {
            b'H' => format!("{hours:02}"),
            b'k' => hours.to_string(),
            b'h' | b'I' => format!("{of_twelve:02}"),
            b'l' => of_twelve.to_string(),
            b'i' => format!("{minutes:02}"),
            b's' | b'S' => format!("{seconds:02}"),
            b'f' => format!("{:06}", self.micros),
            b'p' => half.to_string(),
            b'r' => format!("{of_twelve:02}:{minutes:02}:{seconds:02} {half}"),
            b'T' => format!("{hours:02}:{minutes:02}:{seconds:02}"),
            _ => return false,
        };
        out.extend_from_slice(text.as_bytes());
        true
    }
}

/// DATE_FORMAT's text. A letter without meaning stands for itself; `None` where a name is asked for that the date has not.
pub(super) fn format_datetime(moment: DateTime, format: &[u8], locale: &Locale) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(format.len() * 2);
    let clock = Clock::of_time(moment.time());
    let mut letters = format.iter().copied();
    while let Some(byte) = letters.next() {
        match (byte, if byte == b'%' { letters.next() } else { None }) {
            (b'%', Some(letter)) => {
                if !clock.write(letter, &mut out) {
                    write_date_letter(moment.date(), letter, locale, &mut out)?;
                }
            }
            (other, _) => out.push(other),
        }
    }
    Some(out)
}

/// `None` for the name of the month 0, and for a day of the week without year and month.
fn write_date_letter(date: Date, letter: u8, locale: &Locale, out: &mut Vec<u8>) -> Option<()> {
    let (year, month, day) = (date.year(), date.month(), date.day());
    let of_month = |names: &[&'static str]| Some(names.get(usize::from(month).checked_sub(1)?)?.to_string());
    let weekday = (year != 0 || month != 0).then(|| date.weekday());
    let of_day = |names: &[&'static str]| Some(names[usize::from(weekday?)].to_string());
    let text = match letter {
        b'a' => of_day(&locale.short_days)?,
        b'b' => of_month(&locale.short_months)?,
        b'c' => month.to_string(),
        b'D' => format!("{day}{}", ordinal_suffix(day)),
        b'd' => format!("{day:02}"),
        b'e' => day.to_string(),
        b'j' => format!("{:03}", date.day_of_year()),
        b'M' => of_month(&locale.months)?,
        b'm' => format!("{month:02}"),
        b'U' => format!("{:02}", date.week(0).1),
        b'u' => format!("{:02}", date.week(1).1),
        b'V' => format!("{:02}", date.week(2).1),
        b'v' => format!("{:02}", date.week(3).1),
        b'W' => of_day(&locale.days)?,
        b'w' => ((weekday? + 1) % 7).to_string(),
        b'X' => format!("{:04}", date.week(2).0),
        b'x' => format!("{:04}", date.week(3).0),
        b'Y' => format!("{year:04}"),
        b'y' => format!("{:02}", year % 100),
        other => {
            out.push(other);
            return Some(());
        }
    };
    out.extend_from_slice(text.as_bytes());
    Some(())
}

fn ordinal_suffix(day: u8) -> &'static str {
    match (day / 10, day % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}
