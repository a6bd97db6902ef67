//! JSON_ARRAYAGG and JSON_OBJECTAGG: the document that grows with the rows of a group.
//!
//! NULLs are elements and members, unlike in other aggregates. Called by `accumulator`.
use datum::{JSON_DEPTH_MAX, Json, JsonMap, SqlError, Value, error_code, json_of_text, json_text};

use crate::call::json::{document_of, json};
use crate::context::EvalContext;
use crate::expr::Expr;

#[derive(Clone, Debug)]
pub(super) enum Document {
    /// What stands between the brackets so far, in its stored form.
    Array(String),
    Object {
        members: Vec<(String, Json)>,
        bytes: usize,
    },
}

impl Document {
    pub fn add(&mut self, arguments: &[Expr], row: &[Value], context: &EvalContext) -> Result<(), SqlError> {
        let evaluate = |argument: &Expr| -> Result<Value, SqlError> {
            Ok(argument.eval_ref(row, context)?.in_session_zone(&context.settings.time_zone))
        };
        match (self, arguments) {
            (Document::Array(elements), [argument]) => {
                let element = document_of(&evaluate(argument)?, &argument.ty);
                if element.depth() >= JSON_DEPTH_MAX {
                    return Err(error_code::ER_JSON_DOCUMENT_TOO_DEEP.plain());
                }
                elements.push_str(if elements.is_empty() { "" } else { ", " });
                elements.push_str(&json_text(&element));
            }
            (Document::Object { members, bytes }, [key, argument]) => {
                let name = evaluate(key)?;
                if name.is_null() {
                    return Err(error_code::ER_JSON_DOCUMENT_NULL_KEY.plain());
                }
                let is_string = key.ty.column.kind.is_string();
                let is_binary = if is_string { !key.ty.column.is_text() } else { context.is_marker(key) };
                if is_binary {
                    return Err(error_code::ER_INVALID_JSON_CHARSET.with(&[&"binary"]));
                }
                let name = json_of_text(&name, &key.ty.column);
                let member = document_of(&evaluate(argument)?, &argument.ty);
                *bytes += name.len() + json_text(&member).len() + size_of::<(String, Json)>();
                members.push((name, member));
            }
            _ => return Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain()),
        }
        Ok(())
    }

    /// NULL for a group without rows.
    pub fn finish(&mut self) -> Result<Value, SqlError> {
        match self {
            Document::Array(elements) if elements.is_empty() => Ok(Value::Null),
            Document::Array(elements) => {
                Ok(Value::Json(format!("[{}]", std::mem::take(elements)).into_boxed_str()))
            }
            Document::Object { members, .. } if members.is_empty() => Ok(Value::Null),
            Document::Object { members, .. } => {
                json(&Json::Object(std::mem::take(members).into_iter().collect::<JsonMap>()))
            }
        }
    }

    pub fn memory_bytes(&self) -> usize {
        match self {
            Document::Array(elements) => elements.len(),
            Document::Object { bytes, .. } => *bytes,
        }
    }
}
