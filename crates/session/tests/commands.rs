//! The protocol's commands beside COM_QUERY: prepared statements, cursors, reset, kill, multi-statements.
mod support;

use std::sync::Arc;
use std::time::Duration;

use datum::Value;
use instance::{Instance, KillKind};
use session::CursorKind;
use support::{Client, Printer, run};

/// How much of the log survives a crash, and how much there is.
async fn log_lsns(client: &mut Client) -> (u64, u64) {
    let mut lsn = async |name: &str| {
        let text = client.query(&format!("show global status like 'Innodb_redo_log_{name}_lsn'")).await;
        text.split_whitespace().next_back().and_then(|lsn| lsn.parse().ok()).expect("a number")
    };
    (lsn("flushed_to_disk").await, lsn("current").await)
}

#[test]
fn flush_logs_makes_commits_durable() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        client.query("set global innodb_flush_log_at_trx_commit = 0").await;
        for flush in ["flush logs", "flush engine logs"] {
            client.query("update t set b = concat(b, '!') where a = 1").await;
            let (durable, end) = log_lsns(&mut client).await;
            assert!(durable < end, "nobody waited for the disk: {durable}, {end}");
            client.query(flush).await;
            let (durable, _) = log_lsns(&mut client).await;
            assert!(durable >= end, "{flush}: {durable}, {end}");
        }
    });
}

async fn client_with_table(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client.query("create database d; use d; create table t (a int primary key, b varchar(20))").await;
    assert_eq!(client.query("insert into t values (1,'one'),(2,'two'),(3,'three')").await.lines().count(), 1);
    client
}

#[test]
fn prepared_statements_run_with_values_of_any_type() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        let info =
            client.session.prepare(b"select b, a from t where a > ? order by a").await.expect("prepares");
        assert_eq!(info.parameters.len(), 1);
        assert_eq!(info.columns.as_ref().expect("a query").columns[0].name, "b");
        for value in [Value::Int(1), Value::bytes("1"), Value::Double(1.5), Value::Int(1)] {
            let mut printer = Printer::default();
            client.session.execute(info.id, vec![value], CursorKind::None, &mut printer).await;
            assert_eq!(printer.text, "b\ta\ntwo\t2\nthree\t3\n");
        }
        client.query("alter table t drop column b").await;
        let mut printer = Printer::default();
        client.session.execute(info.id, vec![Value::Int(1)], CursorKind::None, &mut printer).await;
        assert!(printer.text.starts_with("ERROR 1054"), "{}", printer.text);
        client.session.close_statement(info.id);
        let mut printer = Printer::default();
        client.session.execute(info.id, vec![Value::Int(1)], CursorKind::None, &mut printer).await;
        assert!(printer.text.starts_with("ERROR 1243"), "{}", printer.text);
    });
}

#[test]
fn a_cursor_keeps_rows_on_disk_that_memory_has_no_room_for() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        client.query("set tmp_table_size = 100000").await;
        let text = b"select x.a * 100 + y.a * 10 + z.a, repeat(x.a, 20000) from t x, t y, t z";
        let info = client.session.prepare(text).await.expect("prepares");
        let mut printer = Printer::default();
        client.session.execute(info.id, Vec::new(), CursorKind::ReadOnly, &mut printer).await;
        assert!(server.temporary().used_bytes() > 300_000);
        let shown = client.query("show status like 'Created_tmp_disk_tables'").await;
        assert!(shown.ends_with("\t1\n"), "{shown}");
        let mut numbers = Vec::new();
        for _ in 0..6 {
            printer.text.clear();
            client.session.fetch(info.id, 5, &mut printer).await;
            for line in printer.text.lines() {
                let (number, text) = line.split_once('\t').expect("two columns");
                assert_eq!(text, number[..1].repeat(20_000));
                numbers.push(number.parse::<u32>().expect("a number"));
            }
        }
        numbers.sort_unstable();
        let digits = [1, 2, 3];
        let all = digits.map(|x| digits.map(|y| digits.map(|z| x * 100 + y * 10 + z)));
        assert!(numbers.iter().eq(all.as_flattened().as_flattened()), "{numbers:?}");
        assert_eq!(server.temporary().used_bytes(), 0);
    });
}

#[test]
fn all_sessions_together_prepare_so_many_statements() {
    run(async |server| {
        let (mut one, mut other) = (Client::connect(&server).await, Client::connect(&server).await);
        one.query("set global max_prepared_stmt_count = 2").await;
        let first = one.session.prepare(b"select 1").await.expect("prepares");
        assert!(other.query("prepare x from 'select 1'").await.starts_with("ok"));
        let full = "Can't create more than max_prepared_stmt_count statements (current value: 2)";
        assert_eq!(other.session.prepare(b"select 1").await.expect_err("full").message, full);
        assert_eq!(one.query("prepare y from 'select 2'").await, format!("ERROR 1461 (42000): {full}\n"));
        let count = "show global status like 'Prepared_stmt_count'";
        assert!(one.query(count).await.ends_with("\t2\n"));
        one.session.close_statement(first.id);
        assert!(one.query("prepare y from 'select 2'").await.starts_with("ok"));
        one.session.close().await;
        assert!(other.query(count).await.ends_with("\t1\n"));
        assert!(
            other.query("prepare x from 'select 3'").await.starts_with("ok"),
            "its own place is free first"
        );
        assert!(other.query("deallocate prepare x").await.starts_with("ok"));
        assert!(other.query(count).await.ends_with("\t0\n"));
    });
}

#[test]
fn a_cursor_gives_its_rows_in_parts() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        let info = client.session.prepare(b"select a from t order by a").await.expect("prepares");
        let mut printer = Printer::default();
        client.session.execute(info.id, Vec::new(), CursorKind::ReadOnly, &mut printer).await;
        assert_eq!(printer.text, "a\ncursor\n");
        client.session.fetch(info.id, 2, &mut printer).await;
        client.session.fetch(info.id, 2, &mut printer).await;
        assert_eq!(printer.text, "a\ncursor\n1\n2\n3\n");
        client.session.fetch(info.id, 2, &mut printer).await;
        assert!(printer.text.ends_with("has no open cursor.\n"), "{}", printer.text);
    });
}

#[test]
fn several_statements_end_at_the_first_error() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        let text = "select 1; insert into t values (1, 'x'); select 2";
        let answer = client.query(text).await;
        assert!(answer.starts_with("1\n1\nERROR 1062"), "{answer}");
        assert_eq!(client.query("select 1;").await, "1\n1\n");
        assert_eq!(client.query("select 1; -- the end").await, "1\n1\n");
        client.session.set_multi_statements(false);
        let answer = client.query("select 1; select 2").await;
        assert!(answer.starts_with("ERROR 1064") && answer.contains("near 'select 2'"), "{answer}");
        assert!(answer.contains("your MySQL server version"), "{answer}");
    });
}

#[test]
fn reset_rolls_back_and_forgets() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        client.query("set @x = 1, autocommit = 0; delete from t").await;
        client.session.reset_connection().await.expect("resets");
        assert_eq!(
            client.query("select @x, @@autocommit, database()").await,
            "@x\t@@autocommit\tdatabase()\nNULL\t1\td\n"
        );
        assert_eq!(client.query("select count(*) from t").await, "count(*)\n3\n");
    });
}

#[test]
fn a_killed_query_ends_and_the_session_goes_on() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        let mut blocker = Client::connect(&server).await;
        blocker.query("use d; begin; select * from t").await;
        let process = client.session.process().clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            process.kill.kill(KillKind::Query);
        });
        let answer = client.query("alter table t add c int").await;
        assert!(answer.starts_with("ERROR 1317"), "{answer}");
        assert_eq!(client.query("select count(*) from t").await, "count(*)\n3\n");
        blocker.query("commit").await;
        assert!(client.query("alter table t add c int").await.starts_with("ok"));
    });
}

#[test]
fn a_metadata_deadlock_is_refused() {
    run(async |server| {
        let mut first = client_with_table(&server).await;
        first.query("create table u (a int)").await;
        first.query("begin; select * from u").await;
        let mut second = Client::connect(&server).await;
        second.query("use d").await;
        let renaming = tokio::task::spawn_local(async move {
            // Takes `t`, then waits for `u`, which the other transaction uses.
            second.query("rename table t to v, u to w").await
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        let answer = first.query("select * from t").await;
        assert!(answer.contains("ERROR 1213"), "{answer}");
        assert!(renaming.await.expect("the task ends").starts_with("ok"));
    });
}

#[test]
fn ddl_waits_for_the_rollback_of_a_lost_connection() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        let mut other = Client::connect(&server).await;
        other.query("use d; create table n (a int primary key, b int); insert into n values (1, 1)").await;
        for doubling in 0..14 {
            let grow = format!("insert into n select a + {}, b from n", 1 << doubling);
            assert!(other.query(&grow).await.starts_with("ok"));
        }
        assert!(client.query("begin; update n set b = 2").await.contains("ok 16384 rows"));
        drop(client);
        // Far quicker than the rollback, if it did not wait for that.
        assert_eq!(other.query("rename table n to m").await, "ok\n");
        assert_eq!(server.engine().stats().active_writers, 0, "the change came after the rollback");
        assert_eq!(other.query("select count(*), sum(b) from m").await, "count(*)\tsum(b)\n16384\t16384\n");
    });
}

#[test]
fn a_transaction_may_outgrow_the_log() {
    run(async |server| {
        let mut client = client_with_table(&server).await;
        client.query("create table n (a int primary key, b varchar(1000))").await;
        client.query("insert into n values (1, repeat('x', 1000))").await;
        for doubling in 0..14 {
            let grow = format!("insert into n select a + {}, b from n", 1 << doubling);
            assert!(client.query(&grow).await.starts_with("ok"));
        }
        assert!(client.query("begin; insert into n values (0, 'first')").await.ends_with("ok 1 rows\n"));
        // 16 MB of undo records, of which the test's log can keep 8.
        assert!(client.query("delete from n").await.starts_with("ok 16385 rows"));
        assert_eq!(client.query("select count(*) from n").await, "count(*)\n0\n");
        assert!(client.query("rollback").await.starts_with("ok"));
        assert_eq!(client.query("select count(*) from n").await, "count(*)\n16384\n");
        assert!(client.query("delete from n where a < 10").await.starts_with("ok 9 rows"));
    });
}
