//! The one background task: map checkpoint, cleaner and growth, a step at a time, as long as work is owed.
//!
//! It is started by whoever makes work (`kick`), ends when nothing is owed, and never runs twice. Writers that wait
//! for space make work urgent: then cycles and cleaning alternate until there is room or nothing can be gained.

use super::core::Core;
use super::state::State;
use crate::StoreError;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many cycles that free only what the map itself left behind show that there is nothing to be had.
const FRUITLESS_CYCLES_MAX: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Cycle,
    Clean,
    Grow,
    /// Zeros for new segments.
    Fill,
    /// Chunks are in flight; what they free is not known yet.
    Settle,
    GiveUp,
    Nothing,
}

impl Core {
    /// Starts housekeeping if there is work and it is not at it.
    pub(super) fn kick(self: &Arc<Self>) {
        if self.housekeeping.load(Ordering::Acquire) || self.next_task() == Task::Nothing {
            return;
        }
        if self.housekeeping.swap(true, Ordering::AcqRel) {
            return;
        }
        let core = self.clone();
        self.env.spawner.spawn("segment-housekeeping", Box::pin(async move { core.keep_house().await }));
    }

    async fn keep_house(self: Arc<Self>) {
        loop {
            let task = self.next_task();
            if let Err(error) = self.do_task(task).await {
                self.fail(error);
            }
            if task == Task::Nothing {
                self.housekeeping.store(false, Ordering::Release);
                // Work that came before the store saw the task alive.
                if self.next_task() == Task::Nothing || self.housekeeping.swap(true, Ordering::AcqRel) {
                    self.progress.wake_all();
                    return;
                }
            }
        }
    }

    async fn do_task(self: &Arc<Self>, task: Task) -> Result<(), StoreError> {
        self.state.lock().pace.cycle_was_last = task == Task::Cycle;
        match task {
            Task::Cycle => self.cycle_step().await.map(drop),
            Task::Clean => {
                if !self.clean_step().await? {
                    let mut state = self.state.lock();
                    if !state.pace.cleaner_blocked {
                        state.pace.clean_debt = state.pace.clean_debt.min(0);
                    }
                    drop(state);
                    self.space.wake_all();
                }
                Ok(())
            }
            Task::Grow => self.grow_step().await,
            Task::Fill => {
                self.fill_step().await;
                Ok(())
            }
            Task::Settle => {
                let last = self.state.lock().next_sequence - 1;
                self.wait_durable(last).await
            }
            Task::GiveUp => {
                self.state.lock().pace.stuck = true;
                self.space.wake_all();
                Ok(())
            }
            Task::Nothing => Ok(()),
        }
    }

    fn next_task(&self) -> Task {
        if self.check_healthy().is_err() || self.is_closed() {
            return Task::Nothing;
        }
        let state = self.state.lock();
        let segments = state.table.len();
        let limits = self.limits(segments);
        let (free, retired) = (state.table.free_count(), state.table.retired_count());
        let pace = &state.pace;
        let waiting = !self.space.is_empty() && !pace.stuck;
        let short = free <= limits.free_target;
        let is_full = self.fill(&state) * 100.0 > f64::from(self.options.fill_target_percent);
        if is_full && pace.growth_pause == 0 {
            return Task::Grow;
        }
        let interval =
            u64::from(segments) * self.geometry.segment_bytes / u64::from(self.options.cycle_share);
        let pressed = waiting && free <= limits.fresh_floor;
        let can_clean = (pace.clean_debt > 0 || pressed) && self.can_clean(&state);
        let worthwhile = retired >= (segments / 64).max(2) || pressed && retired > 0 && !can_clean;
        if pace.cycle_active {
            // A cycle whose end would free something that is waited for takes turns with the cleaner.
            let wanted = waiting || short && worthwhile;
            if pace.map_debt > 0 || wanted && !(can_clean && pace.cycle_was_last) {
                return Task::Cycle;
            }
        }
        if !pace.cycle_active && (pace.cycle_bytes > interval || short && worthwhile && !pace.just_cycled) {
            return Task::Cycle;
        }
        if can_clean {
            return Task::Clean;
        }
        if waiting {
            return self.last_resort(&state);
        }
        if state.table.wants_filling() && !pace.no_filling {
            return Task::Fill;
        }
        Task::Nothing
    }

    /// Writers wait and the cleaner can do nothing now.
    fn last_resort(&self, state: &State) -> Task {
        if !state.is_settled() {
            return Task::Settle;
        }
        if state.pace.clean_debt > 0 && !state.pace.cleaner_blocked {
            // Nothing to clean: the debt is forgotten.
            return Task::Clean;
        }
        let hopeful = state.pace.fruitless_cycles < FRUITLESS_CYCLES_MAX;
        if hopeful && state.table.retired_count() + state.table.retired_map_count() > 0 {
            return Task::Cycle;
        }
        Task::GiveUp
    }

    /// Waits until nothing is in flight and nothing is owed.
    pub(super) async fn settle(self: &Arc<Self>) -> Result<(), StoreError> {
        loop {
            let waiter = self.progress.register();
            self.check_healthy()?;
            self.kick();
            let busy = self.housekeeping.load(Ordering::Acquire);
            if !busy && self.state.lock().is_settled() {
                return Ok(());
            }
            waiter.await;
        }
    }
}
