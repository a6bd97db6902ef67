//! Events are executed when they are due, by their definers' rights, and leave what they told in the error log.
mod support;

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use instance::{Instance, LogLevel, SleepFuture, Timer};
use support::{Client, TokioTimer, serve};

static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn log(level: LogLevel, message: &str) {
    LOG.lock().expect("nobody panics with it").push(format!("{level:?} {message}"));
}

/// Runs a test beside a scheduler.
fn with_scheduler(test: impl AsyncFnOnce(Arc<Instance>, Client)) {
    with_scheduler_by(Arc::new(TokioTimer), test);
}

fn with_scheduler_by(timer: Arc<dyn Timer>, test: impl AsyncFnOnce(Arc<Instance>, Client)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let tasks = tokio::task::LocalSet::new();
    runtime.block_on(tasks.run_until(async {
        let server = serve(engine::Engine::in_memory(), timer).await;
        server.set_log(log);
        server.events.switch(true);
        let start = |event: statements::EventRun| {
            tokio::task::spawn_local(event.run());
        };
        tokio::task::spawn_local(statements::schedule_events(server.clone(), &statements::Statements, start));
        let mut client = Client::connect(&server).await;
        client.query("create database d").await;
        client.query("use d").await;
        client.query("create table t(a int primary key, b varchar(100))").await;
        test(server, client).await;
    }));
}

/// Asks until the answer is the expected one.
async fn until(client: &mut Client, text: &str, expected: &str) {
    let mut answer = String::new();
    for _ in 0..300 {
        answer = client.query(text).await;
        if answer == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{text}\nanswers\n{answer}\nand not\n{expected}");
}

fn logged(part: &str) -> bool {
    LOG.lock().expect("nobody panics with it").iter().any(|line| line.contains(part))
}

#[test]
fn single_events_run_once_and_recurring_ones_again() {
    with_scheduler(async |_, mut client| {
        client.query("create event e1 on schedule at now() do insert into t select 1, concat(current_user(), ' ', user(), ' ', database())").await;
        client.query("create event e2 on schedule at now() on completion preserve do insert into t values (2, @@time_zone)").await;
        client
            .query(
                "create event e3 on schedule every 1 second do insert into t select max(a) + 10, '' from t",
            )
            .await;
        let shown = "select a, b from t where a < 3";
        until(&mut client, shown, "a\tb\n1\troot@localhost event_scheduler@localhost d\n2\tSYSTEM\n").await;
        let events =
            "select event_name, status, last_executed is null from information_schema.events order by 1";
        until(
            &mut client,
            events,
            "EVENT_NAME\tSTATUS\tlast_executed is null\ne2\tDISABLED\t0\ne3\tENABLED\t0\n",
        )
        .await;
        until(&mut client, "select count(*) > 3 from t", "count(*) > 3\n1\n").await;
        client.query("alter event e3 disable").await;
        let processes =
            "select command, state from information_schema.processlist where user = 'event_scheduler'";
        until(&mut client, processes, "command\tstate\nDaemon\tWaiting on empty queue\n").await;
        client.query("set global event_scheduler = off").await;
        until(&mut client, processes, "command\tstate\n").await;
    });
}

/// A timer whose clock is off by so many microseconds.
struct WrongClock(AtomicI64);

impl Timer for WrongClock {
    fn sleep(&self, duration: Duration) -> SleepFuture {
        TokioTimer.sleep(duration)
    }

    fn now_us(&self) -> i64 {
        TokioTimer.now_us() + self.0.load(Relaxed)
    }
}

/// An event that is due in an hour runs when the clock is put forward, once, and again only when the clock, put back, has come
/// there once more.
#[test]
fn events_follow_a_clock_that_is_set() {
    const HOUR_US: i64 = 3_600_000_000;
    let clock = Arc::new(WrongClock(AtomicI64::new(0)));
    with_scheduler_by(clock.clone(), async |server, mut client| {
        client.query("create event c1 on schedule every 1 hour starts now() + interval 1 hour do insert into t select count(*), '' from t").await;
        let set = |to: i64| {
            clock.0.store(to, Relaxed);
            // As the program does when it sees that the clock was set.
            server.events.wake();
        };
        let rows = "select count(*) from t";
        set(HOUR_US / 2);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(client.query(rows).await, "count(*)\n0\n");
        set(HOUR_US + 1_000_000);
        until(&mut client, rows, "count(*)\n1\n").await;
        set(0);
        tokio::time::sleep(Duration::from_millis(200)).await;
        set(2 * HOUR_US + 1_000_000);
        until(&mut client, rows, "count(*)\n2\n").await;
        set(2 * HOUR_US + 2_000_000);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(client.query(rows).await, "count(*)\n2\n");
    });
}

#[test]
fn what_events_tell_goes_to_the_log() {
    with_scheduler(async |_, mut client| {
        client.query("create user u1@localhost").await;
        client.query("create user u2@localhost").await;
        client.query("grant event on d.* to u2@localhost").await;
        for (name, definer, body) in [
            (
                "w1",
                "root@localhost",
                "begin insert into t values (1, 'x'); insert into t values (1, 'x'); end",
            ),
            ("w2", "u1@localhost", "insert into t values (2, '')"),
            ("w3", "u2@localhost", "delete from t"),
            ("w4", "nobody@localhost", "delete from t"),
            ("w5", "root@localhost", "begin select 'x' + 1; end"),
        ] {
            let text = format!("create definer={definer} event {name} on schedule at now() do {body}");
            client.query(&text).await;
        }
        until(&mut client, "select count(*) from information_schema.events", "count(*)\n0\n").await;
        for expected in [
            "Error Event Scheduler: [root@localhost][d.w1] Duplicate entry '1' for key 't.PRIMARY'",
            "Error Event Scheduler: [u1@localhost].[d.w2] execution failed, user no longer has EVENT privilege.",
            "Error Event Scheduler: [u1@localhost][d.w2] Access denied for user 'u1'@'localhost' to database 'd'",
            "Error Event Scheduler: [u2@localhost][d.w3] DELETE command denied to user 'u2'@'localhost' for table 't'",
            "Error Event Scheduler: [nobody@localhost].[d.w4] execution failed, failed to authenticate the user.",
            "Warning Event Scheduler: [root@localhost][d.w5] Truncated incorrect DOUBLE value: 'x'",
        ] {
            assert!(logged(expected), "{expected}\n{:?}", LOG.lock());
        }
    });
}

#[test]
fn a_running_event_can_be_killed_and_the_scheduler_cannot() {
    with_scheduler(async |_, mut client| {
        client.query("create event k1 on schedule at now() do begin insert into t values (1, ''); start transaction; insert into t values (2, ''); select sleep(100); end").await;
        let running = "select count(*) from information_schema.processlist where command = 'Connect'";
        until(&mut client, running, "count(*)\n1\n").await;
        until(&mut client, "select a from t", "a\n1\n").await;
        let answer =
            client.query("select id from information_schema.processlist where command = 'Connect'").await;
        client.query(&format!("kill {}", answer.trim_start_matches("id\n").trim())).await;
        until(&mut client, running, "count(*)\n0\n").await;
        until(&mut client, "select a from t", "a\n1\n").await;
        let answer =
            client.query("select id from information_schema.processlist where command = 'Daemon'").await;
        let id = answer.trim_start_matches("id\n").trim().to_owned();
        assert_eq!(
            client.query(&format!("kill {id}")).await,
            format!("ERROR 1094 (HY000): Unknown thread id: {id}\n")
        );
    });
}
