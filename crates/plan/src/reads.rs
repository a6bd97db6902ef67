//! What running a part of a plan reads of the device, as the planner prices it.
use std::ops::Add;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reads {
    /// In one run.
    pub run: f64,
    /// In however many: what is read stays in memory, if it fits. Infinite if it does not.
    pub all: f64,
}

impl Reads {
    /// In so many runs.
    pub fn times(self, runs: f64) -> Reads {
        Reads { run: (self.run * runs).min(self.all.max(self.run)), all: self.all }
    }
}

impl Add for Reads {
    type Output = Reads;

    fn add(self, other: Reads) -> Reads {
        Reads { run: self.run + other.run, all: self.all + other.all }
    }
}

/// Keys of rows behind an index that are gathered and sorted before the first of them is read.
pub const KEYS_SORTED_FIRST: usize = 65_536;
/// The most keys that are sorted at a time; each time there may be four times as many as before.
pub const KEYS_SORTED_MAX: usize = 1 << 20;

/// How many times the leaves of a table are gone through for so many rows behind an index.
pub fn sorted_passes(rows: f64) -> f64 {
    let (mut passes, mut keys, mut left) = (1.0, KEYS_SORTED_FIRST as f64, rows);
    while left > keys && keys < KEYS_SORTED_MAX as f64 {
        (passes, left, keys) = (passes + 1.0, left - keys, keys * 4.0);
    }
    passes + (left / keys).ceil().max(1.0) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_grow_with_the_rows() {
        let passes =
            [0.0, 1.0, 65_536.0, 65_537.0, 327_680.0, 327_681.0, 1_376_256.0, 1_376_257.0].map(sorted_passes);
        assert_eq!(passes, [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
    }
}
