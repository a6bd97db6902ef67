//! Runs workloads against a server: many connections on few threads, closed or open loop, one line per second.
//!
//! ```text
//! loader ──▶ data            driver ──┬─▶ worker threads ──▶ connections ──▶ transactions ──▶ bucket
//!                                     └─▶ every second: buckets ──▶ Second ──▶ Run ──▶ conditions, history, sweep
//! ```
//!
//! Invariant: a latency is counted from the intended start of a transaction, and every second of a run is there, also
//! the one in which nothing ended. Callers: `companion`.
#![forbid(unsafe_code)]

mod arrivals;
mod blocks;
mod board;
mod bucket;
mod checks;
mod conditions;
mod device;
mod driver;
mod history;
mod loader;
mod outcome;
mod plan;
mod stop;
mod worker;

pub use arrivals::{Arrivals, Rates};
pub use blocks::{Estimate, ratio_of_blocks};
pub use checks::{CheckResult, run_checks};
pub use conditions::Condition;
pub use device::{DevicePlan, measure_device};
pub use driver::{Event, run};
pub use history::{History, Verdict, judge};
pub use loader::{LoadPlan, Progress, load};
pub use outcome::{KindResult, Run, Second, Summary};
pub use plan::Plan;
pub use stop::Stop;

/// A message for whoever started the program.
pub type Result<T> = std::result::Result<T, String>;
