//! Random programs: what one seed makes is tables, procedures, functions, triggers and statements that run them.
//!
//! Two servers run a seed in lockstep and have to answer the same to each statement: rows, errors, warnings, and in the end
//! all tables. What differs is cut down. A seed can be written as a script of the session's tests. Used by the `sqlgen` tool.
mod argued;
mod play;
mod scope;
mod script;
mod statement;
mod tree;
mod value;

pub use play::{ProgramDifference, compare_programs};
pub use script::{CLEAN, Script};
