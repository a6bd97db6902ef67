//! Changes of definitions under simulation: real SQL through sessions of a server whose machine is simulated, with a
//! crash at every operation that changes the disk.
//!
//! A seed is run twice. The rehearsal makes the statements up, one after another, and notes after each what exists. The
//! performance runs the same statements with crashes; whatever a recovery finds must be what the rehearsal saw before or
//! after the statement that was on its way, so that each statement is wholly there or wholly absent.

mod builder;
mod performance;
mod server;
mod state;
mod statements;
mod structure;

pub use performance::{DdlOptions, PlantedDdlFault, run_ddl_many, run_ddl_seed};
