//! What one worker thread counted since the last second ended.
//!
//! Invariant: everything is in one lock that is held for a few additions. Filled by `worker`, emptied by `driver`.

use std::sync::Mutex;
use std::time::Duration;

use hdrhistogram::Histogram;
use workload::Tally;

/// Microseconds up to an hour.
const LATENCY_MAX: u64 = 3_600_000_000;

/// A histogram of microseconds.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX, 3).expect("the bounds are in order")
}

/// Counts.
#[derive(Debug, Clone)]
pub struct Counts {
    pub latencies: Vec<Histogram<u64>>,
    /// How late the generator itself began transactions of an open loop.
    pub lateness: Histogram<u64>,
    pub tally: Tally,
    pub conflicts: u64,
    pub errors: u64,
    pub reconnects: u64,
}

impl Counts {
    pub fn new(kinds: usize) -> Self {
        let latencies = (0..kinds).map(|_| histogram()).collect();
        Self {
            latencies,
            lateness: histogram(),
            tally: Tally::default(),
            conflicts: 0,
            errors: 0,
            reconnects: 0,
        }
    }

    pub fn events(&self) -> u64 {
        self.latencies.iter().map(Histogram::len).sum()
    }

    pub fn add(&mut self, other: &Self) {
        let theirs = other.latencies.iter().chain([&other.lateness]);
        for (mine, theirs) in self.histograms().zip(theirs) {
            mine.add(theirs).expect("all histograms have the same bounds");
        }
        self.add_tally(&other.tally);
        self.conflicts += other.conflicts;
        self.errors += other.errors;
        self.reconnects += other.reconnects;
    }

    fn add_tally(&mut self, tally: &Tally) {
        self.tally.reads += tally.reads;
        self.tally.writes += tally.writes;
        self.tally.others += tally.others;
        self.tally.rows += tally.rows;
        self.tally.commits += tally.commits;
    }

    fn histograms(&mut self) -> impl Iterator<Item = &mut Histogram<u64>> {
        self.latencies.iter_mut().chain([&mut self.lateness])
    }

    fn clear(&mut self) {
        for histogram in self.histograms().filter(|histogram| !histogram.is_empty()) {
            // Clearing alone would keep the largest value.
            histogram.reset();
        }
        self.tally = Tally::default();
        (self.conflicts, self.errors, self.reconnects) = (0, 0, 0);
    }
}

/// The counts of a thread behind their lock.
#[derive(Debug)]
pub struct Bucket(Mutex<Counts>);

impl Bucket {
    pub fn new(kinds: usize) -> Self {
        Self(Mutex::new(Counts::new(kinds)))
    }

    /// A transaction (or several that went together) is done.
    pub fn done(&self, latency: Duration, tally: &Tally) {
        self.with(|counts| {
            let kind = tally.kind.min(counts.latencies.len() - 1);
            put(&mut counts.latencies[kind], latency, tally.events);
            counts.add_tally(tally);
        });
    }

    /// A transaction began so much later than it could have.
    pub fn late(&self, lateness: Duration) {
        self.with(|counts| put(&mut counts.lateness, lateness, 1));
    }

    /// A transaction failed; what it had done is still work that the server did.
    pub fn failed(&self, tally: &Tally, is_conflict: bool) {
        self.with(|counts| {
            counts.add_tally(tally);
            if is_conflict { counts.conflicts += 1 } else { counts.errors += 1 }
        });
    }

    pub fn reconnected(&self) {
        self.with(|counts| counts.reconnects += 1);
    }

    /// How many transactions it holds.
    pub fn events(&self) -> u64 {
        self.with(|counts| counts.events())
    }

    /// Adds what was counted to `sum` and begins anew.
    pub fn take_into(&self, sum: &mut Counts) {
        self.with(|counts| {
            sum.add(counts);
            counts.clear();
        });
    }

    fn with<T>(&self, change: impl FnOnce(&mut Counts) -> T) -> T {
        change(&mut self.0.lock().expect("nobody panics while counting"))
    }
}

fn put(histogram: &mut Histogram<u64>, time: Duration, count: u64) {
    let micros = (time.as_micros() as u64).clamp(1, LATENCY_MAX);
    histogram.record_n(micros, count).expect("the time is within the bounds");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_second_stays_for_the_next() {
        let bucket = Bucket::new(1);
        let tally = Tally { reads: 2, events: 1, ..Tally::default() };
        bucket.done(Duration::from_millis(500), &tally);
        let mut first = Counts::new(1);
        bucket.take_into(&mut first);
        bucket.done(Duration::from_millis(1), &tally);
        let mut second = Counts::new(1);
        bucket.take_into(&mut second);
        assert_eq!((first.events(), second.events(), second.tally.reads), (1, 1, 2));
        assert!(second.latencies[0].max() < 2000, "{}", second.latencies[0].max());
    }
}
