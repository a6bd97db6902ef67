//! Stages of statements: what each has come to, and how far changes of tables are.
//!
//! Changes of tables tell their stages always, as in MySQL; the others are made where somebody has switched them on.
use std::time::Instant;

use catalog::Viewer;
use datum::Value;
use instance::Instance;
use telemetry::{INSTRUMENTS, StageEvent, ThreadFigures};

use super::connections::{by_account, by_host, by_thread, by_user, of_everybody};
use super::single_waits::{end, nesting, times};
use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{time, timings};

pub(super) const TABLES: &[Table] = &[
    Table::summary(CURRENT, current, |_| {}),
    Table::summary(HISTORY, history, |instance| {
        instance.processes().all().iter().for_each(|entry| entry.figures.clear_stages());
    }),
    Table::summary(HISTORY_LONG, history_long, |instance| instance.telemetry.stages_long.clear()),
    Table::summary(GLOBAL, |instance, _| sums(vec![(Vec::new(), of_everybody(instance))]), forget),
    Table::summary(BY_ACCOUNT, |instance, _| sums(by_account(instance)), forget),
    Table::summary(BY_USER, |instance, _| sums(by_user(instance)), forget),
    Table::summary(BY_HOST, |instance, _| sums(by_host(instance)), forget),
    Table::summary(BY_THREAD, |instance, _| sums(by_thread(instance)), forget),
];

const EVENT_COLUMNS: &str = "THREAD_ID bigint unsigned; EVENT_ID bigint unsigned; END_EVENT_ID bigint unsigned?; EVENT_NAME \
        varchar(128); SOURCE varchar(64)?; TIMER_START bigint unsigned?; TIMER_END bigint unsigned?; TIMER_WAIT \
        bigint unsigned?; WORK_COMPLETED bigint unsigned?; WORK_ESTIMATED bigint unsigned?; NESTING_EVENT_ID \
        bigint unsigned?; NESTING_EVENT_TYPE enum('TRANSACTION','STATEMENT','STAGE','WAIT')?";

const CURRENT: Shape = Shape { name: "events_stages_current", columns: EVENT_COLUMNS };
const HISTORY: Shape = Shape { name: "events_stages_history", columns: EVENT_COLUMNS };
const HISTORY_LONG: Shape = Shape { name: "events_stages_history_long", columns: EVENT_COLUMNS };

const GLOBAL: Shape = Shape {
    name: "events_stages_summary_global_by_event_name",
    columns: "EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT \
        bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned",
};
const BY_ACCOUNT: Shape = Shape {
    name: "events_stages_summary_by_account_by_event_name",
    columns: "USER char(32)?; HOST char(255)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT \
        bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint \
        unsigned",
};
const BY_USER: Shape = Shape {
    name: "events_stages_summary_by_user_by_event_name",
    columns: "USER char(32)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; \
        MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned",
};
const BY_HOST: Shape = Shape {
    name: "events_stages_summary_by_host_by_event_name",
    columns: "HOST char(255)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; \
        MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned",
};
const BY_THREAD: Shape = Shape {
    name: "events_stages_summary_by_thread_by_event_name",
    columns: "THREAD_ID bigint unsigned; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint \
        unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned",
};

/// What is going on. Of a session that is not watched a change of a table is told alone.
fn current(instance: &Instance, _: &Viewer) -> Rows {
    let now_ns = instance.event_clock_ns(Instant::now());
    let mut rows = Rows::new();
    for process in instance.processes().all() {
        let thread = u64::from(process.id.0);
        let progress = process.progress();
        let Some(mut stage) = process.figures.stage() else {
            let Some((share, elapsed)) = progress else { continue };
            let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
            rows.push(vec![
                Value::UInt(thread),
                Value::UInt(share.stage as u64 + 1),
                Value::Null,
                Value::bytes(share.stage.event()),
                Value::Null,
                Value::Null,
                Value::Null,
                time(nanoseconds),
                Value::UInt(share.done),
                Value::UInt(share.estimated),
                Value::Null,
                Value::Null,
            ]);
            continue;
        };
        stage.work = progress.map(|(share, _)| (share.done, share.estimated)).or(stage.work);
        rows.push(row(thread, &stage, now_ns));
    }
    rows
}

fn history(instance: &Instance, _: &Viewer) -> Rows {
    let rows = instance.processes().all().into_iter().flat_map(|entry| {
        let thread = u64::from(entry.id.0);
        entry.figures.stages().into_iter().map(move |event| row(thread, &event, 0))
    });
    rows.collect()
}

fn history_long(instance: &Instance, _: &Viewer) -> Rows {
    instance.telemetry.stages_long.events().iter().map(|(thread, event)| row(*thread, event, 0)).collect()
}

fn row(thread: u64, event: &StageEvent, now_ns: u64) -> Vec<Value> {
    let mut row = vec![
        Value::UInt(thread),
        Value::UInt(event.event_id),
        end(event.end_event_id),
        Value::bytes(event.name),
        Value::Null,
    ];
    row.extend(times(event.span, event.end_event_id == 0, now_ns));
    match event.work {
        Some((done, estimated)) => row.extend([Value::UInt(done), Value::UInt(estimated)]),
        None => row.extend([Value::Null, Value::Null]),
    }
    row.extend(nesting(event.outer));
    row
}

fn forget(instance: &Instance) {
    super::connections::forget(instance, |figures| figures.stages.clear());
}

/// Each stage, those that nothing has come to as well.
fn sums(of: Vec<(Vec<Value>, ThreadFigures)>) -> Rows {
    let names =
        INSTRUMENTS.iter().map(|instrument| instrument.name).filter(|name| name.starts_with("stage/"));
    let names: Vec<&str> = names.collect();
    let mut rows = Rows::new();
    for (key, figures) in of {
        for name in &names {
            let of_name = figures.stages.iter().find(|(of, _)| of == name);
            let mut row = key.clone();
            row.push(Value::bytes(name));
            row.extend(timings(&of_name.map(|(_, timings)| *timings).unwrap_or_default()));
            rows.push(row);
        }
    }
    rows
}
