//! Waits that go on are told while they do: for a row, for a definition; what they were is told behind.
mod support;

use std::sync::Arc;
use std::time::Duration;

use instance::Instance;
use support::{Client, run};

async fn client(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client.query("use d").await;
    client
}

async fn watched(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    for text in [
        "create database d",
        "use d",
        "create table t (id int primary key, a int)",
        "insert into t values (1, 1), (2, 2)",
        "update performance_schema.setup_consumers set enabled = 'YES'
            where name like 'events_waits%' or name like 'events_stages%'",
        "update performance_schema.setup_instruments set enabled = 'YES', timed = 'YES' where name like 'stage/sql/%'",
    ] {
        let answer = client.query(text).await;
        assert!(answer.starts_with("ok"), "{text}: {answer}");
    }
    client
}

/// Of the session that waits.
const CURRENT: &str =
    "select event_name, object_schema, object_name, operation, end_event_id is null, timer_wait > 0,
    nesting_event_type from performance_schema.events_waits_current where event_name like 'wait/lock%'";
const ENDED: &str = "select event_name, object_name, timer_wait >= 100000000000, end_event_id >= event_id
    from performance_schema.events_waits_history_long where event_name like 'wait/lock%'";

fn rows(answer: &str) -> Vec<&str> {
    answer.lines().skip(1).collect()
}

#[test]
fn a_wait_for_a_row_is_told() {
    run(async |server| {
        let mut client = watched(&server).await;
        let mut holder = self::client(&server).await;
        holder.query("begin").await;
        holder.query("update t set a = 5 where id = 1").await;
        let mut waiter = self::client(&server).await;
        let waiting =
            tokio::task::spawn_local(async move { waiter.query("update t set a = 6 where id = 1").await });
        tokio::time::sleep(Duration::from_millis(150)).await;
        let shown = client.query(CURRENT).await;
        assert_eq!(rows(&shown), ["wait/lock/row/evenkeel/row\td\tt\tlock\t1\t1\tSTAGE"]);
        let shown = client.query("select event_name from performance_schema.events_stages_current where thread_id <> ps_current_thread_id()").await;
        assert_eq!(rows(&shown), ["stage/sql/updating"]);
        let last =
            "select last_wait, last_wait_latency from sys.session where current_statement like 'update t%'";
        assert_eq!(rows(&client.query(last).await), ["wait/lock/row/evenkeel/row\tStill Waiting"]);
        holder.query("commit").await;
        assert!(waiting.await.expect("it ends").starts_with("ok"));
        assert_eq!(rows(&client.query(ENDED).await), ["wait/lock/row/evenkeel/row\tt\t1\t1"]);
        let sum = "select count_star, max_timer_wait >= 100000000000
            from performance_schema.events_waits_summary_global_by_event_name where event_name = 'wait/lock/row/evenkeel/row'";
        assert_eq!(rows(&client.query(sum).await), ["1\t1"]);
    });
}

#[test]
fn a_wait_for_a_definition_is_told() {
    run(async |server| {
        let mut client = watched(&server).await;
        let mut holder = self::client(&server).await;
        holder.query("begin").await;
        holder.query("select * from t").await;
        let mut waiter = self::client(&server).await;
        let waiting = tokio::task::spawn_local(async move {
            let answer = waiter.query("drop table t").await;
            (waiter, answer)
        });
        tokio::time::sleep(Duration::from_millis(150)).await;
        let shown = client.query(CURRENT).await;
        assert_eq!(rows(&shown), ["wait/lock/metadata/sql/mdl\td\tt\tmetadata lock\t1\t1\tSTAGE"]);
        let stage = "select event_name from performance_schema.events_stages_current where thread_id <> ps_current_thread_id()";
        assert_eq!(rows(&client.query(stage).await), ["stage/sql/Waiting for table metadata lock"]);
        holder.query("commit").await;
        let (_waiter, answer) = waiting.await.expect("it ends");
        assert!(answer.starts_with("ok"), "{answer}");
        // A definition asks again and again, each time a wait.
        let sum = "select count_star > 0, sum_timer_wait >= 100000000000
            from performance_schema.events_waits_summary_global_by_event_name where event_name = 'wait/lock/metadata/sql/mdl'";
        assert_eq!(rows(&client.query(sum).await), ["1\t1"]);
        let locked = "select lock_time >= 100000000000 from performance_schema.events_statements_history where sql_text = 'drop table t'";
        let by_digest = client.query("select count(*) from performance_schema.events_waits_history_long where event_name = 'wait/lock/metadata/sql/mdl' and operation = 'metadata lock'").await;
        assert_ne!(rows(&by_digest), ["0"]);
        assert_eq!(rows(&client.query(locked).await).first(), Some(&"1"));
    });
}
