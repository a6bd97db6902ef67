//! Files: what was asked of the store's and the log's, by kind.
//!
//! The engine counts the files of the store together and those of the log together; each has one row.
use catalog::Viewer;
use datum::Value;
use engine::IoStats;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::time;

pub(super) const TABLES: &[Table] = &[
    Table::events(INSTANCES, instances),
    Table::summary(BY_EVENT_NAME, by_event_name, |_| {}),
    Table::summary(BY_INSTANCE, by_instance, |_| {}),
];

const INSTANCES: Shape = Shape {
    name: "file_instances",
    columns: "FILE_NAME varchar(512); EVENT_NAME varchar(128); OPEN_COUNT int unsigned",
};
const BY_EVENT_NAME: Shape = Shape {
    name: "file_summary_by_event_name",
    columns: "EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT \
        bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; COUNT_READ bigint \
        unsigned; SUM_TIMER_READ bigint unsigned; MIN_TIMER_READ bigint unsigned; AVG_TIMER_READ bigint \
        unsigned; MAX_TIMER_READ bigint unsigned; SUM_NUMBER_OF_BYTES_READ bigint; COUNT_WRITE bigint unsigned; \
        SUM_TIMER_WRITE bigint unsigned; MIN_TIMER_WRITE bigint unsigned; AVG_TIMER_WRITE bigint unsigned; \
        MAX_TIMER_WRITE bigint unsigned; SUM_NUMBER_OF_BYTES_WRITE bigint; COUNT_MISC bigint unsigned; \
        SUM_TIMER_MISC bigint unsigned; MIN_TIMER_MISC bigint unsigned; AVG_TIMER_MISC bigint unsigned; \
        MAX_TIMER_MISC bigint unsigned",
};
const BY_INSTANCE: Shape = Shape {
    name: "file_summary_by_instance",
    columns: "FILE_NAME varchar(512); EVENT_NAME varchar(128); OBJECT_INSTANCE_BEGIN bigint unsigned; COUNT_STAR \
        bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint \
        unsigned; MAX_TIMER_WAIT bigint unsigned; COUNT_READ bigint unsigned; SUM_TIMER_READ bigint unsigned; \
        MIN_TIMER_READ bigint unsigned; AVG_TIMER_READ bigint unsigned; MAX_TIMER_READ bigint unsigned; \
        SUM_NUMBER_OF_BYTES_READ bigint; COUNT_WRITE bigint unsigned; SUM_TIMER_WRITE bigint unsigned; \
        MIN_TIMER_WRITE bigint unsigned; AVG_TIMER_WRITE bigint unsigned; MAX_TIMER_WRITE bigint unsigned; \
        SUM_NUMBER_OF_BYTES_WRITE bigint; COUNT_MISC bigint unsigned; SUM_TIMER_MISC bigint unsigned; \
        MIN_TIMER_MISC bigint unsigned; AVG_TIMER_MISC bigint unsigned; MAX_TIMER_MISC bigint unsigned",
};

/// The file of all pages.
pub(crate) const STORE_FILE: &str = "pages.db";

/// Event, name below the data directory, what was asked, and nanoseconds of waiting for reads and for writes.
pub(crate) struct FileFigures {
    pub event: &'static str,
    pub file: &'static str,
    pub io: IoStats,
    pub read_ns: u64,
    pub sync_ns: u64,
}

pub(crate) fn files(instance: &Instance) -> [FileFigures; 2] {
    let stats = instance.engine().stats();
    [
        FileFigures {
            event: "wait/io/file/innodb/innodb_data_file",
            file: STORE_FILE,
            io: stats.data_io,
            read_ns: stats.page_read_wait.time_us * 1000,
            sync_ns: 0,
        },
        FileFigures {
            event: "wait/io/file/innodb/innodb_log_file",
            file: "log",
            io: stats.log_io,
            read_ns: 0,
            sync_ns: stats.commit_wait.time_us * 1000,
        },
    ]
}

pub(crate) fn path(instance: &Instance, file: &str) -> String {
    let directory = instance.global_variable("datadir");
    format!("{}/{file}", directory.trim_end_matches('/'))
}

fn instances(instance: &Instance, _: &Viewer) -> Rows {
    let row = |file: &FileFigures| {
        vec![
            Value::bytes(path(instance, file.file)),
            Value::bytes(file.event),
            Value::UInt(file.io.files_open),
        ]
    };
    files(instance).iter().map(row).collect()
}

/// COUNT, SUM, MIN, AVG and MAX of a kind of operation.
fn timed(count: u64, sum_ns: u64) -> [Value; 5] {
    let average = sum_ns.checked_div(count).unwrap_or(0);
    [Value::UInt(count), time(sum_ns), time(0), time(average), time(0)]
}

fn columns(file: &FileFigures) -> Vec<Value> {
    let io = &file.io;
    let mut row = Vec::new();
    row.extend(timed(io.reads + io.writes + io.syncs, file.read_ns + file.sync_ns));
    row.extend(timed(io.reads, file.read_ns));
    row.push(Value::Int(io.bytes_read as i64));
    row.extend(timed(io.writes, 0));
    row.push(Value::Int(io.bytes_written as i64));
    row.extend(timed(io.syncs, file.sync_ns));
    row
}

fn by_event_name(instance: &Instance, _: &Viewer) -> Rows {
    let row = |file: &FileFigures| {
        let mut row = vec![Value::bytes(file.event)];
        row.extend(columns(file));
        row
    };
    files(instance).iter().map(row).collect()
}

fn by_instance(instance: &Instance, _: &Viewer) -> Rows {
    let row = |(number, file): (usize, &FileFigures)| {
        let mut row = vec![
            Value::bytes(path(instance, file.file)),
            Value::bytes(file.event),
            Value::UInt(number as u64 + 1),
        ];
        row.extend(columns(file));
        row
    };
    files(instance).iter().enumerate().map(row).collect()
}
