//! Calls that wait: they leave the thread to others, and KILL, the time limit and the end of a session end them.
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::{LockGuard, LockMode, LockName, LockOwner};
use instance::{Instance, KillKind};
use support::{Client, run};

/// All clients of a test run on one thread, so a call that blocked it would stop the others.
fn start(mut client: Client, text: &'static str) -> tokio::task::JoinHandle<(Client, String)> {
    tokio::task::spawn_local(async move {
        let answer = client.query(text).await;
        (client, answer)
    })
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(30)).await;
}

/// Starts the statement, kills it and gives its answer.
async fn killed(server: &Arc<Instance>, text: &'static str) -> String {
    let client = Client::connect(server).await;
    let process = client.session.process().clone();
    let running = start(client, text);
    pause().await;
    process.kill.kill(KillKind::Query);
    let (mut client, answer) = running.await.expect("the task ends");
    assert_eq!(client.query("select 1").await, "1\n1\n", "the session goes on");
    answer
}

#[test]
fn sleepers_leave_the_thread_to_others() {
    run(async |server| {
        let mut other = Client::connect(&server).await;
        let sleeper = Client::connect(&server).await;
        let process = sleeper.session.process().clone();
        let sleeping = start(sleeper, "select sleep(30)");
        pause().await;
        assert_eq!(other.query("select sleep(0.01), sleep(0)").await, "sleep(0.01)\tsleep(0)\n0\t0\n");
        assert!(!sleeping.is_finished());
        process.kill.kill(KillKind::Query);
        sleeping.await.expect("it ends");
    });
}

#[test]
fn every_row_sleeps() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("create database d; use d; create table t (a int primary key)").await;
        client.query("insert into t values (1), (2), (3)").await;
        let began = Instant::now();
        assert_eq!(client.query("select a from t where sleep(0.02) = 0 and a < 3").await, "a\n1\n2\n");
        assert!(began.elapsed() >= Duration::from_millis(40));
        assert_eq!(client.query("select a, sleep(0.01) s from t where a = 2").await, "a\ts\n2\t0\n");
        assert_eq!(client.query("do sleep(0.01)").await, "ok\n");
    });
}

/// A loop that catches what it can and never waits.
const SPINS: &str =
    "begin declare i bigint default 0; declare continue handler for sqlexception set i = i + 1;
    while true do set i = i + 1; signal sqlstate '45000'; end while;";

#[test]
fn kill_and_the_time_limit_end_loops_of_programs() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("create database d; use d; create table t (a int)").await;
        client.query(&format!("create procedure spin() {SPINS} end")).await;
        client
            .query(&format!("create function spin() returns int deterministic {SPINS} return 1; end"))
            .await;
        client.query("create trigger spin before insert on t for each row set new.a = spin()").await;
        client.query("create procedure calls() begin loop call step(); end loop; end").await;
        client.query("create procedure step() begin set @n = @n + 1; end").await;
        let interrupted = "ERROR 1317 (70100): Query execution was interrupted\n";
        for text in [
            "call d.spin()",
            "call d.calls()",
            "select d.spin()",
            "do d.spin()",
            "set @x = d.spin()",
            "insert into d.t values (1)",
        ] {
            let began = Instant::now();
            let answer = killed(&server, text).await;
            assert!(answer.ends_with(interrupted), "{text}: {answer}");
            // The machine may be busy; a loop that looked at nothing would never end.
            assert!(began.elapsed() < Duration::from_secs(5), "{text}");
        }
        client.query("set max_execution_time = 30").await;
        let answer = client.query("select spin()").await;
        let timed_out = "ERROR 3024 (HY000): Query execution was interrupted, maximum statement execution time exceeded\n";
        assert!(answer.ends_with(timed_out), "{answer}");
        // As in MySQL it is for a query that stands alone: one in a procedure takes its time.
        client.query("create procedure p() begin select sleep(0.05) as s; end").await;
        assert_eq!(client.query("call p()").await, "s\n0\nok\n");
        assert_eq!(client.query("select count(*) from t").await, "count(*)\n0\n");
    });
}

#[test]
fn kill_ends_a_sleep() {
    run(async |server| {
        assert_eq!(killed(&server, "select sleep(30)").await, "sleep(30)\n1\n");
        let interrupted = "ERROR 1317 (70100): Query execution was interrupted\n";
        let answer = killed(&server, "select sleep(30) from (select 1 union select 2) x").await;
        assert!(answer.ends_with(interrupted), "{answer}");
        let answer = killed(&server, "select 1 from (select 1) x where sleep(30)").await;
        assert!(answer.ends_with(interrupted), "{answer}");
    });
}

#[test]
fn the_time_limit_ends_a_sleep() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("set max_execution_time = 30").await;
        assert_eq!(client.query("select sleep(30), 5").await, "sleep(30)\t5\n1\t5\n");
    });
}

#[test]
fn the_time_limit_ends_joins_of_rows_in_memory() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("create database d; use d; create table t (a int primary key, b int)").await;
        let rows: Vec<String> = (1..=2000).map(|a| format!("({a}, 1)")).collect();
        client.query(&format!("insert into t values {}", rows.join(","))).await;
        client.query("set max_execution_time = 100").await;
        let table = "(select a, b from t limit 2000)";
        let out_of_time = "ERROR 3024 (HY000)";
        let text = format!("select count(*) from {table} x, {table} y, {table} z");
        assert!(client.query(&text).await.contains(out_of_time));
        let text =
            format!("select count(*) from {table} x join {table} y on x.b = y.b join {table} z on z.b = y.b");
        assert!(client.query(&text).await.contains(out_of_time));
    });
}

#[test]
fn benchmarks_can_be_killed() {
    run(async |server| {
        let answer = killed(&server, "select benchmark(1000000000000, md5('a'))").await;
        assert!(answer.ends_with("ERROR 1317 (70100): Query execution was interrupted\n"), "{answer}");
        let mut client = Client::connect(&server).await;
        assert_eq!(client.query("select benchmark(10000, 1 + 1) b").await, "b\n0\n");
    });
}

#[test]
fn locks_are_waited_for_and_pass_on() {
    run(async |server| {
        let (mut first, second) = (Client::connect(&server).await, Client::connect(&server).await);
        assert_eq!(first.query("select get_lock('a', 0) g").await, "g\n1\n");
        let waiting = start(second, "select get_lock('A', 10) g");
        pause().await;
        assert!(!waiting.is_finished());
        assert_eq!(first.query("select release_lock('a') r").await, "r\n1\n");
        let (mut second, answer) = waiting.await.expect("it ends");
        assert_eq!(answer, "g\n1\n");
        assert_eq!(first.query("select get_lock('a', 0) g, is_free_lock('a') f").await, "g\tf\n0\t0\n");
        assert_eq!(second.query("select is_used_lock('a') = connection_id() u").await, "u\n1\n");
        let waiting = start(first, "select get_lock('a', -1) g");
        pause().await;
        second.session.close().await;
        assert_eq!(waiting.await.expect("it ends").1, "g\n1\n", "a session's locks end with it");
    });
}

#[test]
fn a_circle_of_locks_is_refused_and_kill_ends_a_wait() {
    run(async |server| {
        let (mut first, mut second) = (Client::connect(&server).await, Client::connect(&server).await);
        first.query("do get_lock('a', 0)").await;
        second.query("do get_lock('b', 0)").await;
        let process = first.session.process().clone();
        let waiting = start(first, "select get_lock('b', 30) g");
        pause().await;
        let answer = second.query("select get_lock('a', 30) g").await;
        assert!(
            answer.contains("ERROR 3058 (HY000): Deadlock found when trying to get user-level lock"),
            "{answer}"
        );
        process.kill.kill(KillKind::Query);
        let answer = waiting.await.expect("it ends").1;
        assert!(answer.ends_with("ERROR 1317 (70100): Query execution was interrupted\n"), "{answer}");
    });
}

/// Kills the call after it has been polled so many times. Its answer; `None` when it had ended by then.
async fn killed_after(client: &mut Client, text: &str, polls: usize) -> Option<String> {
    let process = client.session.process().clone();
    let mut call = std::pin::pin!(client.query(text));
    let mut polled = 0;
    let answer = std::future::poll_fn(|context| {
        polled += 1;
        if polled == polls {
            process.kill.kill(KillKind::Query);
        }
        call.as_mut().poll(context)
    })
    .await;
    (polled >= polls).then_some(answer)
}

#[test]
fn a_prepared_statement_is_kept_when_it_is_killed() {
    run(async |server| {
        let (mut first, mut second) = (Client::connect(&server).await, Client::connect(&server).await);
        first.query("do get_lock('a', 0)").await;
        second.query("prepare p from 'select get_lock(''a'', 30)'").await;
        let process = second.session.process().clone();
        let running = start(second, "execute p");
        pause().await;
        process.kill.kill(KillKind::Query);
        let (mut second, answer) = running.await.expect("the task ends");
        assert!(answer.ends_with("ERROR 1317 (70100): Query execution was interrupted\n"), "{answer}");
        assert_eq!(second.query("deallocate prepare p").await, "ok\n");
    });
}

/// Whenever it is killed, all of it was done or nothing, and it says which.
#[test]
fn a_prepared_statement_that_is_killed_is_undone_whole() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("create database d; use d; create table t (a int primary key); create table s (a int primary key)").await;
        let rows: Vec<String> = (1..=1000).map(|a| format!("({a})")).collect();
        client.query(&format!("insert into s values {}", rows.join(","))).await;
        client.query("insert into t values (1000)").await;
        let mut counted = 0;
        for polls in 1.. {
            client.query("prepare p from 'insert into t select a from s'; begin").await;
            let answer = killed_after(&mut client, "execute p", polls).await;
            assert_eq!(
                client.query("select count(*) n from t").await,
                "n\n1\n",
                "after {polls} polls: {answer:?}"
            );
            client.query("rollback").await;
            let Some(answer) = answer else { break };
            assert!(answer.starts_with("ERROR"), "the last row is there already: {answer}");
            counted = polls;
        }
        assert!(counted > 10, "it was killed in its midst: {counted}");
        for polls in 1.. {
            client.query("prepare p from 'insert into t select a + 1000 from s'").await;
            let Some(answer) = killed_after(&mut client, "execute p", polls).await else { break };
            let kept = if answer.starts_with("ok") { "n\n1001\n" } else { "n\n1\n" };
            assert_eq!(client.query("select count(*) n from t").await, kept, "after {polls} polls: {answer}");
            client.query("delete from t where a > 1000").await;
        }
    });
}

/// The accounts, as a statement of nobody that changes some.
fn hold_accounts(server: &Instance) -> LockGuard {
    let locks = server.catalog().locks();
    let held = locks.try_acquire(LockOwner(u64::MAX), &LockName::Accounts, LockMode::Exclusive);
    held.expect("nobody has them")
}

/// Else one would put back, or make durable, what the other is about to take back.
#[test]
fn one_statement_at_a_time_changes_accounts() {
    run(async |server| {
        let mut other = Client::connect(&server).await;
        let held = hold_accounts(&server);
        let waiting = start(Client::connect(&server).await, "create user anna");
        pause().await;
        assert!(!waiting.is_finished());
        let grants = other.query("show grants for anna").await;
        assert!(grants.starts_with("ERROR 1141"), "{grants}");
        let state = "select state from information_schema.processlist where info = 'create user anna'";
        assert_eq!(other.query(state).await, "state\nWaiting for acl cache lock\n");
        let listed = "select lock_type, lock_status from performance_schema.metadata_locks
            where object_type = 'ACL CACHE' order by lock_status";
        let both = "lock_type\tlock_status\nEXCLUSIVE\tGRANTED\nEXCLUSIVE\tPENDING\n";
        assert_eq!(other.query(listed).await, both);
        drop(held);
        assert_eq!(waiting.await.expect("it ends").1, "ok\n");
        assert_eq!(other.query("grant select on *.* to anna").await, "ok\n");

        let held = hold_accounts(&server);
        let answer = killed(&server, "drop user anna").await;
        assert!(answer.starts_with("ERROR 1317"), "{answer}");
        drop(held);
        assert_eq!(other.query("drop user anna").await, "ok\n");
    });
}
