//! JSON functions that return a changed document: JSON_SET and its kin, JSON_REMOVE and the merges.
use datum::json_path::{Leg, Path};
use datum::{Json, SqlError, Value, error_code};

use expression::BindContext;
use expression::call::infer::infer_json;
use expression::call::json::json;
use expression::{Arguments, Function};
use expression::{Expr, ExprType};

const ANY: u8 = u8::MAX;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::pure("json_set", (3, ANY), infer_pairs, |arguments| change("json_set", arguments, Change::SET)),
    Function::pure("json_insert", (3, ANY), infer_pairs, |arguments| {
        change("json_insert", arguments, Change::INSERT)
    }),
    Function::pure("json_replace", (3, ANY), infer_pairs, |arguments| {
        change("json_replace", arguments, Change::REPLACE)
    }),
    Function::pure("json_remove", (2, ANY), infer_json, json_remove),
    Function::pure("json_array_append", (3, ANY), infer_pairs, json_array_append),
    Function::pure("json_array_insert", (3, ANY), infer_pairs, json_array_insert),
    Function::pure("json_merge_patch", (2, ANY), infer_json, merge_patches),
    Function::pure("json_merge_preserve", (2, ANY), infer_json, |arguments| {
        merge("json_merge_preserve", arguments, preserve)
    }),
    Function::pure("json_merge", (2, ANY), infer_json, |arguments| merge("json_merge", arguments, preserve)),
];

/// Which of existing and missing values a function touches.
#[derive(Clone, Copy)]
struct Change {
    replaces: bool,
    inserts: bool,
}

impl Change {
    const SET: Change = Change { replaces: true, inserts: true };
    const INSERT: Change = Change { replaces: false, inserts: true };
    const REPLACE: Change = Change { replaces: true, inserts: false };
}

/// A document and pairs of path and value.
fn infer_pairs(bind: &BindContext, name: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    if arguments.len().is_multiple_of(2) {
        return Err(error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&name]));
    }
    infer_json(bind, name, arguments)
}

/// A path of a changing function, which must name one place.
fn single_path(arguments: &Arguments<'_>, index: usize) -> Result<Option<Path>, SqlError> {
    let path = arguments.path(index)?;
    match path {
        Some(path) if path.has_wildcard() => Err(error_code::ER_INVALID_JSON_PATH_WILDCARD.plain()),
        path => Ok(path),
    }
}

fn change(name: &str, arguments: &Arguments<'_>, change: Change) -> Result<Value, SqlError> {
    let Some(mut document) = arguments.document(name, 0)? else { return Ok(Value::Null) };
    for index in (1..arguments.len()).step_by(2) {
        let Some(path) = single_path(arguments, index)? else { return Ok(Value::Null) };
        let value = arguments.json_value(index + 1)?;
        match Path::select_mut(&path.legs, &mut document) {
            Some(place) if change.replaces => *place = value,
            Some(_) => {}
            None if change.inserts => insert(&path.legs, &mut document, value),
            None => {}
        }
    }
    json(&document)
}

/// Adds a member to an object or an element to the end of an array, if what would hold it exists.
fn insert(legs: &[Leg], document: &mut Json, value: Json) {
    let Some((last, parents)) = legs.split_last() else { return };
    match (last, Path::select_mut(parents, document)) {
        (Leg::Member(key), Some(Json::Object(members))) => {
            members.insert(key.clone(), value);
        }
        (Leg::Element(at), Some(Json::Array(elements))) => match at.is_before(elements.len()) {
            true => elements.insert(0, value),
            false => elements.push(value),
        },
        // A value that is no array becomes an element of one.
        (Leg::Element(at), Some(other)) => {
            let only = std::mem::take(other);
            *other = Json::Array(if at.is_before(1) { vec![value, only] } else { vec![only, value] });
        }
        _ => {}
    }
}

fn json_remove(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(mut document) = arguments.document("json_remove", 0)? else { return Ok(Value::Null) };
    for index in 1..arguments.len() {
        let Some(path) = single_path(arguments, index)? else { return Ok(Value::Null) };
        let Some((last, parents)) = path.legs.split_last() else {
            return Err(error_code::ER_JSON_VACUOUS_PATH.plain());
        };
        match (last, Path::select_mut(parents, &mut document)) {
            (Leg::Member(key), Some(Json::Object(members))) => {
                members.remove(key);
            }
            (Leg::Element(at), Some(Json::Array(elements))) => {
                if let Some(at) = at.within(elements.len()) {
                    elements.remove(at);
                }
            }
            _ => {}
        }
    }
    json(&document)
}

fn json_array_append(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(mut document) = arguments.document("json_array_append", 0)? else { return Ok(Value::Null) };
    for index in (1..arguments.len()).step_by(2) {
        let Some(path) = single_path(arguments, index)? else { return Ok(Value::Null) };
        let value = arguments.json_value(index + 1)?;
        match Path::select_mut(&path.legs, &mut document) {
            Some(Json::Array(elements)) => elements.push(value),
            Some(other) => {
                let first = std::mem::take(other);
                *other = Json::Array(vec![first, value]);
            }
            None => {}
        }
    }
    json(&document)
}

fn json_array_insert(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(mut document) = arguments.document("json_array_insert", 0)? else { return Ok(Value::Null) };
    for index in (1..arguments.len()).step_by(2) {
        let Some(path) = single_path(arguments, index)? else { return Ok(Value::Null) };
        let value = arguments.json_value(index + 1)?;
        let Some((Leg::Element(at), parents)) = path.legs.split_last() else {
            return Err(error_code::ER_INVALID_JSON_PATH_ARRAY_CELL.plain());
        };
        if let Some(Json::Array(elements)) = Path::select_mut(parents, &mut document) {
            let at = at.within(elements.len()).unwrap_or(elements.len());
            elements.insert(at, value);
        }
    }
    json(&document)
}

/// NULL is unknown until a patch that is no object takes its place.
fn merge_patches(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let name = "json_merge_patch";
    let mut merged = arguments.document(name, 0)?;
    for index in 1..arguments.len() {
        merged = match (merged, arguments.document(name, index)?) {
            (_, Some(next)) if !next.is_object() => Some(next),
            (Some(merged), Some(next)) => Some(patch(merged, next)),
            _ => None,
        };
    }
    merged.map_or(Ok(Value::Null), |merged| json(&merged))
}

fn merge(name: &str, arguments: &Arguments<'_>, join: fn(Json, Json) -> Json) -> Result<Value, SqlError> {
    let Some(mut merged) = arguments.document(name, 0)? else { return Ok(Value::Null) };
    for index in 1..arguments.len() {
        let Some(next) = arguments.document(name, index)? else { return Ok(Value::Null) };
        merged = join(merged, next);
    }
    json(&merged)
}

/// RFC 7396: members of the patch win, null removes.
fn patch(target: Json, patch_with: Json) -> Json {
    let Json::Object(changes) = patch_with else { return patch_with };
    let mut members = match target {
        Json::Object(members) => members,
        _ => datum::JsonMap::new(),
    };
    for (key, value) in changes {
        if value.is_null() {
            members.remove(&key);
        } else {
            let old = members.remove(&key).unwrap_or(Json::Null);
            members.insert(key, patch(old, value));
        }
    }
    Json::Object(members)
}

/// Arrays are joined, objects united with members of one name merged, anything else becomes arrays first.
fn preserve(left: Json, right: Json) -> Json {
    match (left, right) {
        (Json::Object(mut members), Json::Object(others)) => {
            for (key, value) in others {
                let merged = match members.remove(&key) {
                    Some(old) => preserve(old, value),
                    None => value,
                };
                members.insert(key, merged);
            }
            Json::Object(members)
        }
        (left, right) => {
            let into_elements = |value: Json| match value {
                Json::Array(elements) => elements,
                other => vec![other],
            };
            let mut elements = into_elements(left);
            elements.extend(into_elements(right));
            Json::Array(elements)
        }
    }
}
