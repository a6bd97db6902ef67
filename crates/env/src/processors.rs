//! What the machine's processors do: asked by whoever may use time that nobody else needs.

/// The processors that this process may use.
pub trait Processors: Send + Sync {
    fn times(&self) -> ProcessorTimes;
}

/// Times since an arbitrary start, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessorTimes {
    /// How long they had nothing to do, added up; `None`: the system does not say.
    pub idle_us: Option<u64>,
    /// How long they worked for this process, added up.
    pub own_us: u64,
    /// How many there are.
    pub present: u64,
    /// As many as this process may use at one time: fewer, if it has a quota.
    pub usable: u64,
}

impl ProcessorTimes {
    /// The part of what this process might have used that nobody has used since `earlier`, from 0 to 1.
    pub fn spare_since(&self, earlier: &ProcessorTimes, elapsed_us: u64) -> f64 {
        let part = |us: u64, count: u64| us as f64 / (elapsed_us.max(1) * count.max(1)) as f64;
        let unused = 1.0 - part(self.own_us.saturating_sub(earlier.own_us), self.usable);
        let idle = match (self.idle_us, earlier.idle_us) {
            (Some(now), Some(then)) => part(now.saturating_sub(then), self.present),
            _ => unused,
        };
        idle.min(unused).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spare_is_neither_used_nor_beyond_the_quota() {
        let start = ProcessorTimes { idle_us: Some(500), own_us: 70, present: 4, usable: 4 };
        let spare = |idle: u64, own: u64, usable: u64| {
            let now = ProcessorTimes { idle_us: Some(500 + idle), own_us: 70 + own, usable, ..start };
            now.spare_since(&start, 1_000)
        };
        assert_eq!(spare(4_000, 0, 4), 1.0);
        assert_eq!(spare(1_000, 1_000, 4), 0.25);
        // The machine idles, but the quota of one processor is nearly used up.
        assert_eq!(spare(3_000, 750, 1), 0.25);
        // Ticks are coarse.
        assert_eq!(spare(4_100, 0, 4), 1.0);
        let untold = ProcessorTimes { idle_us: None, own_us: 2_070, ..start };
        assert_eq!(untold.spare_since(&start, 1_000), 0.5);
    }
}
