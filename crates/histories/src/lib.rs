//! Histories: random transactions run against a server, and what their results prove about its isolation.
//!
//! ```text
//! workload ──▶ run ──▶ History ──▶ dependencies ──▶ graph ──▶ cycles ──▶ Anomaly (class, witness)
//! ```
//!
//! Every write carries a value that no other write has, so a read tells whose write it saw, and the workloads are made
//! so that the order of the versions of each key can be read off the history. From these follow the dependencies
//! between transactions (Adya's write-write, write-read and read-write edges); a cycle among them is an anomaly whose
//! class depends on the kinds of its edges. The idea is that of Elle (Kingsbury and Alvaro, 2020).

#![forbid(unsafe_code)]

mod anomaly;
mod cycles;
mod dependencies;
mod export;
mod graph;
mod history;
mod last_look;
mod members;
mod permitted;
mod random;
mod report;
mod run;
mod transaction_run;

pub use anomaly::{Anomaly, Class};
pub use export::edn;
pub use history::{History, Operation, Outcome, Transaction};
pub use permitted::{Level, Reads, permitted};
pub use report::{Report, check};
pub use run::{Disturbance, Plan, Server, run};
pub use transaction_run::Workload;
