//! Sockets: one for each connection, with the bytes that came and went through it.
//!
//! Bytes are counted, calls and their times are not: those columns are 0.
use catalog::Viewer;
use datum::Value;
use instance::{Instance, ProcessEntry};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{member, zeros};

pub(super) const TABLES: &[Table] = &[
    Table::events(INSTANCES, instances),
    Table::summary(BY_EVENT_NAME, by_event_name, |_| {}),
    Table::summary(BY_INSTANCE, by_instance, |_| {}),
];

const INSTANCES: Shape = Shape {
    name: "socket_instances",
    columns: "EVENT_NAME varchar(128); OBJECT_INSTANCE_BEGIN bigint unsigned; THREAD_ID bigint unsigned?; \
         SOCKET_ID int; IP varchar(64); PORT int; STATE enum('IDLE','ACTIVE')",
};
const BY_EVENT_NAME: Shape = Shape {
    name: "socket_summary_by_event_name",
    columns: "EVENT_NAME varchar(128); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT \
         bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; COUNT_READ bigint \
         unsigned; SUM_TIMER_READ bigint unsigned; MIN_TIMER_READ bigint unsigned; AVG_TIMER_READ bigint \
         unsigned; MAX_TIMER_READ bigint unsigned; SUM_NUMBER_OF_BYTES_READ bigint unsigned; COUNT_WRITE \
         bigint unsigned; SUM_TIMER_WRITE bigint unsigned; MIN_TIMER_WRITE bigint unsigned; AVG_TIMER_WRITE \
         bigint unsigned; MAX_TIMER_WRITE bigint unsigned; SUM_NUMBER_OF_BYTES_WRITE bigint unsigned; \
         COUNT_MISC bigint unsigned; SUM_TIMER_MISC bigint unsigned; MIN_TIMER_MISC bigint unsigned; \
         AVG_TIMER_MISC bigint unsigned; MAX_TIMER_MISC bigint unsigned",
};
const BY_INSTANCE: Shape = Shape {
    name: "socket_summary_by_instance",
    columns: "EVENT_NAME varchar(128); OBJECT_INSTANCE_BEGIN bigint unsigned; COUNT_STAR bigint unsigned; \
         SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint unsigned; \
         MAX_TIMER_WAIT bigint unsigned; COUNT_READ bigint unsigned; SUM_TIMER_READ bigint unsigned; \
         MIN_TIMER_READ bigint unsigned; AVG_TIMER_READ bigint unsigned; MAX_TIMER_READ bigint unsigned; \
         SUM_NUMBER_OF_BYTES_READ bigint unsigned; COUNT_WRITE bigint unsigned; SUM_TIMER_WRITE bigint \
         unsigned; MIN_TIMER_WRITE bigint unsigned; AVG_TIMER_WRITE bigint unsigned; MAX_TIMER_WRITE bigint \
         unsigned; SUM_NUMBER_OF_BYTES_WRITE bigint unsigned; COUNT_MISC bigint unsigned; SUM_TIMER_MISC \
         bigint unsigned; MIN_TIMER_MISC bigint unsigned; AVG_TIMER_MISC bigint unsigned; MAX_TIMER_MISC \
         bigint unsigned",
};

const EVENT: &str = "wait/io/socket/sql/client_connection";
/// As the ENUM counts.
const IDLE: u16 = 1;
const ACTIVE: u16 = 2;

/// The connections of clients.
fn clients(instance: &Instance) -> impl Iterator<Item = Arc<ProcessEntry>> {
    let is_client = |entry: &Arc<ProcessEntry>| entry.activity().command != ProcessEntry::DAEMON;
    instance.processes().all().into_iter().filter(is_client)
}

fn instances(instance: &Instance, _: &Viewer) -> Rows {
    let row = |entry: Arc<ProcessEntry>| {
        let id = u64::from(entry.id.0);
        let (host, peer) = (entry.client_host(), entry.activity().host);
        let port = peer.strip_prefix(&host).and_then(|rest| rest.strip_prefix(':'));
        let port = port.and_then(|port| port.parse().ok()).unwrap_or(0);
        vec![
            Value::bytes(EVENT),
            Value::UInt(id),
            Value::UInt(id),
            Value::Int(id as i64),
            Value::bytes(host),
            Value::Int(port),
            member(if entry.is_running() { ACTIVE } else { IDLE }),
        ]
    };
    clients(instance).map(row).collect()
}

/// The columns behind the key.
fn figures(received: u64, sent: u64) -> Vec<Value> {
    let mut row: Vec<Value> = zeros(10).collect();
    row.push(Value::UInt(received));
    row.extend(zeros(5));
    row.push(Value::UInt(sent));
    row.extend(zeros(5));
    row
}

fn by_event_name(instance: &Instance, _: &Viewer) -> Rows {
    let total = instance.total_counters();
    let mut row = vec![Value::bytes(EVENT)];
    row.extend(figures(total.bytes_received.load(Relaxed), total.bytes_sent.load(Relaxed)));
    vec![row]
}

fn by_instance(instance: &Instance, _: &Viewer) -> Rows {
    let row = |entry: Arc<ProcessEntry>| {
        let counters = &entry.counters;
        let mut row = vec![Value::bytes(EVENT), Value::UInt(u64::from(entry.id.0))];
        row.extend(figures(counters.bytes_received.load(Relaxed), counters.bytes_sent.load(Relaxed)));
        row
    };
    clients(instance).map(row).collect()
}
