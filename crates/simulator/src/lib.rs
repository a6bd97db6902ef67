//! Deterministic simulation of the storage engine, and of SQL above it: clients work on it while the disk, the clock and the scheduler
//! follow a seed; the power is cut at every operation that changes the disk, and each recovery is checked against
//! what the clients were told.
//!
//! Invariant: a run is a function of its options, so every failure prints a command that repeats it.

#![forbid(unsafe_code)]

mod ddl;
mod decay;
mod engine_subject;
mod faults;
mod history;
mod many;
mod metadata_locks;
mod rot;
mod run;
mod store;
mod subject;
mod workload;

pub use ddl::{DdlOptions, PlantedDdlFault, run_ddl_many, run_ddl_seed};
pub use decay::run_decay;
pub use faults::run_fault;
pub use history::{Contents, History, TransactionNumber, catalog_key, table_of_key};
pub use many::{Budget, Summary, run_many};
pub use rot::{RotCount, RotReport, run_rot};
pub use run::{Report, RunOptions, Violation, run_seed};
pub use store::{PlantedStoreFault, StoreOptions, run_store_error, run_store_many, run_store_seed};
pub use subject::{Refusal, Rows, Subject, Table};
pub use workload::{Shared, WorkloadOptions, read_contents};
