//! The storage engine under simulation, for a limited time. EVENKEEL_SIMULATION_SECONDS sets the limit (default
//! 20), EVENKEEL_SIMULATION_SEED the first seed (default 0), EVENKEEL_SIMULATION_THREADS the threads (default 2).
//!
//! A run of two minutes and more is the long one: it goes on until it has crashed the engine 10,000 times.

use engine::Engine;
use simulator::{Budget, RunOptions, run_fault, run_many, run_seed};
use std::io::Write;
use std::time::Duration;

const LONG_RUN_SECONDS: u64 = 120;
const LONG_RUN_CRASH_POINTS: u64 = 10_000;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{name}='{value}' is not a number")),
        Err(_) => default,
    }
}

#[test]
fn the_engine_keeps_its_promises() {
    let options = RunOptions::new(setting("EVENKEEL_SIMULATION_SEED", 0));
    let seconds = setting("EVENKEEL_SIMULATION_SECONDS", 20);
    let threads = setting("EVENKEEL_SIMULATION_THREADS", 2) as usize;
    let time = Some(Duration::from_secs(seconds));
    let crash_points_min = if seconds >= LONG_RUN_SECONDS { LONG_RUN_CRASH_POINTS } else { 1 };
    let budget = Budget { seeds: u64::MAX, time, crash_points_min, threads, faults: 4, damages: 16 };
    let summary = run_many::<Engine>(&options, &budget).unwrap_or_else(|violation| panic!("{violation}"));
    // Past the test harness, which swallows what a passing test prints: the log of every run has the figure.
    let _ = writeln!(std::io::stderr(), "\nsimulation: {summary}");
    assert!(
        summary.crash_points >= crash_points_min,
        "{summary}: fewer than {crash_points_min} crash points, and no time left for more"
    );
}

#[test]
fn runs_repeat_themselves() {
    let options = RunOptions::new(77);
    let first = run_seed::<Engine>(&options).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(run_seed::<Engine>(&options), Ok(first));
    assert_eq!(run_fault::<Engine>(&options, 1), run_fault::<Engine>(&options, 1));
}
