//! Changes of definitions under simulation, for a limited time, and with rules broken on purpose. The settings are those
//! of `engine.rs`.

use simulator::{Budget, DdlOptions, PlantedDdlFault, run_ddl_many, run_ddl_seed};
use std::io::Write;
use std::time::Duration;

/// Of so many crash points one is checked: a few seeds say more than one seed wholly.
const ONE_IN: u64 = 16;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{name}='{value}' is not a number")),
        Err(_) => default,
    }
}

#[test]
fn changes_of_definitions_are_atomic() {
    let one_in = setting("EVENKEEL_SIMULATION_ONE_IN", ONE_IN) as usize;
    let options = DdlOptions { one_in, ..DdlOptions::new(setting("EVENKEEL_SIMULATION_SEED", 0)) };
    let time = Some(Duration::from_secs(setting("EVENKEEL_SIMULATION_SECONDS", 20) / 2));
    let budget = Budget { seeds: u64::MAX, time, crash_points_min: 1, threads: 1, faults: 0, damages: 0 };
    let summary = run_ddl_many(&options, &budget).unwrap_or_else(|violation| panic!("{violation}"));
    // Past the test harness, which swallows what a passing test prints: the log of every run has the figure.
    let _ = writeln!(std::io::stderr(), "\nchanges of definitions: {summary}");
    assert!(summary.crash_points > 0, "the budget allows at least one seed");
}

#[test]
fn runs_repeat_themselves() {
    let options = DdlOptions { units: 8, one_in: 2, ..DdlOptions::new(6) };
    let first = run_ddl_seed(&options).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(first.crash_points > 20 && first.recovery_crashes > 0 && first.commits > 16, "{first:?}");
    assert!(first.temporary_files > 0 && first.faults > 0, "{first:?}");
    assert_eq!(run_ddl_seed(&options), Ok(first));
}

/// Files that fail, too little room for them, and neither: the counts say that each strikes where it should.
#[test]
fn temporary_files_fail() {
    let run = |seed| {
        let report = run_ddl_seed(&DdlOptions { units: 8, one_in: usize::MAX, ..DdlOptions::new(seed) });
        let report = report.unwrap_or_else(|violation| panic!("{violation}"));
        assert!(report.temporary_files > 0, "seed {seed}: {report:?}");
        report.faults
    };
    let faults: Vec<u64> = (0..6).map(run).collect();
    println!("{faults:?}");
    let (failing, full, sound) = (faults[2] + faults[4], faults[3], faults[1] + faults[5]);
    assert!(failing > 0 && full > 0 && sound == 0, "{faults:?}");
}

/// A seed whose last snapshot ends behind the last commit: pages that its versions keep are not lost.
#[test]
fn old_versions_keep_pages_until_commits_let_them_go() {
    let options = DdlOptions { one_in: usize::MAX, ..DdlOptions::new(2123) };
    let report = run_ddl_seed(&options).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(report.commits > 40, "{report:?}");
}

/// What the first of a few seeds that notices the fault says.
fn found(fault: PlantedDdlFault) -> Option<String> {
    let run = |seed| run_ddl_seed(&DdlOptions { fault, recovery_crashes: 0, ..DdlOptions::new(seed) });
    let violation = (0..12).find_map(|seed| run(seed).err())?;
    println!("{fault:?}: {violation}");
    Some(violation.what)
}

#[test]
fn broken_rules_are_found_out() {
    for fault in [
        PlantedDdlFault::SplitDrops,
        PlantedDdlFault::SplitRenames,
        PlantedDdlFault::NothingTemporary,
        PlantedDdlFault::AcknowledgeEarly,
        PlantedDdlFault::LeaveTrees,
        PlantedDdlFault::LeaveDefinition,
        PlantedDdlFault::LeaveRow,
        PlantedDdlFault::KeepFile,
    ] {
        assert!(found(fault).is_some(), "{fault:?}");
    }
}
