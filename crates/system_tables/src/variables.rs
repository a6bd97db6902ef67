//! Variables and status as rows: `global_variables`, `variables_metadata`, `global_status`, `session_status`.
use crate::view::ViewColumn::{self, NullLongText, NullText, Text};
use catalog::Viewer;
use datum::Value;
use instance::{ConnectionId, Instance};
use variables::{Scope, VariableId, listed};

use crate::status;

type Rows = Vec<Vec<Value>>;

pub(crate) const VARIABLE_COLUMNS: &[ViewColumn] =
    &[Text("VARIABLE_NAME", 64), NullText("VARIABLE_VALUE", 1024)];
pub(crate) const METADATA_COLUMNS: &[ViewColumn] =
    &[Text("VARIABLE_NAME", 64), Text("VARIABLE_SCOPE", 12), NullLongText("DOCUMENTATION")];

pub(crate) fn global_variables(instance: &Instance, _: &Viewer) -> Rows {
    listed()
        .filter(|(_, id)| id.definition().has_global())
        .map(|(name, id)| vec![Value::bytes(name), Value::bytes(instance.globals.get(id).display())])
        .collect()
}

pub(crate) fn variables_metadata(_: &Instance, _: &Viewer) -> Rows {
    let row = |(name, id): (&str, VariableId)| {
        let definition = id.definition();
        let scope = match definition.scope {
            Scope::Global => "GLOBAL",
            Scope::Both => "SESSION",
            Scope::Session => "SESSION_ONLY",
        };
        [name, scope, definition.doc].map(Value::bytes).to_vec()
    };
    listed().map(row).collect()
}

fn status_rows(values: Vec<status::StatusValue>) -> Rows {
    values.into_iter().map(|(name, value)| vec![Value::bytes(name), Value::bytes(value)]).collect()
}

pub(crate) fn global_status(instance: &Instance, _: &Viewer) -> Rows {
    status_rows(status::global_status(instance))
}

pub(crate) fn session_status(instance: &Instance, viewer: &Viewer) -> Rows {
    let id = u32::try_from(viewer.connection_id).map(ConnectionId);
    let Some(entry) = id.ok().and_then(|id| instance.processes().find(id)) else { return Rows::new() };
    status_rows(status::session_status(instance, &entry.counters))
}
