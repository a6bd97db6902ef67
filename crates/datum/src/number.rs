//! Values as numbers: the coercions of numeric context.
//!
//! Text gives its longest numeric prefix and a warning 1292 for what follows. Callers: arithmetic, comparison, CAST.
use crate::column_type::{ColumnType, TypeKind};
use crate::decimal::{Decimal, PRECISION_MAX};
use crate::error::SqlError;
use crate::error_code::ER_INVALID_JSON_VALUE_FOR_CAST;
use crate::error_code::ER_TRUNCATED_WRONG_VALUE;
use crate::json::{Json, json_shown, read_json};
use crate::value::Value;

/// Takes the warnings of a conversion.
pub type WarningSink<'a> = &'a mut dyn FnMut(SqlError);

/// Ignores warnings.
pub fn no_warning(_: SqlError) {}

/// A number read from the start of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberPrefix {
    pub value: f64,
    /// Bytes read, leading spaces included; 0 when there is no number.
    pub consumed: usize,
}

/// Reads the longest number at the start: spaces, sign, digits, point, exponent.
pub fn double_prefix(text: &[u8]) -> NumberPrefix {
    let spaces = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut at = spaces;
    let digits_at = |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let integer = digits_at(at);
    at += integer;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits_at(at + 1);
        if integer + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if integer + fraction == 0 {
        return NumberPrefix { value: 0.0, consumed: 0 };
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
        let exponent = digits_at((at + 1 + sign).min(text.len()));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    let number = std::str::from_utf8(&text[spaces..at]).expect("digits, signs and points are ASCII");
    let value: f64 = number.parse().expect("the scan accepts what a double's text is");
    NumberPrefix { value: value.clamp(f64::MIN, f64::MAX), consumed: at }
}

/// The digits at the start of a text as an integer, saturated; the fraction is not looked at.
pub(crate) fn integer_prefix(text: &[u8]) -> (i128, usize) {
    let spaces = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let sign = usize::from(matches!(text.get(spaces), Some(b'-' | b'+')));
    let start = spaces + sign;
    let count = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return (0, 0);
    }
    let magnitude = text[start..start + count]
        .iter()
        .fold(0i128, |number, digit| (number * 10 + i128::from(digit - b'0')).min(1 << 100));
    let number = if text.get(spaces) == Some(&b'-') { -magnitude } else { magnitude };
    (number, start + count)
}

fn only_spaces(rest: &[u8]) -> bool {
    rest.iter().all(|byte| byte.is_ascii_whitespace())
}

/// Error 1292 as conversions report it.
pub fn truncated(type_name: &str, text: &[u8]) -> SqlError {
    ER_TRUNCATED_WRONG_VALUE.with(&[&type_name, &shown(text)])
}

/// A text inside an error message: cut to 128 bytes, unprintable bytes as \xNN.
pub fn shown(text: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 128;
    let cut = &text[..text.len().min(SHOWN_BYTES_MAX)];
    let mut shown = String::with_capacity(cut.len());
    for chunk in cut.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                shown.push_str(&format!("\\x{:02X}", u32::from(character)));
            } else {
                shown.push(character);
            }
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02X}"));
        }
    }
    shown
}

impl Value {
    /// The value as a double; `None` for NULL.
    pub fn to_f64(&self, column: &ColumnType, warn: WarningSink<'_>) -> Option<f64> {
        Some(match self {
            Value::Null => return None,
            Value::Int(number) => *number as f64,
            Value::UInt(number) | Value::Bit(number) | Value::Set(number) => *number as f64,
            Value::Float(number) => f64::from(*number),
            Value::Double(number) => *number,
            Value::Decimal(number) => number.to_f64(),
            Value::Year(number) | Value::Enum(number) => f64::from(*number),
            Value::Bytes(bytes) if column.is_hex_literal() => hex_number(bytes, warn) as f64,
            // A TEXT column is read as far as it goes, and nobody is told where that is.
            Value::Bytes(text) if column.is_stored_object() => text_to_f64(text, &mut no_warning),
            Value::Bytes(text) => text_to_f64(text, warn),
            Value::Json(json) => {
                let number = self.number_of_json(json);
                warned_of_json("DOUBLE", warn, |warn| number.to_f64(column, warn))?
            }
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) => {
                self.to_decimal(column, warn)?.to_f64()
            }
        })
    }

    /// The value as an exact number; `None` for NULL.
    pub fn to_decimal(&self, column: &ColumnType, warn: WarningSink<'_>) -> Option<Decimal> {
        Some(match self {
            Value::Null => return None,
            Value::Int(number) => Decimal::from_i64(*number),
            Value::UInt(number) | Value::Bit(number) | Value::Set(number) => Decimal::from_u64(*number),
            Value::Float(_) | Value::Double(_) => {
                let number = self.to_f64(column, warn)?;
                Decimal::from_f64(number).unwrap_or_else(|| {
                    warn(truncated("DECIMAL", self.to_text(column).as_ref()));
                    saturated(number)
                })
            }
            Value::Json(json) => {
                let number = self.number_of_json(json);
                warned_of_json("DECIMAL", warn, |warn| number.to_decimal(column, warn))?
            }
            Value::Decimal(number) => number.clone(),
            Value::Year(number) | Value::Enum(number) => Decimal::from_i64(i64::from(*number)),
            Value::Bytes(bytes) if column.is_hex_literal() => Decimal::from_u64(hex_number(bytes, warn)),
            Value::Bytes(text) => {
                let parsed = Decimal::parse_prefix(text);
                if parsed.is_overflow || !only_spaces(&text[parsed.consumed..]) || parsed.consumed == 0 {
                    warn(truncated("DECIMAL", text));
                }
                parsed.value
            }
            Value::Date(date) => Decimal::from_i64(date.to_number()),
            Value::Time(time) => {
                let sign = if time.is_negative() { -1 } else { 1 };
                with_fraction(time.to_number(), sign * i64::from(time.micros()), column.kind.fsp())
            }
            Value::DateTime(datetime) => {
                with_fraction(datetime.to_number(), i64::from(datetime.micros()), column.kind.fsp())
            }
            Value::Timestamp(timestamp) => {
                let utc = timestamp.in_zone(&crate::TimeZone::utc());
                with_fraction(utc.to_number(), i64::from(utc.micros()), column.kind.fsp())
            }
        })
    }

    /// The value rounded to an integer between the lowest BIGINT and the highest BIGINT UNSIGNED; `None` for NULL.
    pub fn to_integer(&self, column: &ColumnType, warn: WarningSink<'_>) -> Option<i128> {
        Some(match self {
            Value::Null => return None,
            Value::Int(number) => i128::from(*number),
            Value::UInt(number) | Value::Bit(number) | Value::Set(number) => i128::from(*number),
            Value::Year(number) | Value::Enum(number) => i128::from(*number),
            Value::Float(_) | Value::Double(_) => double_to_integer(self.to_f64(column, warn)?),
            Value::Json(json) => {
                let number = self.number_of_json(json);
                warned_of_json("INTEGER", warn, |warn| number.to_integer(column, warn))?
            }
            Value::Decimal(number) => decimal_to_integer(number, warn),
            Value::Bytes(bytes) if column.is_hex_literal() => i128::from(hex_number(bytes, warn)),
            Value::Bytes(text) => {
                let (number, consumed) = integer_prefix(text);
                if !only_spaces(&text[consumed..]) || consumed == 0 {
                    warn(truncated("INTEGER", text));
                }
                clamped(number, || truncated("INTEGER", text), warn)
            }
            Value::Date(date) => i128::from(date.to_number()),
            Value::Time(time) => i128::from(time.rounded(0).to_number()),
            Value::DateTime(datetime) => match datetime.rounded(0) {
                Some(rounded) => i128::from(rounded.to_number()),
                // The digits alone are rounded of what has no next second.
                None => i128::from(datetime.to_number()) + 1,
            },
            Value::Timestamp(_) => {
                let exact = self.to_decimal(column, warn)?;
                decimal_to_integer(&exact, warn)
            }
        })
    }

    /// The SQL value that a document is where a number is wanted: what is no scalar stays text, which is no number.
    fn number_of_json(&self, json: &str) -> Value {
        let is_scalar = !json.starts_with(['[', '{']);
        match if is_scalar { read_json(json) } else { Json::Null } {
            Json::Int(number) => Value::Int(number),
            Json::UInt(number) => Value::UInt(number),
            Json::Double(number) => Value::Double(number),
            Json::Decimal(number) => Value::Decimal(number),
            Json::Bool(truth) => Value::boolean(truth),
            Json::String(text) => Value::Bytes(text.into_bytes()),
            _ => Value::bytes(json_shown(json).as_bytes()),
        }
    }

    /// Whether the value counts as true; `None` for NULL.
    pub fn to_truth(&self, column: &ColumnType, warn: WarningSink<'_>) -> Option<bool> {
        match self {
            Value::Null => None,
            Value::Int(number) => Some(*number != 0),
            Value::UInt(number) => Some(*number != 0),
            Value::Decimal(number) => Some(!number.is_zero()),
            // Whatever is not the number 0, `false` too.
            Value::Json(text) => Some(match read_json(text) {
                Json::Int(number) => number != 0,
                Json::UInt(number) => number != 0,
                Json::Double(number) => number != 0.0,
                Json::Decimal(number) => !number.is_zero(),
                _ => true,
            }),
            other => other.to_f64(column, warn).map(|number| number != 0.0),
        }
    }
}

/// Whatever a document's value is warned about is warning 3156.
fn warned_of_json<T>(
    kind: &str,
    warn: WarningSink<'_>,
    convert: impl FnOnce(WarningSink<'_>) -> Option<T>,
) -> Option<T> {
    let mut is_invalid = false;
    let number = convert(&mut |_| is_invalid = true);
    if is_invalid {
        warn(ER_INVALID_JSON_VALUE_FOR_CAST.with(&[&kind, &"", &1]));
    }
    number
}

/// The number a hexadecimal literal is, most significant byte first; 0 with warning 1292 beyond 64 bits.
pub(crate) fn hex_number(bytes: &[u8], warn: WarningSink<'_>) -> u64 {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    if bytes.len() - zeros > size_of::<u64>() {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        warn(truncated("BINARY", format!("x'{digits}'").as_bytes()));
        return 0;
    }
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn text_to_f64(text: &[u8], warn: WarningSink<'_>) -> f64 {
    let prefix = double_prefix(text);
    // The empty text is 0 without a warning.
    if (prefix.consumed == 0 && !text.is_empty()) || !only_spaces(&text[prefix.consumed..]) {
        warn(truncated("DOUBLE", text));
    }
    prefix.value
}

/// A temporal as a number with its fraction in `fsp` digits.
fn with_fraction(number: i64, micros: i64, fsp: u8) -> Decimal {
    let fsp = fsp.min(6);
    let scaled = i128::from(number) * 10i128.pow(u32::from(fsp));
    Decimal::new(scaled + i128::from(micros / 10i64.pow(6 - u32::from(fsp))), fsp)
}

fn saturated(number: f64) -> Decimal {
    let largest = Decimal::max_of(PRECISION_MAX, 0);
    if number < 0.0 { largest.negated() } else { largest }
}

fn clamped(number: i128, error: impl FnOnce() -> SqlError, warn: WarningSink<'_>) -> i128 {
    let clamped = number.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
    if clamped != number {
        warn(error());
    }
    clamped
}

/// Rounds half to even, as the floating point unit does.
fn double_to_integer(number: f64) -> i128 {
    (number.round_ties_even() as i128).clamp(i128::from(i64::MIN), i128::from(u64::MAX))
}

fn decimal_to_integer(number: &Decimal, warn: WarningSink<'_>) -> i128 {
    let saturated = if number.is_negative() { i128::MIN } else { i128::MAX };
    let rounded = number.rounded_integer().unwrap_or(saturated);
    clamped(rounded, || truncated("DECIMAL", number.to_string().as_bytes()), warn)
}

/// An integer in the representation of a type: `UInt` for unsigned ones.
pub fn integer_value(number: i128, is_unsigned: bool) -> Value {
    if is_unsigned { Value::UInt(number as u64) } else { Value::Int(number as i64) }
}

/// The kind of number that values of a type are in arithmetic.
pub fn is_exact_integer(kind: &TypeKind) -> bool {
    kind.is_integer() || matches!(kind, TypeKind::Year | TypeKind::Bit(_))
}
