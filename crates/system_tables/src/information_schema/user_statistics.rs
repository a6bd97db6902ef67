//! `USER_STATISTICS`, `CLIENT_STATISTICS`, `TABLE_STATISTICS`, `INDEX_STATISTICS`: the names by which Percona Server and
//! MariaDB show what `performance_schema` sums. Always on; `userstat` is not needed.
use std::collections::BTreeMap;

use catalog::Viewer;
use datum::Value;
use instance::Instance;
use telemetry::ThreadFigures;

use crate::performance_schema::{counts_by_index, counts_of_table, table_counts, tables};
use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[
    for_process(USERS, |instance, _| by(instance, |user, _| user)),
    for_process(CLIENTS, |instance, _| by(instance, |_, host| host)),
    Table::of("information_schema", TABLE_SHAPE, table_rows),
    Table::of("information_schema", INDEX_SHAPE, index_rows),
];

const fn for_process(shape: Shape, rows: fn(&Instance, &Viewer) -> Rows) -> Table {
    Table { needs_process: true, ..Table::of("information_schema", shape, rows) }
}

const USERS: Shape = Shape { name: "USER_STATISTICS", columns: USER_COLUMNS };
const CLIENTS: Shape = Shape { name: "CLIENT_STATISTICS", columns: CLIENT_COLUMNS };
const USER_COLUMNS: &str = "USER varchar(32); TOTAL_CONNECTIONS bigint unsigned; CONCURRENT_CONNECTIONS bigint unsigned; \
    CONNECTED_TIME bigint unsigned; BUSY_TIME double; BYTES_RECEIVED bigint unsigned; BYTES_SENT bigint unsigned; \
    ROWS_FETCHED bigint unsigned; ROWS_UPDATED bigint unsigned; TABLE_ROWS_READ bigint unsigned; \
    SELECT_COMMANDS bigint unsigned; UPDATE_COMMANDS bigint unsigned; OTHER_COMMANDS bigint unsigned; \
    COMMIT_TRANSACTIONS bigint unsigned; ROLLBACK_TRANSACTIONS bigint unsigned";
const CLIENT_COLUMNS: &str = "CLIENT varchar(255); TOTAL_CONNECTIONS bigint unsigned; CONCURRENT_CONNECTIONS bigint unsigned; \
    CONNECTED_TIME bigint unsigned; BUSY_TIME double; BYTES_RECEIVED bigint unsigned; BYTES_SENT bigint unsigned; \
    ROWS_FETCHED bigint unsigned; ROWS_UPDATED bigint unsigned; TABLE_ROWS_READ bigint unsigned; \
    SELECT_COMMANDS bigint unsigned; UPDATE_COMMANDS bigint unsigned; OTHER_COMMANDS bigint unsigned; \
    COMMIT_TRANSACTIONS bigint unsigned; ROLLBACK_TRANSACTIONS bigint unsigned";
const TABLE_SHAPE: Shape = Shape {
    name: "TABLE_STATISTICS",
    columns: "TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); ROWS_READ bigint unsigned; \
        ROWS_CHANGED bigint unsigned; ROWS_CHANGED_X_INDEXES bigint unsigned",
};
const INDEX_SHAPE: Shape = Shape {
    name: "INDEX_STATISTICS",
    columns: "TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); INDEX_NAME varchar(64); ROWS_READ bigint unsigned",
};

#[derive(Default)]
struct Sums {
    figures: ThreadFigures,
    total: u64,
    current: u64,
    connected_us: u64,
    received: u64,
    sent: u64,
}

fn by(instance: &Instance, key: fn(String, String) -> String) -> Rows {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for ((user, host), account) in instance.telemetry.accounts.all() {
        let sum = sums.entry(key(user, host)).or_default();
        sum.figures.merge(&account.ended);
        sum.total += account.total;
        sum.current += account.current;
        sum.connected_us += account.connected_us;
        sum.received += account.bytes_received;
        sum.sent += account.bytes_sent;
    }
    for entry in instance.processes().all() {
        let sum = sums.entry(key(entry.activity().user, entry.client_host())).or_default();
        sum.figures.merge(&entry.figures.figures());
        sum.connected_us += entry.connected.elapsed().as_micros() as u64;
        let counters = entry.counters.all();
        let of =
            |name: &str| counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, number)| *number);
        sum.received += of("Bytes_received");
        sum.sent += of("Bytes_sent");
    }
    sums.into_iter().map(|(name, sum)| row(name, &sum)).collect()
}

fn row(name: String, sum: &Sums) -> Vec<Value> {
    let (mut busy_ns, mut fetched, mut updated, mut read) = (0, 0, 0, 0);
    let (mut selects, mut updates, mut others, mut commits, mut rollbacks) = (0, 0, 0, 0, 0);
    for (event, totals) in &sum.figures.statements {
        let count = totals.timings.count;
        busy_ns += totals.timings.sum_ns;
        fetched += totals.figures.rows_sent;
        read += totals.figures.rows_examined;
        updated += totals.figures.rows_affected;
        match event.rsplit('/').next().unwrap_or_default() {
            "select" => selects += count,
            "insert" | "insert_select" | "update" | "update_multi" | "delete" | "delete_multi"
            | "replace" | "replace_select" | "load" => updates += count,
            "commit" => commits += count,
            "rollback" => rollbacks += count,
            _ => others += count,
        }
    }
    vec![
        Value::bytes(name),
        Value::UInt(sum.total),
        Value::UInt(sum.current),
        Value::UInt(sum.connected_us / 1_000_000),
        Value::Double(busy_ns as f64 / 1e9),
        Value::UInt(sum.received),
        Value::UInt(sum.sent),
        Value::UInt(fetched),
        Value::UInt(updated),
        Value::UInt(read),
        Value::UInt(selects),
        Value::UInt(updates),
        Value::UInt(others),
        Value::UInt(commits),
        Value::UInt(rollbacks),
    ]
}

/// Tables that were used.
fn table_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let sums = table_counts(instance);
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        let counts = counts_of_table(&sums, &table);
        let (fetched, changed) = (counts.fetched, counts.written());
        if fetched + changed > 0 {
            let definition = table.definition();
            let indexes = definition.indexes.len() as u64;
            rows.push(vec![
                Value::bytes(&definition.database),
                Value::bytes(&definition.name),
                Value::UInt(fetched),
                Value::UInt(changed),
                Value::UInt(changed * indexes),
            ]);
        }
    }
    rows
}

fn index_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let sums = table_counts(instance);
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        let definition = table.definition();
        for (name, counts) in counts_by_index(&sums, &table) {
            if let Some(name) = name.filter(|_| counts.fetched > 0) {
                rows.push(vec![
                    Value::bytes(&definition.database),
                    Value::bytes(&definition.name),
                    Value::bytes(name),
                    Value::UInt(counts.fetched),
                ]);
            }
        }
    }
    rows
}
