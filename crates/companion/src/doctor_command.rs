//! `evenkeel doctor`: rules of thumb, from a live server, a recording or a data directory.
//!
//! Invariant: it only reads; what to do is said and not done.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bench::Result;
use clap::Args;
use client::Dsn;
use recording::{Host, Recording, Sampler, Unseen, now_ms};
use report::Subject;
use serde_json::json;

use crate::directory::{self, Examine};
use crate::output::say;

#[derive(Args)]
pub struct Doctor {
    /// A live server: mysql://user:password@host:port.
    #[arg(long, conflicts_with_all = ["files", "datadir"])]
    dsn: Option<String>,
    /// Seconds to look at it.
    #[arg(long, default_value_t = 10)]
    time: u64,
    /// Or recordings, or one data directory of Evenkeel.
    #[arg(value_name = "RECORDING|DATADIR")]
    files: Vec<PathBuf>,
    /// Or a data directory of Evenkeel that need not be there yet.
    #[arg(long, value_name = "DATADIR", conflicts_with = "files")]
    datadir: Option<PathBuf>,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
    /// With a data directory: the options that `evenkeel serve` will get.
    #[arg(last = true, value_name = "OPTION OF SERVE")]
    options: Vec<String>,
}

impl Doctor {
    pub fn run(&self, examine: Examine) -> Result<bool> {
        if let Some(directory) = self.directory()? {
            return directory::doctor(directory, &self.options, examine, self.json);
        }
        if !self.options.is_empty() {
            return Err("options of `evenkeel serve` go with a data directory: evenkeel doctor DATADIR -- --port=3307".into());
        }
        let subject = match &self.dsn {
            Some(dsn) => {
                let dsn = Dsn::parse(dsn).map_err(|error| error.to_string())?;
                Subject::new("server", look(&dsn, Duration::from_secs(self.time.max(2)))?)
            }
            None if self.files.is_empty() => {
                return Err("name what to look at: --dsn DSN, a recording or a data directory; `evenkeel doctor --help` has examples".into());
            }
            None => Subject::read("recording", &self.files)?,
        };
        let findings = report::findings(&subject);
        let unseen = subject
            .recording
            .headers
            .last()
            .map_or_else(Vec::new, |header| Unseen::all_of(&header["server"]));
        if self.json {
            unseen
                .iter()
                .for_each(|Unseen { what, why }| say!("{}", json!({ "not_seen": what, "why": why })));
            for finding in &findings {
                say!(
                    "{}",
                    json!({ "finding": finding.title, "evidence": finding.evidence, "action": finding.action,
                            "effect": finding.effect })
                );
            }
            return Ok(true);
        }
        unseen.iter().for_each(|Unseen { what, why }| say!("not seen: {what} ({why})"));
        if findings.is_empty() {
            say!("nothing to do{}", if unseen.is_empty() { "" } else { ", as far as was seen" });
        }
        for (number, finding) in findings.iter().enumerate() {
            directory::print_finding(number + 1, finding, "");
        }
        Ok(true)
    }

    /// The data directory, if that is what is asked about.
    fn directory(&self) -> Result<Option<&Path>> {
        match (&self.datadir, self.files.as_slice()) {
            (Some(directory), _) => Ok(Some(directory)),
            (None, [only]) if only.is_dir() => Ok(Some(only)),
            (None, files) if files.iter().any(|file| file.is_dir()) => {
                Err("a data directory is looked at alone: evenkeel doctor DATADIR".into())
            }
            _ => Ok(None),
        }
    }
}

/// Samples a live server for a while.
fn look(dsn: &Dsn, time: Duration) -> Result<Recording> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let failed = |error: client::Error| format!("{dsn}: {error}");
        let mut sampler = Sampler::connect(dsn).await.map_err(failed)?;
        let mut recording = Recording::default();
        let mut host = Host::of(dsn);
        let server = sampler.describe(&host).await.map_err(failed)?;
        recording.headers.push(json!({ "type": "recording", "at": now_ms(), "server": server }));
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        let start = Instant::now();
        while start.elapsed() < time + Duration::from_millis(500) {
            ticks.tick().await;
            let at = now_ms();
            recording.add_sample(true, at, sampler.sample().await.map_err(failed)?);
            if dsn.is_local() {
                recording.add_sample(false, at, host.sample());
            }
        }
        Ok(recording)
    })
}
