//! The pace of the work on old versions: spread over the time in which as much comes again.
//!
//! Invariant: the work rests the less the more has come since it began, and not at all once that fills the room that is left
//! for it, so memory stays bounded, nor with many runs; it never rests for ever, so it ends beside idle users too. Used by all steps of merging,
//! moving and joining, each on a thread of its own, where they would otherwise take the processor and the disk from users in
//! bursts.

use crate::engine::Engine;
use std::sync::atomic::Ordering;

/// At most so many times as long as it has worked, the work rests.
const REST_FACTOR_MAX: u64 = 8;

/// Shorter rests are put together.
const REST_US_MIN: u64 = 2_000;
/// Longer ones are cut, so that the work sees when it must hurry.
const REST_US_MAX: u64 = 20_000;

pub(crate) struct Pacer<'e> {
    engine: &'e Engine,
    /// Since when it works.
    since_us: u64,
    owed_us: u64,
}

impl<'e> Pacer<'e> {
    pub fn start(engine: &'e Engine) -> Self {
        Self { engine, since_us: engine.env.clock.now_us(), owed_us: 0 }
    }

    /// Others get a turn; call it after each small part of the work.
    pub async fn turn(&mut self) {
        let clock = &self.engine.env.clock;
        let worked_us = clock.now_us().saturating_sub(self.since_us);
        let rest_us = rest_us(worked_us, self.engine.history_size().1, self.room_bytes());
        self.owed_us += self.engine.runs.shortened(rest_us);
        if self.owed_us >= REST_US_MIN && !self.must_end() {
            clock.sleep(self.owed_us.min(REST_US_MAX)).await;
            self.owed_us = 0;
        } else {
            env::yield_now().await;
        }
        self.since_us = clock.now_us();
    }

    /// For what comes while the work goes on.
    fn room_bytes(&self) -> u64 {
        self.engine.budgets.version_bytes() / 2
    }

    fn must_end(&self) -> bool {
        self.engine.closed.load(Ordering::Acquire)
    }
}

/// The rest that so much work earns.
fn rest_us(worked_us: u64, come_bytes: u64, room_bytes: u64) -> u64 {
    let left = room_bytes.saturating_sub(come_bytes);
    let rest = u128::from(worked_us * REST_FACTOR_MAX) * u128::from(left) / u128::from(room_bytes.max(1));
    u64::try_from(rest).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fuller_the_less_rest() {
        let rests: Vec<u64> = [0, 250, 500, 999, 1000, 5000].map(|come| rest_us(100, come, 1000)).to_vec();
        assert_eq!(rests, [800, 600, 400, 0, 0, 0]);
        assert_eq!(rest_us(100, 0, 0), 0);
    }
}
