//! STR_TO_DATE: text to a moment by a format of `%` letters, as far as both reach.
//!
//! The text may end before the format does; what the format leaves over of it is cut with warning 1292. Names of
//! months and days are English whatever `lc_time_names` says.
use datum::{
    ColumnType, Date, DateTime, Locale, SqlError, SqlMode, Time, TypeKind, Value, error_code, shown,
    truncated,
};

use expression::BindContext;
use expression::Volatility::Pure;
use expression::call::infer::cast_text;
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[Function {
    name: "str_to_date",
    arguments_min: 2,
    arguments_max: 2,
    volatility: Pure,
    infer,
    evaluate: str_to_date,
}];

/// The last day of the year 9999.
const DAY_NUMBER_MAX: i64 = 3_652_424;

/// A constant format decides between DATE, TIME and DATETIME by the letters in it.
fn infer(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let kind = match bind.decisive(&arguments[1]) {
        None | Some(Value::Null) => TypeKind::DateTime { fsp: 6 },
        Some(format) => format_kind(&format.to_text(&arguments[1].ty.column)),
    };
    cast_text(bind, &mut arguments[0])?;
    cast_text(bind, &mut arguments[1])?;
    Ok(ExprType::new(ColumnType::new(kind), Coercibility::Numeric))
}

fn format_kind(format: &[u8]) -> TypeKind {
    let (mut has_date, mut has_time, mut fsp) = (false, false, 0);
    let mut bytes = format.iter();
    while let Some(byte) = bytes.next() {
        match if *byte == b'%' { bytes.next() } else { None } {
            Some(b'f') => (has_time, fsp) = (true, 6),
            Some(letter) if b"HISThiklrs".contains(letter) => has_time = true,
            Some(letter) if b"MVUXYWabcjmvuxyw".contains(letter) => has_date = true,
            _ => {}
        }
    }
    match (has_date, has_time) {
        (true, true) => TypeKind::DateTime { fsp },
        (false, true) => TypeKind::Time { fsp },
        _ => TypeKind::Date,
    }
}

/// What the letters have said.
#[derive(Default)]
struct Found {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    day_of_year: i64,
    /// 1 is Monday, 7 Sunday; 0 is not said.
    weekday: i64,
    week: Option<Week>,
    /// The year of `%X` (true) or `%x`.
    week_year: Option<(i64, bool)>,
    /// Hours go from 1 to 12, and PM adds 12 to them.
    is_of_twelve: bool,
    afternoon: i64,
}

#[derive(Clone, Copy)]
struct Week {
    number: i64,
    starts_on_sunday: bool,
    /// `%V` and `%v`, which belong to `%X` and `%x`.
    is_strict: bool,
}

/// NULL with warning 1411 where the text is not as the format says.
fn str_to_date(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(format)) = (arguments.text(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    let mut found = Found::default();
    let kind = &arguments.ty.column.kind;
    let rest = found.read(&text, &format).and_then(|rest| found.complete().map(|()| rest));
    let mode = arguments.context.settings.sql_mode;
    let is_forbidden = rest.is_some() && found.has_forbidden_zero(kind, mode);
    let value = rest.filter(|_| !is_forbidden).and_then(|_| found.value(kind, mode));
    match (value, rest) {
        (Some(value), Some(rest)) => {
            if !rest.trim_ascii().is_empty() {
                arguments.context.warn(truncated(kind_word(kind), &text));
            }
            Ok(value)
        }
        _ => {
            let warning = error_code::ER_WRONG_VALUE_FOR_TYPE;
            let word = if is_forbidden { "datetime" } else { kind_word(kind) };
            arguments.context.warn(warning.with(&[&word, &shown(&text), &"str_to_date"]));
            Ok(Value::Null)
        }
    }
}

fn kind_word(kind: &TypeKind) -> &'static str {
    match kind {
        TypeKind::Date => "date",
        TypeKind::Time { .. } => "time",
        _ => "datetime",
    }
}

/// Digits, as many as there are up to `most`.
fn number(text: &[u8], most: usize) -> Option<(i64, &[u8])> {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    (count > 0).then(|| (digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')), rest))
}

fn full_year(short: i64) -> i64 {
    match short {
        0..70 => short + 2000,
        70..100 => short + 1900,
        year => year,
    }
}

/// The word at the start of the text is one of the names or begins only one; gives its position from 1.
fn name<'t>(text: &'t [u8], names: &[&str]) -> Option<(i64, &'t [u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(length);
    if word.is_empty() {
        return None;
    }
    let begins = |name: &str| name.len() >= length && name.as_bytes()[..length].eq_ignore_ascii_case(word);
    let exact = names.iter().position(|name| name.len() == length && begins(name));
    let index = exact.or_else(|| {
        let mut matching = (0..names.len()).filter(|index| begins(names[*index]));
        matching.next().filter(|_| matching.next().is_none())
    })?;
    Some((index as i64 + 1, rest))
}

impl Found {
    /// Follows the format through the text; spaces match any white space. Gives what is left of the text.
    fn read<'t>(&mut self, text: &'t [u8], format: &[u8]) -> Option<&'t [u8]> {
        let mut rest = text;
        let mut letters = format.iter().copied().peekable();
        while letters.peek().is_some() && !rest.is_empty() {
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                break;
            }
            match letters.next()? {
                b'%' if letters.peek().is_some() => {
                    let letter = letters.next()?;
                    rest = self.letter(letter, rest)?;
                }
                byte if byte.is_ascii_whitespace() => {}
                byte => rest = rest.strip_prefix(&[byte])?,
            }
        }
        if self.is_of_twelve && !(1..=12).contains(&self.hour) {
            return None;
        }
        if std::mem::take(&mut self.is_of_twelve) {
            self.hour = self.hour % 12 + self.afternoon;
        }
        Some(rest)
    }

    fn letter<'t>(&mut self, letter: u8, text: &'t [u8]) -> Option<&'t [u8]> {
        let english = Locale::english();
        let (target, (value, rest)) = match letter {
            b'Y' => {
                let (year, rest) = number(text, 4)?;
                let is_short = text.len() - rest.len() <= 2;
                (&mut self.year, (if is_short { full_year(year) } else { year }, rest))
            }
            b'y' => (&mut self.year, number(text, 2).map(|(year, rest)| (full_year(year), rest))?),
            b'm' | b'c' => (&mut self.month, number(text, 2)?),
            b'M' => (&mut self.month, name(text, &english.months)?),
            b'b' => (&mut self.month, name(text, &english.short_months)?),
            b'd' | b'e' => (&mut self.day, number(text, 2)?),
            // `st`, `nd` and the like are not looked at.
            b'D' => {
                let (day, rest) = number(text, 2)?;
                (&mut self.day, (day, &rest[rest.len().min(2)..]))
            }
            b'h' | b'I' | b'l' => {
                self.is_of_twelve = true;
                (&mut self.hour, number(text, 2)?)
            }
            b'H' | b'k' => (&mut self.hour, number(text, 2)?),
            b'i' => (&mut self.minute, number(text, 2)?),
            b's' | b'S' => (&mut self.second, number(text, 2)?),
            b'f' => {
                let (micros, rest) = number(text, 6)?;
                (&mut self.micros, (micros * 10i64.pow(6 - (text.len() - rest.len()) as u32), rest))
            }
            b'j' => (&mut self.day_of_year, number(text, 3)?),
            b'W' => (&mut self.weekday, name(text, &english.days)?),
            b'a' => (&mut self.weekday, name(text, &english.short_days)?),
            b'w' => {
                let (day, rest) = number(text, 1).filter(|(day, _)| *day < 7)?;
                (&mut self.weekday, (if day == 0 { 7 } else { day }, rest))
            }
            b'p' if self.is_of_twelve => {
                let (half, rest) = text.split_at_checked(2)?;
                let hours = match half.to_ascii_uppercase().as_slice() {
                    b"AM" => 0,
                    b"PM" => 12,
                    _ => return None,
                };
                (&mut self.afternoon, (hours, rest))
            }
            _ => return self.rarer_letter(letter, text),
        };
        *target = value;
        Some(rest)
    }

    fn rarer_letter<'t>(&mut self, letter: u8, text: &'t [u8]) -> Option<&'t [u8]> {
        let skipped = |class: fn(&u8) -> bool| {
            let count = text.iter().take_while(|byte| class(byte)).count();
            Some(&text[count..])
        };
        match letter {
            b'U' | b'u' | b'V' | b'v' => {
                let (number, rest) = number(text, 2)?;
                let is_strict = matches!(letter, b'V' | b'v');
                if (is_strict && number == 0) || number > 53 {
                    return None;
                }
                let starts_on_sunday = matches!(letter, b'U' | b'V');
                self.week = Some(Week { number, starts_on_sunday, is_strict });
                Some(rest)
            }
            b'X' | b'x' => {
                let (year, rest) = number(text, 4)?;
                self.week_year = Some((year, letter == b'X'));
                Some(rest)
            }
            b'r' => self.read(text, b"%I:%i:%S %p"),
            b'T' => self.read(text, b"%H:%i:%S"),
            b'.' => skipped(u8::is_ascii_punctuation),
            b'@' => skipped(u8::is_ascii_alphabetic),
            b'#' => skipped(u8::is_ascii_digit),
            _ => None,
        }
    }

    /// Turns days of a year and weeks into dates and checks the ranges.
    fn complete(&mut self) -> Option<()> {
        let new_year = |year: i64| Some(Date::new(u16::try_from(year).ok()?, 1, 1)?.day_number());
        if self.day_of_year > 0 {
            self.set_day(new_year(self.year)? + self.day_of_year - 1)?;
        }
        if let Some(week) = self.week
            && self.weekday > 0
        {
            let first = match (week.is_strict, self.week_year) {
                (true, Some((year, is_sunday_year))) if is_sunday_year == week.starts_on_sunday => {
                    new_year(year)?
                }
                (false, None) => new_year(self.year)?,
                _ => return None,
            };
            let from_monday = (first + 5).rem_euclid(7);
            let offset = if week.starts_on_sunday {
                let from_sunday = (from_monday + 1) % 7;
                (if from_sunday == 0 { 0 } else { 7 }) - from_sunday
                    + (week.number - 1) * 7
                    + self.weekday % 7
            } else {
                (if from_monday <= 3 { 0 } else { 7 }) - from_monday + (week.number - 1) * 7 + self.weekday
                    - 1
            };
            self.set_day(first + offset)?;
        }
        let is_in_range =
            self.month <= 12 && self.day <= 31 && self.hour <= 23 && self.minute <= 59 && self.second <= 59;
        is_in_range.then_some(())
    }

    fn set_day(&mut self, number: i64) -> Option<()> {
        let date =
            Date::from_day_number(number).filter(|date| date.year() > 0 && number <= DAY_NUMBER_MAX)?;
        (self.year, self.month, self.day) =
            (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
        Some(())
    }

    /// Whether there is a date with a zero in it, also one of which only the day is said, and the mode forbids that.
    fn has_forbidden_zero(&self, kind: &TypeKind, mode: SqlMode) -> bool {
        let has_date = !matches!(kind, TypeKind::Time { .. }) || self.day > 0;
        let has_zero = self.year == 0 || self.month == 0 || self.day == 0;
        has_date && has_zero && mode.contains(SqlMode::NO_ZERO_DATE)
    }

    fn value(&self, kind: &TypeKind, mode: SqlMode) -> Option<Value> {
        let small = |number: i64| u8::try_from(number).ok();
        let (minute, second) = (small(self.minute)?, small(self.second)?);
        let micros = u32::try_from(self.micros).ok()?;
        if matches!(kind, TypeKind::Time { .. }) {
            // A day, which no letter of a TIME asks for, is so many hours.
            let hours = u16::try_from(self.hour + self.day * 24).ok()?;
            return Time::new(false, hours, minute, second, micros).map(Value::Time);
        }
        let new = if mode.contains(SqlMode::ALLOW_INVALID_DATES) { Date::new_lenient } else { Date::new };
        let date = new(u16::try_from(self.year).ok()?, small(self.month)?, small(self.day)?)?;
        let is_forbidden = (date.is_zero() && mode.contains(SqlMode::NO_ZERO_DATE))
            || (date.has_zero_part() && mode.contains(SqlMode::NO_ZERO_IN_DATE));
        match kind {
            _ if is_forbidden => None,
            TypeKind::Date => Some(Value::Date(date)),
            _ => DateTime::new(date, small(self.hour)?, minute, second, micros).map(Value::DateTime),
        }
    }
}
