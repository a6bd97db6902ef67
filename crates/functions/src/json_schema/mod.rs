//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT, by draft 4 of JSON Schema.
use datum::{ColumnType, Json, JsonMap, SqlError, Value, error_code};

use expression::BindContext;
use expression::Volatility::Pure;
use expression::call::infer::infer_json;
use expression::call::json::json;
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprType};

mod validate;
use validate::{Failure, Schema};

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "json_schema_valid",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_valid,
        evaluate: valid,
    },
    Function {
        name: "json_schema_validation_report",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_report,
        evaluate: report,
    },
];

fn infer_valid(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::new(ColumnType { length: 1, ..ColumnType::bigint() }, Coercibility::Numeric).as_truth())
}

fn infer_report(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    for (index, argument) in arguments.iter().enumerate() {
        bind.check_document_marker(argument, index + 1, name)?;
    }
    infer_json(bind, name, arguments)
}

/// `None` when an argument is NULL.
fn validated(name: &str, arguments: &Arguments<'_>) -> Result<Option<Result<(), Failure>>, SqlError> {
    let Some(schema) = arguments.document(name, 0)? else { return Ok(None) };
    if !schema.is_object() {
        return Err(error_code::ER_INVALID_JSON_TYPE.with(&[&1, &name, &"object"]));
    }
    match arguments.document_of_bytes(name, 1) {
        Ok(Some(document)) => Schema::new(&schema).validate(&document).map(Some),
        Ok(None) => Ok(None),
        Err(error) if error.is(&error_code::ER_INVALID_JSON_TEXT_IN_PARAM) => {
            refused_at_start(&schema, arguments)?.map(Some).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// A text is read only until it breaks the schema: where its first value is of a wrong type, what follows need not be JSON.
fn refused_at_start(
    schema: &Json,
    arguments: &Arguments<'_>,
) -> Result<Option<Result<(), Failure>>, SqlError> {
    let Json::Object(rules) = schema else { return Ok(None) };
    let Some(wanted) = rules.get("type") else { return Ok(None) };
    let text = arguments.utf8(1)?.unwrap_or_default();
    let number = datum::Decimal::parse_prefix(text.trim_start().as_bytes());
    let first = match text.trim_start().bytes().next() {
        Some(b'{') => Json::Object(JsonMap::default()),
        Some(b'[') => Json::Array(Vec::new()),
        Some(b'0'..=b'9' | b'-') => Json::Decimal(number.value),
        _ => return Ok(None),
    };
    let rules = Json::Object([("type".to_owned(), wanted.clone())].into_iter().collect::<JsonMap>());
    let outcome = Schema::new(&rules).validate(&first)?;
    Ok(outcome.is_err().then_some(outcome))
}

fn valid(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let outcome = validated("json_schema_valid", arguments)?;
    Ok(outcome.map_or(Value::Null, |outcome| Value::boolean(outcome.is_ok())))
}

fn report(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(outcome) = validated("json_schema_validation_report", arguments)? else {
        return Ok(Value::Null);
    };
    let text = |text: &str| Json::String(text.to_owned());
    let mut members = vec![("valid".to_owned(), Json::Bool(outcome.is_ok()))];
    if let Err(failure) = outcome {
        let reason = format!(
            "The JSON document location '{}' failed requirement '{}' at JSON Schema location '{}'",
            failure.document, failure.keyword, failure.schema
        );
        members.push(("reason".to_owned(), Json::String(reason)));
        members.push(("schema-location".to_owned(), text(&failure.schema)));
        members.push(("document-location".to_owned(), text(&failure.document)));
        members.push(("schema-failed-keyword".to_owned(), text(failure.keyword)));
    }
    json(&Json::Object(members.into_iter().collect::<JsonMap>()))
}
