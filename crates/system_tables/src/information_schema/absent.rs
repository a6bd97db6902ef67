//! Further views of what this server does not have: MySQL's columns, no rows; of compressed tables the rows that MySQL shows
//! where there are none.
use crate::shape::Shape;
use crate::table::{Rows, Table};
use datum::Value;

const fn without_rows(name: &'static str, columns: &'static str) -> Table {
    Table::empty("information_schema", Shape { name, columns })
}

/// A row of zeros for each size that compressed pages could have.
const fn by_page_size(name: &'static str, columns: &'static str) -> Table {
    Table::of("information_schema", Shape { name, columns }, |_, _| compressed_pages())
}

fn compressed_pages() -> Rows {
    let row = |size: i64| {
        let zeros = std::iter::repeat_n(Value::Int(0), 5);
        std::iter::once(Value::Int(size)).chain(zeros).collect()
    };
    [1024, 2048, 4096, 8192, 16384].into_iter().map(row).collect()
}

pub(super) const TABLES: &[Table] = &[
    without_rows(
        "COLUMNS_EXTENSIONS",
        "TABLE_CATALOG varchar(64); TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); COLUMN_NAME \
         varchar(64)?; ENGINE_ATTRIBUTE json?; SECONDARY_ENGINE_ATTRIBUTE json?",
    ),
    without_rows(
        "INNODB_BUFFER_PAGE",
        "POOL_ID bigint unsigned; BLOCK_ID bigint unsigned; SPACE bigint unsigned; PAGE_NUMBER bigint \
         unsigned; PAGE_TYPE varchar(64)?; FLUSH_TYPE bigint unsigned; FIX_COUNT bigint unsigned; IS_HASHED \
         varchar(3)?; NEWEST_MODIFICATION bigint unsigned; OLDEST_MODIFICATION bigint unsigned; ACCESS_TIME \
         bigint unsigned; TABLE_NAME varchar(1024)?; INDEX_NAME varchar(1024)?; NUMBER_RECORDS bigint \
         unsigned; DATA_SIZE bigint unsigned; COMPRESSED_SIZE bigint unsigned; PAGE_STATE varchar(64)?; \
         IO_FIX varchar(64)?; IS_OLD varchar(3)?; FREE_PAGE_CLOCK bigint unsigned; IS_STALE varchar(3)?",
    ),
    without_rows(
        "INNODB_BUFFER_PAGE_LRU",
        "POOL_ID bigint unsigned; LRU_POSITION bigint unsigned; SPACE bigint unsigned; PAGE_NUMBER bigint \
         unsigned; PAGE_TYPE varchar(64)?; FLUSH_TYPE bigint unsigned; FIX_COUNT bigint unsigned; IS_HASHED \
         varchar(3)?; NEWEST_MODIFICATION bigint unsigned; OLDEST_MODIFICATION bigint unsigned; ACCESS_TIME \
         bigint unsigned; TABLE_NAME varchar(1024)?; INDEX_NAME varchar(1024)?; NUMBER_RECORDS bigint \
         unsigned; DATA_SIZE bigint unsigned; COMPRESSED_SIZE bigint unsigned; COMPRESSED varchar(3)?; IO_FIX \
         varchar(64)?; IS_OLD varchar(3)?; FREE_PAGE_CLOCK bigint unsigned",
    ),
    without_rows(
        "INNODB_CACHED_INDEXES",
        "SPACE_ID int unsigned; INDEX_ID bigint unsigned; N_CACHED_PAGES bigint unsigned",
    ),
    by_page_size(
        "INNODB_CMP",
        "page_size int; compress_ops int; compress_ops_ok int; compress_time int; uncompress_ops int; \
         uncompress_time int",
    ),
    by_page_size(
        "INNODB_CMPMEM",
        "page_size int; buffer_pool_instance int; pages_used int; pages_free int; relocation_ops bigint; \
         relocation_time int",
    ),
    by_page_size(
        "INNODB_CMPMEM_RESET",
        "page_size int; buffer_pool_instance int; pages_used int; pages_free int; relocation_ops bigint; \
         relocation_time int",
    ),
    without_rows(
        "INNODB_CMP_PER_INDEX",
        "database_name varchar(192); table_name varchar(192); index_name varchar(192); compress_ops int; \
         compress_ops_ok int; compress_time int; uncompress_ops int; uncompress_time int",
    ),
    without_rows(
        "INNODB_CMP_PER_INDEX_RESET",
        "database_name varchar(192); table_name varchar(192); index_name varchar(192); compress_ops int; \
         compress_ops_ok int; compress_time int; uncompress_ops int; uncompress_time int",
    ),
    by_page_size(
        "INNODB_CMP_RESET",
        "page_size int; compress_ops int; compress_ops_ok int; compress_time int; uncompress_ops int; \
         uncompress_time int",
    ),
    without_rows("INNODB_FT_BEING_DELETED", "DOC_ID bigint unsigned"),
    without_rows("INNODB_FT_CONFIG", "KEY varchar(193); VALUE varchar(193)"),
    without_rows("INNODB_FT_DEFAULT_STOPWORD", "value varchar(18)"),
    without_rows("INNODB_FT_DELETED", "DOC_ID bigint unsigned"),
    without_rows(
        "INNODB_FT_INDEX_CACHE",
        "WORD varchar(337); FIRST_DOC_ID bigint unsigned; LAST_DOC_ID bigint unsigned; DOC_COUNT bigint \
         unsigned; DOC_ID bigint unsigned; POSITION bigint unsigned",
    ),
    without_rows(
        "INNODB_FT_INDEX_TABLE",
        "WORD varchar(337); FIRST_DOC_ID bigint unsigned; LAST_DOC_ID bigint unsigned; DOC_COUNT bigint \
         unsigned; DOC_ID bigint unsigned; POSITION bigint unsigned",
    ),
    without_rows(
        "INNODB_SESSION_TEMP_TABLESPACES",
        "ID int unsigned; SPACE int unsigned; PATH varchar(4001); SIZE bigint unsigned; STATE varchar(192); \
         PURPOSE varchar(192)",
    ),
    without_rows("INNODB_VIRTUAL", "TABLE_ID bigint unsigned; POS int unsigned; BASE_POS int unsigned"),
    without_rows(
        "JSON_DUALITY_VIEWS",
        "TABLE_CATALOG varchar(64); TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); DEFINER varchar(288)?; \
         SECURITY_TYPE varchar(7)?; JSON_COLUMN_NAME varchar(64); ROOT_TABLE_CATALOG varchar(64)?; \
         ROOT_TABLE_SCHEMA varchar(64)?; ROOT_TABLE_NAME varchar(64)?; ALLOW_INSERT varchar(4)?; ALLOW_UPDATE \
         varchar(4)?; ALLOW_DELETE varchar(4)?; READ_ONLY varchar(4)?; STATUS varchar(7)",
    ),
    without_rows(
        "JSON_DUALITY_VIEW_COLUMNS",
        "TABLE_CATALOG varchar(64); TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); \
         REFERENCED_TABLE_CATALOG varchar(64)?; REFERENCED_TABLE_SCHEMA varchar(64)?; REFERENCED_TABLE_NAME \
         varchar(64)?; IS_ROOT_TABLE tinyint?; REFERENCED_TABLE_ID int?; REFERENCED_COLUMN_NAME varchar(64)?; \
         JSON_KEY_NAME varchar(64)?; ALLOW_INSERT tinyint?; ALLOW_UPDATE tinyint?; ALLOW_DELETE tinyint?; \
         READ_ONLY tinyint?",
    ),
    without_rows(
        "JSON_DUALITY_VIEW_LINKS",
        "TABLE_CATALOG varchar(64); TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); PARENT_TABLE_CATALOG \
         varchar(64)?; PARENT_TABLE_SCHEMA varchar(64)?; PARENT_TABLE_NAME varchar(64)?; CHILD_TABLE_CATALOG \
         varchar(64)?; CHILD_TABLE_SCHEMA varchar(64)?; CHILD_TABLE_NAME varchar(64)?; PARENT_COLUMN_NAME \
         varchar(64)?; CHILD_COLUMN_NAME varchar(64)?; JOIN_TYPE varchar(64)?; JSON_KEY_NAME varchar(64)?",
    ),
    without_rows(
        "JSON_DUALITY_VIEW_TABLES",
        "TABLE_CATALOG varchar(64); TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); \
         REFERENCED_TABLE_CATALOG varchar(64)?; REFERENCED_TABLE_SCHEMA varchar(64)?; REFERENCED_TABLE_NAME \
         varchar(64)?; WHERE_CLAUSE varchar(64)?; ALLOW_INSERT tinyint?; ALLOW_UPDATE tinyint?; ALLOW_DELETE \
         tinyint?; READ_ONLY tinyint?; IS_ROOT_TABLE tinyint?; REFERENCED_TABLE_ID int?; \
         REFERENCED_TABLE_PARENT_ID int?; REFERENCED_TABLE_PARENT_RELATIONSHIP varchar(64)?",
    ),
    without_rows(
        "LIBRARIES",
        "LIBRARY_CATALOG varchar(64); LIBRARY_SCHEMA varchar(64); LIBRARY_NAME varchar(64); \
         LIBRARY_DEFINITION longtext?; LANGUAGE varchar(64); CREATED timestamp; LAST_ALTERED timestamp; \
         SQL_MODE \
         set('REAL_AS_FLOAT','PIPES_AS_CONCAT','ANSI_QUOTES','IGNORE_SPACE','NOT_USED','ONLY_FULL_GROUP_BY','NO_UNSIGNED_SUBTRACTION','NO_DIR_IN_CREATE','NOT_USED_9','NOT_USED_10','NOT_USED_11','NOT_USED_12','NOT_USED_13','NOT_USED_14','NOT_USED_15','NOT_USED_16','NOT_USED_17','NOT_USED_18','ANSI','NO_AUTO_VALUE_ON_ZERO','NO_BACKSLASH_ESCAPES','STRICT_TRANS_TABLES','STRICT_ALL_TABLES','NO_ZERO_IN_DATE','NO_ZERO_DATE','ALLOW_INVALID_DATES','ERROR_FOR_DIVISION_BY_ZERO','TRADITIONAL','NOT_USED_29','HIGH_NOT_PRECEDENCE','NO_ENGINE_SUBSTITUTION','PAD_CHAR_TO_FULL_LENGTH','TIME_TRUNCATE_FRACTIONAL','INTERPRET_UTF8_AS_UTF8MB4'); \
         LIBRARY_COMMENT text; CREATOR varchar(288)",
    ),
    without_rows(
        "ROUTINE_LIBRARIES",
        "ROUTINE_CATALOG varchar(64); ROUTINE_SCHEMA varchar(64); ROUTINE_NAME varchar(64); ROUTINE_TYPE \
         enum('FUNCTION','PROCEDURE','LIBRARY'); LIBRARY_CATALOG varchar(64)?; LIBRARY_SCHEMA varchar(100)?; \
         LIBRARY_NAME varchar(100)?; LIBRARY_VERSION varchar(100)?",
    ),
    without_rows(
        "SCHEMATA_EXTENSIONS",
        "CATALOG_NAME varchar(64); SCHEMA_NAME varchar(64); OPTIONS varchar(256)?",
    ),
    without_rows(
        "ST_GEOMETRY_COLUMNS",
        "TABLE_CATALOG varchar(64); TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); COLUMN_NAME \
         varchar(64)?; SRS_NAME varchar(80)?; SRS_ID int unsigned?; GEOMETRY_TYPE_NAME longtext?",
    ),
    without_rows(
        "ST_SPATIAL_REFERENCE_SYSTEMS",
        "SRS_NAME varchar(80); SRS_ID int unsigned; ORGANIZATION varchar(256)?; ORGANIZATION_COORDSYS_ID int \
         unsigned?; DEFINITION varchar(4096); DESCRIPTION varchar(2048)?",
    ),
    without_rows(
        "ST_UNITS_OF_MEASURE",
        "UNIT_NAME varchar(255)?; UNIT_TYPE varchar(7)?; CONVERSION_FACTOR double?; DESCRIPTION varchar(255)?",
    ),
    without_rows("TABLESPACES_EXTENSIONS", "TABLESPACE_NAME varchar(268); ENGINE_ATTRIBUTE json?"),
    without_rows(
        "TABLES_EXTENSIONS",
        "TABLE_CATALOG varchar(64); TABLE_SCHEMA varchar(64); TABLE_NAME varchar(64); ENGINE_ATTRIBUTE json?; \
         SECONDARY_ENGINE_ATTRIBUTE json?",
    ),
    without_rows(
        "TABLE_CONSTRAINTS_EXTENSIONS",
        "CONSTRAINT_CATALOG varchar(64); CONSTRAINT_SCHEMA varchar(64); CONSTRAINT_NAME varchar(64); \
         TABLE_NAME varchar(64); ENGINE_ATTRIBUTE json?; SECONDARY_ENGINE_ATTRIBUTE json?",
    ),
];
