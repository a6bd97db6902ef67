//! DATE_FORMAT, TIME_FORMAT and STR_TO_DATE: moments to text and back by a format of `%` letters.
//!
//! Names of months and days are English; `lc_time_names` has no other value.
use datum::{ColumnType, Date, DateTime, SqlError, SqlMode, Time, TypeKind, Value};

use super::infer::{cast_datetime, cast_text, cast_time, made_text};
use crate::build::BindContext;
use crate::expr::{Coercibility, Expr, ExprType};
use crate::function::Volatility::Pure;
use crate::function::{Arguments, Function};

type Infer = fn(&BindContext, &'static str, &mut [Expr]) -> Result<ExprType, SqlError>;
type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(name: &'static str, infer: Infer, evaluate: Evaluate) -> Function {
    Function { name, arguments_min: 2, arguments_max: 2, volatility: Pure, infer, evaluate }
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry("date_format", infer_date_format, date_format),
    entry("time_format", infer_time_format, time_format),
    entry("str_to_date", infer_str_to_date, str_to_date),
];

pub(super) const DAY_NAMES: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub(super) const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn infer_date_format(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_datetime(bind, &mut arguments[0])?;
    cast_text(bind, &mut arguments[1])?;
    Ok(made_text(bind, 1024))
}

fn infer_time_format(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_time(bind, &mut arguments[0])?;
    cast_text(bind, &mut arguments[1])?;
    Ok(made_text(bind, 1024))
}

/// A constant format decides between DATE, TIME and DATETIME by the letters in it.
fn infer_str_to_date(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    cast_text(bind, &mut arguments[1])?;
    let kind = match bind.decisive(&arguments[1]) {
        Some(Value::Bytes(format)) => format_kind(&format),
        _ => TypeKind::DateTime { fsp: 6 },
    };
    Ok(ExprType::new(ColumnType::new(kind), Coercibility::Numeric))
}

fn format_kind(format: &[u8]) -> TypeKind {
    let letters = || format.windows(2).filter(|pair| pair[0] == b'%').map(|pair| pair[1]);
    let has_date = letters().any(|letter| b"abcdDejmMuUvVwWxXyY".contains(&letter));
    let has_time = letters().any(|letter| b"fHhIiklprsST".contains(&letter));
    let fsp = if letters().any(|letter| letter == b'f') { 6 } else { 0 };
    match (has_date, has_time) {
        (true, false) => TypeKind::Date,
        (false, true) => TypeKind::Time { fsp },
        _ => TypeKind::DateTime { fsp },
    }
}

fn date_format(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(moment), Some(format)) = (arguments.datetime(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    if format.is_empty() {
        return Ok(Value::Null);
    }
    Ok(Value::Bytes(format_datetime(moment, &format)))
}

/// Hours may exceed 23; letters of dates give NULL, as they have no meaning.
fn time_format(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(time), Some(format)) = (arguments.time(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
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
            (b'%', Some(letter)) if b"abcDdejMmUuVvWwXxYy".contains(&letter) => return Ok(Value::Null),
            (b'%', Some(letter)) => out.push(letter),
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

/// DATE_FORMAT's text. A letter without meaning stands for itself.
pub(super) fn format_datetime(moment: DateTime, format: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(format.len() * 2);
    let clock = Clock::of_time(moment.time());
    let mut letters = format.iter().copied();
    while let Some(byte) = letters.next() {
        match (byte, if byte == b'%' { letters.next() } else { None }) {
            (b'%', Some(letter)) => {
                if !clock.write(letter, &mut out) {
                    write_date_letter(moment.date(), letter, &mut out);
                }
            }
            (other, _) => out.push(other),
        }
    }
    out
}

fn write_date_letter(date: Date, letter: u8, out: &mut Vec<u8>) {
    let (year, month, day) = (date.year(), date.month(), date.day());
    let month_name = MONTH_NAMES.get(usize::from(month).wrapping_sub(1)).copied().unwrap_or("");
    let day_name = if date.is_zero() { "" } else { DAY_NAMES[usize::from(date.weekday())] };
    let text = match letter {
        b'a' => day_name.get(..3).unwrap_or("").to_string(),
        b'b' => month_name.get(..3).unwrap_or("").to_string(),
        b'c' => month.to_string(),
        b'D' => format!("{day}{}", ordinal_suffix(day)),
        b'd' => format!("{day:02}"),
        b'e' => day.to_string(),
        b'j' => format!("{:03}", date.day_of_year()),
        b'M' => month_name.to_string(),
        b'm' => format!("{month:02}"),
        b'U' => format!("{:02}", date.week(0).1),
        b'u' => format!("{:02}", date.week(1).1),
        b'V' => format!("{:02}", date.week(2).1),
        b'v' => format!("{:02}", date.week(3).1),
        b'W' => day_name.to_string(),
        b'w' => ((date.weekday() + 1) % 7).to_string(),
        b'X' => format!("{:04}", date.week(2).0),
        b'x' => format!("{:04}", date.week(3).0),
        b'Y' => format!("{year:04}"),
        b'y' => format!("{:02}", year % 100),
        other => {
            out.push(other);
            return;
        }
    };
    out.extend_from_slice(text.as_bytes());
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

#[derive(Default)]
struct Found {
    year: u32,
    month: u32,
    day: u32,
    day_of_year: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    /// `%p` was seen, and whether it said PM.
    afternoon: Option<bool>,
    twelve_hours: bool,
}

/// Text that does not fit the format gives NULL and warning 1411.
fn str_to_date(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(format)) = (arguments.text(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    let mut found = Found::default();
    let moment = read_format(&text, &format, &mut found).and_then(|()| found.moment());
    let mode = arguments.context.settings.sql_mode;
    let is_time_only = matches!(arguments.ty.column.kind, TypeKind::Time { .. });
    let is_forbidden = |date: Date| {
        (date.is_zero() && mode.contains(SqlMode::NO_ZERO_DATE))
            || (date.has_zero_part() && mode.contains(SqlMode::NO_ZERO_IN_DATE))
    };
    let moment = moment.filter(|(date, _)| is_time_only || !is_forbidden(*date));
    match (moment, &arguments.ty.column.kind) {
        (Some((date, _)), TypeKind::Date) => Ok(Value::Date(date)),
        (Some((_, time)), TypeKind::Time { .. }) => Ok(Value::Time(time)),
        (Some((date, time)), _) => {
            let [hour, minute, second] = [time.hours() as u8, time.minutes(), time.seconds()];
            let moment = DateTime::new(date, hour, minute, second, time.micros());
            Ok(moment.map_or(Value::Null, Value::DateTime))
        }
        (None, _) => {
            let shown = String::from_utf8_lossy(&text).into_owned();
            let warning = datum::error_code::ER_WRONG_VALUE_FOR_TYPE;
            arguments.context.warn(warning.with(&[&"datetime", &shown, &"str_to_date"]));
            Ok(Value::Null)
        }
    }
}

impl Found {
    fn moment(&self) -> Option<(Date, Time)> {
        let mut hour = self.hour;
        if self.twelve_hours {
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if self.afternoon == Some(true) { 12 } else { 0 };
        }
        let part = |number: u32| u8::try_from(number).ok();
        let year = u16::try_from(self.year).ok()?;
        let date = if self.day_of_year > 0 {
            Date::new(year, 1, 1)?.add_days(i64::from(self.day_of_year) - 1)?
        } else {
            Date::new(year, part(self.month)?, part(self.day)?)?
        };
        let time =
            Time::new(false, u16::try_from(hour).ok()?, part(self.minute)?, part(self.second)?, self.micros)?;
        (hour < 24).then_some((date, time))
    }
}

/// Follows the format through the text; spaces match any amount of white space.
fn read_format(text: &[u8], format: &[u8], found: &mut Found) -> Option<()> {
    let mut rest = text;
    let mut letters = format.iter().copied();
    while let Some(byte) = letters.next() {
        if byte.is_ascii_whitespace() {
            rest = rest.trim_ascii_start();
        } else if byte == b'%' {
            let letter = letters.next()?;
            if !matches!(letter, b'%') {
                rest = rest.trim_ascii_start();
            }
            rest = read_letter(letter, rest, found)?;
        } else {
            rest = rest.trim_ascii_start().strip_prefix(&[byte])?;
        }
    }
    Some(())
}

fn number(text: &[u8], most: usize) -> Option<(u32, &[u8])> {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    (count > 0).then(|| (digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')), rest))
}

fn name<'t>(text: &'t [u8], names: &[&str], length: Option<usize>) -> Option<(u32, &'t [u8])> {
    let index = names.iter().position(|name| {
        let name = &name.as_bytes()[..length.unwrap_or(name.len())];
        text.len() >= name.len() && text[..name.len()].eq_ignore_ascii_case(name)
    })?;
    let used = length.unwrap_or(names[index].len());
    Some((index as u32 + 1, &text[used..]))
}

fn read_letter<'t>(letter: u8, text: &'t [u8], found: &mut Found) -> Option<&'t [u8]> {
    let (target, (value, rest)): (&mut u32, (u32, &[u8])) = match letter {
        b'Y' => (&mut found.year, number(text, 4)?),
        b'y' => {
            let (short, rest) = number(text, 2)?;
            (&mut found.year, (if short < 70 { 2000 + short } else { 1900 + short }, rest))
        }
        b'm' | b'c' => (&mut found.month, number(text, 2)?),
        b'M' => (&mut found.month, name(text, &MONTH_NAMES, None)?),
        b'b' => (&mut found.month, name(text, &MONTH_NAMES, Some(3))?),
        b'd' | b'e' => (&mut found.day, number(text, 2)?),
        b'D' => {
            let (day, rest) = number(text, 2)?;
            (&mut found.day, (day, rest.get(2..)?))
        }
        b'j' => (&mut found.day_of_year, number(text, 3)?),
        b'H' | b'k' => (&mut found.hour, number(text, 2)?),
        b'h' | b'I' | b'l' => {
            found.twelve_hours = true;
            (&mut found.hour, number(text, 2)?)
        }
        b'i' => (&mut found.minute, number(text, 2)?),
        b's' | b'S' => (&mut found.second, number(text, 2)?),
        b'f' => {
            let (value, rest) = number(text, 6)?;
            let scale = 10u32.pow(6 - (text.len() - rest.len()) as u32);
            (&mut found.micros, (value * scale, rest))
        }
        b'p' => {
            found.afternoon = Some(text.first()?.eq_ignore_ascii_case(&b'P'));
            return text.get(2..);
        }
        b'T' => {
            read_format(text, b"%H:%i:%S", found)?;
            return text.get(8..);
        }
        b'r' => {
            read_format(text, b"%I:%i:%S %p", found)?;
            return text.get(11..);
        }
        b'W' => return name(text, &DAY_NAMES, None).map(|(_, rest)| rest),
        b'a' => return name(text, &DAY_NAMES, Some(3)).map(|(_, rest)| rest),
        b'%' => return text.strip_prefix(b"%"),
        _ => return None,
    };
    *target = value;
    Some(rest)
}
