//! Sessions move from a worker that has no time left to one that has some.
//!
//! New connections are dealt out evenly, but what they do is not even: of a pool's connections a few are busy, clients end, one runs
//! a large statement, and a processor may have other work. Each half second the workers' demand is compared: how much of the
//! time each wanted a processor. When one wants practically all of it and another has time, as many of the first's sessions
//! as even that out go there, each before its next command (decision 0028).
//!
//! Invariants: nobody looks while nobody works, as the end of a worker's turn asks for the look; what a look has ordered is void
//! at the next. Called by `worker`, and by `connection` for each command.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use env::real::ThreadDemand;
use env::sync::Mutex;

use crate::options::SessionMoves;

/// Long beside a worker's turn and what the figures are rounded to, short beside what a user calls a while.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// A worker that wants less of the time has enough.
const WANT_MIN: f64 = 0.85;
/// The last part of a session is one from 0.7 on: of two busy ones one moves, one alone is only half a one.
const ROUNDED_UP: f64 = 0.3;

/// What all workers of a pool know of each other.
pub(super) struct Balance {
    moves: SessionMoves,
    started: Instant,
    next_look_us: AtomicU64,
    look: AtomicU32,
    last: Mutex<LastLook>,
    desks: Box<[Desk]>,
}

/// One worker.
#[derive(Default)]
struct Desk {
    /// Sessions that have had a command since the last look.
    active: AtomicUsize,
    /// So many are to go,
    leaving: AtomicUsize,
    /// to this one.
    next: AtomicUsize,
}

#[derive(Default)]
struct LastLook {
    at: Duration,
    /// Of each worker: its account, and how much was on it.
    demands: Vec<Option<(ThreadDemand, Duration)>>,
}

/// How a session takes part.
#[derive(Default)]
pub(crate) struct Presence {
    /// The last look before its last command.
    look: Option<u32>,
}

impl Balance {
    pub(super) fn new(workers: usize, moves: SessionMoves) -> Balance {
        let last = LastLook { demands: (0..workers).map(|_| None).collect(), ..LastLook::default() };
        Balance {
            moves: if workers > 1 { moves } else { SessionMoves::Never },
            started: Instant::now(),
            next_look_us: AtomicU64::new(0),
            look: AtomicU32::new(0),
            last: Mutex::new(last),
            desks: (0..workers).map(|_| Desk::default()).collect(),
        }
    }

    /// Called by the worker's thread, once.
    pub(super) fn join(&self, worker: usize) {
        let account = ThreadDemand::of_this_thread().map(|account| (account, Duration::ZERO));
        self.last.lock().demands[worker] = account;
    }

    /// A session of the worker is about to begin a command: the worker where it is to do that, if not here.
    pub(super) fn next_worker(&self, worker: usize, presence: &mut Presence) -> Option<usize> {
        let desk = &self.desks[worker];
        match self.moves {
            SessionMoves::Never => return None,
            SessionMoves::Always => return Some((worker + 1) % self.desks.len()),
            SessionMoves::WhenWorthwhile => {}
        }
        let look = self.look.load(Ordering::Relaxed);
        if presence.look.replace(look) != Some(look) {
            desk.active.fetch_add(1, Ordering::Relaxed);
        }
        // Only this worker's thread takes from it; a look that orders anew in between is no worse for one more.
        let leaving = desk.leaving.load(Ordering::Relaxed);
        if leaving == 0 {
            return None;
        }
        desk.leaving.store(leaving - 1, Ordering::Relaxed);
        Some(desk.next.load(Ordering::Relaxed))
    }

    /// Called after each turn of a worker.
    pub(super) fn end_turn(&self) {
        if self.moves != SessionMoves::WhenWorthwhile {
            return;
        }
        let now = self.started.elapsed();
        let now_us = now.as_micros() as u64;
        let due_us = self.next_look_us.load(Ordering::Relaxed);
        let next_us = now_us + LOOK_INTERVAL.as_micros() as u64;
        let order = Ordering::Relaxed;
        if now_us >= due_us && self.next_look_us.compare_exchange(due_us, next_us, order, order).is_ok() {
            self.look(now);
        }
    }

    fn look(&self, now: Duration) {
        let mut last = self.last.lock();
        let passed = now.saturating_sub(last.at);
        last.at = now;
        let wants: Option<Vec<f64>> = last.demands.iter_mut().map(|demand| want(demand, passed)).collect();
        drop(last);
        let active: Vec<usize> =
            self.desks.iter().map(|desk| desk.active.swap(0, Ordering::Relaxed)).collect();
        self.look.fetch_add(1, Ordering::Relaxed);
        self.desks.iter().for_each(|desk| desk.leaving.store(0, Ordering::Relaxed));
        // The first look after a pause compares times in which nobody worked.
        if passed < LOOK_INTERVAL * 2
            && let Some(order) = wants.and_then(|wants| evened_out(&wants, &active))
        {
            self.desks[order.from].next.store(order.to, Ordering::Relaxed);
            self.desks[order.from].leaving.store(order.count, Ordering::Relaxed);
        }
    }
}

/// The share of the time in which the worker wanted a processor.
fn want(demand: &mut Option<(ThreadDemand, Duration)>, passed: Duration) -> Option<f64> {
    let (account, before) = demand.as_mut()?;
    let now = account.read()?;
    let grown = now.saturating_sub(std::mem::replace(before, now));
    Some(grown.as_secs_f64() / passed.as_secs_f64().max(1e-6))
}

#[derive(Debug, PartialEq)]
struct Order {
    from: usize,
    to: usize,
    count: usize,
}

/// Half of the busy worker's share of what the other has more. One that is busy alone stays: it would be as busy there.
fn evened_out(wants: &[f64], active: &[usize]) -> Option<Order> {
    let by_want = |one: &usize, other: &usize| wants[*one].total_cmp(&wants[*other]);
    let from = (0..wants.len()).max_by(by_want)?;
    let to = (0..wants.len()).min_by(by_want)?;
    let gap = wants[from].min(1.0) - wants[to].min(1.0);
    let count = (active[from] as f64 * gap / 2.0 + ROUNDED_UP) as usize;
    (wants[from] >= WANT_MIN && count > 0).then_some(Order { from, to, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_go_from_who_has_no_time_to_who_has_most() {
        let order = |from, to, count| Some(Order { from, to, count });
        assert_eq!(evened_out(&[0.05, 0.9], &[0, 2]), order(1, 0, 1));
        assert_eq!(evened_out(&[0.2, 1.02, 0.1, 0.9], &[9, 20, 0, 9]), order(1, 2, 9));
        // Alone, nearly as busy, or not busy.
        assert_eq!(evened_out(&[0.0, 1.0], &[0, 1]), None);
        assert_eq!(evened_out(&[0.98, 0.94], &[32, 32]), None);
        assert_eq!(evened_out(&[0.8, 0.1], &[32, 32]), None);
    }

    /// Workers that share what their sessions want, one of which has another half of a processor's work.
    #[test]
    fn orders_come_to_an_end() {
        let mut sessions = [48_usize, 16];
        let mut moved = 0;
        for _ in 0..40 {
            let wants = [sessions[0] as f64 / 40.0 + 0.5, sessions[1] as f64 / 40.0];
            let Some(order) = evened_out(&wants, &sessions) else { break };
            sessions[order.from] -= order.count;
            sessions[order.to] += order.count;
            moved += order.count;
        }
        assert!(sessions[0] < 30 && moved < 30, "{sessions:?} after {moved} moves");
    }

    #[test]
    fn a_session_is_counted_once_between_two_looks_and_orders_end_with_the_next() {
        let balance = Balance::new(2, SessionMoves::WhenWorthwhile);
        let mut presences = [Presence::default(), Presence::default()];
        for number in 0..6 {
            assert_eq!(balance.next_worker(1, &mut presences[number % 2]), None);
        }
        assert_eq!(balance.desks[1].active.load(Ordering::Relaxed), 2);
        balance.desks[1].leaving.store(3, Ordering::Relaxed);
        assert_eq!(balance.next_worker(1, &mut presences[0]), Some(0));
        balance.look(LOOK_INTERVAL);
        assert_eq!(balance.next_worker(1, &mut presences[0]), None);
        assert_eq!(balance.desks[1].active.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn one_worker_alone_moves_nobody() {
        let balance = Balance::new(1, SessionMoves::Always);
        assert_eq!(balance.next_worker(0, &mut Presence::default()), None);
    }
}
