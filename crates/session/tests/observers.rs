//! What an administrator sees: status counters, lock tables, the InnoDB monitor, deadlocks.
mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use instance::Instance;
use support::{Client, run};

/// All clients of a test run on one thread.
type Running = tokio::task::JoinHandle<(Client, String)>;

fn start(mut client: Client, text: &'static str) -> Running {
    tokio::task::spawn_local(async move {
        let answer = client.query(text).await;
        (client, answer)
    })
}

/// Goes on when so many transactions wait for row locks.
async fn until_waiting(server: &Instance, count: u64) {
    while server.engine().stats().lock_waits_current != count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A client in the test's database, with three rows in `t`.
async fn with_rows(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client.query("create database d; use d").await;
    client.query("create table t (a int primary key, b int, c varchar(20), key (b), key (c))").await;
    client.query("insert into t values (1, 10, 'abc'), (2, 20, 'def'), (5, 50, 'x')").await;
    client
}

async fn begun(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client.query("use d; begin").await;
    client
}

/// One value of SHOW GLOBAL STATUS.
async fn status(client: &mut Client, name: &str) -> String {
    let answer = client.query(&format!("show global status like '{name}'")).await;
    let line = answer.lines().nth(1).unwrap_or_else(|| panic!("no {name}"));
    line.split('\t').nth(1).expect("two columns").to_owned()
}

async fn number(client: &mut Client, name: &str) -> u64 {
    status(client, name).await.parse().expect("a number")
}

/// The names of MySQL 9.7's SHOW GLOBAL STATUS that nobody measures here, or that belong to parts that tell them
/// otherwise.
const LEFT_OUT: &[&str] = &[
    "Caching_sha2_password_rsa_public_key",
    "Connection_errors_accept",
    "Error_log_latest_write",
    "Innodb_buffer_pool_read_ahead_evicted",
    "Innodb_redo_log_uuid",
    "Rsa_public_key",
    "Tls_library_version",
];
const LEFT_OUT_FAMILIES: &[&str] = &["Current_tls_", "Ssl_"];

#[test]
fn mysqls_status_names_are_there() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        let answer = client.query("show global status").await;
        let shown: Vec<&str> = answer.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
        let names: BTreeSet<&str> = shown.iter().copied().collect();
        assert_eq!(names.len(), shown.len(), "each name once");
        let is_left_out = |name: &str| {
            LEFT_OUT.contains(&name) || LEFT_OUT_FAMILIES.iter().any(|family| name.starts_with(family))
        };
        let missing: Vec<&str> = include_str!("status_names.txt")
            .lines()
            .filter(|name| !names.contains(name) && !is_left_out(name))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        let unknown: Vec<&&str> = shown
            .iter()
            .filter(|name| {
                !name.starts_with("Evenkeel_") && !include_str!("status_names.txt").contains(**name)
            })
            .collect();
        // Percona's and MariaDB's names for what MySQL tells otherwise.
        let others = [
            "Innodb_checkpoint_age",
            "Innodb_checkpoint_max_age",
            "Innodb_deadlocks",
            "Innodb_history_list_length",
            "Innodb_lsn_current",
            "Innodb_lsn_flushed",
            "Innodb_lsn_last_checkpoint",
            "Innodb_max_trx_id",
        ];
        // MySQL has those of semi-synchronous replication once its plugins are installed.
        let is_known = |name: &str| others.contains(&name) || name.starts_with("Rpl_semi_sync_");
        assert!(unknown.iter().all(|name| is_known(name)), "{unknown:?}");
        let table = client.query("select * from performance_schema.global_status").await;
        assert_eq!(table.lines().count() + 2, answer.lines().count(), "all but those of the own connection");
    });
}

#[test]
fn deleted_rows_that_may_have_children_are_counted() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("create database d; use d; create table p (a int primary key)").await;
        client.query("create table c (a int primary key, foreign key (a) references p (a))").await;
        client.query("insert into p values (1), (2); delete from p where a = 1").await;
        assert_eq!(number(&mut client, "Handler_delete").await, 1);
    });
}

#[test]
fn commands_and_rows_of_living_sessions_are_counted() {
    run(async |server| {
        let mut watcher = Client::connect(&server).await;
        let before = number(&mut watcher, "Com_insert").await;
        let mut client = with_rows(&server).await;
        assert_eq!(number(&mut watcher, "Com_insert").await, before + 1, "of a session that goes on");
        assert_eq!(number(&mut watcher, "Handler_write").await, 3);
        assert_eq!(number(&mut watcher, "Innodb_rows_inserted").await, 3, "rows, not entries of indexes");
        client
            .query(
                "select * from t; select * from t where a = 1; select a from t force index (b) where b > 5",
            )
            .await;
        client.query("update t set c = 'y' where a = 5; delete from t where a = 2").await;
        client.query("insert into t select 7, 8, 'z'; replace into t values (7, 9, 'z')").await;
        client.query("select c from t order by concat(c, b); begin; savepoint s; rollback").await;
        client.session.close().await;
        for (name, value) in [
            ("Com_begin", 1),
            ("Com_delete", 1),
            ("Com_insert_select", 1),
            ("Com_replace", 1),
            ("Com_rollback", 1),
            ("Com_savepoint", 1),
            ("Com_select", 4),
            ("Com_update", 1),
            ("Handler_delete", 2),
            ("Handler_read_rnd_next", 8),
            ("Handler_update", 1),
            ("Select_range", 1),
            ("Select_scan", 2),
            ("Sort_rows", 3),
            ("Sort_scan", 1),
        ] {
            assert_eq!(number(&mut watcher, name).await, value, "{name}");
        }
        assert_eq!(
            watcher.query("show session status like 'Com_insert'").await,
            "Variable_name\tValue\nCom_insert\t0\n"
        );
        assert_eq!(number(&mut watcher, "Max_used_connections").await, 2);
        watcher.query("prepare p from 'select 1'; set long_query_time = 0; do sleep(0.01)").await;
        assert!(number(&mut watcher, "Slow_queries").await >= 1);
    });
}

#[test]
fn a_wait_shows_who_is_in_the_way_and_can_be_ended() {
    run(async |server| {
        let mut watcher = with_rows(&server).await;
        let (mut holder, waiter) = (begun(&server).await, begun(&server).await);
        holder.query("update t set b = b + 1 where a = 2").await;
        let waiting = start(waiter, "select * from t where b = 20 for update");
        until_waiting(&server, 1).await;
        let locks = watcher
            .query(
                "select object_schema, object_name, index_name, lock_type, lock_mode, lock_status, lock_data \
                 from performance_schema.data_locks order by lock_status, index_name, lock_data",
            )
            .await;
        assert!(locks.contains("d\tt\tPRIMARY\tRECORD\tX,REC_NOT_GAP\tGRANTED\t2\n"), "{locks}");
        assert!(locks.contains("\tWAITING\t"), "{locks}");
        let found = watcher
            .query(
                "select w.locked_table, w.locked_type, w.waiting_query, w.blocking_query, \
                 w.sql_kill_blocking_connection = concat('KILL ', w.blocking_pid) k, \
                 r.trx_state, r.trx_query, b.trx_state, b.trx_rows_modified > 0 m, l.lock_status, h.lock_status \
                 from sys.innodb_lock_waits w \
                 join information_schema.innodb_trx r on r.trx_id = w.waiting_trx_id \
                 join information_schema.innodb_trx b on b.trx_id = w.blocking_trx_id \
                 join performance_schema.data_locks l on l.engine_lock_id = r.trx_requested_lock_id \
                 join performance_schema.data_locks h on h.engine_lock_id = w.blocking_lock_id",
            )
            .await;
        let query = "select * from t where b = 20 for update";
        let row =
            format!("`d`.`t`\tRECORD\t{query}\tNULL\t1\tLOCK WAIT\t{query}\tRUNNING\t1\tWAITING\tGRANTED");
        assert_eq!(found.lines().nth(1), Some(row.as_str()), "{found}");
        assert_eq!(number(&mut watcher, "Innodb_row_lock_current_waits").await, 1);

        let kill = watcher.query("select sql_kill_blocking_connection from sys.innodb_lock_waits").await;
        let kill = kill.lines().nth(1).expect("a row").to_owned();
        assert_eq!(watcher.query(&kill).await, "ok\n");
        assert!(holder.session.is_ending());
        holder.session.close().await;
        let (_, answer) = waiting.await.expect("it ends");
        assert_eq!(answer, "a\tb\tc\n2\t20\tdef\n");
        assert_eq!(number(&mut watcher, "Innodb_row_lock_current_waits").await, 0);
        assert_eq!(number(&mut watcher, "Innodb_row_lock_waits").await, 1);
        let rest = watcher.query("select count(*) from performance_schema.data_lock_waits").await;
        assert_eq!(rest, "count(*)\n0\n");
    });
}

#[test]
fn an_insert_into_a_locked_range_is_shown() {
    run(async |server| {
        let mut watcher = with_rows(&server).await;
        let (mut reader, writer) = (begun(&server).await, begun(&server).await);
        reader.query("select * from t where a > 1 for share").await;
        let waiting = start(writer, "insert into t values (3, 30, 'new')");
        until_waiting(&server, 1).await;
        let found = watcher
            .query(
                "select l.index_name, l.lock_mode, l.lock_data, h.lock_mode, h.lock_data \
                 from performance_schema.data_lock_waits w \
                 join performance_schema.data_locks l on l.engine_lock_id = w.requesting_engine_lock_id \
                 join performance_schema.data_locks h on h.engine_lock_id = w.blocking_engine_lock_id",
            )
            .await;
        let row = "PRIMARY\tX,GAP,INSERT_INTENTION\t3\tS\tsupremum pseudo-record";
        assert_eq!(found.lines().nth(1), Some(row), "{found}");
        reader.query("commit").await;
        assert_eq!(waiting.await.expect("it ends").1, "ok 1 rows\n");
    });
}

#[test]
fn open_transactions_without_locks_are_listed() {
    run(async |server| {
        let mut watcher = with_rows(&server).await;
        let mut reader = Client::connect(&server).await;
        reader.query("use d; start transaction read only; select * from t").await;
        reader.query("set unique_checks = 0").await;
        let listed = "select trx_state, trx_isolation_level, trx_is_read_only, trx_rows_locked, \
                      trx_unique_checks, trx_foreign_key_checks from information_schema.innodb_trx";
        let expected = "RUNNING\tREPEATABLE READ\t1\t0\t0\t1";
        assert_eq!(watcher.query(listed).await.lines().nth(1), Some(expected));
        assert_eq!(number(&mut watcher, "Evenkeel_snapshots").await, 1);
        reader.query("commit").await;
        assert_eq!(watcher.query(listed).await.lines().count(), 1);
    });
}

static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn log(_: instance::LogLevel, line: &str) {
    LOGGED.lock().expect("no panic while locked").push(line.to_owned());
}

#[test]
fn a_deadlock_is_told_with_both_statements() {
    run(async |server| {
        server.set_log(log);
        let mut watcher = with_rows(&server).await;
        let quiet = watcher.query("show engine innodb status").await;
        assert!(!quiet.contains("LATEST DETECTED DEADLOCK"), "{quiet}");
        for prints in [false, true] {
            watcher.query(if prints { "set global innodb_print_all_deadlocks = on" } else { "do 1" }).await;
            let (mut first, mut second) = (begun(&server).await, begun(&server).await);
            first.query("update t set b = b + 1 where a = 1; update t set c = 'heavy' where a = 5").await;
            second.query("update t set b = b + 1 where a = 2").await;
            let waiting = start(first, "update t set b = 7 where a = 2");
            until_waiting(&server, 1).await;
            let answer = second.query("update t set b = 8 where a = 1").await;
            assert!(answer.contains("ERROR 1213 (40001): Deadlock found"), "{answer}");
            let (mut first, answer) = waiting.await.expect("it ends");
            assert!(answer.starts_with("ok 1 rows"), "{answer}");
            first.query("rollback").await;
        }
        let text = watcher.query("show engine innodb status").await.replace("\\n", "\n");
        let places: Vec<Option<usize>> = [
            "LATEST DETECTED DEADLOCK\n",
            "*** (1) TRANSACTION:\nTRANSACTION ",
            "LOCK WAIT ",
            "MySQL thread id ",
            "update t set b = 7 where a = 2\n",
            "*** (1) HOLDS THE LOCK(S):\nRECORD LOCKS ",
            "index PRIMARY of table `d`.`t` trx id ",
            "lock_mode X locks rec but not gap\nKey: 1\n",
            "*** (1) WAITING FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS ",
            "lock_mode X locks rec but not gap waiting\nKey: 2\n",
            "*** (2) TRANSACTION:\n",
            "update t set b = 8 where a = 1\n",
            "*** WE ROLL BACK TRANSACTION (2)\n",
            "TRANSACTIONS\n------------\nTrx id counter ",
            "History list length ",
            "FILE I/O\n",
            "LOG\n---\nLog capacity ",
            "BUFFER POOL AND MEMORY\n",
            "ROW OPERATIONS\n",
            "END OF INNODB MONITOR OUTPUT\n",
        ]
        .iter()
        .map(|part| text.find(part))
        .collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{text}");
        assert_eq!(number(&mut watcher, "Innodb_deadlocks").await, 2);
        let logged = LOGGED.lock().expect("no panic while locked");
        let printed = logged.iter().filter(|line| line.starts_with("*** WE ROLL BACK")).count();
        assert_eq!(printed, 1, "only while the variable was on: {logged:?}");
        assert!(logged.iter().any(|line| line == "update t set b = 8 where a = 1"), "{logged:?}");
    });
}

#[test]
fn metadata_locks_show_who_waits_for_a_definition() {
    run(async |server| {
        let mut watcher = with_rows(&server).await;
        let mut reader = begun(&server).await;
        reader.query("select * from t").await;
        let mut changer = Client::connect(&server).await;
        changer.query("use d").await;
        let waiting = start(changer, "alter table t add e int");
        let listed = "select object_type, object_schema, object_name, lock_type, lock_status \
                      from performance_schema.metadata_locks where object_type = 'TABLE'";
        let mut found = String::new();
        while !found.contains("PENDING") {
            tokio::time::sleep(Duration::from_millis(1)).await;
            found = watcher.query(listed).await;
        }
        assert!(found.contains("TABLE\td\tt\tSHARED_READ\tGRANTED\n"), "{found}");
        assert!(found.contains("TABLE\td\tt\tEXCLUSIVE\tPENDING\n"), "{found}");
        reader.query("commit").await;
        assert!(waiting.await.expect("it ends").1.starts_with("ok"));
    });
}

#[test]
fn only_those_with_process_see_the_others() {
    run(async |server| {
        let mut watcher = with_rows(&server).await;
        watcher.query("create user visitor@localhost identified by 'x'").await;
        watcher.query("begin; update t set b = 1 where a = 1").await;
        let mut visitor = Client::connect_as(&server, "visitor").await;
        let denied = visitor.query("show engine innodb status").await;
        assert!(denied.contains("ERROR 1227 (42000)"), "{denied}");
        let hidden = visitor.query("select count(*) from information_schema.innodb_trx").await;
        assert!(hidden.contains("ERROR 1227 (42000)"), "{hidden}");
        assert_eq!(watcher.query("show engine innodb mutex").await, "Type\tName\tStatus\n");
    });
}
