//! JSON functions that make documents or look into them.
use collation::CollationId;
use datum::{
    ColumnType, Json, JsonMap, SqlError, StoredJson, TypeKind, Value, compare_documents, error_code,
    json_shown_text, parse_json, stored_array,
};

use expression::BindContext;
use expression::call::infer::{infer_json, integer_type, text_column};
use expression::call::json::{array_of_stored, json};
use expression::call::width::text_width;
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprType};

/// What it costs to look at two values.
const TICKS_PER_PAIR: usize = 16;

const ANY: u8 = u8::MAX;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("json_array", (0, ANY), infer_json, json_array),
    Function::pure("json_object", (0, ANY), infer_object, json_object),
    Function::pure("json_quote", (1, 1), infer_quoted, json_quote),
    Function::pure("json_unquote", (1, 1), infer_quoted, json_unquote),
    Function::pure("json_valid", (1, 1), infer_condition, json_valid),
    Function::pure("json_extract", (2, ANY), infer_json, json_extract),
    Function::pure("json_contains", (2, 3), infer_condition, json_contains),
    Function::pure("json_contains_path", (3, ANY), infer_condition, json_contains_path),
    Function::pure("json_overlaps", (2, 2), infer_condition, json_overlaps),
    // The operator; no call can have this name.
    Function::pure("member of", (2, 2), infer_condition, member_of),
    Function::pure("json_keys", (1, 2), infer_json, json_keys),
    Function::pure("json_length", (1, 2), infer_integer, json_length),
    Function::pure("json_depth", (1, 1), infer_integer, json_depth),
    Function::pure("json_type", (1, 1), infer_type_name, json_type),
    Function::pure("json_pretty", (1, 1), infer_text, json_pretty),
];

fn infer_object(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    if !arguments.len().is_multiple_of(2) {
        return Err(error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&name]));
    }
    infer_json(bind, name, arguments)
}

fn infer_integer(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(integer_type())
}

fn infer_condition(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(integer_type().as_truth())
}

/// MySQL reckons with 17 characters for the longest name.
fn infer_type_name(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::new(text_column(17, CollationId::UTF8MB4_BIN), Coercibility::Implicit))
}

fn infer_text(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    let column = text_column(u64::from(u32::MAX), CollationId::UTF8MB4_BIN);
    Ok(ExprType::new(column, Coercibility::Implicit))
}

/// Takes text, JSON_UNQUOTE also a document.
fn infer_quoted(_: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    let column = &arguments[0].ty.column;
    // A number that may be NULL is asked when it is evaluated.
    if !column.nullable || column.kind == TypeKind::Json {
        check_quotable(column, name)?;
    }
    let length = match name {
        // Each character may be six as an escape, between quotes.
        "json_quote" => text_width(&arguments[0]) * 6 + 2,
        _ => text_width(&arguments[0]),
    };
    Ok(ExprType::new(text_column(length, CollationId::UTF8MB4_BIN), Coercibility::Implicit))
}

/// Errors 3064 and 3144 for what JSON_QUOTE and JSON_UNQUOTE do not take: numbers, moments and binary strings.
fn check_quotable(column: &ColumnType, name: &str) -> Result<(), SqlError> {
    let is_allowed = match &column.kind {
        TypeKind::Null => true,
        TypeKind::Json => name == "json_unquote",
        kind => kind.is_string() || kind.has_members(),
    };
    if !is_allowed {
        return Err(error_code::ER_INCORRECT_TYPE.with(&[&1, &name]));
    }
    if column.kind.is_string() && !column.is_text() {
        return Err(error_code::ER_INVALID_JSON_CHARSET.with(&[&"binary"]));
    }
    Ok(())
}

fn json_array(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let elements: Vec<Json> =
        (0..arguments.len()).map(|index| arguments.json_value(index)).collect::<Result<_, _>>()?;
    json(&Json::Array(elements))
}

fn json_object(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let mut members = Vec::with_capacity(arguments.len() / 2);
    for pair in (0..arguments.len()).step_by(2) {
        let key = arguments.utf8(pair)?.ok_or_else(|| error_code::ER_JSON_DOCUMENT_NULL_KEY.plain())?;
        if arguments.is_binary(pair) {
            return Err(error_code::ER_INVALID_JSON_CHARSET.with(&[&"binary"]));
        }
        members.push((key, arguments.json_value(pair + 1)?));
    }
    json(&Json::Object(members.into_iter().collect::<JsonMap>()))
}

fn json_quote(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let text = arguments.utf8(0)?;
    if text.is_some() {
        check_quotable(&arguments.exprs[0].ty.column, "json_quote")?;
    }
    Ok(text.map_or(Value::Null, |text| Value::bytes(json_shown_text(&Json::String(text)))))
}

fn json_unquote(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.utf8(0)? else { return Ok(Value::Null) };
    check_quotable(&arguments.exprs[0].ty.column, "json_unquote")?;
    let is_quoted = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    if !is_quoted {
        return Ok(Value::bytes(text));
    }
    match parse_json(text.as_bytes()) {
        Ok(Json::String(inner)) => Ok(Value::bytes(inner)),
        Ok(_) => Ok(Value::bytes(text)),
        Err(invalid) => Err(invalid.in_function(1, "json_unquote")),
    }
}

fn json_valid(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let value = arguments.value(0)?;
    let kind = &arguments.exprs[0].ty.column.kind;
    Ok(match &*value {
        // NULL of another kind than text or a document is none.
        Value::Null if kind.is_numeric() || kind.is_temporal() => Value::Int(0),
        Value::Null => Value::Null,
        Value::Json(_) => Value::Int(1),
        Value::Bytes(_) => {
            let text = arguments.utf8(0)?.unwrap_or_default();
            Value::boolean(parse_json(text.as_bytes()).is_ok())
        }
        _ => Value::Int(0),
    })
}

/// One path without wildcards gives the value itself, anything else an array of what was found.
fn json_extract(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.stored_document("json_extract", 0)? else { return Ok(Value::Null) };
    let document = StoredJson::new(&text);
    let mut found = Vec::new();
    let mut is_single = arguments.len() == 2;
    for index in 1..arguments.len() {
        let Some(path) = arguments.path(index)? else { return Ok(Value::Null) };
        is_single &= !path.has_wildcard();
        found.extend(path.select(document));
    }
    match found.as_slice() {
        [] => Ok(Value::Null),
        [value] if is_single => Ok(Value::Json(value.text().into())),
        values => array_of_stored(values),
    }
}

fn contains(target: &Json, candidate: &Json) -> bool {
    env::tick(TICKS_PER_PAIR);
    match (target, candidate) {
        (Json::Array(elements), Json::Array(candidates)) => {
            candidates.iter().all(|candidate| elements.iter().any(|element| contains(element, candidate)))
        }
        (Json::Array(elements), candidate) => elements.iter().any(|element| contains(element, candidate)),
        (Json::Object(members), Json::Object(candidates)) => candidates
            .iter()
            .all(|(key, candidate)| members.get(key).is_some_and(|member| contains(member, candidate))),
        (target, candidate) => compare_documents(target, candidate).is_eq(),
    }
}

fn json_contains(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let name = "json_contains";
    let Some(text) = arguments.stored_document(name, 0)? else { return Ok(Value::Null) };
    let Some(candidate) = arguments.document(name, 1)? else { return Ok(Value::Null) };
    let target = StoredJson::new(&text);
    if arguments.len() < 3 {
        return Ok(Value::boolean(contains(&target.read(), &candidate)));
    }
    let Some(path) = arguments.path(2)? else { return Ok(Value::Null) };
    if path.has_wildcard() {
        return Err(error_code::ER_INVALID_JSON_PATH_WILDCARD.plain());
    }
    let selected = path.select(target);
    Ok(selected.first().map_or(Value::Null, |value| Value::boolean(contains(&value.read(), &candidate))))
}

fn json_contains_path(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.stored_document("json_contains_path", 0)? else { return Ok(Value::Null) };
    let Some(mode) = arguments.utf8(1)? else { return Ok(Value::Null) };
    let needs_all = match mode.to_ascii_lowercase().as_str() {
        "one" => false,
        "all" => true,
        _ => return Err(error_code::ER_JSON_BAD_ONE_OR_ALL_ARG.with(&[&"json_contains_path"])),
    };
    for index in 2..arguments.len() {
        let Some(path) = arguments.path(index)? else { return Ok(Value::Null) };
        let exists = !path.select(StoredJson::new(&text)).is_empty();
        if exists != needs_all {
            return Ok(Value::boolean(exists));
        }
    }
    Ok(Value::boolean(needs_all))
}

fn json_overlaps(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let name = "json_overlaps";
    let Some(left) = arguments.document(name, 0)? else { return Ok(Value::Null) };
    let Some(right) = arguments.document(name, 1)? else { return Ok(Value::Null) };
    let is_equal = |left: &Json, right: &Json| {
        env::tick(TICKS_PER_PAIR);
        compare_documents(left, right).is_eq()
    };
    let overlaps = match (&left, &right) {
        (Json::Array(left), Json::Array(right)) => {
            left.iter().any(|left| right.iter().any(|right| is_equal(left, right)))
        }
        (Json::Array(elements), other) | (other, Json::Array(elements)) => {
            elements.iter().any(|element| is_equal(element, other))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.iter().any(|(key, member)| right.get(key).is_some_and(|other| is_equal(member, other)))
        }
        (left, right) => is_equal(left, right),
    };
    Ok(Value::boolean(overlaps))
}

fn member_of(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if arguments.value(0)?.is_null() {
        return Ok(Value::Null);
    }
    let Some(target) = arguments.document("member of", 1)? else { return Ok(Value::Null) };
    let candidate = arguments.json_value(0)?;
    let is_equal = |element: &Json| {
        env::tick(TICKS_PER_PAIR);
        compare_documents(element, &candidate).is_eq()
    };
    Ok(Value::boolean(match &target {
        Json::Array(elements) => elements.iter().any(is_equal),
        other => is_equal(other),
    }))
}

fn json_keys(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.stored_document("json_keys", 0)? else { return Ok(Value::Null) };
    let mut found = StoredJson::new(&text);
    let path = if arguments.len() > 1 { Some(arguments.path(1)?) } else { None };
    if let Some(path) = &path {
        let Some(path) = path else { return Ok(Value::Null) };
        if path.has_wildcard() {
            return Err(error_code::ER_INVALID_JSON_PATH_WILDCARD.plain());
        }
        let Some(value) = path.select_elements(found).first().copied() else { return Ok(Value::Null) };
        found = value;
    }
    match found.is_object() {
        true => Ok(Value::Json(stored_array(found.keys()).into_boxed_str())),
        false => Ok(Value::Null),
    }
}

fn json_length(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(text) = arguments.stored_document("json_length", 0)? else { return Ok(Value::Null) };
    let document = StoredJson::new(&text);
    if arguments.len() < 2 {
        return Ok(Value::Int(document.length() as i64));
    }
    let Some(path) = arguments.path(1)? else { return Ok(Value::Null) };
    let values = path.select(document);
    // Of several values it is their number that counts.
    Ok(match values.first() {
        None => Value::Null,
        Some(_) if path.has_wildcard() => Value::Int(values.len() as i64),
        Some(value) => Value::Int(value.length() as i64),
    })
}

fn json_depth(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let text = arguments.stored_document("json_depth", 0)?;
    Ok(text.map_or(Value::Null, |text| Value::Int(StoredJson::new(&text).depth() as i64)))
}

fn json_type(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let text = arguments.stored_document("json_type", 0)?;
    Ok(text.map_or(Value::Null, |text| Value::bytes(StoredJson::new(&text).type_name())))
}

fn json_pretty(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(document) = arguments.document("json_pretty", 0)? else { return Ok(Value::Null) };
    let mut text = String::new();
    write_pretty(&document, 0, &mut text);
    Ok(Value::bytes(text))
}

fn write_pretty(document: &Json, indent: usize, text: &mut String) {
    let new_line = |indent: usize, text: &mut String| {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent * 2));
    };
    match document {
        Json::Array(elements) if !elements.is_empty() => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                new_line(indent + 1, text);
                write_pretty(element, indent + 1, text);
            }
            new_line(indent, text);
            text.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            text.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                new_line(indent + 1, text);
                text.push_str(&json_shown_text(&Json::String(key.clone())));
                text.push_str(": ");
                write_pretty(member, indent + 1, text);
            }
            new_line(indent, text);
            text.push('}');
        }
        scalar => text.push_str(&json_shown_text(scalar)),
    }
}
