//! Runs a library against a server: to compare it with the recorded answers, or to record them.

use crate::library::{Entry, KnownDifferences, Library};
use crate::parallel::in_parallel_or_alone;
use crate::recording::first_difference;
use crate::run::{Target, run};

/// How a schedule compares with its recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Equal,
    /// Differs, and is listed.
    Known,
    /// Differs and is not listed; the first lines that differ.
    Different {
        expected: String,
        found: String,
    },
    /// Is listed, but is equal now.
    KnownButEqual,
    /// Could not be run.
    Failed(String),
}

impl Verdict {
    pub fn is_fault(&self) -> bool {
        !matches!(self, Verdict::Equal | Verdict::Known)
    }
}

fn database(thread: usize) -> String {
    format!("schedules_{}_{thread}", std::process::id())
}

/// Every schedule's id and verdict.
pub fn check_all(
    target: &Target,
    library: &Library,
    known: &KnownDifferences,
    threads: usize,
) -> Vec<(String, Verdict)> {
    let is_alone = |index: usize| library.entries[index].schedule.alone;
    in_parallel_or_alone(threads, library.entries.len(), is_alone, |index, thread| {
        let entry = &library.entries[index];
        let verdict = verdict(target, entry, known.reasons.contains_key(&entry.id()), &database(thread));
        (entry.id(), verdict)
    })
}

fn verdict(target: &Target, entry: &Entry, is_known: bool, database: &str) -> Verdict {
    let Some(recorded) = &entry.recorded else { return Verdict::Failed("not recorded".to_owned()) };
    let found = match run(target, &entry.schedule, database) {
        Ok(found) => found,
        Err(error) => return Verdict::Failed(error),
    };
    match first_difference(recorded, &found) {
        None if is_known => Verdict::KnownButEqual,
        None => Verdict::Equal,
        Some(_) if is_known => Verdict::Known,
        Some((expected, found)) => Verdict::Different { expected, found },
    }
}

/// Records every schedule twice; those whose answers differ, or that failed, are named and not recorded.
pub fn record_all(target: &Target, library: &mut Library, threads: usize) -> Vec<(String, String)> {
    let is_alone = |index: usize| library.entries[index].schedule.alone;
    let recordings = in_parallel_or_alone(threads, library.entries.len(), is_alone, |index, thread| {
        let schedule = &library.entries[index].schedule;
        let first = run(target, schedule, &database(thread))?;
        let second = run(target, schedule, &database(thread))?;
        match first_difference(&first, &second) {
            None => Ok(first),
            Some((one, two)) => Err(format!("unstable: {one} / {two}")),
        }
    });
    let mut faults = Vec::new();
    for (entry, recording) in library.entries.iter_mut().zip(recordings) {
        match recording {
            Ok(lines) => entry.recorded = Some(lines),
            Err(why) => {
                entry.recorded = None;
                faults.push((entry.id(), why));
            }
        }
    }
    faults
}
