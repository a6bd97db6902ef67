//! One server under observation: a name, what was recorded, and its grid.
//!
//! Invariant: all its lines share the grid. Made by `companion`, drawn by `page`.

use std::path::Path;

use recording::Recording;
use serde_json::Value;

use crate::grid::{Grid, Points, combine};

/// A name and what is known about it.
#[derive(Debug, Clone)]
pub struct Subject {
    pub name: String,
    pub recording: Recording,
    pub(crate) grid: Grid,
}

/// The time that all subjects together are drawn over.
pub(crate) struct Extent {
    pub places: usize,
    /// Seconds.
    pub step: f64,
    /// Of the first subject that has parts: the others have the same.
    pub marks: Vec<(f64, String)>,
}

pub(crate) fn extent(subjects: &[Subject]) -> Extent {
    let step = subjects.iter().map(|subject| subject.grid.step).max().unwrap_or(1000);
    Extent {
        places: subjects.iter().map(|subject| subject.grid.places).max().unwrap_or(1),
        step: step as f64 / 1000.0,
        marks: subjects.iter().map(Subject::marks).find(|marks| !marks.is_empty()).unwrap_or_default(),
    }
}

impl Subject {
    /// What the files hold, under a name.
    pub fn read(name: &str, paths: &[impl AsRef<Path>]) -> Result<Self, String> {
        let mut recording = Recording::default();
        for path in paths {
            recording.read(path.as_ref())?;
        }
        Ok(Self::new(name, recording))
    }

    /// A recording under a name.
    #[must_use]
    pub fn new(name: &str, recording: Recording) -> Self {
        let grid = Grid::of(&recording);
        Self { name: name.to_owned(), recording, grid }
    }

    /// Where the parts of it begin, in places of the grid, and their names.
    pub(crate) fn marks(&self) -> Vec<(f64, String)> {
        let place = |at: u64| at.saturating_sub(self.grid.start) as f64 / self.grid.step as f64;
        self.recording.marks.iter().map(|(at, name)| (place(*at), name.clone())).collect()
    }

    pub(crate) fn rate(&self, name: &str) -> Points {
        self.grid.rate(&self.recording, name, self.times(name))
    }

    pub(crate) fn gauge(&self, name: &str) -> Points {
        self.grid.gauge(&self.recording, name, self.times(name))
    }

    /// Bytes of log behind the last checkpoint.
    pub(crate) fn checkpoint_age(&self) -> Points {
        let names = ["Innodb_checkpoint_age", "monitor.checkpoint_age", "metric.log_lsn_checkpoint_age"];
        match self.known(&names) {
            Some(name) => self.gauge(name),
            None => combine(
                &self.gauge("Innodb_redo_log_current_lsn"),
                &self.gauge("Innodb_redo_log_checkpoint_lsn"),
                |end, checkpoint| Some(end - checkpoint),
            ),
        }
    }

    /// Bytes that the log may hold: as the status tells it, which follows a change, else as it was set at the start.
    pub(crate) fn capacity(&self) -> Points {
        let told = self.gauge("Innodb_redo_log_capacity_resized");
        if told.iter().flatten().any(|size| *size > 0.0) {
            return told;
        }
        vec![self.number(&["innodb_redo_log_capacity", "innodb_log_file_size"]); self.grid.places]
    }

    /// The first of the settings that is there as a number.
    pub(crate) fn number(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.recording.variable(name)?.parse().ok())
    }

    /// The first of the names that was recorded.
    pub(crate) fn known<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().find(|name| self.recording.series.contains_key(**name)).copied()
    }

    /// Names of the host's values begin with one of a few words.
    fn times(&self, name: &str) -> &[u64] {
        const HOST: [&str; 8] =
            ["cpu.", "disk.", "psi.", "memory.", "server.", "cgroup.", "process.", "host."];
        let is_host = HOST.iter().any(|head| name.starts_with(head));
        if is_host { &self.recording.host_times } else { &self.recording.server_times }
    }

    /// A figure of each second of the run.
    pub(crate) fn bench(&self, name: &str) -> Points {
        let mut points = vec![None; self.grid.places];
        for second in &self.recording.seconds {
            let number = |name: &str| second.get(name).and_then(Value::as_f64);
            let end = number("at").unwrap_or(0.0) as u64;
            // The second's middle lies in its place, whatever the clock's grain.
            let Some(place) = self.grid.place(end.saturating_sub(500)) else { continue };
            let value = match name {
                "events" | "queries" | "commits" | "conflicts" | "errors" => {
                    number(name).map(|count| count / number("length").unwrap_or(1.0).max(1e-9))
                }
                // A second in which nothing ended has no latency.
                "p50_us" | "p95_us" | "p99_us" | "max_us" if number("events") == Some(0.0) => None,
                other => number(other),
            };
            points[place] = value;
        }
        points
    }

    /// Transactions per second: the run's own, or what the server counts.
    #[must_use]
    pub fn throughput(&self) -> Points {
        if !self.recording.seconds.is_empty() {
            return self.bench("events");
        }
        let names = ["Questions", "Queries", "Com_select"];
        self.known(&names).map_or_else(|| vec![None; self.grid.places], |name| self.rate(name))
    }

    /// What `throughput` counts.
    #[must_use]
    pub fn throughput_name(&self) -> &'static str {
        if self.recording.seconds.is_empty() { "statements" } else { "transactions" }
    }

    /// The places before the run's measured part.
    pub(crate) fn warmup(&self) -> usize {
        let seconds = &self.recording.seconds;
        seconds.iter().filter(|second| second.get("t").and_then(Value::as_i64).unwrap_or(0) < 0).count()
    }
}
