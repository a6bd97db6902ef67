//! `evenkeel doctor`: rules of thumb, from a live server or a recording.
//!
//! Invariant: it only reads; what to do is said and not done.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bench::Result;
use clap::Args;
use client::Dsn;
use recording::{Host, Recording, Sampler, describe_server, now_ms};
use report::Subject;
use serde_json::json;

#[derive(Args)]
pub struct Doctor {
    /// A live server: mysql://user:password@host:port.
    #[arg(long, required_unless_present = "files")]
    dsn: Option<String>,
    /// Seconds to look at it.
    #[arg(long, default_value_t = 10)]
    time: u64,
    /// Or recordings.
    files: Vec<PathBuf>,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub fn run(&self) -> Result<bool> {
        let subject = match &self.dsn {
            Some(dsn) => {
                let dsn = Dsn::parse(dsn).map_err(|error| error.to_string())?;
                Subject::new("server", look(&dsn, Duration::from_secs(self.time.max(2)))?)
            }
            None => Subject::read("recording", &self.files)?,
        };
        let findings = report::findings(&subject);
        if self.json {
            for finding in &findings {
                println!(
                    "{}",
                    json!({ "finding": finding.title, "evidence": finding.evidence, "action": finding.action,
                            "effect": finding.effect })
                );
            }
            return Ok(true);
        }
        if findings.is_empty() {
            println!("nothing to do");
        }
        for (number, finding) in findings.iter().enumerate() {
            println!("{}. {}", number + 1, finding.title);
            println!("   because  {}", finding.evidence);
            println!("   do       {}", finding.action);
            println!("   so that  {}", finding.effect);
        }
        Ok(true)
    }
}

/// Samples a live server for a while.
fn look(dsn: &Dsn, time: Duration) -> Result<Recording> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let failed = |error: client::Error| format!("{dsn}: {error}");
        let mut sampler = Sampler::connect(dsn).await.map_err(failed)?;
        let mut recording = Recording::default();
        let server = describe_server(sampler.connection()).await.map_err(failed)?;
        recording.headers.push(json!({ "type": "recording", "at": now_ms(), "server": server }));
        let mut host = Host::of(dsn);
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
