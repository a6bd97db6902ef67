//! JSON values as arguments and results of calls.
//!
//! Callers: the JSON functions of the registry, JSON aggregates and the operators of JSON.
use std::borrow::Cow;

use collation::CollationId;
use datum::json_path::Path;
use datum::{
    JSON_DEPTH_MAX, Json, SqlError, StoredJson, Value, error_code, json_of, json_of_text, json_text,
    parse_json, read_json, stored_array,
};

use crate::expr::ExprType;
use crate::function::Arguments;

impl Arguments<'_> {
    /// The UTF-8 text of an argument of any type.
    pub fn utf8(&self, index: usize) -> Result<Option<String>, SqlError> {
        let value = self.value(index)?;
        if value.is_null() {
            return Ok(None);
        }
        Ok(Some(json_of_text(&value, &self.exprs[index].ty.column)))
    }

    /// Whether an argument that is wanted as text is in no character set: a binary string, or the value of a marker that is
    /// no text.
    pub fn is_binary(&self, index: usize) -> bool {
        let expr = &self.exprs[index];
        let column = &expr.ty.column;
        match column.kind.is_string() {
            true => !column.is_text(),
            false => self.context.is_marker(expr),
        }
    }

    /// As `document`, but bytes are text.
    pub fn document_of_bytes(&self, name: &str, index: usize) -> Result<Option<Json>, SqlError> {
        match &*self.value(index)? {
            Value::Bytes(bytes) if self.collation(index) == CollationId::BINARY => {
                // It ends at the first zero.
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                let parsed = parse_json(&bytes[..end]);
                parsed.map(Some).map_err(|invalid| invalid.in_function(index + 1, name))
            }
            _ => self.document(name, index),
        }
    }

    /// A document argument: a JSON value or text that is parsed, error 3141 when it cannot be.
    pub fn document(&self, name: &str, index: usize) -> Result<Option<Json>, SqlError> {
        self.read_document(&*self.value(index)?, name, index)
    }

    /// As `document`, in its stored form and not read.
    pub fn stored_document(&self, name: &str, index: usize) -> Result<Option<Cow<'_, str>>, SqlError> {
        match self.value(index)? {
            Cow::Borrowed(Value::Json(text)) => Ok(Some(Cow::Borrowed(text))),
            Cow::Owned(Value::Json(text)) => Ok(Some(Cow::Owned(text.into_string()))),
            value => {
                let document = self.read_document(&value, name, index)?;
                Ok(document.map(|document| Cow::Owned(json_text(&document))))
            }
        }
    }

    fn read_document(&self, value: &Value, name: &str, index: usize) -> Result<Option<Json>, SqlError> {
        match value {
            Value::Null => return Ok(None),
            Value::Json(text) => return Ok(Some(read_json(text))),
            Value::Bytes(_) if self.collation(index) == CollationId::BINARY => {
                return Err(error_code::ER_INVALID_JSON_CHARSET.with(&[&"binary"]));
            }
            Value::Bytes(_) => {}
            _ => return Err(error_code::ER_INVALID_TYPE_FOR_JSON.with(&[&(index + 1), &name])),
        }
        let text = json_of_text(value, &self.exprs[index].ty.column);
        parse_json(text.as_bytes()).map(Some).map_err(|invalid| invalid.in_function(index + 1, name))
    }

    /// Any value as a JSON value: text as a string, NULL as null.
    pub fn json_value(&self, index: usize) -> Result<Json, SqlError> {
        Ok(document_of(&*self.value(index)?, &self.exprs[index].ty))
    }

    pub fn path(&self, index: usize) -> Result<Option<Path>, SqlError> {
        let text = self.utf8(index)?;
        if text.is_some() && self.is_binary(index) {
            return Err(error_code::ER_INVALID_JSON_CHARSET.with(&[&"binary"]));
        }
        text.map(|text| Path::parse(&text)).transpose()
    }
}

/// The JSON value of an expression's value, which is no stored instant any more.
pub fn document_of(value: &Value, ty: &ExprType) -> Json {
    match value {
        Value::Int(number) if ty.is_truth => Json::Bool(*number != 0),
        _ => json_of(value, &ty.column),
    }
}

/// The array of parts of documents as a result; error 3157 when it nests too deep.
pub fn array_of_stored(values: &[StoredJson<'_>]) -> Result<Value, SqlError> {
    if values.iter().any(|value| value.depth() >= JSON_DEPTH_MAX) {
        return Err(error_code::ER_JSON_DOCUMENT_TOO_DEEP.plain());
    }
    Ok(Value::Json(stored_array(values.iter().copied()).into_boxed_str()))
}

/// The document as a result; error 3157 when it nests too deep.
pub fn json(document: &Json) -> Result<Value, SqlError> {
    if document.depth() > JSON_DEPTH_MAX {
        return Err(error_code::ER_JSON_DOCUMENT_TOO_DEEP.plain());
    }
    Ok(Value::Json(json_text(document).into_boxed_str()))
}
