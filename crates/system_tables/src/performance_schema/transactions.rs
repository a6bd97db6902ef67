//! Transactions of several statements: those that are open, the last ones, and their sums.
use catalog::Viewer;
use datum::Value;
use instance::Instance;
use std::time::Instant;
use telemetry::{ThreadFigures, TransactionEvent};

use super::connections::{by_account, by_host, by_thread, by_user, of_everybody};
use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{member, time, timings};

pub(super) const TABLES: &[Table] = &[
    Table::summary(CURRENT, current, |_| {}),
    Table::summary(HISTORY, history, |_| {}),
    Table::summary(HISTORY_LONG, history, |_| {}),
    Table::summary(GLOBAL, |instance, _| rows(vec![(Vec::new(), of_everybody(instance))]), forget),
    Table::summary(BY_ACCOUNT, |instance, _| rows(by_account(instance)), forget),
    Table::summary(BY_USER, |instance, _| rows(by_user(instance)), forget),
    Table::summary(BY_HOST, |instance, _| rows(by_host(instance)), forget),
    Table::summary(BY_THREAD, |instance, _| rows(by_thread(instance)), forget),
];

/// Of the open transactions, of the last of each session, and of the last of all.
const EVENT_COLUMNS: &str = "THREAD_ID bigint unsigned; EVENT_ID bigint unsigned; END_EVENT_ID bigint unsigned?; EVENT_NAME \
        varchar(128); STATE enum('ACTIVE','COMMITTED','ROLLED BACK')?; TRX_ID bigint unsigned?; GTID \
        varchar(90)?; XID_FORMAT_ID int?; XID_GTRID varchar(130)?; XID_BQUAL varchar(130)?; XA_STATE \
        varchar(64)?; SOURCE varchar(64)?; TIMER_START bigint unsigned?; TIMER_END bigint unsigned?; TIMER_WAIT \
        bigint unsigned?; ACCESS_MODE enum('READ ONLY','READ WRITE')?; ISOLATION_LEVEL varchar(64)?; AUTOCOMMIT \
        enum('YES','NO'); NUMBER_OF_SAVEPOINTS bigint unsigned?; NUMBER_OF_ROLLBACK_TO_SAVEPOINT bigint \
        unsigned?; NUMBER_OF_RELEASE_SAVEPOINT bigint unsigned?; OBJECT_INSTANCE_BEGIN bigint unsigned?; \
        NESTING_EVENT_ID bigint unsigned?; NESTING_EVENT_TYPE enum('TRANSACTION','STATEMENT','STAGE','WAIT')?";

const CURRENT: Shape = Shape { name: "events_transactions_current", columns: EVENT_COLUMNS };
const HISTORY: Shape = Shape { name: "events_transactions_history", columns: EVENT_COLUMNS };
const HISTORY_LONG: Shape = Shape { name: "events_transactions_history_long", columns: EVENT_COLUMNS };
const GLOBAL: Shape = Shape {
    name: "events_transactions_summary_global_by_event_name",
    columns: "EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT \
        bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; COUNT_READ_WRITE bigint \
        unsigned; SUM_TIMER_READ_WRITE bigint unsigned; MIN_TIMER_READ_WRITE bigint unsigned; \
        AVG_TIMER_READ_WRITE bigint unsigned; MAX_TIMER_READ_WRITE bigint unsigned; COUNT_READ_ONLY bigint \
        unsigned; SUM_TIMER_READ_ONLY bigint unsigned; MIN_TIMER_READ_ONLY bigint unsigned; AVG_TIMER_READ_ONLY \
        bigint unsigned; MAX_TIMER_READ_ONLY bigint unsigned",
};
const BY_ACCOUNT: Shape = Shape {
    name: "events_transactions_summary_by_account_by_event_name",
    columns: "USER char(32)?; HOST char(255)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT \
        bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint \
        unsigned; COUNT_READ_WRITE bigint unsigned; SUM_TIMER_READ_WRITE bigint unsigned; MIN_TIMER_READ_WRITE \
        bigint unsigned; AVG_TIMER_READ_WRITE bigint unsigned; MAX_TIMER_READ_WRITE bigint unsigned; \
        COUNT_READ_ONLY bigint unsigned; SUM_TIMER_READ_ONLY bigint unsigned; MIN_TIMER_READ_ONLY bigint \
        unsigned; AVG_TIMER_READ_ONLY bigint unsigned; MAX_TIMER_READ_ONLY bigint unsigned",
};
const BY_USER: Shape = Shape {
    name: "events_transactions_summary_by_user_by_event_name",
    columns: "USER char(32)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; \
        MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; \
        COUNT_READ_WRITE bigint unsigned; SUM_TIMER_READ_WRITE bigint unsigned; MIN_TIMER_READ_WRITE bigint \
        unsigned; AVG_TIMER_READ_WRITE bigint unsigned; MAX_TIMER_READ_WRITE bigint unsigned; COUNT_READ_ONLY \
        bigint unsigned; SUM_TIMER_READ_ONLY bigint unsigned; MIN_TIMER_READ_ONLY bigint unsigned; \
        AVG_TIMER_READ_ONLY bigint unsigned; MAX_TIMER_READ_ONLY bigint unsigned",
};
const BY_HOST: Shape = Shape {
    name: "events_transactions_summary_by_host_by_event_name",
    columns: "HOST char(255)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; \
        MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; \
        COUNT_READ_WRITE bigint unsigned; SUM_TIMER_READ_WRITE bigint unsigned; MIN_TIMER_READ_WRITE bigint \
        unsigned; AVG_TIMER_READ_WRITE bigint unsigned; MAX_TIMER_READ_WRITE bigint unsigned; COUNT_READ_ONLY \
        bigint unsigned; SUM_TIMER_READ_ONLY bigint unsigned; MIN_TIMER_READ_ONLY bigint unsigned; \
        AVG_TIMER_READ_ONLY bigint unsigned; MAX_TIMER_READ_ONLY bigint unsigned",
};
const BY_THREAD: Shape = Shape {
    name: "events_transactions_summary_by_thread_by_event_name",
    columns: "THREAD_ID bigint unsigned; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint \
        unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint \
        unsigned; COUNT_READ_WRITE bigint unsigned; SUM_TIMER_READ_WRITE bigint unsigned; MIN_TIMER_READ_WRITE \
        bigint unsigned; AVG_TIMER_READ_WRITE bigint unsigned; MAX_TIMER_READ_WRITE bigint unsigned; \
        COUNT_READ_ONLY bigint unsigned; SUM_TIMER_READ_ONLY bigint unsigned; MIN_TIMER_READ_ONLY bigint \
        unsigned; AVG_TIMER_READ_ONLY bigint unsigned; MAX_TIMER_READ_ONLY bigint unsigned",
};

fn forget(instance: &Instance) {
    super::connections::forget(instance, |figures| figures.transactions = Default::default());
}

fn current(instance: &Instance, _: &Viewer) -> Rows {
    let rows = instance.processes().all().into_iter().filter_map(|entry| {
        let event = entry.figures.transaction()?;
        Some(row(instance, u64::from(entry.id.0), &event))
    });
    rows.collect()
}

/// Of all sessions that are there.
fn history(instance: &Instance, _: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for entry in instance.processes().all() {
        let events = entry.figures.transactions();
        rows.extend(events.iter().map(|event| row(instance, u64::from(entry.id.0), event)));
    }
    rows
}

fn row(instance: &Instance, thread: u64, event: &TransactionEvent) -> Vec<Value> {
    let is_active = event.end_event_id == 0;
    let ended_ns = if is_active { instance.event_clock_ns(Instant::now()) } else { event.ended_ns };
    let state = match event.state {
        "ACTIVE" => 1,
        "COMMITTED" => 2,
        _ => 3,
    };
    vec![
        Value::UInt(thread),
        Value::UInt(event.event_id),
        if is_active { Value::Null } else { Value::UInt(event.end_event_id) },
        Value::bytes("transaction"),
        member(state),
        Value::Null,
        Value::bytes("AUTOMATIC"),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        time(event.began_ns),
        time(ended_ns),
        time(ended_ns.saturating_sub(event.began_ns)),
        member(if event.is_read_only { 1 } else { 2 }),
        Value::bytes(event.isolation),
        member(2),
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(0),
        Value::Null,
        Value::Null,
        Value::Null,
    ]
}

/// All, those that may write, those that only read.
fn rows(of: Vec<(Vec<Value>, ThreadFigures)>) -> Rows {
    let row = |(mut row, figures): (Vec<Value>, ThreadFigures)| {
        let totals = &figures.transactions;
        row.push(Value::bytes("transaction"));
        row.extend(timings(&totals.all()));
        row.extend(timings(&totals.read_write));
        row.extend(timings(&totals.read_only));
        row
    };
    of.into_iter().map(row).collect()
}
