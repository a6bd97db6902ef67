//! How often each error was raised, and when first and last: `events_errors_summary_..`.
//!
//! Kept by each session for itself; a session meets few numbers, so a list is enough.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorFigures {
    pub raised: u64,
    /// By a handler of a stored program.
    pub handled: u64,
    /// Microseconds since 1970.
    pub first_seen_us: i64,
    pub last_seen_us: i64,
}

#[derive(Clone, Debug, Default)]
pub struct ErrorCounts {
    /// By number.
    counts: Vec<(u16, ErrorFigures)>,
}

impl ErrorCounts {
    pub fn add(&mut self, number: u16, now_us: i64) {
        let once = ErrorFigures { raised: 1, handled: 0, first_seen_us: now_us, last_seen_us: now_us };
        self.merge_one(number, &once);
    }

    fn merge_one(&mut self, number: u16, other: &ErrorFigures) {
        match self.counts.binary_search_by_key(&number, |(of, _)| *of) {
            Ok(place) => {
                let figures = &mut self.counts[place].1;
                figures.raised += other.raised;
                figures.handled += other.handled;
                figures.first_seen_us = figures.first_seen_us.min(other.first_seen_us);
                figures.last_seen_us = figures.last_seen_us.max(other.last_seen_us);
            }
            Err(place) => self.counts.insert(place, (number, *other)),
        }
    }

    pub fn merge(&mut self, other: &ErrorCounts) {
        other.counts.iter().for_each(|(number, figures)| self.merge_one(*number, figures));
    }

    pub fn all(&self) -> &[(u16, ErrorFigures)] {
        &self.counts
    }

    pub fn clear(&mut self) {
        self.counts.clear();
    }
}
