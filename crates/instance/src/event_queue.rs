//! The events that are to be executed, by their next moments.
//!
//! Invariant: an event stands here at most once, under the number of its definition; one whose number the catalog does not
//! know any more is left out when its moment comes. Filled by the scheduler when it starts and by CREATE and ALTER EVENT,
//! emptied by the scheduler; a leaf lock.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use catalog::LiveProgram;
use env::sync::Notify;
use parking_lot::Mutex;
use program::next_execution;
use schema::{EventDef, EventState};

#[derive(Default)]
pub struct EventQueue {
    /// `event_scheduler` is ON.
    is_on: AtomicBool,
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    /// By moment and number.
    order: BTreeMap<(i64, u64), Arc<LiveProgram>>,
    moments: HashMap<u64, i64>,
}

impl Waiting {
    fn put(&mut self, moment: i64, event: Arc<LiveProgram>) {
        self.remove(event.id);
        self.moments.insert(event.id, moment);
        self.order.insert((moment, event.id), event);
    }

    fn remove(&mut self, id: u64) {
        if let Some(moment) = self.moments.remove(&id) {
            self.order.remove(&(moment, id));
        }
    }
}

/// An event whose moment has come.
#[derive(Debug)]
pub struct DueEvent {
    pub event: Arc<LiveProgram>,
    pub now_us: i64,
    /// What it is after this execution.
    pub state: EventState,
    /// This was its last execution, and it is not to be preserved.
    pub ends: bool,
    /// It only has to go: its time was over when the scheduler came to know it.
    pub is_stale: bool,
}

impl EventQueue {
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// SET GLOBAL event_scheduler.
    pub fn switch(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::SeqCst);
        self.news.notify();
    }

    /// The scheduler is to look at the clock and the queue again.
    pub fn wake(&self) {
        self.news.notify();
    }

    /// Resolves after a change; for the scheduler alone.
    pub async fn changed(&self) {
        self.news.notified().await;
    }

    /// Starts with these events. Gives those whose time is over.
    pub fn fill(&self, events: Vec<Arc<LiveProgram>>, now_us: i64) -> Vec<DueEvent> {
        let mut waiting = self.waiting.lock();
        *waiting = Waiting::default();
        let mut stale = Vec::new();
        for event in events {
            let Some(definition) = &event.definition.event else { continue };
            match next_execution(definition, program::second_of(now_us)) {
                Some(moment) => waiting.put(moment, event),
                None if is_to_go(definition) => {
                    stale.push(DueEvent {
                        event,
                        now_us,
                        state: EventState::Disabled,
                        ends: true,
                        is_stale: true,
                    });
                }
                None => {}
            }
        }
        stale
    }

    /// An event was created or changed.
    pub fn add(&self, event: &Arc<LiveProgram>, now_us: i64) {
        let Some(definition) = &event.definition.event else { return };
        if let Some(moment) = next_execution(definition, program::second_of(now_us)) {
            self.waiting.lock().put(moment, event.clone());
            self.news.notify();
        }
    }

    /// The event is no more, or another one has its name.
    pub fn forget(&self, id: u64) {
        self.waiting.lock().remove(id);
    }

    /// The moment of the next event, in seconds since 1970.
    pub fn next_moment(&self) -> Option<i64> {
        self.waiting.lock().order.first_key_value().map(|((moment, _), _)| *moment)
    }

    /// Takes an event whose moment has come, and puts it at its next one.
    pub fn take_due(&self, now_us: i64) -> Option<DueEvent> {
        let now = program::second_of(now_us);
        let mut waiting = self.waiting.lock();
        let entry = waiting.order.first_entry().filter(|entry| entry.key().0 <= now)?;
        let event = entry.get().clone();
        waiting.remove(event.id);
        let mut definition = event.definition.clone();
        let form = definition.event.as_mut()?;
        form.last_executed_us = Some(now * 1_000_000);
        let is_to_go = is_to_go(form);
        let next = next_execution(form, now);
        let state = if next.is_some() { EventState::Enabled } else { EventState::Disabled };
        if let Some(moment) = next {
            waiting.put(moment, Arc::new(LiveProgram { id: event.id, definition }));
        }
        let ends = next.is_none() && is_to_go;
        Some(DueEvent { event, now_us: now * 1_000_000, state, ends, is_stale: false })
    }
}

/// Whether an event goes when there is no next moment: not one whose next moment only is beyond the calendar.
fn is_to_go(event: &EventDef) -> bool {
    let has_end = event.every.is_none() || event.ends_us.is_some();
    event.state == EventState::Enabled && !event.preserves && has_end
}

#[cfg(test)]
mod tests;
