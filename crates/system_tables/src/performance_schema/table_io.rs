//! What was read and written of tables and through indexes, and the waits for locks of tables.
use catalog::Viewer;
use datum::Value;
use instance::Instance;
use schema::TableId;
use std::sync::Arc;
use table::TableHandle;
use telemetry::{RowCounts, TableCounts};

use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[
    Table::summary(BY_TABLE, by_table, forget),
    Table::summary(BY_INDEX, by_index, forget),
    Table::summary(LOCKS, locks, |_| {}),
    Table::summary(OBJECTS, objects, forget),
    Table::events(HANDLES, |_, _| Rows::new()),
];

const BY_TABLE: Shape = Shape {
    name: "table_io_waits_summary_by_table",
    columns: "OBJECT_TYPE varchar(64)?; OBJECT_SCHEMA varchar(64)?; OBJECT_NAME varchar(64)?; COUNT_STAR bigint \
        unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint \
        unsigned; MAX_TIMER_WAIT bigint unsigned; COUNT_READ bigint unsigned; SUM_TIMER_READ bigint unsigned; \
        MIN_TIMER_READ bigint unsigned; AVG_TIMER_READ bigint unsigned; MAX_TIMER_READ bigint unsigned; \
        COUNT_WRITE bigint unsigned; SUM_TIMER_WRITE bigint unsigned; MIN_TIMER_WRITE bigint unsigned; \
        AVG_TIMER_WRITE bigint unsigned; MAX_TIMER_WRITE bigint unsigned; COUNT_FETCH bigint unsigned; \
        SUM_TIMER_FETCH bigint unsigned; MIN_TIMER_FETCH bigint unsigned; AVG_TIMER_FETCH bigint unsigned; \
        MAX_TIMER_FETCH bigint unsigned; COUNT_INSERT bigint unsigned; SUM_TIMER_INSERT bigint unsigned; \
        MIN_TIMER_INSERT bigint unsigned; AVG_TIMER_INSERT bigint unsigned; MAX_TIMER_INSERT bigint unsigned; \
        COUNT_UPDATE bigint unsigned; SUM_TIMER_UPDATE bigint unsigned; MIN_TIMER_UPDATE bigint unsigned; \
        AVG_TIMER_UPDATE bigint unsigned; MAX_TIMER_UPDATE bigint unsigned; COUNT_DELETE bigint unsigned; \
        SUM_TIMER_DELETE bigint unsigned; MIN_TIMER_DELETE bigint unsigned; AVG_TIMER_DELETE bigint unsigned; \
        MAX_TIMER_DELETE bigint unsigned",
};
const BY_INDEX: Shape = Shape {
    name: "table_io_waits_summary_by_index_usage",
    columns: "OBJECT_TYPE varchar(64)?; OBJECT_SCHEMA varchar(64)?; OBJECT_NAME varchar(64)?; INDEX_NAME varchar(64)?; \
        COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT bigint unsigned; \
        AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; COUNT_READ bigint unsigned; \
        SUM_TIMER_READ bigint unsigned; MIN_TIMER_READ bigint unsigned; AVG_TIMER_READ bigint unsigned; \
        MAX_TIMER_READ bigint unsigned; COUNT_WRITE bigint unsigned; SUM_TIMER_WRITE bigint unsigned; \
        MIN_TIMER_WRITE bigint unsigned; AVG_TIMER_WRITE bigint unsigned; MAX_TIMER_WRITE bigint unsigned; \
        COUNT_FETCH bigint unsigned; SUM_TIMER_FETCH bigint unsigned; MIN_TIMER_FETCH bigint unsigned; \
        AVG_TIMER_FETCH bigint unsigned; MAX_TIMER_FETCH bigint unsigned; COUNT_INSERT bigint unsigned; \
        SUM_TIMER_INSERT bigint unsigned; MIN_TIMER_INSERT bigint unsigned; AVG_TIMER_INSERT bigint unsigned; \
        MAX_TIMER_INSERT bigint unsigned; COUNT_UPDATE bigint unsigned; SUM_TIMER_UPDATE bigint unsigned; \
        MIN_TIMER_UPDATE bigint unsigned; AVG_TIMER_UPDATE bigint unsigned; MAX_TIMER_UPDATE bigint unsigned; \
        COUNT_DELETE bigint unsigned; SUM_TIMER_DELETE bigint unsigned; MIN_TIMER_DELETE bigint unsigned; \
        AVG_TIMER_DELETE bigint unsigned; MAX_TIMER_DELETE bigint unsigned",
};
const LOCKS: Shape = Shape {
    name: "table_lock_waits_summary_by_table",
    columns: "OBJECT_TYPE varchar(64)?; OBJECT_SCHEMA varchar(64)?; OBJECT_NAME varchar(64)?; COUNT_STAR bigint \
        unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint \
        unsigned; MAX_TIMER_WAIT bigint unsigned; COUNT_READ bigint unsigned; SUM_TIMER_READ bigint unsigned; \
        MIN_TIMER_READ bigint unsigned; AVG_TIMER_READ bigint unsigned; MAX_TIMER_READ bigint unsigned; \
        COUNT_WRITE bigint unsigned; SUM_TIMER_WRITE bigint unsigned; MIN_TIMER_WRITE bigint unsigned; \
        AVG_TIMER_WRITE bigint unsigned; MAX_TIMER_WRITE bigint unsigned; COUNT_READ_NORMAL bigint unsigned; \
        SUM_TIMER_READ_NORMAL bigint unsigned; MIN_TIMER_READ_NORMAL bigint unsigned; AVG_TIMER_READ_NORMAL \
        bigint unsigned; MAX_TIMER_READ_NORMAL bigint unsigned; COUNT_READ_WITH_SHARED_LOCKS bigint unsigned; \
        SUM_TIMER_READ_WITH_SHARED_LOCKS bigint unsigned; MIN_TIMER_READ_WITH_SHARED_LOCKS bigint unsigned; \
        AVG_TIMER_READ_WITH_SHARED_LOCKS bigint unsigned; MAX_TIMER_READ_WITH_SHARED_LOCKS bigint unsigned; \
        COUNT_READ_HIGH_PRIORITY bigint unsigned; SUM_TIMER_READ_HIGH_PRIORITY bigint unsigned; \
        MIN_TIMER_READ_HIGH_PRIORITY bigint unsigned; AVG_TIMER_READ_HIGH_PRIORITY bigint unsigned; \
        MAX_TIMER_READ_HIGH_PRIORITY bigint unsigned; COUNT_READ_NO_INSERT bigint unsigned; \
        SUM_TIMER_READ_NO_INSERT bigint unsigned; MIN_TIMER_READ_NO_INSERT bigint unsigned; \
        AVG_TIMER_READ_NO_INSERT bigint unsigned; MAX_TIMER_READ_NO_INSERT bigint unsigned; COUNT_READ_EXTERNAL \
        bigint unsigned; SUM_TIMER_READ_EXTERNAL bigint unsigned; MIN_TIMER_READ_EXTERNAL bigint unsigned; \
        AVG_TIMER_READ_EXTERNAL bigint unsigned; MAX_TIMER_READ_EXTERNAL bigint unsigned; \
        COUNT_WRITE_ALLOW_WRITE bigint unsigned; SUM_TIMER_WRITE_ALLOW_WRITE bigint unsigned; \
        MIN_TIMER_WRITE_ALLOW_WRITE bigint unsigned; AVG_TIMER_WRITE_ALLOW_WRITE bigint unsigned; \
        MAX_TIMER_WRITE_ALLOW_WRITE bigint unsigned; COUNT_WRITE_CONCURRENT_INSERT bigint unsigned; \
        SUM_TIMER_WRITE_CONCURRENT_INSERT bigint unsigned; MIN_TIMER_WRITE_CONCURRENT_INSERT bigint unsigned; \
        AVG_TIMER_WRITE_CONCURRENT_INSERT bigint unsigned; MAX_TIMER_WRITE_CONCURRENT_INSERT bigint unsigned; \
        COUNT_WRITE_LOW_PRIORITY bigint unsigned; SUM_TIMER_WRITE_LOW_PRIORITY bigint unsigned; \
        MIN_TIMER_WRITE_LOW_PRIORITY bigint unsigned; AVG_TIMER_WRITE_LOW_PRIORITY bigint unsigned; \
        MAX_TIMER_WRITE_LOW_PRIORITY bigint unsigned; COUNT_WRITE_NORMAL bigint unsigned; SUM_TIMER_WRITE_NORMAL \
        bigint unsigned; MIN_TIMER_WRITE_NORMAL bigint unsigned; AVG_TIMER_WRITE_NORMAL bigint unsigned; \
        MAX_TIMER_WRITE_NORMAL bigint unsigned; COUNT_WRITE_EXTERNAL bigint unsigned; SUM_TIMER_WRITE_EXTERNAL \
        bigint unsigned; MIN_TIMER_WRITE_EXTERNAL bigint unsigned; AVG_TIMER_WRITE_EXTERNAL bigint unsigned; \
        MAX_TIMER_WRITE_EXTERNAL bigint unsigned",
};
const OBJECTS: Shape = Shape {
    name: "objects_summary_global_by_type",
    columns: "OBJECT_TYPE varchar(64)?; OBJECT_SCHEMA varchar(64)?; OBJECT_NAME varchar(64)?; COUNT_STAR bigint \
        unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT bigint unsigned; AVG_TIMER_WAIT bigint \
        unsigned; MAX_TIMER_WAIT bigint unsigned",
};
const HANDLES: Shape = Shape {
    name: "table_handles",
    columns: "OBJECT_TYPE varchar(64); OBJECT_SCHEMA varchar(64); OBJECT_NAME varchar(64); OBJECT_INSTANCE_BEGIN \
        bigint unsigned; OWNER_THREAD_ID bigint unsigned?; OWNER_EVENT_ID bigint unsigned?; INTERNAL_LOCK \
        varchar(64)?; EXTERNAL_LOCK varchar(64)?",
};

fn forget(instance: &Instance) {
    instance.telemetry.ended_tables.lock().clear();
    instance.processes().all().iter().for_each(|entry| entry.figures.forget_tables());
}

/// The sums of all sessions, those that have ended among them.
pub(crate) fn table_counts(instance: &Instance) -> TableCounts {
    let mut all = {
        let mut ended = instance.telemetry.ended_tables.lock();
        ended.retain(|table| instance.catalog().table_by_id(TableId(table)).is_some());
        ended.clone()
    };
    instance.processes().all().iter().for_each(|entry| all.merge(&entry.figures.tables()));
    all
}

/// Every stored table that the viewer may see.
pub(crate) fn tables(instance: &Instance, viewer: &Viewer) -> Vec<Arc<TableHandle>> {
    let catalog = instance.catalog();
    let databases = catalog.databases();
    let tables = databases.iter().flat_map(|database| catalog.tables(&database.name));
    tables
        .filter(|table| (viewer.sees)(&table.definition().database, Some(&table.definition().name)))
        .collect()
}

/// A table's, through whatever index.
pub(crate) fn counts_of_table(counts: &TableCounts, table: &TableHandle) -> RowCounts {
    let mut all = RowCounts::default();
    counts_by_index(counts, table).iter().for_each(|(_, index)| all.add(index));
    all
}

/// COUNT and the four times of one kind; times are not measured here.
fn timed(count: u64) -> impl Iterator<Item = Value> {
    std::iter::once(Value::UInt(count)).chain(crate::values::zeros(4))
}

fn columns(counts: RowCounts) -> Vec<Value> {
    let RowCounts { fetched, inserted, updated, deleted } = counts;
    let all = [counts.all(), fetched, counts.written(), fetched, inserted, updated, deleted];
    all.into_iter().flat_map(timed).collect()
}

fn named(table: &TableHandle) -> Vec<Value> {
    let definition = table.definition();
    vec![Value::bytes("TABLE"), Value::bytes(&definition.database), Value::bytes(&definition.name)]
}

fn by_table(instance: &Instance, viewer: &Viewer) -> Rows {
    let counts = table_counts(instance);
    let row = |table: &Arc<TableHandle>| {
        let mut row = named(table);
        row.extend(columns(counts_of_table(&counts, table)));
        row
    };
    tables(instance, viewer).iter().map(row).collect()
}

/// Each index of a table, with a NULL name what used none.
pub(crate) fn counts_by_index(counts: &TableCounts, table: &TableHandle) -> Vec<(Option<String>, RowCounts)> {
    let definition = table.definition();
    let indexes = definition.indexes.iter().enumerate();
    let named =
        indexes.map(|(number, index)| (Some(index.name.clone()), counts.of(definition.id.0, Some(number))));
    named.chain([(None, counts.of(definition.id.0, None))]).collect()
}

fn by_index(instance: &Instance, viewer: &Viewer) -> Rows {
    let all = table_counts(instance);
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        for (name, counts) in counts_by_index(&all, &table) {
            let mut row = named(&table);
            row.push(name.map_or(Value::Null, Value::bytes));
            row.extend(columns(counts));
            rows.push(row);
        }
    }
    rows
}

/// Locks of tables are metadata locks here, whose waits are with the waits.
fn locks(instance: &Instance, viewer: &Viewer) -> Rows {
    let row = |table: &Arc<TableHandle>| {
        let mut row = named(table);
        row.extend(crate::values::zeros(65));
        row
    };
    tables(instance, viewer).iter().map(row).collect()
}

fn objects(instance: &Instance, viewer: &Viewer) -> Rows {
    let counts = table_counts(instance);
    let row = |table: &Arc<TableHandle>| {
        let mut row = named(table);
        row.extend(timed(counts_of_table(&counts, table).all()));
        row
    };
    tables(instance, viewer).iter().map(row).collect()
}
