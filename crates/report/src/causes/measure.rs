//! What causes are told from: quantities, what is usual for each, and how far one has risen at a place.
//!
//! Invariant: samples and seconds of a run do not begin together, so a place is looked at with its neighbours. Used by
//! `causes`.

use crate::grid::{Points, combine, median, sum};
use crate::subject::Subject;

/// A quantity, and what is usual for it.
pub(super) struct Measure {
    pub points: Points,
    pub usual: f64,
}

impl Measure {
    /// What is usual is what was while work went on: a stall may last longer than everything else.
    pub fn new(points: Points, is_good: &[bool]) -> Self {
        let good = points.iter().zip(is_good).filter(|(_, is_good)| **is_good);
        let usual = median(good.filter_map(|(point, _)| *point));
        let usual = usual.or_else(|| median(points.iter().flatten().copied())).unwrap_or(0.0);
        Self { points, usual }
    }

    /// The highest value at the place and beside it: samples and seconds of a run do not begin together.
    pub fn near(&self, place: usize) -> f64 {
        let end = (place + 2).min(self.points.len());
        self.points[place.saturating_sub(1)..end].iter().flatten().copied().fold(0.0, f64::max)
    }

    /// The value near the place if it is so many times what is usual, and at least so much.
    pub fn risen(&self, place: usize, times: f64, least: f64) -> Option<f64> {
        let value = self.near(place);
        (value >= least && value >= times * self.usual).then_some(value)
    }
}

/// How many sessions are in a state with one of these words in it.
pub(super) fn states(subject: &Subject, words: &[&str]) -> Points {
    let names = subject.recording.series.keys().filter(|name| {
        let lower = name.to_lowercase();
        name.starts_with("state.") && words.iter().any(|word| lower.contains(word))
    });
    sum(&names.map(|name| subject.gauge(name)).collect::<Vec<Points>>(), subject.grid.places)
}

/// The checkpoint's age as a share of the log's capacity.
pub(super) fn log_use(subject: &Subject) -> Points {
    combine(&subject.checkpoint_age(), &subject.capacity(), |age, capacity| {
        (capacity > 0.0).then(|| age / capacity)
    })
}
