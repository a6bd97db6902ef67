//! `evenkeel record`: the server and its host, every second, into one file.
//!
//! Invariant: Ctrl-C ends the file properly. Used by `bench run --record` too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::{Result, Stop};
use clap::Args;
use client::Dsn;
use recording::RecordPlan;

use crate::output::say;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Args)]
pub struct Record {
    /// The server: mysql://user:password@host:port.
    #[arg(long)]
    dsn: String,
    /// The file to write.
    out: PathBuf,
    /// Seconds to record; until Ctrl-C if it is not given.
    #[arg(long)]
    time: Option<u64>,
    /// A profile of the disk, as `evenkeel device --out` writes it, to be kept in the file.
    #[arg(long, value_name = "FILE")]
    device: Option<PathBuf>,
}

impl Record {
    pub fn run(&self) -> Result<bool> {
        let device = self.device.as_deref().map(read_profile).transpose()?;
        let dsn = Dsn::parse(&self.dsn).map_err(|error| error.to_string())?;
        let plan = RecordPlan {
            dsn,
            path: self.out.clone(),
            time: self.time.map(Duration::from_secs),
            every: SECOND,
            device,
        };
        let stop = Stop::default();
        crate::listen::listen(&stop);
        let bytes = recording::record(&plan, &|| stop.is_wanted(), &mut crate::advice::tell)?;
        say!("{} has {} bytes", self.out.display(), crate::output::grouped(bytes));
        Ok(true)
    }
}

fn read_profile(path: &Path) -> Result<serde_json::Value> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{} is no profile: {error}", path.display()))
}

/// A recording that goes on beside something else.
pub struct Beside {
    thread: std::thread::JoinHandle<std::result::Result<u64, String>>,
    stop: Stop,
}

impl Beside {
    pub fn start(dsn: &Dsn, path: &Path) -> Self {
        let stop = Stop::default();
        let plan =
            RecordPlan { dsn: dsn.clone(), path: path.to_owned(), time: None, every: SECOND, device: None };
        let wish = stop.clone();
        let thread = std::thread::spawn(move || {
            recording::record(&plan, &|| wish.is_wanted(), &mut crate::advice::tell)
        });
        Self { thread, stop }
    }

    /// Ends it; fails if it could not be written.
    pub fn end(self) -> Result<()> {
        self.stop.now();
        match self.thread.join() {
            Ok(result) => result.map(|_| ()),
            Err(_) => Err("the recorder panicked".into()),
        }
    }
}
