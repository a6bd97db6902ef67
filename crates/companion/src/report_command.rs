//! `evenkeel report FILE..`: recordings and runs as one HTML page, as SVG and as CSV.
//!
//! Invariant: files without a name are one subject; `NAME=FILE,FILE` makes several, side by side.

use std::path::{Path, PathBuf};

use bench::Result;
use clap::Args;
use report::{Page, Subject};
use serde_json::json;

use crate::output::say;

#[derive(Args)]
pub struct Report {
    /// Recordings and JSON lines of runs; NAME=FILE,FILE to put several side by side.
    #[arg(required = true)]
    files: Vec<String>,
    /// The page to write.
    #[arg(long, default_value = "report.html", value_name = "FILE")]
    out: PathBuf,
    /// Write the graphs as one SVG picture too.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The graphs of the picture, by the beginnings of their titles and the names of lines, as throughput,latency:p95; all
    /// unless some are named.
    #[arg(long, value_name = "LIST")]
    only: Option<String>,
    /// Write the values as CSV too.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the dips as JSON lines too: the second, how low it was, its cause, what changed most.
    #[arg(long, value_name = "FILE")]
    dips: Option<PathBuf>,
    /// The page's title.
    #[arg(long)]
    title: Option<String>,
}

impl Report {
    pub fn run(&self) -> Result<bool> {
        let subjects = subjects(&self.files)?;
        let title = self.title.clone().unwrap_or_else(|| title(&subjects));
        write(&self.out, &report::html(&Page { title: &title, ..Page::default() }, &subjects))?;
        if let Some(path) = &self.svg {
            let all = report::panels(&subjects);
            let panels = match &self.only {
                Some(list) => report::chosen(all, list)?,
                None => all,
            };
            write(path, &report::svg(&[], &panels, &subjects))?;
        }
        if let Some(path) = &self.csv {
            write(path, &report::csv(&subjects))?;
        }
        if let Some(path) = &self.dips {
            write(path, &dip_lines(&subjects))?;
        }
        for subject in &subjects {
            let low = report::dips(subject).len();
            say!("{}: {low} seconds below half of the median", subject.name);
        }
        say!("{}", self.out.display());
        Ok(true)
    }
}

/// The dips of all subjects as JSON lines.
pub fn dip_lines(subjects: &[Subject]) -> String {
    let mut lines = String::new();
    for subject in subjects {
        for dip in report::dips(subject) {
            let line = json!({
                "subject": subject.name, "second": dip.second, "throughput": dip.throughput, "median": dip.median,
                "cause": dip.cause, "changes": dip.changes,
            });
            lines.push_str(&format!("{line}\n"));
        }
    }
    lines
}

fn title(subjects: &[Subject]) -> String {
    let workload =
        subjects.iter().find_map(|subject| subject.recording.bench.as_ref()?.get("workload")?.as_str());
    workload.map_or_else(|| "Recording".into(), str::to_owned)
}

fn subjects(files: &[String]) -> Result<Vec<Subject>> {
    let mut alone = Vec::new();
    let mut subjects = Vec::new();
    for file in files {
        match file.split_once('=') {
            Some((name, list)) if !Path::new(file).exists() => {
                subjects.push(Subject::read(name, &list.split(',').collect::<Vec<_>>())?);
            }
            _ => alone.push(file.as_str()),
        }
    }
    if !alone.is_empty() {
        subjects.insert(0, Subject::read("run", &alone)?);
    }
    Ok(subjects)
}

/// Writes a text to a file.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
