//! The simulated machine: disk, clock, randomness and scheduler from one seed.
//!
//! Everything runs on the calling thread. Which task runs next, which operation finishes next and what a crash
//! leaves behind are drawn from the seed, so the same seed gives the same run; `World::trace_hash` shows it.
//!
//! The disk's promises are the weakest that the engine may rely on (`file`, `namespace`): after a crash each
//! 512-byte sector that was not synced is old, new, torn, zero or garbage, and names and lengths that were not
//! synced may be lost, each independently of the others.

mod content;
mod disk;
mod executor;
mod faults;
mod file;
mod input;
mod inside;
mod machine;
mod namespace;
mod options;
mod reserved;
mod rng;
mod world;

pub use faults::{Fault, FaultEffect};
pub use file::SECTOR_BYTES;
pub use input::InputBytes;
pub use inside::inside;
pub use options::SimOptions;
pub use rng::SeededRandom;
pub use world::{Outcome, World};
