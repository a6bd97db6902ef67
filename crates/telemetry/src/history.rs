//! The last events: some of each session, and more of the whole server where somebody wants them.
//!
//! Invariant: rings of fixed sizes, whose places are used again with their buffers.
use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::event::StatementEvent;

/// `performance_schema_events_statements_history_size`.
pub const HISTORY_MAX: usize = 10;
/// `performance_schema_events_statements_history_long_size`.
pub const HISTORY_LONG_MAX: usize = 10_000;

/// A session's last statements.
#[derive(Clone, Debug, Default)]
pub struct History {
    events: Vec<StatementEvent>,
    next: usize,
}

impl History {
    /// The place of the next event, which still holds the oldest one and its buffers.
    pub fn next_place(&mut self) -> &mut StatementEvent {
        let place = self.next;
        if self.events.len() < HISTORY_MAX {
            if self.events.is_empty() {
                // All at once, and none too many: each session has its own.
                self.events.reserve_exact(HISTORY_MAX);
            }
            self.events.push(StatementEvent::default());
            return self.events.last_mut().expect("one was added");
        }
        self.next = (self.next + 1) % HISTORY_MAX;
        &mut self.events[place]
    }

    /// The one that took its place last.
    pub fn newest(&self) -> Option<&StatementEvent> {
        self.events.get((self.next + HISTORY_MAX - 1) % HISTORY_MAX).or_else(|| self.events.last())
    }

    /// The oldest first.
    pub fn events(&self) -> impl Iterator<Item = &StatementEvent> {
        self.events[self.next..].iter().chain(&self.events[..self.next])
    }

    pub fn clear(&mut self) {
        *self = History::default();
    }
}

/// The server's last statements, with the thread of each; filled while a consumer is switched on.
#[derive(Default)]
pub struct HistoryLong {
    events: Mutex<VecDeque<(u64, StatementEvent)>>,
}

impl HistoryLong {
    pub fn push(&self, thread: u64, event: &StatementEvent) {
        let mut events = self.events.lock();
        match events.len() < HISTORY_LONG_MAX {
            true => events.push_back((thread, event.clone())),
            false => {
                if let Some((_, mut place)) = events.pop_front() {
                    place.copy_from(event);
                    events.push_back((thread, place));
                }
            }
        }
    }

    pub fn events(&self) -> Vec<(u64, StatementEvent)> {
        self.events.lock().iter().cloned().collect()
    }

    pub fn clear(&self) {
        self.events.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first() {
        let mut history = History::default();
        for event_id in 1..=12 {
            *history.next_place() = StatementEvent { event_id, ..StatementEvent::default() };
            assert_eq!(history.newest().map(|event| event.event_id), Some(event_id));
        }
        let ids: Vec<u64> = history.events().map(|event| event.event_id).collect();
        assert_eq!(ids, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
