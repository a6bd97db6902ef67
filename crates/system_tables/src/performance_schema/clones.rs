//! `clone_status` and `clone_progress`: the newest copy of the database. Both are empty before the first.
use std::sync::atomic::Ordering::Relaxed;

use catalog::Viewer;
use datum::Value;
use instance::{BackupRun, Instance};

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::timestamp;

pub(super) const TABLES: &[Table] = &[Table::events(STATUS, status), Table::events(PROGRESS, progress)];

const STATUS: Shape = Shape {
    name: "clone_status",
    columns: "ID int?; PID int?; STATE char(16)?; BEGIN_TIME timestamp(3)?; END_TIME timestamp(3)?; SOURCE varchar(512)?; \
        DESTINATION varchar(512)?; ERROR_NO int?; ERROR_MESSAGE varchar(512)?; BINLOG_FILE varchar(512)?; \
        BINLOG_POSITION bigint?; GTID_EXECUTED longtext?",
};

const PROGRESS: Shape = Shape {
    name: "clone_progress",
    columns: "ID int?; STAGE char(32)?; STATE char(16)?; BEGIN_TIME timestamp(6)?; END_TIME timestamp(6)?; THREADS int?; \
        ESTIMATE bigint?; DATA bigint?; NETWORK bigint?; DATA_SPEED int?; NETWORK_SPEED int?",
};

fn moment(us: Option<u64>) -> Value {
    us.map_or(Value::Null, |us| timestamp(us as i64))
}

/// MySQL's words for how a copy stands.
fn state(run: &BackupRun) -> &'static str {
    match (run.ended_us, &run.failure) {
        (None, _) => "In Progress",
        (Some(_), None) => "Completed",
        (Some(_), Some(_)) => "Failed",
    }
}

fn status(instance: &Instance, _: &Viewer) -> Rows {
    let row = |run: BackupRun| {
        let (number, message) = run.failure.clone().unwrap_or_default();
        vec![
            Value::Int(1),
            Value::Int(i64::from(run.connection.0)),
            Value::bytes(state(&run)),
            moment(Some(run.begun_us)),
            moment(run.ended_us),
            Value::bytes("LOCAL INSTANCE"),
            Value::bytes(format!("{}/", run.directory.trim_end_matches('/'))),
            Value::Int(i64::from(number)),
            Value::bytes(message),
            Value::bytes(""),
            Value::Int(0),
            Value::bytes(""),
        ]
    };
    instance.backups.newest().map(row).into_iter().collect()
}

fn progress(instance: &Instance, _: &Viewer) -> Rows {
    let Some(run) = instance.backups.newest() else { return Rows::new() };
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed);
    let page_bytes = of(&run.progress.page_size_bytes);
    let (pages, total) = (of(&run.progress.pages), of(&run.progress.pages_total));
    let log = of(&run.progress.log_bytes);
    let seconds = (run.ended_us.unwrap_or_else(instance::unix_now_us) - run.begun_us) / 1_000_000;
    let stage = |name: &str, state: &str, estimate: u64, data: u64| {
        let has_begun = state != "Not Started";
        vec![
            Value::Int(1),
            Value::bytes(name),
            Value::bytes(state),
            moment(has_begun.then_some(run.begun_us)),
            moment(run.ended_us.filter(|_| has_begun)),
            Value::Int(i64::from(has_begun)),
            Value::Int(estimate as i64),
            Value::Int(data as i64),
            Value::Int(0),
            Value::Int((data / seconds.max(1)) as i64),
            Value::Int(0),
        ]
    };
    // Pages and log are copied by turns; files are synced at the end.
    let state = state(&run);
    vec![
        stage("DROP DATA", "Completed", 0, 0),
        stage("FILE COPY", "Completed", 0, 0),
        stage("PAGE COPY", state, total * page_bytes, pages * page_bytes),
        stage("REDO COPY", state, log, log),
        stage("FILE SYNC", if state == "In Progress" { "Not Started" } else { state }, 0, 0),
        stage("RESTART", "Not Started", 0, 0),
        stage("RECOVERY", "Not Started", 0, 0),
    ]
}
