//! Every system table can be read, is listed with its columns, and has rows as wide as its definition (which debug builds
//! check where the rows are made).
mod support;

use support::{Client, new_server};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(future)
}

const DATABASES: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

#[test]
fn every_system_table_is_read_whole() {
    block_on(async {
        let server = new_server().await;
        let mut client = Client::connect(&server).await;
        for text in [
            "create database d",
            "create table d.t (a int auto_increment primary key, b int, key x (b), key y (b))",
            "insert into d.t (b) values (1), (2), (3)",
            "select * from d.t order by b + 1",
            "select nosuch",
            "update performance_schema.setup_consumers set enabled = 'YES' where name like 'events_statements_history_long'",
            "begin",
            "select * from d.t for update",
        ] {
            client.query(text).await;
        }
        let mut count = 0;
        for database in DATABASES {
            for table in server.virtual_tables.of_database(database) {
                let name = &table.definition().name;
                let answer = client.query(&format!("select * from `{database}`.`{name}`")).await;
                assert!(!answer.starts_with("ERROR "), "{database}.{name}: {answer}");
                let listed = client
                    .query(&format!(
                        "select count(*) from information_schema.columns where table_schema = '{database}' and table_name = '{name}'"
                    ))
                    .await;
                let width = table.definition().columns.len();
                assert_eq!(listed.trim(), format!("count(*)\n{width}"), "{database}.{name}");
                count += 1;
            }
        }
        assert!(count > 250, "{count}");
    });
}

/// What mysqld_exporter 0.17 asks, collector by collector.
const EXPORTER: &[&str] = &[
    "SELECT @@version",
    "SELECT @@log_bin",
    "SHOW GLOBAL STATUS",
    "SHOW GLOBAL VARIABLES",
    "SHOW ENGINE INNODB STATUS",
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'information_schema' AND table_name = 'INNODB_CMP'",
    "SELECT page_size, compress_ops, compress_ops_ok, compress_time, uncompress_ops, uncompress_time FROM information_schema.innodb_cmp",
    "SELECT page_size, buffer_pool_instance, pages_used, pages_free, relocation_ops, relocation_time FROM information_schema.innodb_cmpmem",
    "SELECT column_name FROM information_schema.columns WHERE table_schema = 'information_schema' AND table_name = 'INNODB_METRICS' AND column_name IN ('status', 'enabled') LIMIT 1",
    "SELECT name, subsystem, type, comment, count FROM information_schema.innodb_metrics WHERE `status` = 'enabled'",
    "SELECT SPACE, NAME, ifnull((SELECT column_name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'information_schema' AND TABLE_NAME = 'INNODB_TABLESPACES' AND COLUMN_NAME = 'FILE_FORMAT' LIMIT 1), 'NONE') as FILE_FORMAT, ifnull(ROW_FORMAT, 'NONE') as ROW_FORMAT, ifnull(SPACE_TYPE, 'NONE') as SPACE_TYPE, FILE_SIZE, ALLOCATED_SIZE FROM information_schema.innodb_tablespaces",
    "SELECT user, SUBSTRING_INDEX(host, ':', 1) AS host, COALESCE(command, '') AS command, COALESCE(state, '') AS state, COUNT(*) AS processes, SUM(time) AS seconds FROM information_schema.processlist WHERE ID != connection_id() AND TIME >= 0 GROUP BY user, host, command, state",
    "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ifnull(ENGINE, 'NONE') as ENGINE, ifnull(VERSION, '0') as VERSION, ifnull(ROW_FORMAT, 'NONE') as ROW_FORMAT, ifnull(TABLE_ROWS, '0') as TABLE_ROWS, ifnull(DATA_LENGTH, '0') as DATA_LENGTH, ifnull(INDEX_LENGTH, '0') as INDEX_LENGTH, ifnull(DATA_FREE, '0') as DATA_FREE, ifnull(CREATE_OPTIONS, 'NONE') as CREATE_OPTIONS FROM information_schema.tables WHERE TABLE_SCHEMA = 'd'",
    "SELECT c.table_schema, c.table_name, column_name, auto_increment, pow(2, case data_type when 'tinyint' then 7 when 'smallint' then 15 when 'mediumint' then 23 when 'int' then 31 when 'bigint' then 63 end+(column_type like '% unsigned'))-1 as max_int FROM information_schema.columns c STRAIGHT_JOIN information_schema.tables t ON (BINARY c.table_schema=t.table_schema AND BINARY c.table_name=t.table_name) WHERE c.extra = 'auto_increment' AND t.auto_increment IS NOT NULL",
    "SELECT TABLE_SCHEMA, TABLE_NAME, ROWS_READ, ROWS_CHANGED, ROWS_CHANGED_X_INDEXES FROM information_schema.table_statistics",
    "SELECT * FROM information_schema.client_statistics",
    "SELECT * FROM information_schema.user_statistics",
    "SELECT ifnull(SCHEMA_NAME, 'NONE') as SCHEMA_NAME, DIGEST, DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, SUM_LOCK_TIME, SUM_CPU_TIME, SUM_ERRORS, SUM_WARNINGS, SUM_ROWS_AFFECTED, SUM_ROWS_SENT, SUM_ROWS_EXAMINED, SUM_CREATED_TMP_DISK_TABLES, SUM_CREATED_TMP_TABLES, SUM_SORT_MERGE_PASSES, SUM_SORT_ROWS, SUM_NO_INDEX_USED, QUANTILE_95, QUANTILE_99, QUANTILE_999 FROM (SELECT * FROM performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME NOT IN ('mysql', 'performance_schema', 'information_schema') AND LAST_SEEN > DATE_SUB(NOW(), INTERVAL 86400 SECOND) ORDER BY LAST_SEEN DESC)Q GROUP BY Q.SCHEMA_NAME, Q.DIGEST, Q.DIGEST_TEXT, Q.COUNT_STAR, Q.SUM_TIMER_WAIT, Q.SUM_LOCK_TIME, Q.SUM_CPU_TIME, Q.SUM_ERRORS, Q.SUM_WARNINGS, Q.SUM_ROWS_AFFECTED, Q.SUM_ROWS_SENT, Q.SUM_ROWS_EXAMINED, Q.SUM_CREATED_TMP_DISK_TABLES, Q.SUM_CREATED_TMP_TABLES, Q.SUM_SORT_MERGE_PASSES, Q.SUM_SORT_ROWS, Q.SUM_NO_INDEX_USED, Q.QUANTILE_95, Q.QUANTILE_99, Q.QUANTILE_999 ORDER BY SUM_TIMER_WAIT DESC LIMIT 250",
    "SELECT SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT), SUM(SUM_LOCK_TIME), SUM(SUM_CPU_TIME), SUM(SUM_ERRORS), SUM(SUM_WARNINGS), SUM(SUM_ROWS_AFFECTED), SUM(SUM_ROWS_SENT), SUM(SUM_ROWS_EXAMINED), SUM(SUM_CREATED_TMP_DISK_TABLES), SUM(SUM_CREATED_TMP_TABLES), SUM(SUM_SORT_MERGE_PASSES), SUM(SUM_SORT_ROWS), SUM(SUM_NO_INDEX_USED) FROM performance_schema.events_statements_summary_by_digest",
    "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name",
    "SELECT EVENT_NAME, COUNT_READ, SUM_TIMER_READ, SUM_NUMBER_OF_BYTES_READ, COUNT_WRITE, SUM_TIMER_WRITE, SUM_NUMBER_OF_BYTES_WRITE, COUNT_MISC, SUM_TIMER_MISC FROM performance_schema.file_summary_by_event_name",
    "SELECT FILE_NAME, EVENT_NAME, COUNT_READ, COUNT_WRITE, SUM_NUMBER_OF_BYTES_READ, SUM_NUMBER_OF_BYTES_WRITE FROM performance_schema.file_summary_by_instance where FILE_NAME REGEXP '.*'",
    "SELECT OBJECT_SCHEMA, OBJECT_NAME, ifnull(INDEX_NAME, 'NONE') as INDEX_NAME, COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE, SUM_TIMER_FETCH, SUM_TIMER_INSERT, SUM_TIMER_UPDATE, SUM_TIMER_DELETE FROM performance_schema.table_io_waits_summary_by_index_usage WHERE OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema')",
    "SELECT OBJECT_SCHEMA, OBJECT_NAME, COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE, SUM_TIMER_FETCH, SUM_TIMER_INSERT, SUM_TIMER_UPDATE, SUM_TIMER_DELETE FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema')",
    "SELECT OBJECT_SCHEMA, OBJECT_NAME, COUNT_READ_NORMAL, COUNT_READ_WITH_SHARED_LOCKS, COUNT_READ_HIGH_PRIORITY, COUNT_READ_NO_INSERT, COUNT_READ_EXTERNAL, COUNT_WRITE_ALLOW_WRITE, COUNT_WRITE_CONCURRENT_INSERT, COUNT_WRITE_LOW_PRIORITY, COUNT_WRITE_NORMAL, COUNT_WRITE_EXTERNAL, SUM_TIMER_READ_NORMAL, SUM_TIMER_READ_WITH_SHARED_LOCKS, SUM_TIMER_READ_HIGH_PRIORITY, SUM_TIMER_READ_NO_INSERT, SUM_TIMER_READ_EXTERNAL, SUM_TIMER_WRITE_ALLOW_WRITE, SUM_TIMER_WRITE_CONCURRENT_INSERT, SUM_TIMER_WRITE_LOW_PRIORITY, SUM_TIMER_WRITE_NORMAL, SUM_TIMER_WRITE_EXTERNAL FROM performance_schema.table_lock_waits_summary_by_table WHERE OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema', 'information_schema')",
    "SELECT EVENT_NAME, CURRENT_NUMBER_OF_BYTES_USED, SUM_NUMBER_OF_BYTES_ALLOC, SUM_NUMBER_OF_BYTES_FREE FROM performance_schema.memory_summary_global_by_event_name WHERE COUNT_ALLOC > 0",
    "SELECT CHANNEL_NAME, MEMBER_ID, MEMBER_HOST, MEMBER_PORT, MEMBER_STATE, MEMBER_ROLE, MEMBER_VERSION FROM performance_schema.replication_group_members",
    "SELECT * FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID=@@server_uuid",
    "SELECT conn_status.channel_name, conn_status.service_state, UNIX_TIMESTAMP(LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) FROM performance_schema.replication_connection_status conn_status",
    "SELECT * FROM performance_schema.replication_applier_status_by_worker",
    "SELECT user, host, max_questions, max_updates, max_connections, max_user_connections, Select_priv, Super_priv FROM mysql.user",
    "SELECT USER, STATEMENTS, STATEMENT_LATENCY, TABLE_SCANS, FILE_IOS, FILE_IO_LATENCY, CURRENT_CONNECTIONS, TOTAL_CONNECTIONS, UNIQUE_HOSTS, CURRENT_MEMORY, TOTAL_MEMORY_ALLOCATED FROM sys.x$user_summary",
    "SHOW REPLICA STATUS",
];

#[test]
fn the_exporters_queries_are_answered() {
    block_on(async {
        let server = new_server().await;
        let mut client = Client::connect(&server).await;
        client.query("create database d").await;
        client.query("create table d.t (a int auto_increment primary key)").await;
        for query in EXPORTER {
            let answer = client.query(query).await;
            assert!(!answer.contains("ERROR "), "{query}: {answer}");
        }
    });
}

#[test]
fn a_dump_of_the_accounts_is_loaded() {
    block_on(async {
        let server = new_server().await;
        let mut client = Client::connect(&server).await;
        for text in [
            "create user source identified by 'old password' with max_user_connections 7",
            "create database shop",
            "create table shop.t (a int)",
            "grant select, update on shop.* to source with grant option",
            "grant insert on shop.t to source",
            "grant process, backup_admin on *.* to source",
        ] {
            assert!(client.query(text).await.starts_with("ok"), "{text}");
        }
        let row =
            client.query("select hex(authentication_string) from mysql.user where user = 'source'").await;
        let hash = row.lines().nth(1).expect("a row").to_owned();
        let target = new_server().await;
        let mut client = Client::connect(&target).await;
        for text in [
            "use mysql",
            "set @@session.sql_log_bin = 0",
            "set @@global.gtid_purged = /*!80000 '+'*/ '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5'",
            "drop table if exists `user`",
            "create table `user` (`Host` char(255) not null, `User` char(32) not null, primary key (`Host`, `User`))",
            "lock tables `user` write",
            "/*!40000 alter table `user` disable keys */",
            &format!(
                "insert into `user` (Host, User, Process_priv, plugin, authentication_string, max_user_connections, ssl_type, account_locked) values ('%', 'source', 'Y', 'caching_sha2_password', 0x{hash}, 7, '', 'N')"
            ),
            "/*!40000 alter table `user` enable keys */",
            "unlock tables",
            "insert into `db` (Host, Db, User, Select_priv, Update_priv, Grant_priv) values ('%', 'shop', 'source', 'Y', 'Y', 'Y')",
            "insert into tables_priv values ('%', 'shop', 'source', 't', 'root@localhost', '2024-01-01 00:00:00', 'Insert', '')",
            "insert into global_grants values ('source', '%', 'BACKUP_ADMIN', 'N')",
            "insert into help_topic values (1, 'x', 1, 'y', 'z', 'u')",
            "flush privileges",
        ] {
            let answer = client.query(text).await;
            assert!(answer.starts_with("ok"), "{text}: {answer}");
        }
        let grants = client.query("show grants for source").await;
        for grant in [
            "GRANT PROCESS ON *.*",
            "GRANT BACKUP_ADMIN ON *.*",
            "GRANT SELECT, UPDATE ON `shop`.* TO `source`@`%` WITH GRANT OPTION",
            "GRANT INSERT ON `shop`.`t`",
        ] {
            assert!(grants.contains(grant), "{grant}: {grants}");
        }
        let account = target.accounts().get(&auth::AccountName::new("source", "%")).expect("it was loaded");
        assert!(account.credential.fits(b"old password"));
        assert_eq!(account.limits.user_connections, 7);
        let purged = client.query("select @@gtid_purged, @@gtid_executed").await;
        let set = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5";
        assert!(purged.contains(&format!("{set}\t{set}")), "{purged}");
    });
}
