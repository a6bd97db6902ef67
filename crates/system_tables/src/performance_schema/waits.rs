//! Waits by their cause: what statements waited for pages, memory, the log and locks.
//!
//! The sums; single waits are in `single_waits`.
use catalog::Viewer;
use datum::Value;
use env::{WAIT_CAUSES, WaitCause};
use instance::Instance;
use telemetry::{ThreadFigures, wait_name};

use super::connections::{by_account, by_host, by_thread, by_user, of_everybody};
use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::timings;

pub(super) const TABLES: &[Table] = &[
    Table::summary(GLOBAL, |instance, _| rows(vec![(Vec::new(), of_everybody(instance))]), forget),
    Table::summary(BY_ACCOUNT, |instance, _| rows(by_account(instance)), forget),
    Table::summary(BY_USER, |instance, _| rows(by_user(instance)), forget),
    Table::summary(BY_HOST, |instance, _| rows(by_host(instance)), forget),
    Table::summary(BY_THREAD, |instance, _| rows(by_thread(instance)), forget),
    Table::summary(BY_INSTANCE, by_instance, forget),
];

const GLOBAL: Shape = Shape {
    name: "events_waits_summary_global_by_event_name",
    columns: "EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT \
        bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned",
};
const BY_ACCOUNT: Shape = Shape {
    name: "events_waits_summary_by_account_by_event_name",
    columns: "USER char(32)?; HOST char(255)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT \
        bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint \
        unsigned",
};
const BY_USER: Shape = Shape {
    name: "events_waits_summary_by_user_by_event_name",
    columns: "USER char(32)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; \
        MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned",
};
const BY_HOST: Shape = Shape {
    name: "events_waits_summary_by_host_by_event_name",
    columns: "HOST char(255)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; \
        MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned",
};
const BY_THREAD: Shape = Shape {
    name: "events_waits_summary_by_thread_by_event_name",
    columns: "THREAD_ID bigint unsigned; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint \
        unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned",
};
const BY_INSTANCE: Shape = Shape {
    name: "events_waits_summary_by_instance",
    columns: "EVENT_NAME varchar(128); OBJECT_INSTANCE_BEGIN bigint unsigned; COUNT_STAR bigint unsigned; \
        SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; \
        MAX_TIMER_WAIT bigint unsigned",
};

fn forget(instance: &Instance) {
    super::connections::forget(instance, |figures| figures.waits.clear());
}

fn rows(of: Vec<(Vec<Value>, ThreadFigures)>) -> Rows {
    let mut rows = Rows::new();
    for (key, figures) in of {
        for cause in WAIT_CAUSES {
            let mut row = key.clone();
            row.push(Value::bytes(wait_name(cause)));
            row.extend(timings(figures.waits.of(cause)));
            rows.push(row);
        }
    }
    rows
}

fn by_instance(instance: &Instance, _: &Viewer) -> Rows {
    let figures = of_everybody(instance);
    let row = |(number, cause): (usize, &WaitCause)| {
        let mut row = vec![Value::bytes(wait_name(*cause)), Value::UInt(number as u64 + 1)];
        row.extend(timings(figures.waits.of(*cause)));
        row
    };
    WAIT_CAUSES.iter().enumerate().map(row).collect()
}
