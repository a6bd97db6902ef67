//! `CAST(document AS type ARRAY)`: the elements of a document in the type of a multi-valued index's part.
//!
//! Only index parts have it. Arguments: the document, a NULL of the element's type, the name of the index, which errors
//! tell. The result is an array in order, each element once. Made by `BindContext::cast_array`.
use collation::Charset;
use datum::{
    ColumnType, Json, MomentContext, SqlError, TypeKind, Value, compare_documents, error_code, json_opaque,
    json_shown_text, json_text,
};

use super::json_value::json_scalar;
use crate::build::BindContext;
use crate::evaluate::moment_context;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::function::Volatility::Pure;
use crate::function::{Arguments, Function};

static FUNCTION: Function = Function {
    name: "cast as array",
    arguments_min: 3,
    arguments_max: 3,
    volatility: Pure,
    infer: |_, name, _| Err(error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&name])),
    evaluate: cast_array,
};

const NAME: &str = "cast_as_array";
const ELEMENT: usize = 1;
const INDEX: usize = 2;
/// More values of one row are refused, as in MySQL.
const VALUES_MAX: usize = 1605;

/// The greatest time as a number.
const TIME_NUMBER_MAX: f64 = 8_385_959.0;

/// Why an element has no value of the type.
enum Refusal {
    Invalid,
    OutOfRange,
    DoesNotFit,
    Truncated,
    TooLong,
    NotScalar,
}

impl Refusal {
    fn error(&self, index: &str) -> SqlError {
        match self {
            Refusal::Invalid => error_code::ER_INVALID_JSON_VALUE_FOR_FUNC_INDEX.with(&[&index]),
            Refusal::OutOfRange => error_code::ER_JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX.with(&[&index]),
            Refusal::DoesNotFit => error_code::ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX.with(&[&index, &1]),
            Refusal::Truncated => error_code::ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX.with(&[&index, &1]),
            Refusal::TooLong => error_code::ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG.with(&[&index]),
            Refusal::NotScalar => error_code::ER_CANT_STORE_ARRAY_IN_KEY_PART.with(&[&index]),
        }
    }
}

impl BindContext {
    /// `CAST(document AS element ARRAY)` among the parts of `index`.
    pub fn cast_array(&self, document: Expr, element: ColumnType, index: &str) -> Expr {
        let name = Expr::literal(Value::bytes(index), ColumnType::varchar(64, self.connection_collation));
        let arguments = vec![document, Expr::literal(Value::Null, element), name];
        let column = ColumnType { nullable: true, ..ColumnType::new(TypeKind::Json) };
        let ty = ExprType::new(column, Coercibility::Implicit);
        Expr { kind: ExprKind::Call(&FUNCTION, arguments), ty }
    }
}

/// The document and the type of the elements, if the expression is such a cast.
pub fn array_cast(expr: &Expr) -> Option<(&Expr, &ColumnType)> {
    match &expr.kind {
        ExprKind::Call(function, arguments) if *function == &FUNCTION => {
            Some((&arguments[0], &arguments[ELEMENT].ty.column))
        }
        _ => None,
    }
}

/// A document as the elements that would be looked for in such an array; `None` where one of them has no value of the
/// type.
pub fn array_keys(document: &Json, element: &ColumnType, moments: &MomentContext<'_>) -> Option<Json> {
    elements_of(document, element, moments).ok()?.ok().map(Json::Array)
}

fn cast_array(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(document) = arguments.document(NAME, 0)? else { return Ok(Value::Null) };
    let index = arguments.utf8(INDEX)?.unwrap_or_default().to_string();
    let element = &arguments.exprs[ELEMENT].ty.column;
    let elements = elements_of(&document, element, &moment_context(arguments.context, true))?;
    let elements = elements.map_err(|refusal| refusal.error(&index))?;
    if elements.len() > VALUES_MAX {
        let beyond = elements.len() - VALUES_MAX;
        return Err(error_code::ER_EXCEEDED_MV_KEYS_NUM.with(&[&index, &beyond]));
    }
    Ok(Value::Json(json_text(&Json::Array(elements)).into_boxed_str()))
}

/// The different elements in their order.
fn elements_of(
    document: &Json,
    element: &ColumnType,
    moments: &MomentContext<'_>,
) -> Result<Result<Vec<Json>, Refusal>, SqlError> {
    let elements = match document {
        Json::Array(elements) => elements.as_slice(),
        Json::Object(_) => {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"CAST-ing JSON OBJECT type to array"]));
        }
        scalar => std::slice::from_ref(scalar),
    };
    let converted: Result<Vec<Json>, Refusal> =
        elements.iter().map(|value| converted(value, element, moments)).collect();
    Ok(converted.map(|mut elements| {
        elements.sort_by(compare_documents);
        elements.dedup_by(|left, right| compare_documents(left, right).is_eq());
        elements
    }))
}

fn converted(value: &Json, element: &ColumnType, moments: &MomentContext<'_>) -> Result<Json, Refusal> {
    match value {
        Json::Array(_) | Json::Object(_) => return Err(Refusal::NotScalar),
        Json::Null => return Err(Refusal::Invalid),
        _ => {}
    }
    match element.kind {
        TypeKind::LongLong => integer(value, element.unsigned),
        TypeKind::Decimal { precision, scale } => decimal(value, precision, scale),
        TypeKind::VarChar => {
            let text = text_of(value);
            match Charset::Utf8mb4.character_count(text.as_bytes()) > element.length as usize {
                true => Err(Refusal::TooLong),
                false => Ok(Json::String(text)),
            }
        }
        TypeKind::VarBinary => {
            let bytes = match value {
                Json::Opaque(_, bytes) => bytes.clone(),
                value => text_of(value).into_bytes(),
            };
            match bytes.len() > element.length as usize {
                true => Err(Refusal::TooLong),
                false => Ok(Json::Opaque(json_opaque::VARBINARY, bytes)),
            }
        }
        _ => moment(value, element, moments),
    }
}

fn integer(value: &Json, unsigned: bool) -> Result<Json, Refusal> {
    let number = match value {
        Json::Bool(truth) => i128::from(*truth),
        Json::Int(number) => i128::from(*number),
        Json::UInt(number) => i128::from(*number),
        Json::Double(number) => {
            let number = number.round_ties_even();
            // The bounds themselves are beyond what a DOUBLE is taken for.
            if number <= i64::MIN as f64 || number >= u64::MAX as f64 {
                return Err(Refusal::OutOfRange);
            }
            number as i128
        }
        Json::Decimal(_) => {
            let (number, source) = json_scalar(value).ok_or(Refusal::Invalid)?;
            number.to_integer(&source, &mut datum::no_warning).ok_or(Refusal::Invalid)?
        }
        Json::String(text) => {
            let number: i128 = text.parse().map_err(|_| Refusal::Invalid)?;
            if number < i128::from(i64::MIN) || number > i128::from(u64::MAX) {
                return Err(Refusal::OutOfRange);
            }
            // MySQL takes the bits of a negative number in a text.
            if unsigned && number < 0 { i128::from(number as i64 as u64) } else { number }
        }
        _ => return Err(Refusal::Invalid),
    };
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) if !unsigned || number >= 0 => Ok(Json::Int(number)),
        (_, Ok(number)) if unsigned => Ok(Json::UInt(number)),
        _ => Err(Refusal::DoesNotFit),
    }
}

fn decimal(value: &Json, precision: u8, scale: u8) -> Result<Json, Refusal> {
    let number = match value {
        Json::String(text) => datum::Decimal::parse(text).ok_or(Refusal::Invalid)?,
        Json::Bool(_) | Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => {
            let (number, source) = json_scalar(value).ok_or(Refusal::Invalid)?;
            number.to_decimal(&source, &mut datum::no_warning).ok_or(Refusal::Invalid)?
        }
        _ => return Err(Refusal::Invalid),
    };
    let number = number.rescale(scale).map_err(|_| Refusal::DoesNotFit)?;
    match number.absolute().compare(&datum::Decimal::max_of(precision, scale)).is_le() {
        true => Ok(Json::Decimal(number)),
        false => Err(Refusal::DoesNotFit),
    }
}

/// Strings lose their quotes, bytes are taken for text, other values are shown.
fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Opaque(_, bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Json::Date(_) | Json::Time(_) | Json::DateTime(_) => {
            json_shown_text(value).trim_matches('"').to_owned()
        }
        other => json_shown_text(other),
    }
}

fn moment(value: &Json, element: &ColumnType, moments: &MomentContext<'_>) -> Result<Json, Refusal> {
    // A date has no time of day here, a time no date, and what is true is no number.
    let is_apart = matches!(
        (value, &element.kind),
        (Json::Bool(_), _)
            | (Json::Date(_), TypeKind::Time { .. })
            | (Json::Time(_), TypeKind::Date | TypeKind::DateTime { .. })
    );
    let (value, source) = json_scalar(value).filter(|_| !is_apart).ok_or(Refusal::Truncated)?;
    match element.kind {
        TypeKind::Time { fsp } => {
            let is_beyond = match &value {
                Value::Double(number) => number.abs() > TIME_NUMBER_MAX,
                Value::Bytes(text) => text.is_empty(),
                _ => false,
            };
            if is_beyond {
                return Err(Refusal::DoesNotFit);
            }
            // Numbers of more than 63 bits are no times either.
            if matches!(value, Value::UInt(number) if number > i64::MAX as u64) {
                return Err(Refusal::Truncated);
            }
            let parsed = value.to_time(&source, moments).ok().filter(|parsed| !parsed.truncated);
            parsed.map(|parsed| Json::Time(parsed.value.rounded(fsp))).ok_or(Refusal::Truncated)
        }
        _ => {
            let parsed = value.to_datetime(&source, moments).ok().filter(|parsed| !parsed.truncated);
            let parsed = parsed.ok_or(Refusal::Truncated)?.value;
            match element.kind {
                TypeKind::Date => Ok(Json::Date(parsed.date())),
                _ => parsed.rounded(element.kind.fsp()).map(Json::DateTime).ok_or(Refusal::Truncated),
            }
        }
    }
}
