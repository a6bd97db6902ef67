//! Messages about what happens again and again: one a minute, with how often it happened.
//!
//! Called by `listener` and `start` where an error repeats for as long as its cause lasts.

use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_secs(60);

/// One kind of event.
#[derive(Default)]
pub(crate) struct Repeated {
    told_at: Option<Instant>,
    untold: u64,
}

impl Repeated {
    /// It happened so many times more; answers how many are to be told of now, if any.
    pub(crate) fn count(&mut self, times: u64, now: Instant) -> Option<u64> {
        self.untold += times;
        let is_due = self.told_at.is_none_or(|told_at| now.saturating_duration_since(told_at) >= PAUSE);
        if self.untold == 0 || !is_due {
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_others_together() {
        let mut events = Repeated::default();
        let start = Instant::now();
        assert_eq!(events.count(0, start), None);
        assert_eq!(events.count(1, start), Some(1));
        assert_eq!(events.count(3, start + PAUSE / 2), None);
        assert_eq!(events.count(4, start + PAUSE), Some(7));
        assert_eq!(events.count(0, start + PAUSE * 3), None);
    }
}
