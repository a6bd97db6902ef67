//! `World`: one simulated machine, from power-on to a crash.
//!
//! ```
//! use env::sim::{SimOptions, World};
//! let world = World::new(7, SimOptions::default());
//! let env = world.env();
//! let now_us = world.block_on(async move {
//!     env.clock.sleep(1_000_000).await;
//!     env.clock.now_us()
//! });
//! assert!(now_us.unwrap() >= 1_000_000);
//! ```

use super::disk::SimMachine;
use super::executor::{Executor, MAIN_TASK};
use super::machine::{DiskState, Machine, MachineState};
use super::namespace::Node;
use super::options::SimOptions;
use super::rng::{Rng, SeededRandom, mix};
use crate::Env;
use parking_lot::Mutex;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<T> {
    Done(T),
    /// The machine stopped at `SimOptions::crash_at`.
    Crashed,
    /// Nothing can run, nothing is in flight and no timer is set (or `steps_max` was reached): a hang.
    Stalled,
}

impl<T> Outcome<T> {
    /// # Panics
    /// If the run did not end by itself.
    pub fn unwrap(self) -> T {
        match self {
            Self::Done(value) => value,
            Self::Crashed => panic!("the simulated machine crashed"),
            Self::Stalled => panic!("the simulated machine stalled"),
        }
    }
}

/// A simulated machine. Dropping it drops its tasks.
pub struct World {
    machine: Arc<Machine>,
    executor: Arc<Executor>,
    env: Env,
}

impl World {
    /// A machine with an empty disk.
    pub fn new(seed: u64, options: SimOptions) -> Self {
        Self::with_disk(seed, options, DiskState::default())
    }

    fn with_disk(seed: u64, options: SimOptions, disk: DiskState) -> Self {
        let machine = Arc::new(Machine { state: Mutex::new(MachineState::new(seed, options, disk)) });
        let executor = Arc::new(Executor::default());
        let handle = Arc::new(SimMachine(machine.clone()));
        let random = Arc::new(SeededRandom::new(mix(seed ^ 0xe5)));
        let env = Env {
            disk: handle.clone(),
            clock: handle.clone(),
            random,
            processors: handle,
            spawner: executor.clone(),
        };
        Self { machine, executor, env }
    }

    pub fn env(&self) -> Env {
        self.env.clone()
    }

    /// Runs the future and every spawned task until the future ends.
    pub fn block_on<F: Future>(&self, future: F) -> Outcome<F::Output> {
        self.block_on_observed(future, |_| {})
    }

    /// The same; `observe` is called after each operation that changed the disk, before anybody learns of its
    /// end. It may take crash images (`crash_image`), so one run yields a crash at every point.
    pub fn block_on_observed<F: Future>(
        &self,
        future: F,
        mut observe: impl FnMut(&Self),
    ) -> Outcome<F::Output> {
        let mut future = pin!(future);
        let main_waker = self.executor.waker(MAIN_TASK);
        let waker = Waker::from(main_waker.clone());
        waker.wake_by_ref();
        let mut steps = 0;
        let outcome = loop {
            steps += 1;
            match self.draw(steps) {
                Step::Poll(MAIN_TASK) => {
                    main_waker.start_poll();
                    let mut context = Context::from_waker(&waker);
                    if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                        break Outcome::Done(value);
                    }
                }
                Step::Poll(task) => self.poll(task),
                Step::DiskChanged => observe(self),
                Step::Other => {}
                Step::Crashed => break Outcome::Crashed,
                Step::Stalled => break Outcome::Stalled,
            }
        };
        self.executor.forget_main();
        outcome
    }

    /// Chooses what happens next; I/O and timers happen here, polls are left to the caller.
    fn draw(&self, steps: u64) -> Step {
        let mut state = self.machine.state.lock();
        if state.crashed {
            return Step::Crashed;
        }
        if steps > state.options.steps_max {
            return Step::Stalled;
        }
        let (ready, pending) = (self.executor.ready_count(), state.pending_count());
        if ready > 0 && (pending == 0 || state.rng.chance(3, 4)) {
            let index = state.rng.below(ready);
            let task = self.executor.take_ready(index);
            state.note(task as u64);
            state.advance(1);
            return Step::Poll(task);
        }
        if pending > 0 {
            let changed = state.finish_one();
            return if changed { Step::DiskChanged } else { Step::Other };
        }
        if state.skip_to_timer() { Step::Other } else { Step::Stalled }
    }

    fn poll(&self, task: usize) {
        let Some((mut future, waker)) = self.executor.start_poll(task) else { return };
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(()) => {
                self.executor.remove(task);
                drop(future);
            }
            Poll::Pending => self.executor.end_poll(task, future),
        }
    }

    /// Cuts the power now: the disk with the synced data and a random part of the rest, in a new machine.
    pub fn crash(self, options: SimOptions) -> Self {
        let salt = self.machine.state.lock().rng.u64();
        self.crash_image(salt, options)
    }

    /// What a power cut now would leave, in a new machine; this one goes on. Different salts, different remains.
    pub fn crash_image(&self, salt: u64, options: SimOptions) -> Self {
        let state = self.machine.state.lock();
        let seed = mix(state.trace ^ salt.rotate_left(17));
        let disk = state.crashed_disk(&mut Rng::new(seed));
        drop(state);
        Self::with_disk(mix(seed), options, disk)
    }

    /// Kills the process but not the machine: completed writes stay, unsynced as they are.
    pub fn kill(self, options: SimOptions) -> Self {
        let salt = self.machine.state.lock().rng.u64();
        self.kill_image(salt, options)
    }

    /// What a killed process would leave now, in a new machine; this one goes on.
    pub fn kill_image(&self, salt: u64, options: SimOptions) -> Self {
        let state = self.machine.state.lock();
        let seed = mix(state.trace ^ salt.rotate_left(23));
        let disk = state.killed_disk(&mut Rng::new(seed));
        drop(state);
        Self::with_disk(mix(seed), options, disk)
    }

    /// The operations so far that changed the disk; what `SimOptions::crash_at` counts.
    pub fn changes(&self) -> u64 {
        self.machine.state.lock().changes
    }

    /// A fingerprint of everything that was scheduled: equal for equal runs.
    pub fn trace_hash(&self) -> u64 {
        self.machine.state.lock().trace
    }

    pub fn now_us(&self) -> u64 {
        self.machine.state.lock().now_us
    }

    /// The sleeps that have neither ended nor been given up.
    pub fn timer_count(&self) -> usize {
        self.machine.state.lock().timer_count()
    }

    /// Stops the machine now: the run ends as `Crashed`.
    pub fn halt(&self) {
        self.machine.state.lock().crashed = true;
    }

    /// Sets or clears the operation at which the machine stops.
    pub fn set_crash_at(&self, crash_at: Option<u64>) {
        self.machine.state.lock().options.crash_at = crash_at;
    }

    pub fn set_capacity(&self, capacity_bytes: Option<u64>) {
        self.machine.state.lock().options.capacity_bytes = capacity_bytes;
    }

    /// Replaces the faults; their counters start again.
    pub fn set_faults(&self, faults: &[super::Fault]) {
        self.machine.state.lock().faults = super::faults::Faults::new(faults);
    }

    /// The paths of all files.
    pub fn paths(&self) -> Vec<String> {
        let state = self.machine.state.lock();
        state.disk.names.files().map(|(path, _)| path.to_string()).collect()
    }

    /// A file's content as readers see it; None when there is no such file.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.machine.state.lock();
        match state.disk.names.get(path) {
            Some(Node::File(index)) => Some(state.disk.files[index.0].content()),
            _ => None,
        }
    }

    /// Decay: changes the content of a file behind everybody's back (flipped bits, stale or zeroed sectors, a cut).
    ///
    /// # Panics
    /// If there is no such file.
    pub fn damage(&self, path: &str, damage: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.machine.state.lock();
        let Some(Node::File(index)) = state.disk.names.get(path) else { panic!("there is no file '{path}'") };
        let file = &mut state.disk.files[index.0];
        let mut content = file.content();
        damage(&mut content);
        file.set_content(&content);
    }

    pub fn flip_bit(&self, path: &str, bit: usize) {
        self.damage(path, |content| content[bit / 8] ^= 1 << (bit % 8));
    }
}

enum Step {
    Poll(usize),
    DiskChanged,
    Other,
    Crashed,
    Stalled,
}

impl Drop for World {
    fn drop(&mut self) {
        // Dropping a task may start operations or spawn tasks; a few rounds get them all.
        for _ in 0..8 {
            let tasks = self.executor.take_all();
            let pending = self.machine.state.lock().take_in_flight();
            if tasks.is_empty() && pending.is_empty() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests;
