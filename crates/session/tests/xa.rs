//! XA beyond what one script of one account can show: who may list, sessions that end, resets, KILL, and the counters.
mod support;

use std::sync::Arc;

use instance::{Instance, KillKind};
use support::{Client, run};

const RMERR: &str = "ERROR 1401 (XAE03): XAER_RMERR: Fatal error occurred in the transaction branch - check your data \
                     for consistency\n";
const NOTA: &str = "ERROR 1397 (XAE04): XAER_NOTA: Unknown XID\n";
const NONE: &str = "formatID\tgtrid_length\tbqual_length\tdata\n";

async fn client_in_database(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client
        .query("create database if not exists d; use d; create table if not exists t (a int primary key)")
        .await;
    client
}

/// Statements that succeed without rows.
async fn all(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        let answer = client.query(statement).await;
        assert!(answer.starts_with("ok"), "{statement}: {answer}");
    }
}

#[test]
fn only_who_may_lists_and_all_may_decide() {
    run(async |server| {
        let mut root = client_in_database(&server).await;
        all(&mut root, &["xa start 'x'", "insert into t values (1)", "xa end 'x'", "xa prepare 'x'"]).await;
        all(&mut root, &["create user 'some'@'localhost'"]).await;
        let mut some = Client::connect_as(&server, "some").await;
        assert_eq!(some.query("xa recover").await, RMERR);
        all(&mut root, &["grant xa_recover_admin on *.* to 'some'@'localhost'"]).await;
        assert_eq!(some.query("xa recover").await, format!("{NONE}1\t1\t0\tx\n"));
        assert_eq!(
            root.query("show grants for 'some'@'localhost'").await,
            "Grants for some@localhost\nGRANT USAGE ON *.* TO `some`@`localhost`\n\
             GRANT XA_RECOVER_ADMIN ON *.* TO `some`@`localhost`\n"
        );
        assert_eq!(
            root.query("grant xa_recover_admin on d.* to 'some'@'localhost'").await,
            "ERROR 3619 (HY000): Illegal privilege level specified for XA_RECOVER_ADMIN\n"
        );
        all(&mut root, &["revoke xa_recover_admin on *.* from 'some'@'localhost'"]).await;
        assert_eq!(some.query("xa recover").await, RMERR);
        all(&mut some, &["xa commit 'x'"]).await;
        assert_eq!(root.query("select * from t").await, "a\n1\n");
    });
}

#[test]
fn a_session_that_ends_leaves_what_is_prepared_and_undoes_the_rest() {
    run(async |server| {
        let mut other = client_in_database(&server).await;
        for detaches in ["1", "0"] {
            let mut preparing = client_in_database(&server).await;
            all(&mut preparing, &[&format!("set xa_detach_on_prepare = {detaches}")]).await;
            all(
                &mut preparing,
                &["xa start 'x'", "insert into t values (1)", "xa end 'x'", "xa prepare 'x'"],
            )
            .await;
            let mut running = client_in_database(&server).await;
            all(&mut running, &["xa start 'y'", "insert into t values (2)", "xa end 'y'"]).await;
            preparing.session.close().await;
            running.session.close().await;
            assert_eq!(other.query("xa recover").await, format!("{NONE}1\t1\t0\tx\n"));
            assert_eq!(other.query("xa rollback 'y'").await, NOTA);
            all(&mut other, &["xa start 'y'", "insert into t values (2)", "xa end 'y'", "xa rollback 'y'"])
                .await;
            all(&mut other, &["xa rollback 'x'"]).await;
            assert_eq!(other.query("xa recover").await, NONE);
            assert_eq!(other.query("select * from t").await, "a\n");
        }
    });
}

#[test]
fn a_reset_undoes_what_is_not_prepared() {
    run(async |server| {
        let mut client = client_in_database(&server).await;
        all(&mut client, &["xa start 'x'", "insert into t values (1)"]).await;
        client.session.reset_connection().await.expect("a reset");
        all(&mut client, &["xa start 'x'", "insert into t values (1)", "xa end 'x'", "xa prepare 'x'"]).await;
        client.session.reset_connection().await.expect("a reset");
        assert_eq!(client.query("select * from t").await, "a\n");
        all(&mut client, &["xa commit 'x'"]).await;
        assert_eq!(client.query("select * from t").await, "a\n1\n");
    });
}

#[test]
fn a_prepare_that_is_killed_while_it_waits_is_rolled_back() {
    run(async |server| {
        let mut client = client_in_database(&server).await;
        let mut locker = client_in_database(&server).await;
        all(&mut client, &["xa start 'x'", "insert into t values (1)", "xa end 'x'"]).await;
        all(&mut locker, &["flush tables with read lock"]).await;
        let id = client.session.process().id;
        let killer = async {
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
            server.kill(id, KillKind::Query).expect("it is there");
        };
        let (answer, ()) = tokio::join!(client.query("xa prepare 'x'"), killer);
        assert_eq!(answer, "ERROR 1317 (70100): Query execution was interrupted\n");
        all(&mut locker, &["unlock tables"]).await;
        assert_eq!(client.query("xa rollback 'x'").await, NOTA);
        assert_eq!(client.query("select * from t").await, "a\n");
        all(&mut locker, &["insert into t values (1)"]).await;
    });
}

#[test]
fn statements_and_transactions_are_shown() {
    run(async |server| {
        let mut client = client_in_database(&server).await;
        all(&mut client, &["xa start 'x'", "insert into t values (1)", "xa end 'x'", "xa prepare 'x'"]).await;
        let shown = "select trx_state, trx_mysql_thread_id, trx_rows_modified, trx_tables_locked, \
                     trx_isolation_level from information_schema.innodb_trx";
        let columns =
            "trx_state\ttrx_mysql_thread_id\ttrx_rows_modified\ttrx_tables_locked\ttrx_isolation_level\n";
        assert_eq!(client.query(shown).await, format!("{columns}RUNNING\t0\t1\t1\tREPEATABLE READ\n"));
        all(&mut client, &["xa commit 'x'"]).await;
        assert_eq!(client.query(shown).await, columns);
        assert_eq!(client.query("xa rollback 'x'").await, NOTA);
        client.query("xa recover").await;
        let expected =
            [("commit", 1), ("end", 1), ("prepare", 1), ("recover", 1), ("rollback", 1), ("start", 1)];
        let expected: String =
            expected.iter().map(|(name, count)| format!("Com_xa_{name}\t{count}\n")).collect();
        let found = client.query("show session status like 'Com_xa%'").await;
        assert_eq!(found, format!("Variable_name\tValue\n{expected}"));
    });
}
