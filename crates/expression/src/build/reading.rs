//! Constants whose value takes part in binding, also where the plan will serve other values.
//!
//! A statement's literals are parameters of a plan that is kept, and `KnownValues` says
//! what they are this time. Invariant: the plan is right for any other values of the same kinds that every `Reading`
//! accepts, unless `is_decided`: then something asked for a value itself and the plan is for these values only.
//! Callers: the constructors of `build` and `functions` read; the session applies the readings to each execution.
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use collation::Charset;
use datum::{ColumnType, DateTime, Decimal, Time, Value};

use super::BindContext;
use crate::expr::{Expr, ExprKind};

/// How a constant was understood. A value that cannot be understood so needs a plan of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Text that is a moment, with nothing behind it and no offset, as that moment.
    Moment { lenient: bool },
    /// A number that is a moment, as that moment; with `is_date` one that is a date.
    NumberedMoment { lenient: bool, is_date: bool },
    /// Text or a decimal that is a whole number of 64 bits, as that number.
    Whole { unsigned: bool },
    /// Text that is a time, with nothing behind it. It stays text.
    TimeText,
    /// The same of a text that has no date.
    PlainTimeText,
    /// Text that another character set can hold, in that set.
    Recoded { from: Charset, to: Charset },
    /// Text that has so many digits of a second's fraction as a moment or as a time. It stays text.
    Fraction { digits: u8, is_time: bool },
    /// A whole number between the two. It stays as it is.
    Count { low: i64, high: i64 },
    /// 0, as the moment of zeros.
    ZeroMoment,
    /// Text that is such a number and nothing else, as that number.
    Numeral(Numeral),
    /// Text that is a date, or a moment, or neither, as such.
    Written { written: Written, lenient: bool },
}

/// The number that the whole of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numeral {
    /// Digits of a BIGINT, without a minus, as MySQL asks here.
    Integer,
    /// Another number, as a DECIMAL.
    Other,
    /// Any number, as a DECIMAL.
    Any,
    None,
}

/// What a text is when it is taken for a date or moment as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Written {
    Date,
    /// A date with a time.
    Moment,
    Nothing,
}

/// A value that is made from a parameter before the plan runs; it stands behind all of the statement's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadParameter {
    /// A parameter, or a read parameter before this one.
    pub source: usize,
    pub reading: Reading,
}

impl ReadParameter {
    /// Adds what the readings make of the parameters; false when a reading does not accept its value.
    pub fn extend(readings: &[ReadParameter], parameters: &mut Vec<Value>) -> bool {
        for read in readings {
            match parameters.get(read.source).and_then(|value| read.reading.apply(value)) {
                Some(value) => parameters.push(value),
                None => return false,
            }
        }
        true
    }
}

/// The values of the parameters while a plan is made, and what was done with them.
#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    values: Vec<Value>,
    readings: RefCell<Vec<ReadParameter>>,
    /// Where each reading is in `readings`.
    places: RefCell<HashMap<ReadParameter, usize>>,
    decided: Cell<bool>,
    are_of_markers: bool,
}

impl KnownValues {
    pub fn new(values: Vec<Value>) -> KnownValues {
        KnownValues { values, ..KnownValues::default() }
    }

    /// Values of `?`, which only what functions expect of markers may look at.
    pub fn of_markers(values: Vec<Value>) -> KnownValues {
        KnownValues { values, are_of_markers: true, ..KnownValues::default() }
    }

    /// Whether the parameter is one of the statement's own.
    pub(super) fn is_own(&self, index: usize) -> bool {
        self.values.is_empty() || index < self.values.len()
    }

    /// Whether the plan is for these values only.
    pub fn is_decided(&self) -> bool {
        self.decided.get()
    }

    pub fn readings(&self) -> Vec<ReadParameter> {
        self.readings.borrow().clone()
    }

    /// The parameters and what was read of them so far, as a plan is run with them.
    pub fn all(&self) -> Vec<Value> {
        let mut all = self.values.clone();
        ReadParameter::extend(&self.readings.borrow(), &mut all);
        all
    }

    fn value(&self, index: usize) -> Option<Value> {
        if let Some(value) = self.values.get(index) {
            return Some(value.clone());
        }
        let read = *self.readings.borrow().get(index - self.values.len())?;
        read.reading.apply(&self.value(read.source)?)
    }

    /// The index of the parameter that holds the reading of another one.
    fn read(&self, source: usize, reading: Reading) -> usize {
        let mut readings = self.readings.borrow_mut();
        let read = ReadParameter { source, reading };
        let position = *self.places.borrow_mut().entry(read).or_insert_with(|| {
            readings.push(read);
            readings.len() - 1
        });
        self.values.len() + position
    }
}

impl BindContext {
    /// The value of a literal or known parameter, without letting it decide anything.
    pub fn peek(&self, expr: &Expr) -> Option<Value> {
        match &expr.kind {
            ExprKind::Literal(value) => Some(value.clone()),
            ExprKind::Parameter(index) if !self.known.values.is_empty() && !self.known.are_of_markers => {
                self.known.value(*index)
            }
            _ => None,
        }
    }

    /// The value of a marker.
    pub(super) fn marker_value(&self, expr: &Expr) -> Option<Value> {
        match expr.kind {
            ExprKind::Parameter(index) if !self.known.values.is_empty() => self.known.value(index),
            _ => None,
        }
    }

    /// The value of a constant that decides what is built: the plan is then for this value only.
    pub fn decisive(&self, expr: &Expr) -> Option<Value> {
        let value = self.peek(expr)?;
        self.decide_by(expr);
        Some(value)
    }

    /// The plan is for the constant's value only.
    pub fn decide_by(&self, expr: &Expr) {
        if matches!(expr.kind, ExprKind::Parameter(_)) {
            self.known.decided.set(true);
        }
    }

    /// Whether the expression is the same for all rows and sessions; then the plan is for the constants in it only.
    pub fn decide_by_constant(&self, expr: &Expr) -> bool {
        use crate::function::Volatility::Pure;
        match &expr.kind {
            ExprKind::Literal(_) => true,
            ExprKind::Parameter(_) => {
                let is_known = self.peek(expr).is_some();
                if is_known {
                    self.decide_by(expr);
                }
                is_known
            }
            ExprKind::Cast(operand)
            | ExprKind::Branch(operand)
            | ExprKind::Fit(operand)
            | ExprKind::Relabel(operand)
            | ExprKind::Negate(operand)
            | ExprKind::BitNot(operand)
            | ExprKind::Not(operand)
            | ExprKind::TruthTest(_, operand) => self.decide_by_constant(operand),
            ExprKind::Arithmetic(_, left, right)
            | ExprKind::Bit(_, left, right)
            | ExprKind::Compare(_, _, left, right) => {
                self.decide_by_constant(left) && self.decide_by_constant(right)
            }
            ExprKind::Case { operand: None, whens, otherwise } => {
                let whens = whens
                    .iter()
                    .all(|(when, then)| self.decide_by_constant(when) && self.decide_by_constant(then));
                whens && otherwise.as_deref().is_none_or(|otherwise| self.decide_by_constant(otherwise))
            }
            ExprKind::Call(function, arguments) => {
                function.volatility == Pure
                    && arguments.iter().all(|argument| self.decide_by_constant(argument))
            }
            _ => false,
        }
    }

    /// Replaces a constant by what it is read as. Where it cannot be read so, it stays and decides.
    pub(crate) fn read_as(&self, constant: &mut Expr, reading: Reading, column: ColumnType) -> bool {
        let Some(value) = self.peek(constant) else { return false };
        self.read_value(constant, &value, reading, column)
    }

    /// The same of a marker.
    pub(super) fn read_marker(&self, marker: &mut Expr, reading: Reading, column: ColumnType) -> bool {
        let Some(value) = self.marker_value(marker) else { return false };
        self.read_value(marker, &value, reading, column)
    }

    pub(super) fn read_value(
        &self,
        constant: &mut Expr,
        value: &Value,
        reading: Reading,
        column: ColumnType,
    ) -> bool {
        let Some(read) = reading.apply(value) else {
            self.decide_by(constant);
            return false;
        };
        let literal = Expr::literal(read, column);
        *constant = match constant.kind {
            ExprKind::Parameter(source) => {
                Expr { kind: ExprKind::Parameter(self.known.read(source, reading)), ty: literal.ty }
            }
            _ => literal,
        };
        true
    }

    /// Whether a constant can be read so; other values of a parameter must then be alike.
    pub fn relies_on(&self, constant: &Expr, reading: Reading) -> bool {
        self.relies_on_value(constant, self.peek(constant), reading)
    }

    /// The same of a marker.
    pub(super) fn relies_on_marker(&self, marker: &Expr, reading: Reading) -> bool {
        self.relies_on_value(marker, self.marker_value(marker), reading)
    }

    pub(super) fn relies_on_value(&self, constant: &Expr, value: Option<Value>, reading: Reading) -> bool {
        let accepts = value.is_some_and(|value| reading.accepts(&value));
        match constant.kind {
            ExprKind::Parameter(source) if accepts => _ = self.known.read(source, reading),
            _ => self.decide_by(constant),
        }
        accepts
    }
}

impl Numeral {
    fn of(self, text: &[u8]) -> Option<Value> {
        let digits = text.trim_ascii();
        let parsed = Decimal::parse_prefix(digits);
        let is_number = !digits.is_empty() && parsed.consumed == digits.len() && !parsed.is_overflow;
        let integer = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<i64>().ok());
        let integer = integer.filter(|_| digits[0] != b'-');
        match (self, integer) {
            (Numeral::Integer, Some(integer)) => Some(Value::Int(integer)),
            (Numeral::Other, None) | (Numeral::Any, _) if is_number => Some(Value::Decimal(parsed.value)),
            (Numeral::None, _) if !is_number => Some(Value::bytes(text)),
            _ => None,
        }
    }
}

impl Written {
    fn of(self, text: &[u8], lenient: bool) -> Option<Value> {
        let parsed = DateTime::parse_with_kind(text, lenient).filter(|(parsed, _)| {
            let date = parsed.value.date();
            let is_allowed = lenient || !(date.is_zero() || date.has_zero_part());
            !parsed.truncated && parsed.offset_seconds.is_none() && is_allowed
        });
        match (self, parsed) {
            (Written::Date, Some((moment, true))) => Some(Value::Date(moment.value.date())),
            (Written::Moment, Some((moment, false))) => Some(Value::DateTime(moment.value)),
            (Written::Nothing, None) => Some(Value::bytes(text)),
            _ => None,
        }
    }
}

impl Reading {
    /// Whether the value can be read so.
    pub(super) fn accepts(self, value: &Value) -> bool {
        self.apply(value).is_some()
    }

    fn apply(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Reading::Moment { lenient }, Value::Bytes(text)) => {
                let parsed = DateTime::parse(text, lenient)?;
                let is_plain =
                    !parsed.truncated && parsed.offset_seconds.is_none() && parsed.delimiter.is_none();
                let date = parsed.value.date();
                let is_plain = is_plain && !date.is_zero() && !date.has_zero_part();
                is_plain.then_some(Value::DateTime(parsed.value))
            }
            (Reading::NumberedMoment { lenient, is_date }, Value::Int(number)) if *number != 0 => {
                let moment = DateTime::from_number(*number, lenient);
                moment.filter(|moment| !is_date || moment.micros_of_day() == 0).map(Value::DateTime)
            }
            (Reading::Whole { unsigned }, _) => whole_value(value).filter(|whole| match whole {
                Value::UInt(_) => unsigned,
                _ => !unsigned,
            }),
            (Reading::Recoded { from, to }, Value::Bytes(text)) => {
                let recoded = from.convert_to(to, text);
                (!recoded.is_lossy).then_some(Value::Bytes(recoded.bytes))
            }
            (Reading::TimeText, Value::Bytes(text)) => {
                Time::parse(text).is_some_and(|parsed| !parsed.truncated).then(|| value.clone())
            }
            (Reading::PlainTimeText, Value::Bytes(text)) => {
                const DATE_LENGTH: usize = 10;
                let has_date = text.len() > DATE_LENGTH && DateTime::parse(text, true).is_some();
                Reading::TimeText.apply(value).filter(|_| !has_date)
            }
            (Reading::Fraction { digits, is_time }, Value::Bytes(text)) => {
                (fraction_digits(text, is_time) == digits).then(|| value.clone())
            }
            (Reading::Count { low, high }, Value::Int(number)) => {
                (low..=high).contains(number).then(|| value.clone())
            }
            (Reading::ZeroMoment, Value::Int(0)) => Some(Value::DateTime(DateTime::ZERO)),
            (Reading::Numeral(numeral), Value::Bytes(text)) => numeral.of(text),
            (Reading::Written { written, lenient }, Value::Bytes(text)) => written.of(text, lenient),
            _ => None,
        }
    }
}

/// The whole number a text or decimal is, as BIGINT where it fits, else as BIGINT UNSIGNED.
pub(crate) fn whole_value(value: &Value) -> Option<Value> {
    let number = match value {
        Value::Bytes(text) => exact_integer(text)?,
        Value::Decimal(number) => whole(number)?,
        _ => return None,
    };
    let signed = i64::try_from(number).map(Value::Int).ok();
    signed.or_else(|| u64::try_from(number).map(Value::UInt).ok())
}

fn exact_integer(text: &[u8]) -> Option<i128> {
    let parsed = Decimal::parse_prefix(text);
    let is_whole_text = parsed.consumed == text.len() && parsed.consumed > 0 && !parsed.is_overflow;
    if is_whole_text { whole(&parsed.value) } else { None }
}

fn whole(number: &Decimal) -> Option<i128> {
    let integer = number.truncate(0);
    if integer.compare(number).is_ne() {
        return None;
    }
    integer.to_i64().map(i128::from).or_else(|| integer.to_u64().map(i128::from))
}

/// The digits of a second's fraction in a text that is a moment or a time; a text that is none has all six.
pub fn fraction_digits(text: &[u8], is_time: bool) -> u8 {
    const ALL: u8 = 6;
    let is_one = if is_time { Time::parse(text).is_some() } else { DateTime::parse(text, true).is_some() };
    if !is_one {
        return ALL;
    }
    let points = |byte: &u8| *byte == b'.';
    let point = if is_time { text.iter().position(points) } else { text.iter().rposition(points) };
    let Some(point) = point else { return 0 };
    // A point elsewhere than before the fraction separates the parts of a date, or it from a time.
    const DATE_DIGITS: usize = 8;
    let is_date_number = point <= DATE_DIGITS && text[..point].iter().all(u8::is_ascii_digit);
    if !is_time && (is_date_number || text[..point].contains(&b'.')) {
        return 0;
    }
    text[point + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count().min(usize::from(ALL)) as u8
}
