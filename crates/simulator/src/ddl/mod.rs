//! Changes of definitions under simulation: real SQL through sessions of a server whose machine is simulated, with a
//! crash at every operation that changes the disk.
//!
//! A seed is run twice. The rehearsal makes the statements up, one after another, and notes after each what exists. The
//! performance runs the same statements with crashes; whatever a recovery finds must be what the rehearsal saw before or
//! after the statement that was on its way, so that each statement is wholly there or wholly absent.
//!
//! Four sessions work at a time: one changes definitions of every kind, one rows, one sorts and groups by way of temporary
//! files that fail and fill up, and one changes tables beside the rows' writer.

mod builder;
mod databases;
mod objects;
mod options;
mod performance;
mod planted;
mod server;
mod spills;
mod state;
mod statements;
mod structure;
mod tracks;

pub use options::DdlOptions;
pub use performance::{run_ddl_many, run_ddl_seed};
pub use planted::PlantedDdlFault;
