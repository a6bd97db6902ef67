//! `replication_*`: a row for each channel, of how it is set and what its receiver and its applier tell.
//!
//! Invariant: an applier without workers is worker 0, as in MySQL, and there is no coordinator.
use std::sync::Arc;

use datum::Value;
use instance::replication::{AppliedTransaction, Channel, ChannelStatus, Failure, Part, ReceiverState};
use instance::{Instance, unix_now_us};

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{member, timestamp};

pub(super) const TABLES: &[Table] = &[
    Table::events(CONNECTION, |instance, _| rows(instance, connection)),
    Table::events(RECEIVER, |instance, _| rows(instance, receiver)),
    Table::events(CONFIGURATION, |instance, _| rows(instance, configuration)),
    Table::events(APPLIER, |instance, _| rows(instance, applier)),
    Table::events(WORKER, |instance, _| rows(instance, worker)),
];

const CONNECTION: Shape = Shape {
    name: "replication_connection_configuration",
    columns: "CHANNEL_NAME char(64); HOST char(255); PORT int; USER char(32); NETWORK_INTERFACE char(60); \
         AUTO_POSITION enum('1','0'); SSL_ALLOWED enum('YES','NO','IGNORED'); SSL_CA_FILE varchar(512); \
         SSL_CA_PATH varchar(512); SSL_CERTIFICATE varchar(512); SSL_CIPHER varchar(512); SSL_KEY \
         varchar(512); SSL_VERIFY_SERVER_CERTIFICATE enum('YES','NO'); SSL_CRL_FILE varchar(255); \
         SSL_CRL_PATH varchar(255); CONNECTION_RETRY_INTERVAL int; CONNECTION_RETRY_COUNT bigint unsigned; \
         HEARTBEAT_INTERVAL double; TLS_VERSION varchar(255); PUBLIC_KEY_PATH varchar(512); GET_PUBLIC_KEY \
         enum('YES','NO'); NETWORK_NAMESPACE varchar(64); COMPRESSION_ALGORITHM char(64); \
         ZSTD_COMPRESSION_LEVEL int; TLS_CIPHERSUITES text?; SOURCE_CONNECTION_AUTO_FAILOVER enum('1','0'); \
         GTID_ONLY enum('1','0')",
};
const RECEIVER: Shape = Shape {
    name: "replication_connection_status",
    columns: "CHANNEL_NAME char(64); GROUP_NAME char(36); SOURCE_UUID char(36); THREAD_ID bigint unsigned?; \
         SERVICE_STATE enum('ON','OFF','CONNECTING'); COUNT_RECEIVED_HEARTBEATS bigint unsigned; \
         LAST_HEARTBEAT_TIMESTAMP timestamp(6); RECEIVED_TRANSACTION_SET longtext; LAST_ERROR_NUMBER int; \
         LAST_ERROR_MESSAGE varchar(1024); LAST_ERROR_TIMESTAMP timestamp(6); LAST_QUEUED_TRANSACTION \
         char(90)?; LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6); \
         LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6); \
         LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP timestamp(6); \
         LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP timestamp(6); QUEUEING_TRANSACTION char(90)?; \
         QUEUEING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6); \
         QUEUEING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6); \
         QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP timestamp(6)",
};
const CONFIGURATION: Shape = Shape {
    name: "replication_applier_configuration",
    columns: "CHANNEL_NAME char(64); DESIRED_DELAY int; PRIVILEGE_CHECKS_USER text?; REQUIRE_ROW_FORMAT \
         enum('YES','NO'); REQUIRE_TABLE_PRIMARY_KEY_CHECK enum('STREAM','ON','OFF','GENERATE'); \
         ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE enum('OFF','LOCAL','UUID'); \
         ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE text?",
};
const APPLIER: Shape = Shape {
    name: "replication_applier_status",
    columns: "CHANNEL_NAME char(64); SERVICE_STATE enum('ON','OFF'); REMAINING_DELAY int unsigned?; \
         COUNT_TRANSACTIONS_RETRIES bigint unsigned",
};
const WORKER: Shape = Shape {
    name: "replication_applier_status_by_worker",
    columns: "CHANNEL_NAME char(64); WORKER_ID bigint unsigned; THREAD_ID bigint unsigned?; SERVICE_STATE \
         enum('ON','OFF'); LAST_ERROR_NUMBER int; LAST_ERROR_MESSAGE varchar(1024); LAST_ERROR_TIMESTAMP \
         timestamp(6); LAST_APPLIED_TRANSACTION char(90)?; LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP \
         timestamp(6); LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6); \
         LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP timestamp(6); \
         LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP timestamp(6); APPLYING_TRANSACTION char(90)?; \
         APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6); \
         APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6); \
         APPLYING_TRANSACTION_START_APPLY_TIMESTAMP timestamp(6); LAST_APPLIED_TRANSACTION_RETRIES_COUNT \
         bigint unsigned; LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER int; \
         LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE varchar(1024)?; \
         LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP timestamp(6); \
         APPLYING_TRANSACTION_RETRIES_COUNT bigint unsigned; APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER \
         int; APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE varchar(1024)?; \
         APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP timestamp(6)",
};

fn rows(instance: &Instance, row: fn(&Channel) -> Vec<Value>) -> Rows {
    let channels: Vec<Arc<Channel>> = instance.replication.channels();
    channels.iter().map(|channel| row(channel)).collect()
}

/// Of an ENUM whose first member says yes.
fn yes_no(is_yes: bool) -> Value {
    member(if is_yes { 1 } else { 2 })
}

pub(super) fn moment(unix_us: u64) -> Value {
    timestamp(i64::try_from(unix_us).unwrap_or(0))
}

fn thread(id: Option<u32>) -> Value {
    id.map_or(Value::Null, |id| Value::UInt(u64::from(id)))
}

fn failure(failure: &Failure) -> [Value; 3] {
    [Value::Int(i64::from(failure.number)), Value::bytes(&failure.message), moment(failure.at_us)]
}

/// The name of a transaction and its moments at the sources.
fn transaction(transaction: &AppliedTransaction) -> [Value; 3] {
    let name = match transaction.gtid {
        Some(gtid) => gtid.to_string(),
        None if transaction.begun_us > 0 => "ANONYMOUS".to_owned(),
        None => String::new(),
    };
    [Value::bytes(name), moment(transaction.original_commit_us), moment(transaction.immediate_commit_us)]
}

fn connection(channel: &Channel) -> Vec<Value> {
    let settings = channel.settings.lock().clone();
    let none = || Value::bytes("");
    vec![
        Value::bytes(&channel.name),
        Value::bytes(&settings.host),
        Value::Int(i64::from(settings.port)),
        Value::bytes(&settings.user),
        none(),
        yes_no(settings.auto_position),
        yes_no(settings.ssl),
        Value::bytes(&settings.ssl_ca),
        none(),
        none(),
        none(),
        none(),
        yes_no(settings.ssl_verify),
        none(),
        none(),
        Value::Int(i64::try_from(settings.connect_retry).unwrap_or(i64::MAX)),
        Value::UInt(settings.retry_count),
        Value::Double(settings.heartbeat_ms as f64 / 1000.0),
        none(),
        none(),
        yes_no(settings.get_public_key),
        none(),
        Value::bytes("uncompressed"),
        Value::Int(ZSTD_LEVEL),
        Value::Null,
        yes_no(false),
        yes_no(false),
    ]
}

/// MySQL's default, which only compression would obey.
const ZSTD_LEVEL: i64 = 3;

fn receiver(channel: &Channel) -> Vec<Value> {
    let status = channel.status.lock().clone();
    let state = match status.receiver {
        ReceiverState::On => 1,
        ReceiverState::Off => 2,
        ReceiverState::Connecting => 3,
    };
    let mut row = vec![
        Value::bytes(&channel.name),
        Value::bytes(""),
        Value::bytes(&status.source_uuid),
        thread(status.receiver_thread),
        member(state),
        Value::UInt(status.heartbeats),
        moment(status.heartbeat_us),
        Value::bytes(status.retrieved.to_string()),
    ];
    row.extend(failure(&status.receiver_failure));
    row.extend(transaction(&status.last_queued));
    row.extend([moment(status.last_queued.begun_us), moment(status.last_queued.ended_us)]);
    // A transaction is in the relay as soon as it is here.
    row.extend(transaction(&AppliedTransaction::default()));
    row.push(moment(0));
    row
}

fn configuration(channel: &Channel) -> Vec<Value> {
    let delay = channel.settings.lock().delay;
    vec![
        Value::bytes(&channel.name),
        Value::Int(i64::try_from(delay).unwrap_or(i64::MAX)),
        Value::Null,
        yes_no(false),
        member(1),
        member(1),
        Value::Null,
    ]
}

fn applier(channel: &Channel) -> Vec<Value> {
    let status = channel.status.lock().clone();
    let now = unix_now_us() / 1_000_000;
    vec![
        Value::bytes(&channel.name),
        yes_no(channel.is_running(Part::Applier)),
        match status.delayed_until {
            0 => Value::Null,
            until => Value::UInt(until.saturating_sub(now)),
        },
        Value::UInt(status.retries),
    ]
}

fn worker(channel: &Channel) -> Vec<Value> {
    let status: ChannelStatus = channel.status.lock().clone();
    let mut row = vec![
        Value::bytes(&channel.name),
        Value::UInt(0),
        thread(status.applier_thread),
        yes_no(channel.is_running(Part::Applier)),
    ];
    row.extend(failure(&status.applier_failure));
    row.extend(transaction(&status.last_applied));
    row.extend([moment(status.last_applied.begun_us), moment(status.last_applied.ended_us)]);
    let applying = status.applying.unwrap_or_default();
    row.extend(transaction(&applying));
    row.push(moment(applying.begun_us));
    for _ in 0..2 {
        row.push(Value::UInt(0));
        row.extend(failure(&Failure::default()));
    }
    row
}
