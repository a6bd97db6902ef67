//! What was read and written of tables and indexes: `schema_table_statistics`, `schema_index_statistics`,
//! `schema_tables_with_full_table_scans`.
use catalog::Viewer;
use datum::Value;
use instance::Instance;
use telemetry::RowCounts;

use crate::performance_schema::{counts_by_index, counts_of_table, table_counts, tables};
use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{time, time_text};

pub(super) const TABLES: &[Table] = &[
    Table::of("sys", STATISTICS, |instance, viewer| statistics(instance, viewer, false)),
    Table::of("sys", X_STATISTICS, |instance, viewer| statistics(instance, viewer, true)),
    Table::of("sys", BUFFERED, |instance, viewer| buffered(instance, viewer, false)),
    Table::of("sys", X_BUFFERED, |instance, viewer| buffered(instance, viewer, true)),
    Table::of("sys", INDEXES, |instance, viewer| indexes(instance, viewer, false)),
    Table::of("sys", X_INDEXES, |instance, viewer| indexes(instance, viewer, true)),
    Table::of("sys", SCANNED, |instance, viewer| scanned(instance, viewer, false)),
    Table::of("sys", X_SCANNED, |instance, viewer| scanned(instance, viewer, true)),
];

const BUFFERED: Shape = Shape {
    name: "schema_table_statistics_with_buffer",
    columns: "table_schema varchar(64)?; table_name varchar(64)?; rows_fetched bigint unsigned; fetch_latency \
        varchar(11)?; rows_inserted bigint unsigned; insert_latency varchar(11)?; rows_updated bigint \
        unsigned; update_latency varchar(11)?; rows_deleted bigint unsigned; delete_latency \
        varchar(11)?; io_read_requests decimal(42,0)?; io_read varchar(11)?; io_read_latency \
        varchar(11)?; io_write_requests decimal(42,0)?; io_write varchar(11)?; io_write_latency \
        varchar(11)?; io_misc_requests decimal(42,0)?; io_misc_latency varchar(11)?; \
        innodb_buffer_allocated varchar(11)?; innodb_buffer_data varchar(11)?; innodb_buffer_free \
        varchar(11)?; innodb_buffer_pages bigint?; innodb_buffer_pages_hashed bigint?; \
        innodb_buffer_pages_old bigint?; innodb_buffer_rows_cached decimal(45,0)?",
};
const X_BUFFERED: Shape = Shape {
    name: "x$schema_table_statistics_with_buffer",
    columns: "table_schema varchar(64)?; table_name varchar(64)?; rows_fetched bigint unsigned; fetch_latency \
        bigint unsigned; rows_inserted bigint unsigned; insert_latency bigint unsigned; rows_updated \
        bigint unsigned; update_latency bigint unsigned; rows_deleted bigint unsigned; delete_latency \
        bigint unsigned; io_read_requests decimal(42,0)?; io_read decimal(41,0)?; io_read_latency \
        decimal(42,0)?; io_write_requests decimal(42,0)?; io_write decimal(41,0)?; io_write_latency \
        decimal(42,0)?; io_misc_requests decimal(42,0)?; io_misc_latency decimal(42,0)?; \
        innodb_buffer_allocated decimal(44,0)?; innodb_buffer_data decimal(44,0)?; innodb_buffer_free \
        decimal(45,0)?; innodb_buffer_pages bigint?; innodb_buffer_pages_hashed bigint?; \
        innodb_buffer_pages_old bigint?; innodb_buffer_rows_cached decimal(45,0)?",
};
const STATISTICS: Shape = Shape {
    name: "schema_table_statistics",
    columns: "table_schema varchar(64)?; table_name varchar(64)?; total_latency varchar(11)?; rows_fetched bigint \
        unsigned; fetch_latency varchar(11)?; rows_inserted bigint unsigned; insert_latency varchar(11)?; \
        rows_updated bigint unsigned; update_latency varchar(11)?; rows_deleted bigint unsigned; delete_latency \
        varchar(11)?; io_read_requests decimal(42,0)?; io_read varchar(11)?; io_read_latency varchar(11)?; \
        io_write_requests decimal(42,0)?; io_write varchar(11)?; io_write_latency varchar(11)?; io_misc_requests \
        decimal(42,0)?; io_misc_latency varchar(11)?",
};
const X_STATISTICS: Shape = Shape {
    name: "x$schema_table_statistics",
    columns: "table_schema varchar(64)?; table_name varchar(64)?; total_latency bigint unsigned; rows_fetched bigint \
        unsigned; fetch_latency bigint unsigned; rows_inserted bigint unsigned; insert_latency bigint unsigned; \
        rows_updated bigint unsigned; update_latency bigint unsigned; rows_deleted bigint unsigned; \
        delete_latency bigint unsigned; io_read_requests decimal(42,0)?; io_read decimal(41,0)?; io_read_latency \
        decimal(42,0)?; io_write_requests decimal(42,0)?; io_write decimal(41,0)?; io_write_latency \
        decimal(42,0)?; io_misc_requests decimal(42,0)?; io_misc_latency decimal(42,0)?",
};
const INDEXES: Shape = Shape {
    name: "schema_index_statistics",
    columns: "table_schema varchar(64)?; table_name varchar(64)?; index_name varchar(64)?; rows_selected bigint \
        unsigned; select_latency varchar(11)?; rows_inserted bigint unsigned; insert_latency varchar(11)?; \
        rows_updated bigint unsigned; update_latency varchar(11)?; rows_deleted bigint unsigned; delete_latency \
        varchar(11)?",
};
const X_INDEXES: Shape = Shape {
    name: "x$schema_index_statistics",
    columns: "table_schema varchar(64)?; table_name varchar(64)?; index_name varchar(64)?; rows_selected bigint \
        unsigned; select_latency bigint unsigned; rows_inserted bigint unsigned; insert_latency bigint unsigned; \
        rows_updated bigint unsigned; update_latency bigint unsigned; rows_deleted bigint unsigned; \
        delete_latency bigint unsigned",
};
const SCANNED: Shape = Shape {
    name: "schema_tables_with_full_table_scans",
    columns: "object_schema varchar(64)?; object_name varchar(64)?; rows_full_scanned bigint unsigned; latency \
        varchar(11)?",
};
const X_SCANNED: Shape = Shape {
    name: "x$schema_tables_with_full_table_scans",
    columns: "object_schema varchar(64)?; object_name varchar(64)?; rows_full_scanned bigint unsigned; latency bigint \
        unsigned",
};

/// Times of tables are not measured.
fn no_time(is_raw: bool) -> Value {
    if is_raw { time(0) } else { Value::bytes(time_text(0)) }
}

/// The most used first.
fn statistics(instance: &Instance, viewer: &Viewer, is_raw: bool) -> Rows {
    let sums = table_counts(instance);
    let mut counted: Vec<_> = tables(instance, viewer)
        .into_iter()
        .map(|table| {
            let counts = counts_of_table(&sums, &table);
            (table, counts)
        })
        .collect();
    counted.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.all()));
    let row = |(table, counts): &(std::sync::Arc<table::TableHandle>, RowCounts)| {
        let definition = table.definition();
        let RowCounts { fetched, inserted, updated, deleted } = *counts;
        let mut row =
            vec![Value::bytes(&definition.database), Value::bytes(&definition.name), no_time(is_raw)];
        for count in [fetched, inserted, updated, deleted] {
            row.extend([Value::UInt(count), no_time(is_raw)]);
        }
        // Files are the store's, not a table's.
        let none = || Value::Null;
        row.extend(std::iter::repeat_with(none).take(8));
        row
    };
    counted.iter().map(row).collect()
}

/// The same without the sum of times. Which pages of a table are in memory is not told.
fn buffered(instance: &Instance, viewer: &Viewer, is_raw: bool) -> Rows {
    let without_sum = |mut row: Vec<Value>| {
        row.remove(2);
        row.extend(std::iter::repeat_with(|| Value::Null).take(7));
        row
    };
    statistics(instance, viewer, is_raw).into_iter().map(without_sum).collect()
}

fn indexes(instance: &Instance, viewer: &Viewer, is_raw: bool) -> Rows {
    let sums = table_counts(instance);
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        let definition = table.definition();
        for (name, counts) in counts_by_index(&sums, &table) {
            let Some(name) = name else { continue };
            let RowCounts { fetched, inserted, updated, deleted } = counts;
            let mut row =
                vec![Value::bytes(&definition.database), Value::bytes(&definition.name), Value::bytes(name)];
            for count in [fetched, inserted, updated, deleted] {
                row.extend([Value::UInt(count), no_time(is_raw)]);
            }
            rows.push(row);
        }
    }
    rows
}

fn scanned(instance: &Instance, viewer: &Viewer, is_raw: bool) -> Rows {
    let sums = table_counts(instance);
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        let whole = counts_by_index(&sums, &table).into_iter().find(|(name, _)| name.is_none());
        let fetched = whole.map_or(0, |(_, counts)| counts.fetched);
        if fetched > 0 {
            let definition = table.definition();
            rows.push(vec![
                Value::bytes(&definition.database),
                Value::bytes(&definition.name),
                Value::UInt(fetched),
                no_time(is_raw),
            ]);
        }
    }
    rows
}
