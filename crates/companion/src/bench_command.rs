//! `evenkeel bench list|load|run|check`.
//!
//! Invariant: what was measured before a failure or Ctrl-C is printed and written all the same.

use std::path::PathBuf;

use bench::{Condition, Event, History, LoadPlan, Result, Stop, load, run, run_checks};
use clap::Args;
use client::Dsn;
use serde_json::json;
use workload::Workload;

use crate::arguments::{DriveArguments, WorkloadArguments, default_database, default_history, dsn};
use crate::lines::Lines;
use crate::listen::listen;
use crate::output::{Bar, grouped, say, second_line, summary_text};
use crate::record_command::Beside;

/// Prints the workloads.
pub fn list() -> Result<bool> {
    for (name, text) in workload::NAMES {
        say!("{name:22} {text}");
    }
    Ok(true)
}

#[derive(Args)]
pub struct Load {
    #[command(flatten)]
    workload: WorkloadArguments,
    /// The server: mysql://user:password@host:port/database.
    #[arg(long)]
    dsn: String,
    /// Connections that load at the same time.
    #[arg(long, default_value_t = 4)]
    threads: usize,
}

impl Load {
    pub fn run(&self) -> Result<bool> {
        let dsn = dsn(&self.dsn, default_database(&self.workload.workload))?;
        let workload = self.workload.workload()?;
        let stop = Stop::default();
        listen(&stop);
        load_with_bar(&dsn, self.threads, &*workload, &stop)?;
        Ok(true)
    }
}

/// Loads with a bar, and says what it was.
pub fn load_with_bar(dsn: &Dsn, threads: usize, workload: &dyn Workload, stop: &Stop) -> Result<()> {
    let mut bar = Bar::new();
    let start = std::time::Instant::now();
    let plan = LoadPlan { dsn: dsn.clone(), threads };
    let rows = load(&plan, workload, stop, &mut |progress| bar.show(progress))?;
    say!("loaded {} rows into {dsn} in {:.1} s", grouped(rows), start.elapsed().as_secs_f64());
    Ok(())
}

#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    workload: WorkloadArguments,
    /// The server: mysql://user:password@host:port/database.
    #[arg(long)]
    dsn: String,
}

impl Check {
    pub fn run(&self) -> Result<bool> {
        let dsn = dsn(&self.dsn, default_database(&self.workload.workload))?;
        check(&dsn, &*self.workload.workload()?)
    }
}

fn check(dsn: &Dsn, workload: &dyn Workload) -> Result<bool> {
    let results = run_checks(dsn, workload)?;
    if results.is_empty() {
        say!("this workload has no consistency questions");
    }
    for result in &results {
        say!("{} {}", if result.trouble.is_none() { "holds " } else { "BROKEN" }, result.name);
        if let Some(trouble) = &result.trouble {
            say!("       {trouble}");
        }
    }
    Ok(results.iter().all(|result| result.trouble.is_none()))
}

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    drive: DriveArguments,
    /// The server: mysql://user:password@host:port/database.
    #[arg(long)]
    dsn: String,
    /// Connections; each is one client.
    #[arg(short, long, default_value_t = 1)]
    connections: usize,
    /// Load the data first.
    #[arg(long)]
    load: bool,
    /// Ask the workload's consistency questions afterwards.
    #[arg(long)]
    check: bool,
    /// Write JSON lines here: what was run, each second, the summary.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Record the server and its host meanwhile, into this file.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print no line per second.
    #[arg(short, long)]
    quiet: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    /// End with status 1 if a figure meets this, as 'zero_seconds>0' or 'p99_ms>20'; may be given several times.
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<String>,
    /// Keep the figures in the history and compare with the runs before.
    #[arg(long)]
    history: bool,
    /// The file of the history.
    #[arg(long, value_name = "FILE")]
    history_file: Option<PathBuf>,
}

impl Run {
    pub fn run(&self) -> Result<bool> {
        let conditions: Vec<Condition> =
            self.fail_if.iter().map(|text| Condition::parse(text)).collect::<std::result::Result<_, _>>()?;
        let dsn = dsn(&self.dsn, default_database(&self.workload.workload))?;
        let workload = self.workload.workload()?;
        let plan = self.drive.plan(&dsn, self.connections, &self.workload)?;
        let mut lines = Lines::to(self.out.as_deref())?;
        let stop = Stop::default();
        listen(&stop);
        if self.load {
            load_with_bar(&dsn, 4, &*workload, &stop)?;
        }
        lines.put(&json!({
            "type": "bench", "workload": self.workload.shown(), "dsn": dsn.to_string(), "seed": self.workload.seed,
            "connections": self.connections, "threads": plan.threads, "rate": self.drive.rate,
            "warmup": self.drive.warmup, "time": self.drive.time,
        }));
        let recorder = self.record.as_deref().map(|path| Beside::start(&dsn, path));
        let mut bar = Bar::patient();
        let result = run(&plan, &*workload, &stop, &mut |event| match event {
            Event::Connecting(count) => bar.connecting(count, self.connections),
            Event::Second(second) => {
                if !self.quiet {
                    say!("{}", second_line(second));
                }
                lines.put(&second.json());
            }
        });
        let recorded = recorder.map_or(Ok(()), Beside::end);
        let result = result?;
        lines.put(&result.summary.json());
        let written = lines.end();
        if self.json {
            say!("{}", result.summary.json());
        } else {
            say!("{}", summary_text(&result, self.connections).trim_end());
        }
        let mut is_good = true;
        for trouble in [result.failure.clone(), recorded.err(), written.err()].into_iter().flatten() {
            crate::advice::tell(&trouble);
            is_good = false;
        }
        for met in conditions.iter().filter_map(|condition| condition.met(&result.summary)) {
            say!("failed: {met}");
            is_good = false;
        }
        if self.check {
            is_good &= check(&dsn, &*workload)?;
        }
        if self.history || self.history_file.is_some() {
            is_good &= self.keep(&dsn, &result.summary)?;
        }
        Ok(is_good)
    }

    fn keep(&self, dsn: &Dsn, summary: &bench::Summary) -> Result<bool> {
        let history = History::at(&self.history_file.clone().unwrap_or_else(default_history));
        let version = crate::history_command::server_version(dsn)?;
        let rate = self.drive.rate.as_deref().map_or(String::new(), |rate| format!(" rate={rate}"));
        let key = format!("{} connections={}{rate} on {dsn}", self.workload.shown(), self.connections);
        let mut line = summary.json();
        line["key"] = json!(key);
        line["version"] = json!(version);
        line["at"] = json!(crate::history_command::now());
        let verdict = history.add(&line)?;
        say!("{}", crate::history_command::verdict_text(&verdict));
        Ok(!verdict.is_regression())
    }
}
