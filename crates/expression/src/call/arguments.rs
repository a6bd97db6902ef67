//! Reading a call's arguments in the domain that binding has cast them to. `None` is SQL's NULL.
use std::borrow::Cow;

use collation::{Charset, CollationId};
use datum::{Date, DateTime, SqlError, Time, TypeKind, Value, error_code};

use crate::evaluate::date_of;
use crate::expr::ExprKind;
use crate::function::Arguments;

impl<'a> Arguments<'a> {
    pub fn value(&self, index: usize) -> Result<Cow<'a, Value>, SqlError> {
        let value = self.exprs[index].eval_ref(self.row, self.context)?;
        Ok(match &*value {
            // Functions see instants as the session's clock shows them.
            Value::Timestamp(_) => Cow::Owned(value.in_session_zone(&self.context.settings.time_zone)),
            _ => value,
        })
    }

    /// The value of an argument that may be the result as it is: an instant stays one where the result is one.
    pub(super) fn choice(&self, index: usize) -> Result<Cow<'a, Value>, SqlError> {
        match self.ty.column.kind {
            TypeKind::Timestamp { .. } => self.exprs[index].eval_ref(self.row, self.context),
            _ => self.value(index),
        }
    }

    /// The bytes of a text or binary argument.
    pub fn text(&self, index: usize) -> Result<Option<Cow<'a, [u8]>>, SqlError> {
        Ok(match self.value(index)? {
            Cow::Borrowed(Value::Bytes(bytes)) => Some(Cow::Borrowed(bytes.as_slice())),
            Cow::Owned(Value::Bytes(bytes)) => Some(Cow::Owned(bytes)),
            other => match &*other {
                Value::Null => None,
                wrong => return Err(mistyped(wrong, "text")),
            },
        })
    }

    /// A number clamped into the signed range, as lengths and positions are taken.
    pub fn integer(&self, index: usize) -> Result<Option<i64>, SqlError> {
        Ok(match &*self.value(index)? {
            Value::Null => None,
            Value::Int(number) => Some(*number),
            Value::UInt(number) => Some(i64::try_from(*number).unwrap_or(i64::MAX)),
            wrong => return Err(mistyped(wrong, "an integer")),
        })
    }

    pub fn double(&self, index: usize) -> Result<Option<f64>, SqlError> {
        Ok(match &*self.value(index)? {
            Value::Null => None,
            Value::Double(number) => Some(*number),
            wrong => return Err(mistyped(wrong, "a DOUBLE")),
        })
    }

    /// The bits of an integer argument.
    pub fn bits(&self, index: usize) -> Result<Option<u64>, SqlError> {
        Ok(match &*self.value(index)? {
            Value::Null => None,
            Value::Int(number) => Some(*number as u64),
            Value::UInt(number) => Some(*number),
            wrong => return Err(mistyped(wrong, "an integer")),
        })
    }

    /// The moment of an argument that binding has made a DATETIME.
    pub fn datetime(&self, index: usize) -> Result<Option<DateTime>, SqlError> {
        Ok(match &*self.value(index)? {
            Value::Null => None,
            Value::DateTime(moment) => Some(*moment),
            wrong => return Err(mistyped(wrong, "a DATETIME")),
        })
    }

    /// As `datetime`, but NULL for a date with a zero month or day, which has no place in the calendar.
    pub fn real_datetime(&self, index: usize) -> Result<Option<DateTime>, SqlError> {
        let moment = self.datetime(index)?;
        Ok(moment.filter(|moment| moment.date().month() != 0 && moment.date().day() != 0))
    }

    /// The date of such an argument.
    pub fn date(&self, index: usize) -> Result<Option<Date>, SqlError> {
        let Some(moment) = self.datetime(index)? else { return Ok(None) };
        let given = match &self.exprs[index].kind {
            ExprKind::Cast(time)
                if matches!(time.ty.column.kind, TypeKind::Time { .. }) && !self.context.is_marker(time) =>
            {
                time.eval_ref(self.row, self.context)?
            }
            _ => return Ok(Some(moment.date())),
        };
        Ok(Some(date_of(moment, &given, self.context)))
    }

    /// As `date`, but NULL for one with a zero month or day.
    pub fn real_date(&self, index: usize) -> Result<Option<Date>, SqlError> {
        Ok(self.date(index)?.filter(|date| date.month() != 0 && date.day() != 0))
    }

    pub fn time(&self, index: usize) -> Result<Option<Time>, SqlError> {
        Ok(match &*self.value(index)? {
            Value::Null => None,
            Value::Time(time) => Some(*time),
            wrong => return Err(mistyped(wrong, "a TIME")),
        })
    }

    /// Warning 1411 about an argument that a function cannot take.
    pub fn warn_of_value(&self, kind: &str, index: usize, function: &str) {
        let shown = self.exprs[index].to_string();
        self.context.warn(error_code::ER_WRONG_VALUE_FOR_TYPE.with(&[&kind, &shown, &function]));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// Whether the call has none.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    /// The collation in which argument `index` is compared.
    pub fn collation(&self, index: usize) -> CollationId {
        self.exprs[index].ty.collation()
    }

    pub fn charset(&self, index: usize) -> Charset {
        self.collation(index).charset()
    }

    /// False, with warning 1301, when a result would exceed max_allowed_packet; the result is NULL then, or empty where
    /// the call's type says that it is never NULL.
    pub fn fits_packet(&self, name: &str, bytes: u64) -> bool {
        let limit = self.context.settings.max_allowed_packet;
        if bytes > limit {
            self.overflowed.set(true);
            self.context.warn(error_code::ER_WARN_ALLOWED_PACKET_OVERFLOWED.with(&[&name, &limit]));
        }
        bytes <= limit
    }
}

/// Binding gave the argument another type than evaluation expects: a defect, told instead of guessed around.
pub fn mistyped(value: &Value, wanted: &str) -> SqlError {
    error_code::ER_INTERNAL_ERROR.with(&[&format!("function argument {value:?} is not {wanted}")])
}

/// Text or NULL as a result.
pub fn text_or_null(text: Option<Vec<u8>>) -> Value {
    text.map_or(Value::Null, Value::Bytes)
}
