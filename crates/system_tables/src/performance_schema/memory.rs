//! Memory: the large parts that the server accounts for, and what each session holds.
//!
//! Sessions count what they hold as a whole, not by what it is for; nothing is known of single allocations.
use std::collections::BTreeMap;

use catalog::Viewer;
use datum::Value;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[
    Table::summary(GLOBAL, global, |_| {}),
    Table::summary(
        BY_ACCOUNT,
        |instance, _| sessions(instance, |_, user, host| vec![Value::bytes(user), Value::bytes(host)]),
        |_| {},
    ),
    Table::summary(BY_HOST, |instance, _| sessions(instance, |_, _, host| vec![Value::bytes(host)]), |_| {}),
    Table::summary(
        BY_THREAD,
        |instance, _| sessions(instance, |thread, _, _| vec![Value::UInt(thread)]),
        |_| {},
    ),
    Table::summary(BY_USER, |instance, _| sessions(instance, |_, user, _| vec![Value::bytes(user)]), |_| {}),
];

const GLOBAL: Shape = Shape {
    name: "memory_summary_global_by_event_name",
    columns: "EVENT_NAME varchar(128); COUNT_ALLOC bigint unsigned; COUNT_FREE bigint unsigned; \
        SUM_NUMBER_OF_BYTES_ALLOC bigint unsigned; SUM_NUMBER_OF_BYTES_FREE bigint unsigned; LOW_COUNT_USED \
        bigint; CURRENT_COUNT_USED bigint; HIGH_COUNT_USED bigint; LOW_NUMBER_OF_BYTES_USED bigint; \
        CURRENT_NUMBER_OF_BYTES_USED bigint; HIGH_NUMBER_OF_BYTES_USED bigint",
};
const BY_ACCOUNT: Shape = Shape {
    name: "memory_summary_by_account_by_event_name",
    columns: "USER char(32)?; HOST char(255)?; EVENT_NAME varchar(128); COUNT_ALLOC bigint unsigned; COUNT_FREE bigint \
        unsigned; SUM_NUMBER_OF_BYTES_ALLOC bigint unsigned; SUM_NUMBER_OF_BYTES_FREE bigint unsigned; \
        LOW_COUNT_USED bigint; CURRENT_COUNT_USED bigint; HIGH_COUNT_USED bigint; LOW_NUMBER_OF_BYTES_USED \
        bigint; CURRENT_NUMBER_OF_BYTES_USED bigint; HIGH_NUMBER_OF_BYTES_USED bigint",
};
const BY_HOST: Shape = Shape {
    name: "memory_summary_by_host_by_event_name",
    columns: "HOST char(255)?; EVENT_NAME varchar(128); COUNT_ALLOC bigint unsigned; COUNT_FREE bigint unsigned; \
        SUM_NUMBER_OF_BYTES_ALLOC bigint unsigned; SUM_NUMBER_OF_BYTES_FREE bigint unsigned; LOW_COUNT_USED \
        bigint; CURRENT_COUNT_USED bigint; HIGH_COUNT_USED bigint; LOW_NUMBER_OF_BYTES_USED bigint; \
        CURRENT_NUMBER_OF_BYTES_USED bigint; HIGH_NUMBER_OF_BYTES_USED bigint",
};
const BY_THREAD: Shape = Shape {
    name: "memory_summary_by_thread_by_event_name",
    columns: "THREAD_ID bigint unsigned; EVENT_NAME varchar(128); COUNT_ALLOC bigint unsigned; COUNT_FREE bigint \
        unsigned; SUM_NUMBER_OF_BYTES_ALLOC bigint unsigned; SUM_NUMBER_OF_BYTES_FREE bigint unsigned; \
        LOW_COUNT_USED bigint; CURRENT_COUNT_USED bigint; HIGH_COUNT_USED bigint; LOW_NUMBER_OF_BYTES_USED \
        bigint; CURRENT_NUMBER_OF_BYTES_USED bigint; HIGH_NUMBER_OF_BYTES_USED bigint",
};
const BY_USER: Shape = Shape {
    name: "memory_summary_by_user_by_event_name",
    columns: "USER char(32)?; EVENT_NAME varchar(128); COUNT_ALLOC bigint unsigned; COUNT_FREE bigint unsigned; \
        SUM_NUMBER_OF_BYTES_ALLOC bigint unsigned; SUM_NUMBER_OF_BYTES_FREE bigint unsigned; LOW_COUNT_USED \
        bigint; CURRENT_COUNT_USED bigint; HIGH_COUNT_USED bigint; LOW_NUMBER_OF_BYTES_USED bigint; \
        CURRENT_NUMBER_OF_BYTES_USED bigint; HIGH_NUMBER_OF_BYTES_USED bigint",
};

/// What sessions hold.
const SESSION: &str = "memory/evenkeel/sessions";

/// Name and bytes of each part.
pub(crate) fn parts(instance: &Instance) -> [(&'static str, u64); 5] {
    let stats = instance.engine().stats();
    [
        ("memory/innodb/buf_buf_pool", instance.globals.by_name("innodb_buffer_pool_size").as_unsigned()),
        ("memory/evenkeel/old_versions", stats.history_bytes),
        ("memory/evenkeel/late_changes", stats.late_change_bytes),
        ("memory/evenkeel/filters_of_old_versions", stats.version_run_filter_bytes),
        (SESSION, instance.memory.held()),
    ]
}

fn global(instance: &Instance, _: &Viewer) -> Rows {
    parts(instance).iter().map(|(name, bytes)| row(Vec::new(), name, 1, *bytes)).collect()
}

/// `count` parts that hold so much now, and always did for all that is known.
fn row(key: Vec<Value>, name: &str, count: u64, bytes: u64) -> Vec<Value> {
    let mut row = key;
    let (signed_count, signed) = (Value::Int(count as i64), Value::Int(bytes as i64));
    row.extend([Value::bytes(name), Value::UInt(count), Value::UInt(0), Value::UInt(bytes), Value::UInt(0)]);
    row.extend([signed_count.clone(), signed_count.clone(), signed_count]);
    row.extend([signed.clone(), signed.clone(), signed]);
    row
}

/// What the sessions that live hold, summed by what `key` makes of thread, user and host.
fn sessions(instance: &Instance, key: fn(u64, String, String) -> Vec<Value>) -> Rows {
    let mut sums: BTreeMap<String, (Vec<Value>, u64, u64)> = BTreeMap::new();
    for entry in instance.processes().all() {
        let Some(sight) = entry.sight.get() else { continue };
        let key = key(u64::from(entry.id.0), entry.activity().user, entry.client_host());
        let (_, count, bytes) = sums.entry(format!("{key:?}")).or_insert((key, 0, 0));
        *count += 1;
        *bytes += sight.memory_bytes();
    }
    sums.into_values().map(|(key, count, bytes)| row(key, SESSION, count, bytes)).collect()
}
