//! What JSON_TABLE needs of documents: paths, and values of its columns.
use std::borrow::Cow;
use std::sync::Arc;

use datum::json_path::{Path, Walked};
use datum::{
    ColumnType, ConversionProblem, Decimal, Json, SqlError, StoreMode, StoredJson, TypeKind, Value,
    error_code, integer_value, json_of_text, json_shown_text, normalize_json,
};

use expression::EvalContext;
use expression::call::{json_scalar, moment_context, takes_whole_numbers, whole_number};

/// A path into a document.
#[derive(Clone, Debug)]
pub struct JsonPath(Arc<Path>);

impl JsonPath {
    /// Error 3143 for what is no path.
    pub fn parse(text: &str) -> Result<JsonPath, SqlError> {
        Path::parse(text).map(|path| JsonPath(Arc::new(path)))
    }

    pub fn select<'d>(&self, document: StoredJson<'d>) -> Vec<StoredJson<'d>> {
        self.0.select(document)
    }
}

/// The stored text of a value's document, `None` for NULL; error 3141 for a text that is none, 3144 for bytes.
pub fn table_document<'v>(value: &'v Value, column: &ColumnType) -> Result<Option<Cow<'v, str>>, SqlError> {
    match value {
        Value::Null => Ok(None),
        Value::Json(text) => Ok(Some(Cow::Borrowed(text))),
        Value::Bytes(_) if !column.is_text() => Err(error_code::ER_INVALID_JSON_CHARSET.with(&[&"binary"])),
        Value::Bytes(_) => {
            let text = json_of_text(value, column);
            let stored = normalize_json(text.as_bytes());
            stored
                .map(|text| Some(text.into_string().into()))
                .map_err(|invalid| invalid.in_function(1, "json_table"))
        }
        _ => Err(error_code::ER_INVALID_TYPE_FOR_JSON.with(&[&1, &"json_table"])),
    }
}

/// A part of a document as a value of the column `name`.
pub fn table_value(
    part: StoredJson<'_>,
    column: &ColumnType,
    name: &str,
    context: &EvalContext,
) -> Result<Value, SqlError> {
    if let Some(value) = plain_value(part.text(), column) {
        return Ok(value);
    }
    if part.is_null() {
        return Ok(Value::Null);
    }
    if column.kind == TypeKind::Json {
        return Ok(Value::Json(part.text().into()));
    }
    if part.is_array() || part.is_object() {
        return Err(error_code::ER_WRONG_JSON_TABLE_VALUE.with(&[&name]));
    }
    let document = &part.read();
    let text = |document: &Json| {
        let type_of_text = ColumnType::varchar(u32::MAX, collation::CollationId::UTF8MB4_BIN);
        let shown = match document {
            Json::String(text) => text.clone(),
            other => json_shown_text(other).trim_matches('"').to_owned(),
        };
        (Value::bytes(shown), type_of_text)
    };
    let is_text = matches!(document, Json::String(_));
    let no_value = || error_code::ER_INVALID_JSON_VALUE_FOR_CAST.with(&[&type_word(column), &name, &1]);
    let scalar = match document {
        Json::String(text) if takes_whole_numbers(column) => Some(whole_number(text).ok_or_else(no_value)?),
        other => json_scalar(other),
    };
    let (value, from) = match scalar {
        Some(scalar) if !column.kind.is_string() => scalar,
        _ => text(document),
    };
    // A TIME alone asks what day it is.
    let moments = moment_context(context, matches!(value, Value::Time(_)));
    let mode = StoreMode { moments, is_strict: true };
    let to = ColumnType { nullable: true, ..column.clone() };
    match value.cast_to_column(&from, &to, &mode) {
        Ok(stored) => Ok(stored.value),
        Err(problem) if is_text && !matches!(problem.problem, ConversionProblem::TooLong) => Err(no_value()),
        Err(_) => Err(error_code::ER_JT_VALUE_OUT_OF_RANGE.with(&[&name])),
    }
}

/// What most parts are, without a conversion: a number or an ASCII text that the column takes as it stands.
fn plain_value(part: &str, column: &ColumnType) -> Option<Value> {
    match column.kind {
        TypeKind::Decimal { precision, scale } => plain_decimal(part, precision, scale),
        TypeKind::VarChar if column.collation.charset() == collation::Charset::Utf8mb4 => {
            let text = part.strip_prefix('"')?.strip_suffix('"')?;
            let is_plain = text.len() <= column.length as usize && text.is_ascii() && !text.contains('\\');
            is_plain.then(|| Value::bytes(text))
        }
        _ => {
            let bounds = column.integer_bounds()?;
            let number = part.parse::<i64>().ok().map(i128::from)?;
            (bounds.0..=bounds.1).contains(&number).then(|| integer_value(number, column.unsigned))
        }
    }
}

/// A number of at most 18 digits with no more of them behind the point than the column has.
fn plain_decimal(part: &str, precision: u8, scale: u8) -> Option<Value> {
    const DIGITS_MAX: usize = 18;
    let (whole, fraction) = part.split_once('.')?;
    let missing = usize::from(scale).checked_sub(fraction.len())?;
    let is_plain = whole.len() <= usize::from(precision - scale)
        && whole.len() + usize::from(scale) <= DIGITS_MAX
        && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    let digits = whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', missing));
    let coefficient = || digits.fold(0i128, |number, digit| number * 10 + i128::from(digit - b'0'));
    is_plain.then(|| Value::Decimal(Decimal::new(coefficient(), scale)))
}

fn type_word(column: &ColumnType) -> &'static str {
    match column.kind {
        TypeKind::Decimal { .. } => "DECIMAL",
        TypeKind::Float { .. } | TypeKind::Double { .. } => "DOUBLE",
        TypeKind::Date => "DATE",
        TypeKind::Time { .. } => "TIME",
        TypeKind::DateTime { .. } | TypeKind::Timestamp { .. } => "DATETIME",
        _ => "INTEGER",
    }
}
