//! `INNODB_TABLES`, `INNODB_INDEXES`, `INNODB_COLUMNS` and their kin: the dictionary in InnoDB's terms.
//!
//! A table's space is its number here: each table has trees of its own in the one store. Page numbers are 0.
use std::sync::Arc;

use catalog::Viewer;
use datum::{TypeKind, Value};
use instance::Instance;
use table::TableHandle;

use crate::performance_schema::tables;
use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[
    for_process(TABLES_SHAPE, table_rows),
    for_process(INDEXES, index_rows),
    for_process(COLUMNS, column_rows),
    for_process(FIELDS, field_rows),
    for_process(TABLESPACES, space_rows),
    for_process(BRIEF, brief_rows),
    for_process(DATAFILES, datafile_rows),
    for_process(STATS, stat_rows),
    for_process(POOL, pool_rows),
];

const TABLES_SHAPE: Shape = Shape {
    name: "INNODB_TABLES",
    columns: "TABLE_ID bigint unsigned; NAME varchar(655); FLAG int; N_COLS int; SPACE bigint; ROW_FORMAT \
        varchar(12)?; ZIP_PAGE_SIZE int unsigned; SPACE_TYPE varchar(10)?; INSTANT_COLS int; TOTAL_ROW_VERSIONS \
        int",
};
const INDEXES: Shape = Shape {
    name: "INNODB_INDEXES",
    columns: "INDEX_ID bigint unsigned; NAME varchar(193); TABLE_ID bigint unsigned; TYPE int; N_FIELDS int; PAGE_NO \
        int; SPACE int; MERGE_THRESHOLD int",
};
const COLUMNS: Shape = Shape {
    name: "INNODB_COLUMNS",
    columns: "TABLE_ID bigint unsigned; NAME varchar(193); POS bigint unsigned; MTYPE int; PRTYPE int; LEN int; \
        HAS_DEFAULT int; DEFAULT_VALUE text?",
};
const FIELDS: Shape = Shape {
    name: "INNODB_FIELDS",
    columns: "INDEX_ID varbinary(256)?; NAME varchar(64); POS bigint unsigned",
};
const TABLESPACES: Shape = Shape {
    name: "INNODB_TABLESPACES",
    columns: "SPACE int unsigned; NAME varchar(655); FLAG int unsigned; ROW_FORMAT varchar(22)?; PAGE_SIZE int \
        unsigned; ZIP_PAGE_SIZE int unsigned; SPACE_TYPE varchar(10)?; FS_BLOCK_SIZE int unsigned; FILE_SIZE \
        bigint unsigned; ALLOCATED_SIZE bigint unsigned; AUTOEXTEND_SIZE bigint unsigned; SERVER_VERSION \
        varchar(10)?; SPACE_VERSION int unsigned; ENCRYPTION varchar(1)?; STATE varchar(10)?",
};
const BRIEF: Shape = Shape {
    name: "INNODB_TABLESPACES_BRIEF",
    columns: "SPACE varbinary(256)?; NAME varchar(268); PATH varchar(512); FLAG varbinary(256)?; SPACE_TYPE varchar(7)",
};
const DATAFILES: Shape =
    Shape { name: "INNODB_DATAFILES", columns: "SPACE varbinary(256)?; PATH varchar(512)" };
const STATS: Shape = Shape {
    name: "INNODB_TABLESTATS",
    columns: "TABLE_ID bigint unsigned; NAME varchar(193); STATS_INITIALIZED varchar(193); NUM_ROWS bigint unsigned; \
        CLUST_INDEX_SIZE bigint unsigned; OTHER_INDEX_SIZE bigint unsigned; MODIFIED_COUNTER bigint unsigned; \
        AUTOINC bigint unsigned; REF_COUNT int",
};
const POOL: Shape = Shape {
    name: "INNODB_BUFFER_POOL_STATS",
    columns: "POOL_ID bigint unsigned; POOL_SIZE bigint unsigned; FREE_BUFFERS bigint unsigned; DATABASE_PAGES bigint \
        unsigned; OLD_DATABASE_PAGES bigint unsigned; MODIFIED_DATABASE_PAGES bigint unsigned; \
        PENDING_DECOMPRESS bigint unsigned; PENDING_READS bigint unsigned; PENDING_FLUSH_LRU bigint unsigned; \
        PENDING_FLUSH_LIST bigint unsigned; PAGES_MADE_YOUNG bigint unsigned; PAGES_NOT_MADE_YOUNG bigint \
        unsigned; PAGES_MADE_YOUNG_RATE float(12,0); PAGES_MADE_NOT_YOUNG_RATE float(12,0); NUMBER_PAGES_READ \
        bigint unsigned; NUMBER_PAGES_CREATED bigint unsigned; NUMBER_PAGES_WRITTEN bigint unsigned; \
        PAGES_READ_RATE float(12,0); PAGES_CREATE_RATE float(12,0); PAGES_WRITTEN_RATE float(12,0); \
        NUMBER_PAGES_GET bigint unsigned; HIT_RATE bigint unsigned; YOUNG_MAKE_PER_THOUSAND_GETS bigint \
        unsigned; NOT_YOUNG_MAKE_PER_THOUSAND_GETS bigint unsigned; NUMBER_PAGES_READ_AHEAD bigint unsigned; \
        NUMBER_READ_AHEAD_EVICTED bigint unsigned; READ_AHEAD_RATE float(12,0); READ_AHEAD_EVICTED_RATE \
        float(12,0); LRU_IO_TOTAL bigint unsigned; LRU_IO_CURRENT bigint unsigned; UNCOMPRESS_TOTAL bigint \
        unsigned; UNCOMPRESS_CURRENT bigint unsigned",
};

const fn for_process(shape: Shape, rows: fn(&Instance, &Viewer) -> Rows) -> Table {
    Table { needs_process: true, ..Table::of("information_schema", shape, rows) }
}

fn space(table: &TableHandle) -> u64 {
    table.definition().id.0
}

fn name(table: &TableHandle) -> String {
    format!("{}/{}", table.definition().database, table.definition().name)
}

fn table_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let row = |table: &Arc<TableHandle>| {
        let columns = table.definition().columns.len() as i64;
        vec![
            Value::UInt(space(table)),
            Value::bytes(name(table)),
            Value::Int(33),
            // InnoDB adds three of its own.
            Value::Int(columns + 3),
            Value::Int(space(table) as i64),
            Value::bytes(table.definition().shown_row_format()),
            Value::UInt(0),
            Value::bytes("Single"),
            Value::Int(0),
            Value::Int(0),
        ]
    };
    tables(instance, viewer).iter().map(row).collect()
}

/// Unlike anything else in the store: a table's number and the index's place.
fn index_id(table: &TableHandle, index: usize) -> u64 {
    space(table) << 8 | (index as u64 + 1)
}

fn index_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        let definition = table.definition();
        for (number, index) in definition.indexes.iter().enumerate() {
            let is_clustered = definition.clustered_by == Some(index.id);
            let kind = 2 * i64::from(index.is_unique()) + i64::from(is_clustered);
            let fields = if is_clustered { definition.columns.len() + 2 } else { index.parts.len() };
            rows.push(vec![
                Value::UInt(index_id(&table, number)),
                Value::bytes(&index.name),
                Value::UInt(space(&table)),
                Value::Int(kind),
                Value::Int(fields as i64),
                Value::Int(0),
                Value::Int(space(&table) as i64),
                Value::Int(50),
            ]);
        }
    }
    rows
}

/// InnoDB's main types.
fn main_type(kind: &TypeKind) -> i64 {
    use TypeKind::*;
    match kind {
        VarChar => 12,
        Char => 13,
        Binary => 3,
        VarBinary => 4,
        TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob | Json => 5,
        Float { .. } => 9,
        Double { .. } => 10,
        Decimal { .. } | Bit(_) => 3,
        Time { .. } | DateTime { .. } | Timestamp { .. } => 3,
        _ => 6,
    }
}

fn column_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        for (position, column) in table.definition().columns.iter().enumerate() {
            let column_type = &column.column_type;
            let not_null = if column.nullable() { 0 } else { 256 };
            let unsigned = if column_type.unsigned { 512 } else { 0 };
            let precise = (i64::from(column_type.collation.number()) << 16) + not_null + unsigned;
            rows.push(vec![
                Value::UInt(space(&table)),
                Value::bytes(&column.name),
                Value::UInt(position as u64),
                Value::Int(main_type(&column_type.kind)),
                Value::Int(precise),
                Value::Int(i64::from(column_type.length)),
                Value::Int(0),
                Value::Null,
            ]);
        }
    }
    rows
}

fn field_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for table in tables(instance, viewer) {
        let definition = table.definition();
        for (number, index) in definition.indexes.iter().enumerate() {
            for (position, part) in index.parts.iter().enumerate() {
                let column = definition.columns.get(part.column).map_or("", |column| column.name.as_str());
                rows.push(vec![
                    Value::bytes(index_id(&table, number).to_string()),
                    Value::bytes(column),
                    Value::Int(position as i64),
                ]);
            }
        }
    }
    rows
}

fn space_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let page_size = instance.globals.by_name("innodb_page_size").as_unsigned();
    let row = |table: &Arc<TableHandle>| {
        let bytes = instance.catalog().stored_bytes(table).total();
        vec![
            Value::UInt(space(table)),
            Value::bytes(name(table)),
            Value::UInt(16_417),
            Value::bytes(table.definition().shown_row_format()),
            Value::UInt(page_size),
            Value::UInt(0),
            Value::bytes("Single"),
            Value::UInt(4096),
            Value::UInt(bytes),
            Value::UInt(bytes),
            Value::UInt(0),
            Value::bytes(instance.version()),
            Value::UInt(1),
            Value::bytes("N"),
            Value::bytes("normal"),
        ]
    };
    tables(instance, viewer).iter().map(row).collect()
}

fn brief_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let row = |table: &Arc<TableHandle>| {
        vec![
            Value::bytes(space(table).to_string()),
            Value::bytes(name(table)),
            Value::bytes(format!("./{}", crate::performance_schema::STORE_FILE)),
            Value::bytes("16417"),
            Value::bytes("Single"),
        ]
    };
    tables(instance, viewer).iter().map(row).collect()
}

fn datafile_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let row = |table: &Arc<TableHandle>| {
        vec![
            Value::bytes(space(table).to_string()),
            Value::bytes(format!("./{}", crate::performance_schema::STORE_FILE)),
        ]
    };
    tables(instance, viewer).iter().map(row).collect()
}

fn stat_rows(instance: &Instance, viewer: &Viewer) -> Rows {
    let row = |table: &Arc<TableHandle>| {
        let ready = table.if_ready();
        let rows = ready.as_ref().map_or(0, |table| table.estimated_rows());
        let next = ready.as_ref().filter(|table| table.definition().auto_increment_column().is_some());
        vec![
            Value::UInt(space(table)),
            Value::bytes(name(table)),
            Value::bytes(if ready.is_some() { "Initialized" } else { "Uninitialized" }),
            Value::UInt(rows),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(next.map_or(0, |table| table.auto_increment().peek())),
            Value::Int(1),
        ]
    };
    tables(instance, viewer).iter().map(row).collect()
}

/// From the same figures as SHOW STATUS; the pool has no list by age that is young and old.
fn pool_rows(instance: &Instance, _: &Viewer) -> Rows {
    let status = crate::status::global_status(instance);
    let number = |wanted: &str| {
        let value = status.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.parse().ok());
        Value::UInt(value.flatten().unwrap_or(0))
    };
    let none = || Value::UInt(0);
    let rate = || Value::Double(0.0);
    vec![vec![
        none(),
        number("Innodb_buffer_pool_pages_total"),
        number("Innodb_buffer_pool_pages_free"),
        number("Innodb_buffer_pool_pages_data"),
        none(),
        number("Innodb_buffer_pool_pages_dirty"),
        none(),
        number("Innodb_data_pending_reads"),
        none(),
        none(),
        none(),
        none(),
        rate(),
        rate(),
        number("Innodb_pages_read"),
        number("Innodb_pages_created"),
        number("Innodb_pages_written"),
        rate(),
        rate(),
        rate(),
        number("Innodb_buffer_pool_read_requests"),
        none(),
        none(),
        none(),
        number("Innodb_buffer_pool_read_ahead"),
        number("Innodb_buffer_pool_read_ahead_evicted"),
        rate(),
        rate(),
        none(),
        none(),
        none(),
        none(),
    ]]
}
