//! `Places`: how many of something there are, each of which gives its place back by itself.
//!
//! Invariant: never more than the limit was when the last one was taken; nobody waits for a place. Used for clients and for
//! prepared statements.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub struct Places {
    taken: Arc<AtomicU64>,
}

/// Given back when dropped.
#[derive(Debug)]
pub struct Place {
    taken: Arc<AtomicU64>,
    before: u64,
}

impl Places {
    /// `None` when `max` are taken.
    pub fn take(&self, max: u64) -> Option<Place> {
        let before = self.taken.fetch_add(1, Relaxed);
        let place = Place { taken: self.taken.clone(), before };
        (before < max).then_some(place)
    }

    pub fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }
}

impl Place {
    /// How many were taken when this one was.
    pub fn before(&self) -> u64 {
        self.before
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        debug_assert!(self.taken.load(Relaxed) > 0, "each place that is taken is counted");
        self.taken.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn a_place_is_free_again_when_it_is_dropped() {
        let places = Places::default();
        let held: Vec<_> = (0..2).map(|_| places.take(2).expect("free")).collect();
        assert_eq!(held.iter().map(|place| place.before()).collect::<Vec<_>>(), [0, 1]);
        assert!(places.take(2).is_none());
        assert_eq!(places.take(3).expect("the limit was raised").before(), 2);
        assert_eq!(places.taken(), 2);
        drop(held);
        assert_eq!(places.take(2).expect("free again").before(), 0);
    }
}
