//! Variables: those of the own session, where the global ones come from, and which are stored.
use catalog::Viewer;
use datum::Value;
use instance::Instance;
use variables::VariableId;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::member;

pub(super) const TABLES: &[Table] = &[
    Table::events(PERSISTED, persisted),
    Table::events(INFO, info),
    Table::events(ATTRIBUTES, |_, _| Rows::new()),
];

const PERSISTED: Shape = Shape {
    name: "persisted_variables",
    columns: "VARIABLE_NAME varchar(64); VARIABLE_VALUE varchar(1024)?",
};
const INFO: Shape = Shape {
    name: "variables_info",
    columns: "VARIABLE_NAME varchar(64); VARIABLE_SOURCE \
        enum('COMPILED','GLOBAL','SERVER','EXPLICIT','EXTRA','USER','LOGIN','COMMAND_LINE','PERSISTED','DYNAMIC')?; \
        VARIABLE_PATH varchar(1024)?; MIN_VALUE varchar(64)?; MAX_VALUE varchar(64)?; SET_TIME timestamp(6)?; \
        SET_USER char(32)?; SET_HOST char(255)?",
};
const ATTRIBUTES: Shape = Shape {
    name: "global_variable_attributes",
    columns: "VARIABLE_NAME varchar(64); ATTR_NAME varchar(32); ATTR_VALUE varchar(1024)",
};

fn persisted(instance: &Instance, _: &Viewer) -> Rows {
    instance
        .persisted()
        .into_iter()
        .map(|(name, value)| vec![Value::bytes(name), Value::bytes(value)])
        .collect()
}

/// The places a value may come from, as the ENUM counts them.
const COMPILED: u16 = 1;
const PERSISTED_PLACE: u16 = 7;
const COMMAND_LINE: u16 = 6;
const DYNAMIC: u16 = 8;

fn info(instance: &Instance, _: &Viewer) -> Rows {
    let stored = instance.persisted();
    let row = |id: VariableId| {
        let definition = id.definition();
        let value = instance.globals.get(id);
        let source = match stored.get(definition.name) {
            Some(text) if *text == value.display() => PERSISTED_PLACE,
            _ if instance.is_given(definition.name, &value.display()) => COMMAND_LINE,
            _ if value != definition.default_setting() && !definition.read_only => DYNAMIC,
            _ => COMPILED,
        };
        vec![
            Value::bytes(definition.name),
            member(source),
            Value::bytes(""),
            Value::bytes("0"),
            Value::bytes("0"),
            Value::Null,
            Value::Null,
            Value::Null,
        ]
    };
    variables::all().filter(|id| id.definition().has_global()).map(row).collect()
}
