//! What is measured: `setup_consumers`, `setup_instruments`, `setup_actors`, `setup_objects`, `setup_threads`, and the timers.
//!
//! Statements, transactions and memory are always measured; waits, stages and consumers are switched by UPDATE, and actors are
//! rows that are changed (`administration` does it).
use std::sync::atomic::Ordering::Relaxed;

use catalog::Viewer;
use datum::Value;
use instance::Instance;
use telemetry::Actor;
use telemetry::instruments::IDLE;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::member;

pub(super) const TABLES: &[Table] = &[
    Table::events(CONSUMERS, consumers),
    Table::events(INSTRUMENTS, instruments),
    Table::summary(ACTORS, actors, |instance| {
        instance.telemetry.actors.retain(|_| false);
    }),
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

fn yes_no(is_on: bool) -> Value {
    member(if is_on { 1 } else { 2 })
}

fn consumers(instance: &Instance, _: &Viewer) -> Rows {
    let consumers = &instance.telemetry.consumers;
    let row = |(name, fixed): (&str, bool)| {
        let is_on = consumers.switch(name).map_or(fixed, |switch| switch.load(Relaxed));
        vec![Value::bytes(name), yes_no(is_on)]
    };
    telemetry::CONSUMERS.into_iter().map(row).collect()
}

/// Bits of PROPERTIES.
const PROGRESS: u64 = 0b10;
const USER: u64 = 0b100;

fn instruments(instance: &Instance, _: &Viewer) -> Rows {
    let figures = super::connections::of_everybody(instance);
    let statements = figures.statements.iter().map(|(name, _)| *name);
    let memory = super::memory::parts(instance).into_iter().map(|(name, _)| name);
    let fixed = statements.chain(memory).chain(["transaction"]);
    let fixed = fixed.map(|name| (name, true, (!name.starts_with("memory/")).then_some(true), 0));
    let switched = telemetry::INSTRUMENTS.iter().map(|instrument| {
        let (is_on, is_timed) = instance.telemetry.instruments.of(instrument.name).unwrap_or_default();
        let user = if instrument.name == IDLE { USER } else { 0 };
        let properties = if instrument.has_progress { PROGRESS } else { user };
        (instrument.name, is_on, Some(is_timed), properties)
    });
    let mut all: Vec<_> = fixed.chain(switched).collect();
    all.sort_unstable_by_key(|(name, ..)| *name);
    let row = |(name, is_on, is_timed, properties): (&str, bool, Option<bool>, u64)| {
        vec![
            Value::bytes(name),
            yes_no(is_on),
            is_timed.map_or(Value::Null, yes_no),
            Value::Set(properties),
            Value::Null,
            Value::Int(0),
            Value::Null,
        ]
    };
    all.into_iter().map(row).collect()
}

fn actors(instance: &Instance, _: &Viewer) -> Rows {
    let row = |actor: Actor| {
        vec![
            Value::bytes(actor.host),
            Value::bytes(actor.user),
            Value::bytes(actor.role),
            yes_no(actor.is_on),
            yes_no(actor.has_history),
        ]
    };
    instance.telemetry.actors.all().into_iter().map(row).collect()
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
