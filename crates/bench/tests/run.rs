//! Runs against a server that is slow, silent, or gone for a while, with one connection that blocks its thread and with
//! several that are polled.
//!
//! Invariant: a run ends at its time or its count, whatever the server does, and tells what was not answered.

#[path = "../../recording/tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bench::{Plan, Rates, Run, Stop, run};
use client::Dsn;
use support::Orders;
use workload::{Settings, workload};

/// A thread with one connection blocks, a thread with four does not.
const CONNECTIONS: [usize; 2] = [1, 4];

fn plan(port: u16, connections: usize, seconds: f64) -> Plan {
    Plan {
        dsn: Dsn::parse(&format!("mysql://root@127.0.0.1:{port}")).unwrap(),
        threads: 1,
        connections,
        pipeline: 1,
        is_prepared: false,
        warmup: Duration::ZERO,
        duration: Duration::from_secs_f64(seconds),
        rates: None,
        seed: 1,
        goes_on: false,
        events_max: None,
        on_connect: Vec::new(),
    }
}

/// Asks for the status all the time.
fn ask(name: &str, plan: &Plan) -> Run {
    let file = std::env::temp_dir().join(format!("evenkeel-bench-{name}-{}.sql", std::process::id()));
    std::fs::write(&file, "SHOW GLOBAL STATUS;\n").unwrap();
    let settings = Settings { is_prepared: false, ..Settings::default() };
    let workload = workload(&format!("sql:{}", file.display()), &settings).unwrap();
    let run = run(plan, &*workload, &Stop::default(), &mut |_| {}).unwrap();
    std::fs::remove_file(file).unwrap();
    run
}

#[test]
fn a_run_of_a_number_of_transactions_has_no_more() {
    let port = support::start(Arc::new(Orders::default()));
    for connections in CONNECTIONS {
        let run = ask("events", &Plan { events_max: Some(50), ..plan(port, connections, 60.0) });
        assert_eq!((run.summary.events, run.failure), (50, None), "{connections} connections");
        assert_eq!(run.summary.lateness, None, "there is no intended time in a closed loop");
    }
}

#[test]
fn a_server_that_does_not_answer_holds_up_neither_the_seconds_nor_the_end() {
    let orders = Arc::new(Orders::default());
    orders.delay.store(60_000, Relaxed);
    let port = support::start(orders);
    for connections in CONNECTIONS {
        let begin = Instant::now();
        let run = ask("silent", &plan(port, connections, 2.0));
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
        assert_eq!((run.seconds.len(), run.summary.events), (2, 0));
        assert_eq!(run.summary.unfinished, connections as u64);
        assert!(run.summary.oldest >= 1_900_000, "{}", run.summary.oldest);
    }
}

#[test]
fn a_run_goes_on_when_the_server_was_away() {
    for connections in CONNECTIONS {
        let orders = Arc::new(Orders::default());
        let port = support::start(Arc::clone(&orders));
        let absence = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(700));
            orders.is_gone.store(true, Relaxed);
            std::thread::sleep(Duration::from_millis(1500));
            orders.is_gone.store(false, Relaxed);
        });
        let run = ask("away", &Plan { goes_on: true, ..plan(port, connections, 4.0) });
        absence.join().unwrap();
        assert_eq!(run.failure, None);
        assert_eq!(run.summary.reconnects, connections as u64);
        assert!(run.seconds.first().unwrap().events > 0 && run.seconds.last().unwrap().events > 0);
    }
}

#[test]
fn an_open_loop_tells_how_late_it_was_itself() {
    let port = support::start(Arc::new(Orders::default()));
    let rates = Rates::parse("200").unwrap().evenly(true);
    let run = ask("open", &Plan { rates: Some(rates), ..plan(port, 4, 2.0) });
    let (p99, max) = run.summary.lateness.unwrap();
    assert!(0 < p99 && p99 <= max && max < 2_000_000, "{p99} {max}");
    assert!((300..=420).contains(&run.summary.events), "{}", run.summary.events);
}
