//! Tables of `performance_schema` about what this server does not have, or does not measure one by one: MySQL's columns, no
//! rows. Tools that ask for them must get no rows, not an error.
use crate::shape::Shape;
use crate::table::Table;

const fn without_rows(name: &'static str, columns: &'static str) -> Table {
    Table::empty("performance_schema", Shape { name, columns })
}

pub(super) const TABLES: &[Table] = &[
    without_rows(
        "binary_log_transaction_compression_stats",
        "LOG_TYPE enum('BINARY','RELAY'); COMPRESSION_TYPE varchar(64); TRANSACTION_COUNTER bigint unsigned; \
         COMPRESSED_BYTES_COUNTER bigint unsigned; UNCOMPRESSED_BYTES_COUNTER bigint unsigned; \
         COMPRESSION_PERCENTAGE smallint; FIRST_TRANSACTION_ID text?; FIRST_TRANSACTION_COMPRESSED_BYTES \
         bigint unsigned; FIRST_TRANSACTION_UNCOMPRESSED_BYTES bigint unsigned; FIRST_TRANSACTION_TIMESTAMP \
         timestamp(6)?; LAST_TRANSACTION_ID text?; LAST_TRANSACTION_COMPRESSED_BYTES bigint unsigned; \
         LAST_TRANSACTION_UNCOMPRESSED_BYTES bigint unsigned; LAST_TRANSACTION_TIMESTAMP timestamp(6)?",
    ),
    without_rows("cond_instances", "NAME varchar(128); OBJECT_INSTANCE_BEGIN bigint unsigned"),
    without_rows(
        "events_statements_summary_by_program",
        "OBJECT_TYPE enum('EVENT','FUNCTION','PROCEDURE','TABLE','TRIGGER'); OBJECT_SCHEMA varchar(64); \
         OBJECT_NAME varchar(64); COUNT_STAR bigint unsigned; SUM_TIMER_WAIT bigint unsigned; MIN_TIMER_WAIT \
         bigint unsigned; AVG_TIMER_WAIT bigint unsigned; MAX_TIMER_WAIT bigint unsigned; COUNT_STATEMENTS \
         bigint unsigned; SUM_STATEMENTS_WAIT bigint unsigned; MIN_STATEMENTS_WAIT bigint unsigned; \
         AVG_STATEMENTS_WAIT bigint unsigned; MAX_STATEMENTS_WAIT bigint unsigned; SUM_LOCK_TIME bigint \
         unsigned; SUM_ERRORS bigint unsigned; SUM_WARNINGS bigint unsigned; SUM_ROWS_AFFECTED bigint \
         unsigned; SUM_ROWS_SENT bigint unsigned; SUM_ROWS_EXAMINED bigint unsigned; \
         SUM_CREATED_TMP_DISK_TABLES bigint unsigned; SUM_CREATED_TMP_TABLES bigint unsigned; \
         SUM_SELECT_FULL_JOIN bigint unsigned; SUM_SELECT_FULL_RANGE_JOIN bigint unsigned; SUM_SELECT_RANGE \
         bigint unsigned; SUM_SELECT_RANGE_CHECK bigint unsigned; SUM_SELECT_SCAN bigint unsigned; \
         SUM_SORT_MERGE_PASSES bigint unsigned; SUM_SORT_RANGE bigint unsigned; SUM_SORT_ROWS bigint \
         unsigned; SUM_SORT_SCAN bigint unsigned; SUM_NO_INDEX_USED bigint unsigned; SUM_NO_GOOD_INDEX_USED \
         bigint unsigned; SUM_CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY bigint unsigned; \
         MAX_TOTAL_MEMORY bigint unsigned; COUNT_SECONDARY bigint unsigned",
    ),
    without_rows(
        "host_cache",
        "IP varchar(64); HOST varchar(255)?; HOST_VALIDATED enum('YES','NO'); SUM_CONNECT_ERRORS bigint; \
         COUNT_HOST_BLOCKED_ERRORS bigint; COUNT_NAMEINFO_TRANSIENT_ERRORS bigint; \
         COUNT_NAMEINFO_PERMANENT_ERRORS bigint; COUNT_FORMAT_ERRORS bigint; COUNT_ADDRINFO_TRANSIENT_ERRORS \
         bigint; COUNT_ADDRINFO_PERMANENT_ERRORS bigint; COUNT_FCRDNS_ERRORS bigint; COUNT_HOST_ACL_ERRORS \
         bigint; COUNT_NO_AUTH_PLUGIN_ERRORS bigint; COUNT_AUTH_PLUGIN_ERRORS bigint; COUNT_HANDSHAKE_ERRORS \
         bigint; COUNT_PROXY_USER_ERRORS bigint; COUNT_PROXY_USER_ACL_ERRORS bigint; \
         COUNT_AUTHENTICATION_ERRORS bigint; COUNT_SSL_ERRORS bigint; COUNT_MAX_USER_CONNECTIONS_ERRORS \
         bigint; COUNT_MAX_USER_CONNECTIONS_PER_HOUR_ERRORS bigint; COUNT_DEFAULT_DATABASE_ERRORS bigint; \
         COUNT_INIT_CONNECT_ERRORS bigint; COUNT_LOCAL_ERRORS bigint; COUNT_ACCOUNT_LOCKED_ERRORS bigint; \
         COUNT_TEMPORARY_ACCOUNT_LOCKED_ERRORS bigint; COUNT_UNKNOWN_ERRORS bigint; FIRST_SEEN timestamp; \
         LAST_SEEN timestamp; FIRST_ERROR_SEEN timestamp?; LAST_ERROR_SEEN timestamp?",
    ),
    without_rows(
        "innodb_redo_log_files",
        "FILE_ID bigint; FILE_NAME varchar(2000); START_LSN bigint; END_LSN bigint; SIZE_IN_BYTES bigint; \
         IS_FULL tinyint; CONSUMER_LEVEL int",
    ),
    without_rows("keyring_component_status", "STATUS_KEY varchar(256); STATUS_VALUE varchar(1024)"),
    without_rows(
        "keyring_keys",
        "KEY_ID varchar(255); KEY_OWNER varchar(255)?; BACKEND_KEY_ID varchar(255)?",
    ),
    without_rows(
        "mutex_instances",
        "NAME varchar(128); OBJECT_INSTANCE_BEGIN bigint unsigned; LOCKED_BY_THREAD_ID bigint unsigned?",
    ),
    without_rows(
        "replication_applier_status_by_coordinator",
        "CHANNEL_NAME char(64); THREAD_ID bigint unsigned?; SERVICE_STATE enum('ON','OFF'); LAST_ERROR_NUMBER \
         int; LAST_ERROR_MESSAGE varchar(1024); LAST_ERROR_TIMESTAMP timestamp(6); LAST_PROCESSED_TRANSACTION \
         char(90)?; LAST_PROCESSED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6); \
         LAST_PROCESSED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6); \
         LAST_PROCESSED_TRANSACTION_START_BUFFER_TIMESTAMP timestamp(6); \
         LAST_PROCESSED_TRANSACTION_END_BUFFER_TIMESTAMP timestamp(6); PROCESSING_TRANSACTION char(90)?; \
         PROCESSING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6); \
         PROCESSING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6); \
         PROCESSING_TRANSACTION_START_BUFFER_TIMESTAMP timestamp(6)",
    ),
    without_rows(
        "replication_asynchronous_connection_failover",
        "CHANNEL_NAME char(64); HOST char(255); PORT int; NETWORK_NAMESPACE char(64)?; WEIGHT int unsigned; \
         MANAGED_NAME char(64)",
    ),
    without_rows(
        "replication_asynchronous_connection_failover_managed",
        "CHANNEL_NAME char(64); MANAGED_NAME char(64); MANAGED_TYPE char(64); CONFIGURATION json?",
    ),
    without_rows(
        "replication_group_member_stats",
        "CHANNEL_NAME char(64); VIEW_ID char(60); MEMBER_ID char(36); COUNT_TRANSACTIONS_IN_QUEUE bigint \
         unsigned; COUNT_TRANSACTIONS_CHECKED bigint unsigned; COUNT_CONFLICTS_DETECTED bigint unsigned; \
         COUNT_TRANSACTIONS_ROWS_VALIDATING bigint unsigned; TRANSACTIONS_COMMITTED_ALL_MEMBERS longtext; \
         LAST_CONFLICT_FREE_TRANSACTION text; COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE bigint unsigned; \
         COUNT_TRANSACTIONS_REMOTE_APPLIED bigint unsigned; COUNT_TRANSACTIONS_LOCAL_PROPOSED bigint \
         unsigned; COUNT_TRANSACTIONS_LOCAL_ROLLBACK bigint unsigned",
    ),
    without_rows(
        "replication_group_members",
        "CHANNEL_NAME char(64); MEMBER_ID char(36); MEMBER_HOST char(255); MEMBER_PORT int?; MEMBER_STATE \
         char(64); MEMBER_ROLE char(64); MEMBER_VERSION char(64); MEMBER_COMMUNICATION_STACK char(64)",
    ),
    without_rows(
        "rwlock_instances",
        "NAME varchar(128); OBJECT_INSTANCE_BEGIN bigint unsigned; WRITE_LOCKED_BY_THREAD_ID bigint \
         unsigned?; READ_LOCKED_BY_COUNT int unsigned",
    ),
    without_rows(
        "temporary_account_locks",
        "USER char(32); HOST char(255); LOCKED enum('YES','NO'); FAILED_LOGIN_ATTEMPTS int; \
         REMAINING_LOGIN_ATTEMPTS int; PASSWORD_LOCK_TIME int; LOCKED_SINCE date?; LOCKED_UNTIL date?",
    ),
    without_rows("tls_channel_status", "CHANNEL varchar(128); PROPERTY varchar(128); VALUE varchar(2048)"),
    without_rows(
        "user_defined_functions",
        "UDF_NAME varchar(64); UDF_RETURN_TYPE varchar(20); UDF_TYPE varchar(20); UDF_LIBRARY varchar(1024)?; \
         UDF_USAGE_COUNT bigint?",
    ),
];
