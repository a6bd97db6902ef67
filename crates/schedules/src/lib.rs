//! Schedules: which session does what in which order, and what a server answers to each step.
//!
//! A schedule runs against any server that speaks MySQL's protocol. What it shows — rows, errors, who waits and what
//! ends the wait — is written down as text, so that two servers are compared line by line. The answers of MySQL are
//! recorded beside the schedules in `schedules/`; the server's tests run them against Evenkeel.

#![forbid(unsafe_code)]

mod check;
mod library;
mod outcome;
mod parallel;
mod random;
mod recording;
mod run;
mod schedule;
mod session;
mod shrink;
mod waits;

pub use check::{Verdict, check_all, record_all};
pub use library::{KnownDifferences, Library, folder};
pub use parallel::in_parallel;
pub use random::random_schedule;
pub use recording::first_difference;
pub use run::{Target, run};
pub use schedule::{Action, Schedule, Step, parse};
pub use shrink::shrink;
