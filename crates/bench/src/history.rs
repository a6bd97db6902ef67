//! Keeps the figures of runs, and tells when one falls below its predecessors.
//!
//! Invariant: a run is compared only with runs of the same key: workload, settings, server and host. The file is JSON
//! lines that are only added to. Called by `companion`.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Result;

/// Below this share of the median of its predecessors a run is a regression.
const SHARE_MIN: f64 = 0.97;
/// How many predecessors count.
const PREDECESSORS: usize = 10;

/// A file of runs.
#[derive(Debug, Clone)]
pub struct History {
    path: PathBuf,
}

/// How a run stands to its predecessors.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub figure: f64,
    /// The median of the predecessors, if there are any.
    pub median: Option<f64>,
    pub predecessors: usize,
}

impl Verdict {
    /// Its share of the median.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        self.median.filter(|median| *median > 0.0).map(|median| self.figure / median)
    }

    #[must_use]
    pub fn is_regression(&self) -> bool {
        self.share().is_some_and(|share| share < SHARE_MIN)
    }
}

impl History {
    /// The file at `path`, which need not exist yet.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// All runs, oldest first. A line that was cut short by a crash is left out.
    pub fn runs(&self) -> Result<Vec<Value>> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(format!("{}: {error}", self.path.display())),
        }
    }

    /// Adds a run, which has a `key` and a `tps`, and judges it.
    pub fn add(&self, run: &Value) -> Result<Verdict> {
        let verdict = judge(&self.runs()?, run);
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file =
            std::fs::OpenOptions::new().append(true).create(true).open(&self.path).map_err(failed)?;
        file.write_all(format!("{run}\n").as_bytes()).map_err(failed)?;
        Ok(verdict)
    }
}

/// How `run` stands to those of `runs` that have its key.
pub fn judge(runs: &[Value], run: &Value) -> Verdict {
    let figure = |run: &Value| run.get("tps").and_then(Value::as_f64).unwrap_or(0.0);
    let alike = runs.iter().filter(|other| other.get("key") == run.get("key"));
    let mut figures: Vec<f64> = alike.map(figure).collect();
    let first = figures.len().saturating_sub(PREDECESSORS);
    let mut figures = figures.split_off(first);
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    let median = match figures.len() {
        0 => None,
        count if count % 2 == 1 => Some(figures[middle]),
        _ => Some((figures[middle - 1] + figures[middle]) / 2.0),
    };
    Verdict { figure: figure(run), median, predecessors: figures.len() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_judged_by_the_median_of_its_like() {
        let runs: Vec<Value> = [100.0, 102.0, 98.0].map(|tps| json!({"key": "a", "tps": tps})).to_vec();
        let verdict = |key: &str, tps: f64| judge(&runs, &json!({"key": key, "tps": tps}));
        assert!(!verdict("a", 97.5).is_regression());
        assert!(verdict("a", 96.0).is_regression());
        assert_eq!(verdict("b", 1.0).median, None);
        assert!(!verdict("b", 1.0).is_regression());
    }

    #[test]
    fn a_file_keeps_its_runs() {
        let folder = std::env::temp_dir().join(format!("evenkeel-history-{}", std::process::id()));
        let history = History::at(&folder.join("deep/history.jsonl"));
        assert_eq!(history.add(&json!({"key": "a", "tps": 10})).unwrap().predecessors, 0);
        assert!(history.add(&json!({"key": "a", "tps": 5})).unwrap().is_regression());
        assert_eq!(history.runs().unwrap().len(), 2);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
