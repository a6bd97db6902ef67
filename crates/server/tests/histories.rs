//! Random transactions on several connections show no anomaly that their isolation level forbids, and do show those
//! that it is known for; under kill -9 as well, and then nothing acknowledged is lost.
//!
//! A short run of what `cargo run -p histories` does at length; EVENKEEL_HISTORY_SEED chooses other transactions.

mod support;

use std::time::Duration;

use histories::{Class, Level, Plan, Reads, Report, Server, Workload, check, permitted, run};
use support::TestServer;

const TRANSACTIONS: u32 = 400;
const CONNECTIONS: u32 = 6;
/// A history shows what a level is known for by chance, though by a good one.
const TRIES: u64 = 10;
const RUN_BEFORE_KILL: Duration = Duration::from_millis(400);

fn seed() -> u64 {
    std::env::var("EVENKEEL_HISTORY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn plan(level: Level, reads: Reads, workload: Workload, seed: u64) -> Plan {
    Plan {
        level,
        reads,
        workload,
        connections: CONNECTIONS,
        transactions: TRANSACTIONS,
        seed,
        database: format!("{}_{reads:?}_{workload:?}", level.short_name()).to_lowercase(),
    }
}

fn run_level(server: &Server, level: Level, reads: Reads, seed: u64) -> Report {
    let mut report = Report::default();
    for workload in Workload::ALL {
        let history = run(server, &plan(level, reads, workload, seed), None);
        report.add(check(history.expect("the server answers as it should")));
    }
    report
}

fn assert_permitted(report: &Report, level: Level, reads: Reads, seed: u64) {
    let permitted = permitted(level, reads);
    for (class, witnesses) in &report.anomalies {
        assert!(permitted.contains(class), "{level:?}, {reads:?}, seed {seed}: {}", witnesses[0]);
    }
    // A level at which hardly anything commits shows nothing.
    assert!(report.committed > report.transactions / 3, "{level:?}: {} committed", report.committed);
}

/// What the level does not keep off, so that a checker which finds nothing is noticed.
fn known_for(level: Level) -> &'static [Class] {
    match level {
        Level::ReadUncommitted => &[Class::G1a, Class::GSingle, Class::G2Item],
        Level::ReadCommitted => &[Class::NonRepeatableRead, Class::GSingle, Class::G2Item],
        Level::RepeatableRead => &[Class::GSingle, Class::G2Item],
        Level::Snapshot => &[Class::G2Item],
        Level::Serializable => &[],
    }
}

#[test]
fn histories_show_what_their_level_permits_and_no_more() {
    let seed = seed();
    let server = TestServer::start(&[]);
    let at = Server { host: "127.0.0.1".to_owned(), port: server.port };
    for level in Level::ALL {
        let mut missing = known_for(level).to_vec();
        for number in 0..TRIES {
            let report = run_level(&at, level, Reads::Plain, seed + number);
            assert_permitted(&report, level, Reads::Plain, seed + number);
            missing.retain(|class| !report.anomalies.contains_key(class));
            if missing.is_empty() {
                break;
            }
        }
        assert_eq!(missing, [], "{level:?} does not show them");
    }
    for level in [Level::ReadCommitted, Level::RepeatableRead] {
        assert_permitted(&run_level(&at, level, Reads::Locking, seed), level, Reads::Locking, seed);
    }
}

#[test]
fn kills_lose_nothing_and_show_nothing_new() {
    let mut server = Some(TestServer::start(&[]));
    let port = server.as_ref().expect("it runs").port;
    let at = Server { host: "127.0.0.1".to_owned(), port };
    let mut kills = 0;
    for (number, workload) in Workload::ALL.into_iter().enumerate() {
        let mut disturb = || {
            std::thread::sleep(RUN_BEFORE_KILL);
            let directory = server.take().expect("it runs").kill_nine();
            server = Some(TestServer::start_in(directory, &[&format!("--port={port}")]));
            kills += 1;
        };
        let level = [Level::RepeatableRead, Level::ReadCommitted, Level::Snapshot][number];
        let plan = Plan { transactions: 4 * TRANSACTIONS, ..plan(level, Reads::Plain, workload, seed()) };
        let history = run(&at, &plan, Some(&mut disturb)).expect("the server comes back");
        assert_permitted(&check(history), level, Reads::Plain, plan.seed);
    }
    assert!(kills >= Workload::ALL.len(), "{kills} kills");
}
