//! Runs physical plans: one operator per file, batches of rows, which go to disk beyond a memory limit.
//!
//! A statement that fails may have changed rows already: the caller (session) takes a savepoint before `execute`
//! and rolls back to it on every error, except when `EngineError::rolled_back` ended the whole transaction
//! (error 1213). Futures of this crate may be dropped at any await; the same roll back then applies.
#![forbid(unsafe_code)]

mod execute;
mod host;

mod point;

mod change;
mod operator;

mod bound;
mod deferred;
mod divided;
mod range;
mod strict;
mod table_use;

mod batch;
mod context;
mod cooperate;
mod kept;
mod memory;
mod outcome;
mod row_store;
mod seen_keys;
mod session_memory;
mod sides;
mod sink;
mod work;

pub use batch::RowBatch;
pub use change::{Assigner, LoadSource, LoadedRow, check_row};
pub use context::{ExecContext, ExecSettings, Interrupt, MemoryShares, OneByOne};
pub use execute::{execute, load};
pub use host::{Firing, LeftOutRows, NewRow, StatementHost, Triggers};
pub use kept::KeptRows;
pub use memory::{MemoryBudget, row_bytes};
pub use outcome::Outcome;
pub use range::key_ranges;
pub use row_store::{RowReader, RowStore, Rows};
pub use session_memory::{MemoryCharge, MemoryLimits, ServerMemory, SessionMemory};
pub use sink::{CollectRows, RowSink};
pub use strict::{StrictSession, is_raised};
pub use table_use::{TableUse, TableUses};
pub use work::Work;
