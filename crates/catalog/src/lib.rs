//! The data dictionary in the engine itself, data definition and metadata locks.
//!
//! Definitions live in the engine's catalog tree and, as one shared copy, in memory. Every change of them is one
//! engine transaction, so after a crash a table exists with its dictionary row and trees or not at all.
#![forbid(unsafe_code)]

mod build;
mod catalog;
mod change;
mod check;
mod computed;
mod dictionary;
mod edit;
mod first_use;
mod gate;
mod global_lock;
mod histograms;
mod live_program;
mod metadata_lock;
mod name;
mod open;
mod program;
mod progress;
mod rebuild;
mod relations;
mod row_image;
mod statistics;
mod validate;
mod viewer;

pub use build::{
    BuildWork, CopiedKeys, Demands, FollowedParent, IndexBuild, LeftOut, LostKeys, RowRule, TableCopy,
    TableFill,
};
pub use catalog::{Catalog, LiveTable, StoredSettings};
pub use change::{SchemaChange, put_applied};
pub use check::{check_table, checksum_table};
pub use computed::bind_columns;
pub use gate::Gate;
pub use global_lock::{ClosedGate, Passage};
pub use live_program::LiveProgram;
pub use metadata_lock::{
    Acquire, Drain, ListedLock, LockDeadlock, LockGuard, LockMode, LockName, LockOwner, MetadataLocks,
};
pub use name::{
    INFORMATION_SCHEMA, NAME_LENGTH_MAX, SYSTEM_DATABASES, canonical_database, check_column_name,
    check_database_name, check_index_name, check_table_name,
};
pub use progress::{Entered, Progress, Share, Stage, StageLog};
pub use rebuild::{RowConverter, TableRows};
pub use validate::check_rows;
pub use viewer::{
    OptimizerTrace, OptimizerTraces, ProgramSight, ProgramVisibility, SharedTraces, Viewer, Visibility,
};
