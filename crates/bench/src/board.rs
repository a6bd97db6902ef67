//! What a worker thread shows of itself while it runs, and where the driver reaches into it.
//!
//! Invariant: the driver only looks, takes counts, and cuts; it never waits for the thread. Made by `driver`, filled by
//! `worker`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::Cutter;

use crate::arrivals::Arrivals;
use crate::bucket::Bucket;

/// One thread's.
#[derive(Debug)]
pub struct Board {
    pub bucket: Bucket,
    pub arrivals: Arrivals,
    pub open: Open,
    /// Of the connection that holds up the thread, if one does.
    cutter: Mutex<Option<Cutter>>,
}

impl Board {
    pub fn new(kinds: usize, connections: usize) -> Self {
        Self {
            bucket: Bucket::new(kinds),
            arrivals: Arrivals::default(),
            open: Open::new(connections),
            cutter: Mutex::default(),
        }
    }

    /// The thread waits within this connection from now on, or in none.
    pub fn is_held_by(&self, cutter: Option<Cutter>) {
        *self.cutter.lock().expect("nobody panics while changing the cutter") = cutter;
    }

    /// Ends what the thread waits for.
    pub fn cut(&self) {
        if let Some(cutter) = &*self.cutter.lock().expect("nobody panics while cutting") {
            cutter.cut();
        }
    }
}

/// Since when each connection's transaction is under way, in microseconds since the run began and one; 0 is none.
///
/// Latencies are known of what has ended only: who waits for an answer that does not come is seen here.
#[derive(Debug)]
pub struct Open(Vec<AtomicU64>);

impl Open {
    fn new(connections: usize) -> Self {
        Self((0..connections).map(|_| AtomicU64::new(0)).collect())
    }

    /// The connection at `place` began a transaction so long after the start.
    pub fn begin(&self, place: usize, since_start: Duration) {
        self.0[place].store(since_start.as_micros() as u64 + 1, Ordering::Relaxed);
    }

    pub fn end(&self, place: usize) {
        self.0[place].store(0, Ordering::Relaxed);
    }

    /// How many are under way, and for how long the oldest, in microseconds.
    pub fn look(&self, now: Duration) -> (u64, u64) {
        let begun = self.0.iter().map(|begin| begin.load(Ordering::Relaxed)).filter(|begin| *begin > 0);
        begun.fold((0, 0), |(count, oldest), begin| {
            (count + 1, oldest.max((now.as_micros() as u64 + 1).saturating_sub(begin)))
        })
    }
}
