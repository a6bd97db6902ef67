//! Values that are a moment or a time by what they look like: text for ADDTIME, TIMEDIFF, EXTRACT and TIME_FORMAT.
use datum::{DateTime, SqlError, Time, TypeKind, Value, error_code, shown, truncated};

use super::infer::is_text;
use crate::evaluate::moment_context;
use crate::expr::Expr;
use crate::function::Arguments;

#[derive(Clone, Copy)]
pub(super) enum MomentOrTime {
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

/// Whether binding leaves an argument as the text it is.
pub(super) fn is_undecided(expr: &Expr) -> bool {
    is_text(&expr.ty.column.kind) || matches!(expr.ty.column.kind, TypeKind::Enum(_) | TypeKind::Set(_))
}

/// A clock without a date: `10:11:12`, `-1:00`, `1 02:03:04.5`.
fn is_clock(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    unsigned.contains(&b':') && !unsigned.iter().any(|byte| matches!(byte, b'-' | b'T' | b'/'))
}

impl Arguments<'_> {
    /// `None`, with a warning, for what is neither; a date with zero parts is none.
    pub(super) fn moment_or_time(&self, index: usize) -> Result<Option<MomentOrTime>, SqlError> {
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
