//! Statements by their kind and by who sent them: `events_statements_summary_by_*_by_event_name` and the sum of all.
use std::collections::BTreeMap;

use catalog::Viewer;
use datum::Value;
use instance::Instance;
use telemetry::{StatementTotals, ThreadFigures};

use super::connections::{by_account, by_host, by_user, of_everybody};
use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{time, timings};

pub(super) const TABLES: &[Table] = &[
    Table::summary(GLOBAL, |instance, _| rows(vec![(Vec::new(), of_everybody(instance))]), forget),
    Table::summary(BY_ACCOUNT, |instance, _| rows(by_account(instance)), forget),
    Table::summary(BY_USER, |instance, _| rows(by_user(instance)), forget),
    Table::summary(BY_HOST, |instance, _| rows(by_host(instance)), forget),
    Table::summary(BY_THREAD, by_thread, forget),
];

const GLOBAL: Shape = Shape {
    name: "events_statements_summary_global_by_event_name",
    columns: "EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT \
        bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; SUM_LOCK_TIME bigint \
        unsigned; SUM_ERRORS bigint unsigned; SUM_WARNINGS bigint unsigned; SUM_ROWS_AFFECTED bigint unsigned; \
        SUM_ROWS_SENT bigint unsigned; SUM_ROWS_EXAMINED bigint unsigned; SUM_CREATED_TMP_DISK_TABLES bigint \
        unsigned; SUM_CREATED_TMP_TABLES bigint unsigned; SUM_SELECT_FULL_JOIN bigint unsigned; \
        SUM_SELECT_FULL_RANGE_JOIN bigint unsigned; SUM_SELECT_RANGE bigint unsigned; SUM_SELECT_RANGE_CHECK \
        bigint unsigned; SUM_SELECT_SCAN bigint unsigned; SUM_SORT_MERGE_PASSES bigint unsigned; SUM_SORT_RANGE \
        bigint unsigned; SUM_SORT_ROWS bigint unsigned; SUM_SORT_SCAN bigint unsigned; SUM_NO_INDEX_USED bigint \
        unsigned; SUM_NO_GOOD_INDEX_USED bigint unsigned; SUM_CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY \
        bigint unsigned; MAX_TOTAL_MEMORY bigint unsigned; COUNT_SECONDARY bigint unsigned",
};
const BY_ACCOUNT: Shape = Shape {
    name: "events_statements_summary_by_account_by_event_name",
    columns: "USER char(32)?; HOST char(255)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT \
        bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint \
        unsigned; SUM_LOCK_TIME bigint unsigned; SUM_ERRORS bigint unsigned; SUM_WARNINGS bigint unsigned; \
        SUM_ROWS_AFFECTED bigint unsigned; SUM_ROWS_SENT bigint unsigned; SUM_ROWS_EXAMINED bigint unsigned; \
        SUM_CREATED_TMP_DISK_TABLES bigint unsigned; SUM_CREATED_TMP_TABLES bigint unsigned; \
        SUM_SELECT_FULL_JOIN bigint unsigned; SUM_SELECT_FULL_RANGE_JOIN bigint unsigned; SUM_SELECT_RANGE \
        bigint unsigned; SUM_SELECT_RANGE_CHECK bigint unsigned; SUM_SELECT_SCAN bigint unsigned; \
        SUM_SORT_MERGE_PASSES bigint unsigned; SUM_SORT_RANGE bigint unsigned; SUM_SORT_ROWS bigint unsigned; \
        SUM_SORT_SCAN bigint unsigned; SUM_NO_INDEX_USED bigint unsigned; SUM_NO_GOOD_INDEX_USED bigint \
        unsigned; SUM_CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY bigint unsigned; MAX_TOTAL_MEMORY bigint \
        unsigned; COUNT_SECONDARY bigint unsigned",
};
const BY_USER: Shape = Shape {
    name: "events_statements_summary_by_user_by_event_name",
    columns: "USER char(32)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; \
        MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; \
        SUM_LOCK_TIME bigint unsigned; SUM_ERRORS bigint unsigned; SUM_WARNINGS bigint unsigned; \
        SUM_ROWS_AFFECTED bigint unsigned; SUM_ROWS_SENT bigint unsigned; SUM_ROWS_EXAMINED bigint unsigned; \
        SUM_CREATED_TMP_DISK_TABLES bigint unsigned; SUM_CREATED_TMP_TABLES bigint unsigned; \
        SUM_SELECT_FULL_JOIN bigint unsigned; SUM_SELECT_FULL_RANGE_JOIN bigint unsigned; SUM_SELECT_RANGE \
        bigint unsigned; SUM_SELECT_RANGE_CHECK bigint unsigned; SUM_SELECT_SCAN bigint unsigned; \
        SUM_SORT_MERGE_PASSES bigint unsigned; SUM_SORT_RANGE bigint unsigned; SUM_SORT_ROWS bigint unsigned; \
        SUM_SORT_SCAN bigint unsigned; SUM_NO_INDEX_USED bigint unsigned; SUM_NO_GOOD_INDEX_USED bigint \
        unsigned; SUM_CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY bigint unsigned; MAX_TOTAL_MEMORY bigint \
        unsigned; COUNT_SECONDARY bigint unsigned",
};
const BY_HOST: Shape = Shape {
    name: "events_statements_summary_by_host_by_event_name",
    columns: "HOST char(255)?; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; \
        MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; \
        SUM_LOCK_TIME bigint unsigned; SUM_ERRORS bigint unsigned; SUM_WARNINGS bigint unsigned; \
        SUM_ROWS_AFFECTED bigint unsigned; SUM_ROWS_SENT bigint unsigned; SUM_ROWS_EXAMINED bigint unsigned; \
        SUM_CREATED_TMP_DISK_TABLES bigint unsigned; SUM_CREATED_TMP_TABLES bigint unsigned; \
        SUM_SELECT_FULL_JOIN bigint unsigned; SUM_SELECT_FULL_RANGE_JOIN bigint unsigned; SUM_SELECT_RANGE \
        bigint unsigned; SUM_SELECT_RANGE_CHECK bigint unsigned; SUM_SELECT_SCAN bigint unsigned; \
        SUM_SORT_MERGE_PASSES bigint unsigned; SUM_SORT_RANGE bigint unsigned; SUM_SORT_ROWS bigint unsigned; \
        SUM_SORT_SCAN bigint unsigned; SUM_NO_INDEX_USED bigint unsigned; SUM_NO_GOOD_INDEX_USED bigint \
        unsigned; SUM_CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY bigint unsigned; MAX_TOTAL_MEMORY bigint \
        unsigned; COUNT_SECONDARY bigint unsigned",
};
const BY_THREAD: Shape = Shape {
    name: "events_statements_summary_by_thread_by_event_name",
    columns: "THREAD_ID bigint unsigned; EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint \
        unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint \
        unsigned; SUM_LOCK_TIME bigint unsigned; SUM_ERRORS bigint unsigned; SUM_WARNINGS bigint unsigned; \
        SUM_ROWS_AFFECTED bigint unsigned; SUM_ROWS_SENT bigint unsigned; SUM_ROWS_EXAMINED bigint unsigned; \
        SUM_CREATED_TMP_DISK_TABLES bigint unsigned; SUM_CREATED_TMP_TABLES bigint unsigned; \
        SUM_SELECT_FULL_JOIN bigint unsigned; SUM_SELECT_FULL_RANGE_JOIN bigint unsigned; SUM_SELECT_RANGE \
        bigint unsigned; SUM_SELECT_RANGE_CHECK bigint unsigned; SUM_SELECT_SCAN bigint unsigned; \
        SUM_SORT_MERGE_PASSES bigint unsigned; SUM_SORT_RANGE bigint unsigned; SUM_SORT_ROWS bigint unsigned; \
        SUM_SORT_SCAN bigint unsigned; SUM_NO_INDEX_USED bigint unsigned; SUM_NO_GOOD_INDEX_USED bigint \
        unsigned; SUM_CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY bigint unsigned; MAX_TOTAL_MEMORY bigint \
        unsigned; COUNT_SECONDARY bigint unsigned",
};

fn forget(instance: &Instance) {
    super::connections::forget(instance, |figures| figures.statements.clear());
}

fn by_thread(instance: &Instance, _: &Viewer) -> Rows {
    let threads = instance.processes().all().into_iter();
    rows(threads.map(|entry| (vec![Value::UInt(u64::from(entry.id.0))], entry.figures.figures())).collect())
}

/// A row for each kind of statement of each; the kinds that nobody sent have none.
fn rows(of: Vec<(Vec<Value>, ThreadFigures)>) -> Rows {
    let mut rows = Rows::new();
    for (key, figures) in of {
        let sorted: BTreeMap<&str, &StatementTotals> =
            figures.statements.iter().map(|(name, totals)| (*name, totals)).collect();
        for (name, totals) in sorted {
            let mut row = key.clone();
            row.push(Value::bytes(name));
            row.extend(timings(&totals.timings));
            row.push(time(totals.figures.lock_time_ns));
            row.extend(totals.figures.counts().map(Value::UInt));
            row.push(time(totals.figures.cpu_time_ns));
            row.extend(crate::values::zeros(3));
            rows.push(row);
        }
    }
    rows
}
