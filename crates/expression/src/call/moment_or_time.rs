//! Values that are a moment or a time by what they look like: text for ADDTIME, TIMEDIFF, EXTRACT and TIME_FORMAT.
use datum::{DateTime, SqlError, Time, Value, error_code, shown, truncated};

use crate::evaluate::moment_context;
use crate::function::Arguments;

#[derive(Clone, Copy)]
pub enum MomentOrTime {
    Moment(DateTime),
    Time(Time),
}

impl MomentOrTime {
    /// Microseconds since the beginning of the calendar or of the day.
    pub fn linear_micros(self) -> i64 {
        match self {
            MomentOrTime::Moment(moment) => moment.linear_micros(),
            MomentOrTime::Time(time) => time.to_micros(),
        }
    }
}

/// A clock without a date: `10:11:12`, `-1:00`, `1 02:03:04.5`.
fn is_clock(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    unsigned.contains(&b':') && !unsigned.iter().any(|byte| matches!(byte, b'-' | b'T' | b'/'))
}

/// Whether the first number is beyond the hours of a time.
fn begins_with_year(text: &[u8]) -> bool {
    const HOURS_MAX: u32 = 838;
    let digits = text.trim_ascii_start().iter().take_while(|byte| byte.is_ascii_digit());
    let number =
        digits.fold(0_u32, |number, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    number > HOURS_MAX
}

impl Arguments<'_> {
    /// As EXTRACT reads what is no moment by its type: numbers are moments if they can be, else times, and texts with
    /// other delimiters than the standard's are times. Zero parts of dates are taken as they are.
    pub fn moment_or_number(&self, index: usize) -> Result<Option<MomentOrTime>, SqlError> {
        let value = self.value(index)?;
        let column = &self.exprs[index].ty.column;
        let context = moment_context(self.context, false);
        let text = match &*value {
            Value::Null => return Ok(None),
            Value::Bytes(_) | Value::Enum(_) | Value::Set(_) => Some(value.to_text(column)),
            _ => None,
        };
        let moment = value.to_datetime(column, &context).ok();
        let moment = moment.filter(|_| !matches!(*value, Value::Year(_) | Value::Json(_)));
        let is_standard = |text: &[u8]| !is_clock(text);
        if let Some(parsed) = moment
            && parsed.delimiter.is_none()
            && text.as_ref().is_none_or(|text| is_standard(text) && !parsed.value.date().is_zero())
        {
            if parsed.truncated
                && let Some(text) = &text
            {
                self.context.warn(truncated("datetime", text));
            }
            return Ok(Some(MomentOrTime::Moment(parsed.value)));
        }
        let time = match &text {
            // What looks like a date is no time.
            Some(text) if is_standard(text) && text.contains(&b'-') => None,
            _ => value.to_time(column, &context).ok(),
        };
        match time {
            Some(parsed) => {
                if parsed.truncated {
                    self.context.warn(truncated("time", &value.to_text(column)));
                }
                Ok(Some(MomentOrTime::Time(parsed.value)))
            }
            None => {
                self.context.warn(match *value {
                    Value::Json(_) => error_code::ER_INVALID_JSON_VALUE_FOR_CAST.with(&[&"TIME", &"", &1]),
                    _ => truncated("time", &value.to_text(column)),
                });
                Ok(None)
            }
        }
    }

    /// As TIME_FORMAT reads texts: dates first, of which days need not exist.
    pub fn formatted_moment(&self, index: usize) -> Result<Option<MomentOrTime>, SqlError> {
        let value = self.value(index)?;
        let column = &self.exprs[index].ty.column;
        if !matches!(*value, Value::Bytes(_) | Value::Enum(_) | Value::Set(_)) {
            return self.moment_or_number_as_time(index);
        }
        let text = value.to_text(column);
        let parsed = DateTime::parse(&text, true).filter(|parsed| parsed.offset_seconds.is_none());
        match parsed {
            Some(parsed) if !is_clock(&text) || begins_with_year(&text) => {
                if let Some(delimiter) = parsed.delimiter {
                    self.context.warn(delimiter.warning(&text));
                }
                Ok(Some(MomentOrTime::Moment(parsed.value)))
            }
            _ => self.time_of_text(index, &text),
        }
    }

    fn time_of_text(&self, index: usize, text: &[u8]) -> Result<Option<MomentOrTime>, SqlError> {
        let has_offset = DateTime::parse(text, true).is_some_and(|parsed| parsed.offset_seconds.is_some());
        if has_offset {
            return self.moment_or_time(index);
        }
        let time = Time::parse(text);
        if time.is_none_or(|parsed| parsed.truncated) {
            self.context.warn(truncated("time", text));
        }
        Ok(time.map(|parsed| MomentOrTime::Time(parsed.value)))
    }

    /// Numbers are times if they can be, else moments.
    fn moment_or_number_as_time(&self, index: usize) -> Result<Option<MomentOrTime>, SqlError> {
        let value = self.value(index)?;
        let column = &self.exprs[index].ty.column;
        if value.is_null() || column.kind.is_temporal() && !matches!(*value, Value::Year(_)) {
            return self.moment_or_time(index);
        }
        let value = match *value {
            Value::Year(year) => std::borrow::Cow::Owned(Value::Int(i64::from(year))),
            _ => value,
        };
        let context = moment_context(self.context, false);
        // A number of more digits is a moment, whose time is no number's.
        const TIME_NUMBER_MAX: f64 = 8_385_959.0;
        let is_time =
            value.to_f64(column, &mut datum::no_warning).is_some_and(|number| number <= TIME_NUMBER_MAX);
        let is_time = is_time || matches!(*value, Value::Json(_) | Value::Year(_));
        if is_time && let Ok(parsed) = value.to_time(column, &context) {
            if parsed.truncated {
                self.context.warn(truncated("time", &value.to_text(column)));
            }
            return Ok(Some(MomentOrTime::Time(parsed.value)));
        }
        let moment = value.to_datetime(column, &context).ok().filter(|_| !matches!(*value, Value::Json(_)));
        if moment.is_none() {
            self.context.warn(truncated("time", &value.to_text(column)));
        }
        Ok(moment.map(|parsed| MomentOrTime::Moment(parsed.value)))
    }

    /// `None`, with a warning, for what is neither; a date with zero parts is none.
    pub fn moment_or_time(&self, index: usize) -> Result<Option<MomentOrTime>, SqlError> {
        let value = self.value(index)?;
        let column = &self.exprs[index].ty.column;
        let (text, context) = (value.to_text(column), moment_context(self.context, false));
        Ok(match &*value {
            Value::Null => None,
            Value::DateTime(moment) => Some(MomentOrTime::Moment(*moment)),
            Value::Date(date) => Some(MomentOrTime::Moment(date.at_midnight())),
            Value::Time(time) => Some(MomentOrTime::Time(*time)),
            _ if is_clock(&text) => match Time::parse(&text) {
                Some(parsed) => {
                    if parsed.truncated {
                        self.context.warn(truncated("time", &text));
                    }
                    Some(MomentOrTime::Time(parsed.value))
                }
                None => {
                    self.context.warn(truncated("time", &text));
                    None
                }
            },
            _ => match value.to_datetime(column, &context) {
                Ok(parsed) if parsed.value.date().month() != 0 && parsed.value.date().day() != 0 => {
                    if parsed.truncated {
                        self.context.warn(truncated("datetime", &text));
                    }
                    Some(MomentOrTime::Moment(parsed.value))
                }
                _ => {
                    let warning = error_code::ER_INCORRECT_VALUE.with(&[&"datetime", &shown(&text)]);
                    self.context.warn(warning);
                    None
                }
            },
        })
    }
}
