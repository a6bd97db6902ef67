//! Many seeds, on several threads, within a budget. Each seed's world stays on one thread, so threads do not
//! disturb its determinism.

use crate::decay::run_decay;
use crate::faults::run_fault;
use crate::run::{Report, RunOptions, Violation, run_seed};
use crate::subject::Subject;
use env::sync::Mutex;
use std::time::{Duration, Instant};

/// When to stop.
#[derive(Debug, Clone)]
pub struct Budget {
    pub seeds: u64,
    /// No seed starts after this, unless crash points are missing.
    pub time: Option<Duration>,
    /// Below this many crash points, seeds start for up to `OVERTIME` times as long.
    pub crash_points_min: u64,
    pub threads: usize,
    /// Runs with an injected fault per seed.
    pub faults: u64,
    /// Damaged copies per seed.
    pub damages: u64,
}

impl Budget {
    /// Whether another seed may start.
    fn has_time(&self, elapsed: Duration, crash_points: u64) -> bool {
        let factor = if crash_points < self.crash_points_min { OVERTIME } else { 1 };
        self.time.is_none_or(|time| elapsed < time * factor)
    }
}

/// A slow machine gets this much more time to reach the wanted crash points; more would hide that it hangs.
const OVERTIME: u32 = 3;

/// What all seeds together have done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    pub seeds: u64,
    pub crash_points: u64,
    pub recovery_crashes: u64,
    pub faults: u64,
    pub temporary_files: u64,
    pub damages: u64,
    pub damages_noticed: u64,
    pub commits: u64,
    pub elapsed: Duration,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} seeds, {} crash points, {} crashes during recovery, {} faults, {} temporary files, {} damages ({} noticed), {} commits, 0 violations in {:.1} s",
            self.seeds,
            self.crash_points,
            self.recovery_crashes,
            self.faults,
            self.temporary_files,
            self.damages,
            self.damages_noticed,
            self.commits,
            self.elapsed.as_secs_f64()
        )
    }
}

/// The progress that the threads share.
struct Progress {
    next_seed: u64,
    summary: Summary,
    violation: Option<Violation>,
}

/// Runs seeds from `options.seed` on.
pub fn run_many<S: Subject>(options: &RunOptions, budget: &Budget) -> Result<Summary, Violation> {
    let start = Instant::now();
    let progress =
        Mutex::new(Progress { next_seed: options.seed, summary: Summary::default(), violation: None });
    std::thread::scope(|scope| {
        for _ in 0..budget.threads {
            scope.spawn(|| {
                while let Some(seed) = claim(&progress, options.seed, budget, start) {
                    let result = run_all::<S>(&RunOptions { seed, ..options.clone() }, budget);
                    let mut progress = progress.lock();
                    match result {
                        Ok(reports) => {
                            progress.summary.seeds += 1;
                            reports.iter().for_each(|report| progress.summary.add(report));
                        }
                        Err(violation) => {
                            progress.violation.get_or_insert(violation);
                        }
                    }
                }
            });
        }
    });
    let mut progress = progress.into_inner();
    progress.summary.elapsed = start.elapsed();
    match progress.violation {
        Some(violation) => Err(violation),
        None => Ok(progress.summary),
    }
}

/// The crash matrix of a seed, its faults and its damages.
fn run_all<S: Subject>(options: &RunOptions, budget: &Budget) -> Result<Vec<Report>, Violation> {
    let mut reports = vec![run_seed::<S>(options)?];
    for index in 0..budget.faults {
        reports.push(run_fault::<S>(options, index)?);
    }
    if budget.damages > 0 {
        reports.push(run_decay::<S>(options, budget.damages)?);
    }
    Ok(reports)
}

fn claim(progress: &Mutex<Progress>, first: u64, budget: &Budget, start: Instant) -> Option<u64> {
    let mut progress = progress.lock();
    let seed = progress.next_seed;
    let in_time = budget.has_time(start.elapsed(), progress.summary.crash_points);
    if progress.violation.is_some() || seed - first >= budget.seeds || !in_time {
        return None;
    }
    progress.next_seed += 1;
    Some(seed)
}

impl Summary {
    pub(crate) fn add(&mut self, report: &Report) {
        self.crash_points += report.crash_points;
        self.recovery_crashes += report.recovery_crashes;
        self.faults += report.faults;
        self.temporary_files += report.temporary_files;
        self.damages += report.damages;
        self.damages_noticed += report.damages_noticed;
        self.commits += report.commits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_crash_points_prolong_a_run() {
        let time = Some(Duration::from_secs(10));
        let budget = Budget { seeds: 1, time, crash_points_min: 100, threads: 1, faults: 0, damages: 0 };
        let has_time = |seconds, points| budget.has_time(Duration::from_secs(seconds), points);
        assert!(has_time(9, 100) && !has_time(10, 100), "enough crash points: the time as given");
        assert!(has_time(29, 99) && !has_time(30, 99), "too few: three times as long, and no longer");
        let endless = Budget { time: None, ..budget.clone() };
        assert!(endless.has_time(Duration::from_secs(1_000_000), 100));
    }
}
