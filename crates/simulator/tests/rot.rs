//! Damage in every kind of file, for a limited time: and no wrong answer.
//! EVENKEEL_SIMULATION_SECONDS and EVENKEEL_SIMULATION_SEED as in the test of the engine.

use engine::Engine;
use simulator::{RotReport, RunOptions, run_rot};
use std::io::Write;
use std::time::{Duration, Instant};

const SAMPLES: u64 = 200;
const SEEDS_MIN: u64 = 4;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{name}='{value}' is not a number")),
        Err(_) => default,
    }
}

#[test]
fn rot_is_noticed_repaired_or_harmless() {
    let first = setting("EVENKEEL_SIMULATION_SEED", 0);
    let time = Duration::from_secs(setting("EVENKEEL_SIMULATION_SECONDS", 20) / 4);
    let start = Instant::now();
    let mut report = RotReport::default();
    for seed in first.. {
        if seed >= first + SEEDS_MIN && start.elapsed() >= time {
            break;
        }
        let found = run_rot::<Engine>(&RunOptions::new(seed), SAMPLES);
        report.add(&found.unwrap_or_else(|violation| panic!("{violation}")));
    }
    // Past the test harness, which swallows what a passing test prints: the log of every run has the figures.
    let _ = writeln!(std::io::stderr(), "\n{report}");
    for kind in ["pages", "log", "log, killed"] {
        let noticed = report.counts.iter().filter(|((file, _), _)| *file == kind);
        let noticed: u64 = noticed.map(|(_, count)| count.refused + count.noticed + count.harmless).sum();
        assert!(noticed > 0, "no damage was tried in {kind}");
    }
    let doublewrite = report.counts.iter().filter(|((file, _), _)| file.starts_with("doublewrite"));
    assert!(
        doublewrite.map(|(_, count)| count.refused).sum::<u64>() == 0,
        "only repair needs the doublewrite file"
    );
}
