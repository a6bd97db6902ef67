//! What is measured: `setup_consumers`, `setup_instruments`, `setup_actors`, `setup_objects`, `setup_threads`, and the timers.
//!
//! All that is measured is always on; of the consumers some can be switched (`session` does it for UPDATE).
use std::sync::atomic::Ordering::Relaxed;

use catalog::Viewer;
use datum::Value;
use env::WAIT_CAUSES;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::member;

pub(super) const TABLES: &[Table] = &[
    Table::events(CONSUMERS, consumers),
    Table::events(INSTRUMENTS, instruments),
    Table::events(ACTORS, actors),
    Table::events(OBJECTS, objects),
    Table::events(THREADS, threads),
    Table::events(TIMERS, timers),
    Table::events(LOGGERS, |_, _| Rows::new()),
    Table::events(METERS, |_, _| Rows::new()),
    Table::events(METRICS, |_, _| Rows::new()),
];

const CONSUMERS: Shape =
    Shape { name: "setup_consumers", columns: "NAME varchar(64); ENABLED enum('YES','NO')" };
const INSTRUMENTS: Shape = Shape {
    name: "setup_instruments",
    columns: "NAME varchar(128); ENABLED enum('YES','NO'); TIMED enum('YES','NO')?; PROPERTIES \
        set('singleton','progress','user','global_statistics','mutable','controlled_by_default'); FLAGS \
        set('controlled')?; VOLATILITY int; DOCUMENTATION longtext?",
};
const ACTORS: Shape = Shape {
    name: "setup_actors",
    columns: "HOST char(255); USER char(32); ROLE char(32); ENABLED enum('YES','NO'); HISTORY enum('YES','NO')",
};
const OBJECTS: Shape = Shape {
    name: "setup_objects",
    columns: "OBJECT_TYPE enum('EVENT','FUNCTION','PROCEDURE','TABLE','TRIGGER'); OBJECT_SCHEMA varchar(64)?; \
        OBJECT_NAME varchar(64); ENABLED enum('YES','NO'); TIMED enum('YES','NO')",
};
const THREADS: Shape = Shape {
    name: "setup_threads",
    columns: "NAME varchar(128); ENABLED enum('YES','NO'); HISTORY enum('YES','NO'); PROPERTIES \
        set('singleton','user'); VOLATILITY int; DOCUMENTATION longtext?",
};
const TIMERS: Shape = Shape {
    name: "performance_timers",
    columns: "TIMER_NAME enum('CYCLE','NANOSECOND','MICROSECOND','MILLISECOND','THREAD_CPU'); TIMER_FREQUENCY bigint?; \
        TIMER_RESOLUTION bigint?; TIMER_OVERHEAD bigint?",
};
const LOGGERS: Shape = Shape {
    name: "setup_loggers",
    columns: "NAME varchar(128); LEVEL enum('none','error','warn','info','debug'); DESCRIPTION varchar(1023)?",
};
const METERS: Shape = Shape {
    name: "setup_meters",
    columns: "NAME varchar(63); FREQUENCY mediumint unsigned; ENABLED enum('YES','NO'); DESCRIPTION varchar(1023)?",
};
const METRICS: Shape = Shape {
    name: "setup_metrics",
    columns: "NAME varchar(63); METER varchar(63); METRIC_TYPE enum('ASYNC COUNTER','ASYNC UPDOWN COUNTER','ASYNC \
        GAUGE COUNTER'); NUM_TYPE enum('INTEGER','DOUBLE'); UNIT varchar(63)?; DESCRIPTION varchar(1023)?",
};

/// MySQL's consumers; the ones that cannot be switched are on or off for good.
const CONSUMER_NAMES: &[(&str, bool)] = &[
    ("events_stages_current", true),
    ("events_stages_history", false),
    ("events_stages_history_long", false),
    ("events_statements_cpu", false),
    ("events_statements_current", true),
    ("events_statements_history", true),
    ("events_statements_history_long", false),
    ("events_transactions_current", true),
    ("events_transactions_history", true),
    ("events_transactions_history_long", false),
    ("events_waits_current", false),
    ("events_waits_history", false),
    ("events_waits_history_long", false),
    ("global_instrumentation", true),
    ("thread_instrumentation", true),
    ("statements_digest", true),
];

fn yes_no(is_on: bool) -> Value {
    member(if is_on { 1 } else { 2 })
}

fn consumers(instance: &Instance, _: &Viewer) -> Rows {
    let consumers = &instance.telemetry.consumers;
    let row = |(name, fixed): &(&str, bool)| {
        let is_on = consumers.switch(name).map_or(*fixed, |switch| switch.load(Relaxed));
        vec![Value::bytes(name), yes_no(is_on)]
    };
    CONSUMER_NAMES.iter().map(row).collect()
}

fn instruments(instance: &Instance, _: &Viewer) -> Rows {
    let figures = super::connections::of_everybody(instance);
    let statements = figures.statements.iter().map(|(name, _)| *name);
    let waits = WAIT_CAUSES.into_iter().map(super::waits::event_name);
    let memory = super::memory::parts(instance).into_iter().map(|(name, _)| name);
    let mut names: Vec<&str> = statements.chain(waits).chain(memory).chain(["transaction"]).collect();
    names.sort_unstable();
    let row = |name: &str| {
        let is_memory = name.starts_with("memory/");
        vec![
            Value::bytes(name),
            yes_no(true),
            if is_memory { Value::Null } else { yes_no(true) },
            Value::Set(0),
            Value::Null,
            Value::Int(0),
            Value::Null,
        ]
    };
    names.into_iter().map(row).collect()
}

fn actors(_: &Instance, _: &Viewer) -> Rows {
    let any = || Value::bytes("%");
    vec![vec![any(), any(), any(), yes_no(true), yes_no(true)]]
}

/// Tables of all databases but the system's.
fn objects(_: &Instance, _: &Viewer) -> Rows {
    let row = |(database, is_on): (&str, bool)| {
        vec![member(4), Value::bytes(database), Value::bytes("%"), yes_no(is_on), yes_no(is_on)]
    };
    [("mysql", false), ("performance_schema", false), ("information_schema", false), ("%", true)]
        .into_iter()
        .map(row)
        .collect()
}

fn threads(_: &Instance, _: &Viewer) -> Rows {
    let name = Value::bytes("thread/sql/one_connection");
    vec![vec![name, yes_no(true), yes_no(true), Value::Set(0b10), Value::Int(0), Value::Null]]
}

fn timers(_: &Instance, _: &Viewer) -> Rows {
    let frequencies = [("NANOSECOND", 1_000_000_000), ("MICROSECOND", 1_000_000), ("MILLISECOND", 1000)];
    let row = |(number, (_, frequency)): (usize, (&str, i64))| {
        vec![member(number as u16 + 2), Value::Int(frequency), Value::Int(1), Value::Null]
    };
    frequencies.into_iter().enumerate().map(row).collect()
}
