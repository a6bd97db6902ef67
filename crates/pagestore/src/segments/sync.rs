//! The locks and atomics that threads meet at. In a build for tests each use of one is a place where an exploration
//! (`explored`) may let another thread go on; in any other build these are the plain ones.
//!
//! Relaxed operations are no such places: they are counters, or under a lock that orders them.

#[cfg(not(test))]
pub(super) use env::sync::{Mutex, RwLock};
#[cfg(not(test))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};

#[cfg(test)]
pub(super) use watched::{
    AtomicBool, AtomicU32, AtomicU64, Exploration, Mutex, RwLock, fence, set_exploration,
};

#[cfg(test)]
mod watched {
    use env::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
    use std::cell::Cell;
    use std::sync::atomic::Ordering;

    /// What this thread does.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(in crate::segments) enum Exploration {
        No,
        /// It runs tasks of an exploration, which switch only where they wait.
        Calm,
        /// They may also switch at each lock and atomic.
        Racing,
    }

    thread_local! {
        static EXPLORATION: Cell<Exploration> = const { Cell::new(Exploration::No) };
    }

    pub(in crate::segments) fn set_exploration(wanted: Exploration) {
        EXPLORATION.set(wanted);
    }

    /// Another task may go on.
    fn point() {
        if EXPLORATION.get() == Exploration::Racing {
            shuttle::sync::atomic::AtomicBool::new(false).load(Ordering::SeqCst);
        }
    }

    /// Locks without blocking the thread, on which all tasks of an exploration run.
    fn acquire<G>(attempt: impl Fn() -> Option<G>) -> Option<G> {
        if EXPLORATION.get() == Exploration::No {
            return None;
        }
        point();
        loop {
            if let Some(guard) = attempt() {
                return Some(guard);
            }
            shuttle::thread::yield_now();
        }
    }

    #[derive(Default)]
    pub(in crate::segments) struct Mutex<T>(env::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(in crate::segments) fn new(value: T) -> Self {
            Self(env::sync::Mutex::new(value))
        }

        pub(in crate::segments) fn lock(&self) -> MutexGuard<'_, T> {
            acquire(|| self.0.try_lock()).unwrap_or_else(|| self.0.lock())
        }
    }

    #[derive(Default)]
    pub(in crate::segments) struct RwLock<T>(env::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(in crate::segments) fn read(&self) -> RwLockReadGuard<'_, T> {
            acquire(|| self.0.try_read()).unwrap_or_else(|| self.0.read())
        }

        pub(in crate::segments) fn write(&self) -> RwLockWriteGuard<'_, T> {
            acquire(|| self.0.try_write()).unwrap_or_else(|| self.0.write())
        }
    }

    /// Tasks of an exploration take turns on one thread, so it knows no order but that of the turns.
    pub(in crate::segments) fn fence(order: Ordering) {
        std::sync::atomic::fence(order);
    }

    fn visit(order: Ordering) {
        if order != Ordering::Relaxed {
            point();
        }
    }

    macro_rules! atomic {
        ($name:ident, $value:ty, { $($operation:ident),* }) => {
            #[derive(Debug, Default)]
            pub(in crate::segments) struct $name(std::sync::atomic::$name);

            impl $name {
                pub(in crate::segments) fn load(&self, order: Ordering) -> $value {
                    visit(order);
                    self.0.load(order)
                }

                $(pub(in crate::segments) fn $operation(&self, value: $value, order: Ordering) -> $value {
                    visit(order);
                    self.0.$operation(value, order)
                })*
            }
        };
        ($name:ident, $value:ty, new, store, $operations:tt) => {
            atomic!($name, $value, $operations);

            impl $name {
                pub(in crate::segments) const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }

                pub(in crate::segments) fn store(&self, value: $value, order: Ordering) {
                    visit(order);
                    self.0.store(value, order);
                }
            }
        };
    }

    atomic!(AtomicBool, bool, new, store, { swap });
    atomic!(AtomicU32, u32, { fetch_add, fetch_sub });
    atomic!(AtomicU64, u64, new, store, { swap, fetch_max });
}
