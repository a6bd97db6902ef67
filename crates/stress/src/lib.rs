//! Stress: many sessions contend for the same rows, keys and locks of a server, while something that must hold is checked.
//!
//! ```text
//! Workload ──▶ run ──┬─▶ load: sessions in a loop, a checker, a killer ──▶ Report (table, faults)
//!                    └─▶ workloads that measure one thing: convoy, long_snapshot, release
//! ```
//!
//! Each workload is a file in `workloads`, whose head says what must hold. What a session cannot know (whether a
//! transaction whose connection was killed at COMMIT was carried out) is counted apart, so the checks stay exact.

#![forbid(unsafe_code)]

mod killer;
mod load;
mod numbers;
mod random;
mod relay;
mod report;
mod session;
mod workloads;

pub use report::Report;
pub use session::Server;
pub use workloads::Workload;

use std::time::Duration;

/// How to run a workload.
#[derive(Debug, Clone)]
pub struct Plan {
    pub duration: Duration,
    pub sessions: u32,
    /// Chooses the random numbers of each session.
    pub seed: u64,
    /// How many sessions and queries are killed per second while a workload runs that can bear it.
    pub kills_per_second: u32,
    /// Made and dropped.
    pub database: String,
    /// The server's process, when it runs on this machine and its memory is to be watched.
    pub process: Option<u32>,
    /// Print a line per second.
    pub shows_progress: bool,
}
