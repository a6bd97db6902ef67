//! The AUTO_INCREMENT counter of one table, as `innodb_autoinc_lock_mode=2`: values are unique and rising, gaps
//! are allowed, nothing is given back by a rollback and nobody waits.
//!
//! Invariant: the counter stops at the largest value of its type, which it then offers again and again, so that rows
//! meet a duplicate; only a definition puts it beyond (`AUTO_INCREMENT = n`), and then it gives nothing.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug)]
pub struct AutoIncrement {
    /// The next value to give out. One number on its own, so `Relaxed` is enough: uniqueness comes from the atomic
    /// exchange.
    next: AtomicU64,
    /// The largest value the column's type holds.
    maximum: u64,
}

impl AutoIncrement {
    pub fn new(next: u64, maximum: u64) -> AutoIncrement {
        AutoIncrement { next: AtomicU64::new(next.max(1)), maximum }
    }

    /// The largest value that it can give.
    pub fn maximum(&self) -> u64 {
        self.maximum
    }

    /// The value that the next row gets, for SHOW CREATE TABLE and `information_schema`.
    pub fn peek(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Takes `count` values and returns the first; the next ones follow in steps of `increment`. All are congruent
    /// to `offset` as `auto_increment_increment` and `auto_increment_offset` ask. They may be beyond the maximum, which
    /// is for who takes them to see. `None` when the counter itself is beyond it, or at the end of all numbers.
    pub fn reserve(&self, count: u64, increment: u64, offset: u64) -> Option<u64> {
        let increment = increment.max(1);
        let mut current = self.next.load(Relaxed);
        loop {
            if current > self.maximum || current == u64::MAX {
                return None;
            }
            let first = first_from(current, increment, offset)?;
            debug_assert!(first >= current, "a counter never goes back");
            // The whole step is taken: another session's smaller step does not fill the gaps of this series.
            let after = first.saturating_add(increment.saturating_mul(count.max(1))).min(self.maximum);
            debug_assert!(after >= current, "a counter never goes back");
            match self.next.compare_exchange_weak(current, after, Relaxed, Relaxed) {
                Ok(_) => return Some(first),
                Err(changed) => current = changed,
            }
        }
    }

    /// A row got this value by itself: the counter continues after it.
    pub fn observe(&self, value: u64) {
        if value >= 1 && value <= self.maximum {
            self.next.fetch_max(value.saturating_add(1).min(self.maximum), Relaxed);
        }
    }

    /// `ALTER TABLE .. AUTO_INCREMENT = n` on a table whose largest value is known to be smaller.
    pub fn set(&self, next: u64) {
        self.next.store(next.max(1), Relaxed);
    }
}

/// The largest value of the series that is no more than `limit`; `limit` where the series begins behind it.
pub fn last_until(limit: u64, increment: u64, offset: u64) -> u64 {
    let (increment, offset) = series(increment, offset);
    debug_assert!((1..=increment).contains(&offset), "a series begins within its first step");
    match limit.checked_sub(offset) {
        Some(distance) => limit - distance % increment,
        None => limit,
    }
}

/// MySQL ignores an offset above the increment.
fn series(increment: u64, offset: u64) -> (u64, u64) {
    let increment = increment.max(1);
    (increment, if offset == 0 || offset > increment { 1 } else { offset })
}

/// The smallest value >= `from` in the series `offset + i * increment`.
fn first_from(from: u64, increment: u64, offset: u64) -> Option<u64> {
    let (increment, offset) = series(increment, offset);
    if from <= offset {
        return Some(offset);
    }
    debug_assert!(offset < from && increment > 0, "a series goes on in steps");
    let steps = (from - offset).div_ceil(increment);
    offset.checked_add(steps.checked_mul(increment)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_increment_and_offset() {
        let counter = AutoIncrement::new(1, 127);
        assert_eq!(counter.reserve(3, 1, 1), Some(1));
        assert_eq!(counter.reserve(1, 1, 1), Some(4));
        assert_eq!(counter.reserve(2, 10, 5), Some(5));
        assert_eq!(counter.reserve(1, 10, 5), Some(25));
        // Another session continues behind the series, as in InnoDB.
        assert_eq!(counter.reserve(1, 1, 1), Some(35));
        counter.observe(100);
        assert_eq!(counter.peek(), 101);
        assert_eq!(counter.reserve(1, 10, 5), Some(105));
    }

    #[test]
    fn the_type_has_an_end() {
        let counter = AutoIncrement::new(1, 127);
        counter.observe(126);
        assert_eq!(counter.reserve(1, 1, 1), Some(127));
        assert_eq!(counter.reserve(1, 1, 1), Some(127));
        assert_eq!(counter.reserve(3, 10, 1), Some(131));
        counter.observe(127);
        counter.observe(500);
        assert_eq!(counter.peek(), 127);
        counter.set(200);
        assert_eq!(counter.reserve(1, 1, 1), None);
        let widest = AutoIncrement::new(1, u64::MAX);
        widest.observe(u64::MAX - 2);
        assert_eq!(widest.reserve(1, 1, 1), Some(u64::MAX - 1));
        assert_eq!(widest.reserve(1, 1, 1), None);
    }

    #[test]
    fn a_series_ends_before_its_limit() {
        assert_eq!(last_until(127, 10, 1), 121);
        assert_eq!(last_until(127, 3, 2), 125);
        assert_eq!(last_until(127, 1, 1), 127);
        assert_eq!(last_until(127, 200, 150), 127);
    }
}
