//! The one seam to the machine: disk, clock, randomness and task spawning behind traits.
//!
//! Invariant: everything above this crate is free of `std::fs`, clocks, threads and randomness, so that the
//! same engine code runs on io_uring, on a thread pool and on the simulated disk of `sim`.

mod append_ring;
mod buffer;
mod clock;
mod completion;
pub mod coroutine;
mod counted;
mod disk;
mod environment;
mod error;
pub mod local;
mod processors;
mod random;
pub mod real;
mod replaced_file;
pub mod sim;
pub mod sync;
mod task;
mod task_waits;
mod temporary;
mod wait_counter;
mod watched_waits;

pub use append_ring::{AppendRing, ClosedPiece};
pub use buffer::{BUFFER_ALIGNMENT, IoBuf};
pub use clock::Clock;
pub use completion::{Completer, Completion, SyncCompletion, completion, sync_completion};
pub use coroutine::{LONG_PIECE, tick, tick_long};
pub use counted::{CountedDisk, IoCounters, IoStats};
pub use disk::{DIRECT_ALIGNMENT, Disk, File, OpenOptions};
pub use environment::Env;
pub use error::{IoError, IoErrorKind, IoOp};
pub use processors::{ProcessorTimes, Processors};
pub use random::Random;
pub use real::{real_disk, real_env};
pub use replaced_file::replace_file;
pub use task::{BoxFuture, Overlap, Spawner, wake_after_others, wake_yielding_tasks_by, yield_now};
pub use task_waits::{TaskWaits, WAIT_CAUSES, WaitCause, note_wait};
pub use temporary::{TemporaryFile, TemporarySpace};
pub use wait_counter::{WaitCounter, WaitStats};
pub use watched_waits::{RunningWait, SingleWait, TimedWait, WaitObject, WatchedWaits, begin_wait};
