//! The real machine: files through io_uring or a thread pool, the system clock and the system's randomness.
//!
//! Invariant: a thread with a current `uring::Reactor` submits reads, writes and syncs to its ring; every other
//! thread, and every machine without io_uring, uses the pool; a dedicated thread does its own. Callers see no
//! difference.

mod address_space;
mod clock;
mod disk;
mod large_pages;
mod open_file;
mod open_files;
mod pool;
mod processors;
mod random;
mod scratch;
mod thread_demand;
pub mod uring;

pub use address_space::address_space_limit;
pub use clock::SystemClock;
pub use disk::RealDisk;
pub use large_pages::{code_in_large_pages, refuse_large_pages};
pub use open_files::open_as_many_files_as_possible;
pub use pool::dedicate_thread;
pub use processors::{SystemProcessors, allowed_processors, roam, stay_on};
pub use random::SystemRandom;
pub use scratch::ScratchDisk;
pub use thread_demand::ThreadDemand;

use crate::{Disk, Env, IoError, Spawner};
use std::path::Path;
use std::sync::Arc;

/// Opens (creating it if absent) a root directory as a disk.
pub fn real_disk(root: &Path) -> Result<Arc<RealDisk>, IoError> {
    RealDisk::open(root).map(Arc::new)
}

/// The environment of a look at a directory that leaves it as it is: what is written stays in memory.
pub fn scratch_env(root: &Path, spawner: Arc<dyn Spawner>) -> Env {
    system_env(Arc::new(ScratchDisk::new(root)), spawner)
}

/// The environment of a real process; the spawner comes from whoever runs the tasks.
pub fn real_env(root: &Path, spawner: Arc<dyn Spawner>) -> Result<Env, IoError> {
    Ok(system_env(real_disk(root)?, spawner))
}

/// This machine with another disk.
pub fn system_env(disk: Arc<dyn Disk>, spawner: Arc<dyn Spawner>) -> Env {
    let (clock, random) = (Arc::new(SystemClock::new()), Arc::new(SystemRandom));
    Env { disk, clock, random, processors: Arc::new(SystemProcessors), spawner }
}
