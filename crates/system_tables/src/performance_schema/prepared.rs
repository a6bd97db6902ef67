//! `prepared_statements_instances`: the prepared statements of all sessions, and what their executions did.
//!
//! Values are what the sessions hold; a statement is gone from here when its session drops it.
use catalog::Viewer;
use datum::Value;
use instance::{Instance, PreparedSight};

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{member, optional, time, timings, zeros};

pub(super) const TABLES: &[Table] = &[Table::summary(INSTANCES, instances, forget)];

const INSTANCES: Shape = Shape {
    name: "prepared_statements_instances",
    columns: "OBJECT_INSTANCE_BEGIN bigint unsigned; STATEMENT_ID bigint unsigned; STATEMENT_NAME varchar(64)?; \
        SQL_TEXT longtext; OWNER_THREAD_ID bigint unsigned; OWNER_EVENT_ID bigint unsigned; OWNER_OBJECT_TYPE \
        enum('EVENT','FUNCTION','PROCEDURE','TABLE','TRIGGER')?; OWNER_OBJECT_SCHEMA varchar(64)?; \
        OWNER_OBJECT_NAME varchar(64)?; EXECUTION_ENGINE enum('PRIMARY','SECONDARY')?; TIMER_PREPARE bigint \
        unsigned; COUNT_REPREPARE bigint unsigned; COUNT_EXECUTE bigint unsigned; SUM_TIMER_EXECUTE bigint \
        unsigned; MIN_TIMER_EXECUTE bigint unsigned; AVG_TIMER_EXECUTE bigint unsigned; MAX_TIMER_EXECUTE bigint \
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

/// `PRIMARY`, as the ENUM counts.
const PRIMARY_ENGINE: u16 = 1;

fn instances(instance: &Instance, _: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for entry in instance.processes().all() {
        let Some(sight) = entry.sight.get() else { continue };
        for (number, prepared) in sight.prepared().iter().enumerate() {
            rows.push(row(u64::from(entry.id.0), number as u64, prepared));
        }
    }
    rows
}

fn row(thread: u64, number: u64, prepared: &PreparedSight) -> Vec<Value> {
    let totals = prepared.totals();
    let mut row = vec![
        Value::UInt((thread << 32) | (number + 1)),
        Value::UInt(match prepared.number() {
            0 => number + 1,
            id => u64::from(id),
        }),
        optional(prepared.name().as_ref()),
        Value::bytes(String::from_utf8_lossy(&prepared.text.bytes).as_ref()),
        Value::UInt(thread),
        Value::UInt(prepared.event),
        Value::Null,
        Value::Null,
        Value::Null,
        member(PRIMARY_ENGINE),
        time(prepared.prepare_ns),
        // A plan that is made anew is not counted.
        Value::UInt(0),
    ];
    row.extend(timings(&totals.timings));
    row.push(time(totals.figures.lock_time_ns));
    row.extend(totals.figures.counts().map(Value::UInt));
    row.push(time(totals.figures.cpu_time_ns));
    row.extend(zeros(3));
    row
}

fn forget(instance: &Instance) {
    let entries = instance.processes().all();
    let sights = entries.iter().filter_map(|entry| entry.sight.get());
    sights.flat_map(|sight| sight.prepared()).for_each(|prepared| prepared.forget());
}
