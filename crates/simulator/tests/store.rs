//! The page store under simulation, for a limited time, and with rules broken on purpose. The settings are those of
//! `engine.rs`.

use simulator::{Budget, PlantedStoreFault, StoreOptions, run_store_error, run_store_many, run_store_seed};
use std::time::Duration;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{name}='{value}' is not a number")),
        Err(_) => default,
    }
}

#[test]
fn the_page_store_keeps_its_promises() {
    let options = StoreOptions::new(setting("EVENKEEL_SIMULATION_SEED", 0));
    let time = Some(Duration::from_secs(setting("EVENKEEL_SIMULATION_SECONDS", 20)));
    let budget = Budget { seeds: u64::MAX, time, crash_points_min: 1, threads: 1, faults: 18, damages: 0 };
    let summary = run_store_many(&options, &budget).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{summary}");
    assert!(summary.crash_points > 0, "the budget allows at least one seed");
}

/// Each kind of error at some place of a run, once and for good.
#[test]
fn the_page_store_survives_errors_of_the_disk() {
    for seed in 0..6 {
        for index in 0..18 {
            let report = run_store_error(&StoreOptions::new(seed), index);
            report.unwrap_or_else(|violation| panic!("{violation}"));
        }
    }
}

#[test]
fn runs_repeat_themselves() {
    let options = StoreOptions { operations: 20, ..StoreOptions::new(6) };
    let first = run_store_seed(&options).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(first.crash_points > 50 && first.recovery_crashes > 0 && first.commits > 20, "{first:?}");
    assert_eq!(run_store_seed(&options), Ok(first));
}

/// What the first of a few seeds that notices the fault says.
fn found(fault: PlantedStoreFault) -> Option<String> {
    let violation =
        (0..12).find_map(|seed| run_store_seed(&StoreOptions { fault, ..StoreOptions::new(seed) }).err())?;
    println!("{fault:?}: {violation}");
    Some(violation.what)
}

#[test]
fn broken_stores_are_found_out() {
    let torn = found(PlantedStoreFault::LosesCopies).expect("a torn page is found");
    assert!(torn.contains("cannot be read"), "{torn}");
    let lost = found(PlantedStoreFault::AcknowledgesEarly).expect("a lost batch is found");
    assert!(lost.contains("has version"), "{lost}");
}
