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
