//! JSON_VALUE: the scalar at a path, in the type that RETURNING names.
//!
//! Arguments: the document, the path, and for ON EMPTY and ON ERROR a number of the behaviour and a default, which
//! binding has cast to the result's type. Made by `BindContext::json_value`.
use datum::{
    ColumnType, Json, MomentContext, SqlError, StoredJson, TypeKind, Value, error_code, json_shown_text,
    json_text,
};

use crate::build::BindContext;
use crate::evaluate::moment_context;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::function::Volatility::Pure;
use crate::function::{Arguments, Function};

static FUNCTION: Function = Function {
    name: "json_value",
    arguments_min: 6,
    arguments_max: 6,
    volatility: Pure,
    infer: |_, name, _| Err(error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&name])),
    evaluate: json_value,
};

const NAME: &str = "json_value";

/// What JSON_VALUE does when there is no value or when it has the wrong type.
#[derive(Clone, Debug)]
pub enum JsonBehaviour {
    Null,
    Error,
    Default(Expr),
}

impl JsonBehaviour {
    /// The behaviour's number and its default.
    fn into_arguments(self, bind: &BindContext, column: &ColumnType) -> Result<[Expr; 2], SqlError> {
        Ok(match self {
            JsonBehaviour::Null => [Expr::int(0), Expr::null()],
            JsonBehaviour::Error => [Expr::int(1), Expr::null()],
            JsonBehaviour::Default(value) => [Expr::int(2), bind.cast(value, column.clone())?],
        })
    }
}

impl BindContext {
    /// `JSON_VALUE(document, path RETURNING column .. ON EMPTY .. ON ERROR)`
    pub fn json_value(
        &self,
        document: Expr,
        path: Expr,
        column: ColumnType,
        on_empty: JsonBehaviour,
        on_error: JsonBehaviour,
    ) -> Result<Expr, SqlError> {
        self.check_document_marker(&document, 1, NAME)?;
        let mut arguments = vec![document, path];
        arguments.extend(on_empty.into_arguments(self, &column)?);
        arguments.extend(on_error.into_arguments(self, &column)?);
        let coercibility =
            if column.kind.is_string() { Coercibility::Implicit } else { Coercibility::Numeric };
        let ty = ExprType::new(ColumnType { nullable: true, ..column }, coercibility);
        Ok(Expr { kind: ExprKind::Call(&FUNCTION, arguments), ty })
    }
}

const ON_EMPTY: usize = 2;
const ON_ERROR: usize = 4;

/// What the statement wants instead of a value.
fn instead(
    arguments: &Arguments<'_>,
    behaviour: usize,
    error: impl FnOnce() -> SqlError,
) -> Result<Value, SqlError> {
    match arguments.integer(behaviour)? {
        Some(1) => Err(error()),
        Some(2) => Ok(arguments.value(behaviour + 1)?.into_owned()),
        _ => Ok(Value::Null),
    }
}

fn json_value(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let text = match arguments.stored_document(NAME, 0) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(Value::Null),
        Err(error) if error.is(&error_code::ER_INVALID_JSON_TEXT_IN_PARAM) => {
            return instead(arguments, ON_ERROR, || error.clone())
                .inspect(|_| arguments.context.warn(error.clone()));
        }
        Err(error) => return Err(error),
    };
    let Some(path) = arguments.path(1)? else { return Ok(Value::Null) };
    let selected = match path.select(StoredJson::new(&text)).as_slice() {
        [] => {
            return instead(arguments, ON_EMPTY, || error_code::ER_MISSING_JSON_VALUE.with(&[&NAME]));
        }
        [selected] => selected.read(),
        _ => {
            return instead(arguments, ON_ERROR, || error_code::ER_MULTIPLE_JSON_VALUES.with(&[&NAME]));
        }
    };
    if selected.is_null() {
        return Ok(Value::Null);
    }
    let column = &arguments.ty.column;
    match converted(&selected, column, &moment_context(arguments.context, true)) {
        Some(value) => Ok(value),
        None => instead(arguments, ON_ERROR, || {
            let message = format!("{} value is out of range in '{NAME}'", type_word(column));
            SqlError { message, ..error_code::ER_DATA_OUT_OF_RANGE.with(&[&"", &""]) }
        }),
    }
}

fn type_word(column: &ColumnType) -> &'static str {
    match column.kind {
        TypeKind::LongLong if column.unsigned => "UNSIGNED",
        TypeKind::LongLong => "SIGNED",
        TypeKind::Decimal { .. } => "DECIMAL",
        TypeKind::Date => "DATE",
        TypeKind::Time { .. } => "TIME",
        TypeKind::DateTime { .. } => "DATETIME",
        TypeKind::Year => "YEAR",
        TypeKind::Float { .. } => "FLOAT",
        TypeKind::Double { .. } => "DOUBLE",
        _ => "STRING",
    }
}

/// The value in the type, `None` when that would lose something.
fn converted(document: &Json, column: &ColumnType, moments: &MomentContext<'_>) -> Option<Value> {
    if column.kind == TypeKind::Json {
        return Some(Value::Json(json_text(document).into_boxed_str()));
    }
    if column.kind.is_string() {
        return text(document, column);
    }
    let (value, source) = match document {
        Json::String(text) if takes_whole_numbers(column) => whole_number(text)?,
        _ => json_scalar(document)?,
    };
    let mut is_lossy = false;
    let mut warn = |_| is_lossy = true;
    let value = match column.kind {
        TypeKind::LongLong => {
            let number = value.to_integer(&source, &mut warn)?;
            match column.unsigned {
                true => Value::UInt(u64::try_from(number).ok()?),
                false => Value::Int(i64::try_from(number).ok()?),
            }
        }
        TypeKind::Double { .. } => Value::Double(value.to_f64(&source, &mut warn)?),
        TypeKind::Float { .. } => {
            let number = value.to_f64(&source, &mut warn)? as f32;
            Value::Float(Some(number).filter(|number| number.is_finite())?)
        }
        TypeKind::Decimal { precision, scale } => {
            let number = value.to_decimal(&source, &mut warn)?.rescale(scale).ok()?;
            let is_held = number.absolute().compare(&datum::Decimal::max_of(precision, scale)).is_le();
            Value::Decimal(Some(number).filter(|_| is_held)?)
        }
        TypeKind::Year => match value.to_integer(&source, &mut warn)? {
            year @ (0 | 1901..=2155) => Value::Year(year as u16),
            _ => return None,
        },
        TypeKind::Date | TypeKind::DateTime { .. } => {
            let parsed = value.to_datetime(&source, moments).ok().filter(|parsed| !parsed.truncated)?;
            match column.kind {
                TypeKind::Date => Value::Date(parsed.value.date()),
                _ => Value::DateTime(parsed.value.rounded(column.kind.fsp())?),
            }
        }
        TypeKind::Time { fsp } => {
            let parsed = value.to_time(&source, moments).ok().filter(|parsed| !parsed.truncated)?;
            Value::Time(parsed.value.rounded(fsp))
        }
        _ => return None,
    };
    (!is_lossy).then_some(value)
}

/// Strings lose their quotes, other values are shown.
fn text(document: &Json, column: &ColumnType) -> Option<Value> {
    let text = match document {
        Json::String(text) => text.clone(),
        Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Opaque(..) => {
            json_shown_text(document).trim_matches('"').to_owned()
        }
        other => json_shown_text(other),
    };
    let charset = column.collation.charset();
    let bytes = collation::Charset::Utf8mb4.convert_to(charset, text.as_bytes()).bytes;
    let has_length = !matches!(column.length, 0 | u32::MAX) && !column.kind.is_large_object();
    if has_length && charset.character_count(&bytes) > column.length as usize {
        return None;
    }
    Some(Value::Bytes(bytes))
}

/// Whether a text for the column has to be an integer.
pub fn takes_whole_numbers(column: &ColumnType) -> bool {
    column.kind.is_integer() || matches!(column.kind, TypeKind::Year | TypeKind::Bit(_))
}

/// A text that is an integer to its end, behind spaces and a sign.
pub fn whole_number(text: &str) -> Option<(Value, ColumnType)> {
    let text = text.trim_ascii_start();
    let signed = text.parse().map(|number| (Value::Int(number), ColumnType::bigint()));
    signed.or_else(|_| text.parse().map(|number| (Value::UInt(number), ColumnType::bigint_unsigned()))).ok()
}

pub fn json_scalar(document: &Json) -> Option<(Value, ColumnType)> {
    let plain = |value, kind| Some((value, ColumnType::new(kind)));
    match document {
        Json::Bool(truth) => Some((Value::boolean(*truth), ColumnType::bigint())),
        Json::Int(number) => Some((Value::Int(*number), ColumnType::bigint())),
        Json::UInt(number) => Some((Value::UInt(*number), ColumnType::bigint_unsigned())),
        Json::Double(number) => Some((Value::Double(*number), ColumnType::double())),
        Json::Decimal(number) => {
            Some((Value::Decimal(number.clone()), ColumnType::decimal(65, number.scale())))
        }
        Json::Date(date) => plain(Value::Date(*date), TypeKind::Date),
        Json::Time(time) => plain(Value::Time(*time), TypeKind::Time { fsp: 6 }),
        Json::DateTime(moment) => plain(Value::DateTime(*moment), TypeKind::DateTime { fsp: 6 }),
        Json::String(text) => {
            let column = ColumnType::varchar(0, collation::CollationId::UTF8MB4_BIN);
            Some((Value::bytes(text), column))
        }
        Json::Null | Json::Opaque(..) | Json::Array(_) | Json::Object(_) => None,
    }
}
