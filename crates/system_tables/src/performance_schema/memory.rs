//! Memory: the large parts that the server accounts for. Sessions' own memory is not in it.
use catalog::Viewer;
use datum::Value;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[
    Table::summary(GLOBAL, global, |_| {}),
    Table::summary(BY_ACCOUNT, |_, _| Rows::new(), |_| {}),
    Table::summary(BY_HOST, |_, _| Rows::new(), |_| {}),
    Table::summary(BY_THREAD, |_, _| Rows::new(), |_| {}),
    Table::summary(BY_USER, |_, _| Rows::new(), |_| {}),
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

/// Name and bytes of each part.
pub(crate) fn parts(instance: &Instance) -> [(&'static str, u64); 4] {
    let stats = instance.engine().stats();
    [
        ("memory/innodb/buf_buf_pool", instance.globals.by_name("innodb_buffer_pool_size").as_unsigned()),
        ("memory/evenkeel/old_versions", stats.history_bytes),
        ("memory/evenkeel/late_changes", stats.late_change_bytes),
        ("memory/evenkeel/filters_of_old_versions", stats.version_run_filter_bytes),
    ]
}

fn global(instance: &Instance, _: &Viewer) -> Rows {
    let row = |(name, bytes): &(&str, u64)| {
        let signed = Value::Int(*bytes as i64);
        let one = Value::UInt(1);
        vec![
            Value::bytes(name),
            one.clone(),
            Value::UInt(0),
            Value::UInt(*bytes),
            Value::UInt(0),
            Value::Int(1),
            Value::Int(1),
            Value::Int(1),
            signed.clone(),
            signed.clone(),
            signed,
        ]
    };
    parts(instance).iter().map(row).collect()
}
