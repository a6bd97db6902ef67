//! Waiting primitives built on `std::task::Waker` alone, so that they work under any executor, and the locks.
//!
//! Invariant: no waker is ever called while one of these primitives' own locks is held.

mod event;
mod notify;
mod places;
mod wait_queue;

pub use event::Event;
pub use notify::Notify;
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use places::{Place, Places};
pub use wait_queue::{WaitQueue, Waiter};
