//! Many sessions contend, and what must hold does.
//!
//! A short run of what `cargo run -p stress` does at length; EVENKEEL_STRESS_SECONDS, EVENKEEL_STRESS_SESSIONS and
//! EVENKEEL_STRESS_SEED make it longer, wider, or another.

mod support;

use std::time::Duration;

use stress::{Plan, Report, Server, Workload};
use support::TestServer;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Runs the workload on a server of its own.
fn run(name: &str, sessions: u32, kills_per_second: u32) -> Report {
    let server = TestServer::start(&["--max-connections=2000"]);
    let plan = Plan {
        duration: Duration::from_secs(setting("EVENKEEL_STRESS_SECONDS").unwrap_or(3)),
        sessions: setting("EVENKEEL_STRESS_SESSIONS").map_or(sessions, |sessions| sessions as u32),
        seed: setting("EVENKEEL_STRESS_SEED").unwrap_or(1),
        kills_per_second,
        database: "stress".to_owned(),
        process: Some(server.process_id()),
        shows_progress: false,
    };
    let at = Server { host: "127.0.0.1".to_owned(), port: server.port };
    let workload = Workload::named(name).expect("the workload exists");
    let report = workload.run(&at, &plan);
    println!("{report}");
    assert!(report.faults().is_empty(), "{report}");
    report
}

#[test]
fn a_bank_keeps_its_sum() {
    run("bank", 16, 5);
}

#[test]
fn a_unique_key_has_one_winner() {
    run("unique", 24, 5);
}

#[test]
fn a_queue_loses_no_job() {
    run("queue", 13, 5);
}

#[test]
fn races_of_parents_and_children_leave_no_orphan() {
    run("foreign_keys", 16, 0);
    run("foreign_keys", 16, 5);
}

#[test]
fn numbers_are_given_once() {
    run("auto_increment", 16, 5);
}

#[test]
fn a_hot_row_counts_exactly() {
    run("hot_row", 64, 5);
}

#[test]
fn circles_are_seen_at_once() {
    run("deadlocks", 32, 5);
}

#[test]
fn a_long_queue_is_handed_on_as_fast_as_a_short_one() {
    run("convoy", 256, 0);
}

#[test]
fn a_snapshot_stays_what_it_was() {
    run("long_snapshot", 4, 0);
}

#[test]
fn who_ends_holds_nothing() {
    run("release", 1, 0);
}
