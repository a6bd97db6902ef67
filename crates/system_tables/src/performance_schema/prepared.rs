//! `prepared_statements_instances`: prepared statements are counted as a whole, not one by one.
use crate::shape::Shape;
use crate::table::Table;

pub(super) const TABLES: &[Table] = &[Table::empty("performance_schema", INSTANCES)];

const INSTANCES: Shape = Shape {
    name: "prepared_statements_instances",
    columns: "OBJECT_INSTANCE_BEGIN bigint unsigned; STATEMENT_ID bigint unsigned; STATEMENT_NAME varchar(64)?; \
        SQL_TEXT longtext; OWNER_THREAD_ID bigint unsigned; OWNER_EVENT_ID bigint unsigned; OWNER_OBJECT_TYPE \
        enum('EVENT','FUNCTION','PROCEDURE','TABLE','TRIGGER')?; OWNER_OBJECT_SCHEMA varchar(64)?; \
        OWNER_OBJECT_NAME varchar(64)?; EXECUTION_ENGINE enum('PRIMARY','SECONDARY')?; TIMER_PREPARE bigint \
        unsigned; COUNT_REPREPARE bigint unsigned; COUNT_EXECUTE bigint unsigned; SUM_TIMER_EXECUTE bigint \
        unsigned; MIN_TIMER_EXECUTE bigint unsigned; AVG_TIMER_EXECUTE bigint unsigned; MAX_TIMER_EXECUTE bigint \
        unsigned; SUM_LOCK_TIME bigint unsigned; SUM_ERRORS bigint unsigned; SUM_WARNINGS bigint unsigned; \
        SUM_ROWS_AFFECTED bigint unsigned; SUM_ROWS_SENT bigint unsigned; SUM_ROWS_EXAMINED bigint unsigned; \
        SUM_CREATED_TMP_DISK_TABLES bigint unsigned; SUM_CREATED_TMP_TABLES bigint unsigned; \
        SUM_SELECT_FULL_JOIN bigint unsigned; SUM_SELECT_FULL_RANGE_JOIN bigint unsigned; SUM_SELECT_RANGE \
        bigint unsigned; SUM_SELECT_RANGE_CHECK bigint unsigned; SUM_SELECT_SCAN bigint unsigned; \
        SUM_SORT_MERGE_PASSES bigint unsigned; SUM_SORT_RANGE bigint unsigned; SUM_SORT_ROWS bigint unsigned; \
        SUM_SORT_SCAN bigint unsigned; SUM_NO_INDEX_USED bigint unsigned; SUM_NO_GOOD_INDEX_USED bigint \
        unsigned; SUM_CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY bigint unsigned; MAX_TOTAL_MEMORY bigint \
        unsigned; COUNT_SECONDARY bigint unsigned",
};
