//! The pace of the work on old versions: even, so that users meet the same load in each second.
//!
//! Moving (with the merging before it) begins when the history has filled its budget, and should end when it is about to be
//! full again: it rests in proportion to its work, and learns from each time how much. A join should end when about as
//! much has come as it joins, for then the next of its size begins: so it rests the less the further it lags behind what
//! comes. All have threads of their own, and would otherwise take the processor and the disk from users in bursts.
//!
//! Invariant: moving does not rest once much more has come than there is room for, nor joins with the most runs, so
//! memory and the number of runs stay bounded; nobody rests for ever, so the work ends beside idle users too. Callers:
//! `merge`, `fill` and `write` while moving, `compact` and `write` while joining.

use super::RUNS_MAX;
use super::choose::Join;
use crate::engine::Engine;
use std::sync::atomic::{AtomicU64, Ordering};

/// At most so many times as long as it has worked, moving rests,
const REST_FACTOR_MAX: f64 = 8.0;
/// and a join: the largest have as long as it takes until as much has come again, and little to do in that time.
const JOIN_REST_MAX: f64 = 32.0;

/// Shorter rests are put together.
const REST_US_MIN: u64 = 2_000;
/// Longer ones are taken in parts, so that the work sees when it must hurry.
const REST_US_MAX: u64 = 20_000;

/// Moving is to end when so large a share of the room is filled: the next begins soon after it.
const FILLED_AT_END: f64 = 0.95;
/// From this share on it rests less,
const HURRY_FROM: f64 = 1.0;
/// and not at all from this one on.
const HURRY_FULL: f64 = 1.5;

/// A join aims at its end when so large a share of its size has come,
const COME_AT_END: f64 = 0.8;
/// and rests least when it lags behind that by so large a share:
const LAG_MAX: f64 = 0.25;
/// so many times as long as it works. It catches up in the end, and may not take the disk from commits meanwhile.
const JOIN_REST_MIN: f64 = 4.0;
/// With the most runs it does not rest; the last so many before them shorten the rests.
const RUNS_HURRY: usize = 16;
const _: () = assert!(HURRY_FROM < HURRY_FULL && JOIN_REST_MIN < JOIN_REST_MAX, "less rest, then none");
const _: () = assert!(RUNS_HURRY <= RUNS_MAX && REST_US_MIN < REST_US_MAX, "bounds are in order");

/// How long moving rests, as a multiple of its work; an `f64`'s bits.
pub(super) struct MovingPace(AtomicU64);

impl Default for MovingPace {
    fn default() -> Self {
        Self(AtomicU64::new((REST_FACTOR_MAX / 2.0).to_bits()))
    }
}

impl MovingPace {
    fn rest_factor(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// From one move, which ended when such a share of the room was filled.
    fn learn(&self, filled: f64) {
        debug_assert!(filled >= 0.0 && filled.is_finite(), "a share of the room is a number");
        self.0.store(learned(self.rest_factor(), filled).to_bits(), Ordering::Relaxed);
    }
}

enum Work {
    Moving,
    /// The commits of the runs end with the LSN; both are bytes.
    Joining {
        last_lsn: u64,
        total: u64,
        done: u64,
    },
}

pub(crate) struct Pacer<'e> {
    engine: &'e Engine,
    work: Work,
    /// Since when it works.
    since_us: u64,
    /// Without a rest, before that.
    worked_us: u64,
}

impl<'e> Pacer<'e> {
    /// For merging the history and moving a part of it, beginning now.
    pub fn moving(engine: &'e Engine) -> Self {
        Self::start(engine, Work::Moving)
    }

    pub(super) fn joining(engine: &'e Engine, join: &Join) -> Self {
        Self::start(engine, Work::Joining { last_lsn: join.last_lsn(), total: join.bytes.max(1), done: 0 })
    }

    fn start(engine: &'e Engine, work: Work) -> Self {
        Self { engine, work, since_us: engine.env.clock.now_us(), worked_us: 0 }
    }

    /// Others get a turn; call it after each small part of the work.
    pub async fn turn(&mut self) {
        let clock = &self.engine.env.clock;
        self.worked_us += clock.now_us().saturating_sub(self.since_us);
        let mut rested_us = 0;
        loop {
            let owed_us = ((self.worked_us as f64 * self.rest_factor()) as u64).saturating_sub(rested_us);
            if owed_us < REST_US_MIN || self.engine.life.closed.load(Ordering::Acquire) {
                break;
            }
            let before_us = clock.now_us();
            clock.sleep(owed_us.min(REST_US_MAX)).await;
            rested_us += clock.now_us().saturating_sub(before_us).max(REST_US_MIN);
        }
        match rested_us {
            0 => env::yield_now().await,
            _ => self.worked_us = 0,
        }
        self.since_us = clock.now_us();
    }

    /// So many bytes of the runs that are joined are done.
    pub(super) fn joined(&mut self, bytes: usize) {
        if let Work::Joining { done, total, .. } = &mut self.work {
            *done += bytes as u64;
            debug_assert!(*done <= *total, "a join is done when all of its runs are");
        }
    }

    /// A part of the history was moved: the next time will end in time if it finds what this one found.
    pub(super) fn learn(&self) {
        self.engine.runs.moving_pace.learn(self.filled());
    }

    fn rest_factor(&self) -> f64 {
        let runs = &self.engine.runs;
        match self.work {
            Work::Moving => runs.moving_pace.rest_factor() * calm(self.filled()),
            Work::Joining { last_lsn, total, done } => {
                let share = |bytes: u64| bytes as f64 / total as f64;
                let (count, come) = runs.count_and_bytes_after(last_lsn);
                joining_rest(share(done), share(come), count)
            }
        }
    }

    /// What has come while this part of the history was being moved, as a share of what makes the next merge begin.
    fn filled(&self) -> f64 {
        let room = self.engine.budgets.version_bytes().max(1);
        self.engine.history_size().1 as f64 / room as f64
    }
}

/// How much of its rest moving takes.
fn calm(filled: f64) -> f64 {
    ((HURRY_FULL - filled) / (HURRY_FULL - HURRY_FROM)).clamp(0.0, 1.0)
}

/// How much a join rests that is so far, when so much has come since its runs, both as shares of its size.
pub(super) fn joining_rest(done: f64, come: f64, runs: usize) -> f64 {
    let lag = come / COME_AT_END - done;
    let left = RUNS_MAX.saturating_sub(runs) as f64 / RUNS_HURRY as f64;
    debug_assert!(done >= 0.0 && come >= 0.0, "shares of a join's size");
    (JOIN_REST_MAX * (1.0 - lag / LAG_MAX)).clamp(JOIN_REST_MIN, JOIN_REST_MAX) * left.min(1.0)
}

/// The rest to take next after one with this factor; at most half or twice as much, because users change their minds.
fn learned(rest: f64, filled: f64) -> f64 {
    debug_assert!((0.0..=REST_FACTOR_MAX).contains(&rest), "it was learned before");
    let longer = FILLED_AT_END / filled.max(0.01);
    let wanted = (1.0 + rest) * longer - 1.0;
    wanted.clamp(rest / 2.0, rest * 2.0 + 0.5).min(REST_FACTOR_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_fits_the_work_after_a_few_times() {
        // The share of the room that fills while the work goes on without a rest.
        for busy in [0.12, 0.3, 0.6, 0.94] {
            let mut rest = REST_FACTOR_MAX / 2.0;
            for _ in 0..12 {
                rest = learned(rest, busy * (1.0 + rest));
            }
            let filled = busy * (1.0 + rest);
            assert!((filled - FILLED_AT_END).abs() < 0.01, "{busy}: {filled}");
        }
    }

    #[test]
    fn a_join_rests_less_when_it_lags_and_least_with_the_most_runs() {
        let rests = [(0.0, 0.0), (0.5, 0.4), (0.0, 0.1), (0.0, 0.2), (0.1, 2.0)]
            .map(|(done, come)| joining_rest(done, come, 9));
        assert_eq!(rests, [32.0, 32.0, 16.0, 4.0, 4.0]);
        assert_eq!([32, 40, 48, 90].map(|runs| joining_rest(1.0, 0.0, runs)), [32.0, 16.0, 0.0, 0.0]);
    }

    #[test]
    fn work_that_is_too_slow_does_not_rest_and_idle_users_do_not_stop_it() {
        let slow = (0..20).fold(4.0, |rest, _| learned(rest, 2.0));
        assert!(slow < 0.01, "{slow}");
        assert_eq!((0..20).fold(4.0, |rest, _| learned(rest, 0.0)), REST_FACTOR_MAX);
        assert_eq!([0.0, 1.0, 1.25, 1.5, 9.0].map(calm), [1.0, 1.0, 0.5, 0.0, 0.0]);
    }
}
