//! Waits one by one: `events_waits_current`, `.._history` and `.._history_long`.
//!
//! Where MySQL has the same wait its columns are as there. A row of `wait/io/table/sql/handler` is what a statement did to a table
//! in all: NUMBER_OF_BYTES are its rows, as in MySQL's batches, and it has no times.
use std::time::Instant;

use catalog::Viewer;
use datum::Value;
use engine::TreeId;
use env::WaitObject;
use instance::Instance;
use schema::TableId;
use telemetry::{EventObject, Outer, Span, WaitEvent};

use super::files::STORE_FILE;
use crate::shape::Shape;
use crate::status::TreeNames;
use crate::table::{Rows, Table};
use crate::values::{member, time};

pub(super) const TABLES: &[Table] = &[
    Table::summary(CURRENT, current, |instance| {
        instance.processes().all().iter().for_each(|entry| entry.figures.clear_last_wait());
    }),
    Table::summary(HISTORY, history, |instance| {
        instance.processes().all().iter().for_each(|entry| entry.figures.clear_waits());
    }),
    Table::summary(HISTORY_LONG, history_long, |instance| instance.telemetry.waits_long.clear()),
];

const EVENT_COLUMNS: &str = "THREAD_ID bigint unsigned; EVENT_ID bigint unsigned; END_EVENT_ID bigint unsigned?; EVENT_NAME \
        varchar(128); SOURCE varchar(64)?; TIMER_START bigint unsigned?; TIMER_END bigint unsigned?; \
        TIMER_WAIT bigint unsigned?; SPINS int unsigned?; OBJECT_SCHEMA varchar(64)?; OBJECT_NAME \
        varchar(512)?; INDEX_NAME varchar(64)?; OBJECT_TYPE varchar(64)?; OBJECT_INSTANCE_BEGIN bigint \
        unsigned; NESTING_EVENT_ID bigint unsigned?; NESTING_EVENT_TYPE \
        enum('TRANSACTION','STATEMENT','STAGE','WAIT')?; OPERATION varchar(32); NUMBER_OF_BYTES bigint?; \
        FLAGS int unsigned?";

const CURRENT: Shape = Shape { name: "events_waits_current", columns: EVENT_COLUMNS };
const HISTORY: Shape = Shape { name: "events_waits_history", columns: EVENT_COLUMNS };
const HISTORY_LONG: Shape = Shape { name: "events_waits_history_long", columns: EVENT_COLUMNS };

/// The wait that each session is in, or its last one.
fn current(instance: &Instance, _: &Viewer) -> Rows {
    let processes = instance.processes().all().into_iter();
    rows(
        instance,
        processes.filter_map(|entry| Some((u64::from(entry.id.0), entry.figures.wait()?))).collect(),
    )
}

fn history(instance: &Instance, _: &Viewer) -> Rows {
    let processes = instance.processes().all().into_iter();
    let events = processes.flat_map(|entry| {
        let thread = u64::from(entry.id.0);
        entry.figures.waits().into_iter().map(move |event| (thread, event))
    });
    rows(instance, events.collect())
}

fn history_long(instance: &Instance, _: &Viewer) -> Rows {
    rows(instance, instance.telemetry.waits_long.events())
}

/// TIMER_START, TIMER_END and TIMER_WAIT; of what goes on until now.
pub(super) fn times(span: Span, is_running: bool, now_ns: u64) -> [Value; 3] {
    let ended_ns = span.ended_ns.or(is_running.then_some(now_ns));
    match (span.began_ns, ended_ns) {
        (Some(began_ns), Some(ended_ns)) => {
            [time(began_ns), time(ended_ns), time(ended_ns.saturating_sub(began_ns))]
        }
        _ => [Value::Null, Value::Null, Value::Null],
    }
}

/// NESTING_EVENT_ID and NESTING_EVENT_TYPE.
pub(super) fn nesting(outer: Option<Outer>) -> [Value; 2] {
    match outer {
        Some(Outer::Statement(event_id)) => [Value::UInt(event_id), member(2)],
        Some(Outer::Stage(event_id)) => [Value::UInt(event_id), member(3)],
        None => [Value::Null, Value::Null],
    }
}

/// 0 is none.
pub(super) fn end(event_id: u64) -> Value {
    if event_id == 0 { Value::Null } else { Value::UInt(event_id) }
}

/// What is read at once.
const PAGE_BYTES: u64 = 16_384;

/// Where the file of an event is, of what happens to files.
pub(crate) fn file_of(instance: &Instance, name: &str) -> Option<String> {
    let file = match name {
        "wait/io/file/innodb/innodb_data_file" => STORE_FILE,
        "wait/io/file/innodb/innodb_log_file" => "log",
        _ => return None,
    };
    Some(super::files::path(instance, file))
}

/// Bytes that were asked for, of a file's page.
pub(crate) fn bytes_of(event: &WaitEvent) -> Option<u64> {
    match event.operation {
        "read" => Some(PAGE_BYTES),
        _ => event.rows,
    }
}

/// Schema, name, index, type and a number of what it was for.
fn object(instance: &Instance, names: &TreeNames, event: &WaitEvent) -> [Value; 5] {
    let text = |text: &str| Value::bytes(text);
    let of_table = |schema: &str, name: &str, index: Option<&str>, number: u64| {
        [text(schema), text(name), index.map_or(Value::Null, text), text("TABLE"), Value::UInt(number)]
    };
    let nothing = [Value::Null, Value::Null, Value::Null, Value::Null, Value::UInt(0)];
    match &event.object {
        Some(EventObject::Wait(WaitObject::Tree(tree))) => match names.place(TreeId(*tree)) {
            Some((schema, name, index)) => of_table(schema, name, Some(index), *tree),
            None => nothing,
        },
        Some(EventObject::Wait(WaitObject::Named(schema, name))) if name.is_empty() => {
            [text(schema), Value::Null, Value::Null, text("SCHEMA"), Value::UInt(0)]
        }
        Some(EventObject::Wait(WaitObject::Named(schema, name))) => of_table(schema, name, None, 0),
        Some(EventObject::Table(number, index)) => {
            let Some(table) = instance.catalog().table_by_id(TableId(*number)) else { return nothing };
            let definition = table.definition();
            let index =
                index.and_then(|index| definition.indexes.get(index)).map(|index| index.name.as_str());
            of_table(&definition.database, &definition.name, index, *number)
        }
        None => match file_of(instance, event.name) {
            Some(file) => [Value::Null, text(&file), Value::Null, text("FILE"), Value::UInt(1)],
            None => nothing,
        },
    }
}

fn rows(instance: &Instance, events: Vec<(u64, WaitEvent)>) -> Rows {
    let trees = events.iter().filter_map(|(_, event)| match &event.object {
        Some(EventObject::Wait(WaitObject::Tree(tree))) => Some(TreeId(*tree)),
        _ => None,
    });
    let names = TreeNames::of_trees(instance, trees.collect());
    let now_ns = instance.event_clock_ns(Instant::now());
    let row = |(thread, event): &(u64, WaitEvent)| {
        let mut row = vec![
            Value::UInt(*thread),
            Value::UInt(event.event_id),
            end(event.end_event_id),
            Value::bytes(event.name),
            Value::Null,
        ];
        row.extend(times(event.span, event.end_event_id == 0, now_ns));
        row.push(Value::Null);
        row.extend(object(instance, &names, event));
        row.extend(nesting(event.outer));
        row.push(Value::bytes(event.operation));
        row.push(bytes_of(event).map_or(Value::Null, |bytes| Value::Int(bytes as i64)));
        row.push(Value::Null);
        row
    };
    events.iter().map(row).collect()
}
