//! The buffer pool: frames within a hard memory budget, latches, eviction and write-back.
//!
//! Invariants: a page is written only when its LSN is durable in the log; only clean, unpinned, unlatched pages
//! are evicted; no latch is held across an await (guards are not `Send`). Page code is synchronous: what it
//! lacks is a `Stop`, which `BufferPool::run` resolves before it calls the code again.

mod by_age;
mod caps;
mod dirty;
mod error;
mod eviction;
mod flush_candidates;
mod flusher;
mod frame;
mod free_frame;
mod guard;
mod hot_list;
mod latch;
mod late;
mod load;
mod memory;
mod packed;
mod page_logs;
mod page_table;
mod pool;
mod prefetch;
mod publish;
mod queues;
mod redo;
mod repair;
mod resize;
mod run;
mod scrub;
mod stats;
mod warm_up;

#[cfg(test)]
mod tests;

pub use error::{BufferError, Stop};
pub use guard::{ExclusiveGuard, PagePin, SharedGuard};
pub use late::{AbsentPage, LateChange, LateChanges, LatePage, LateStats};
pub use packed::{PackedStats, Packing};
pub use page_logs::{PAGE_LOG_PARTS, PageLogStats, PageLogs};
pub use pool::{Access, ApplyLate, BufferPool, PageCheck, PoolOptions};
pub use redo::{ApplyPageLog, PageLog, PagesBehind};
pub use repair::PageRepairer;
pub use resize::ResizeStatus;
pub use stats::PoolStats;
pub use warm_up::WarmUp;
