//! Events that have been received and not applied: in memory, in their order, and not more than a limit.
//!
//! Invariant: what is here can be had again from the source, from behind what is applied; so nothing of it is stored. Filled by
//! the receiver, which waits while it is full, and emptied by the applier.
use std::collections::VecDeque;

use env::sync::{WaitQueue, Waiter};
use parking_lot::Mutex;

/// A receiver that is this far ahead waits.
const BYTES_MAX: usize = 64 << 20;

/// What comes out of the relay.
#[derive(Debug, PartialEq, Eq)]
pub enum Relayed {
    /// One whole event, without a checksum.
    Event(Vec<u8>),
    /// The stream begins anew, behind what is applied: what has begun is undone.
    Restart,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Relayed>,
    bytes: usize,
    /// The number of the first item, counted over all that ever came.
    first: u64,
    /// The applier has seen the restart.
    has_restarted: bool,
    /// The applier has lost what it had taken: the receiver has to begin anew.
    is_abandoned: bool,
}

impl Queue {
    fn forget(&mut self) {
        self.first += self.items.len() as u64;
        self.items.clear();
        self.bytes = 0;
    }
}

#[derive(Default)]
pub struct Relay {
    queue: Mutex<Queue>,
    news: WaitQueue,
}

impl Relay {
    /// False, and nothing is taken, while there is too much.
    pub fn offer(&self, event: &[u8]) -> bool {
        let mut queue = self.queue.lock();
        if queue.bytes >= BYTES_MAX || queue.is_abandoned {
            return false;
        }
        queue.bytes += event.len();
        queue.items.push_back(Relayed::Event(event.to_vec()));
        drop(queue);
        self.news.wake_all();
        true
    }

    pub fn take(&self) -> Option<Relayed> {
        let mut queue = self.queue.lock();
        let was_full = queue.bytes >= BYTES_MAX;
        let item = queue.items.pop_front()?;
        queue.first += 1;
        if let Relayed::Event(event) = &item {
            queue.bytes -= event.len();
        }
        queue.has_restarted |= item == Relayed::Restart;
        let is_news = item == Relayed::Restart || was_full && queue.bytes < BYTES_MAX;
        drop(queue);
        if is_news {
            self.news.wake_all();
        }
        Some(item)
    }

    /// The number of the event that is taken next.
    pub fn first(&self) -> u64 {
        self.queue.lock().first
    }

    /// Looks at the event of this number, or at the first there is, without taking it.
    pub fn look<T>(&self, number: u64, look: impl FnOnce(u64, &[u8]) -> T) -> Option<T> {
        let queue = self.queue.lock();
        let mut number = number.max(queue.first);
        loop {
            match queue.items.get(usize::try_from(number - queue.first).ok()?)? {
                Relayed::Event(event) => return Some(look(number, event)),
                Relayed::Restart => number += 1,
            }
        }
    }

    /// The applier begins: what is there is forgotten, because an earlier one may have taken a part of it.
    pub fn abandon(&self) {
        let mut queue = self.queue.lock();
        queue.forget();
        queue.has_restarted = true;
        queue.is_abandoned = true;
        drop(queue);
        self.news.wake_all();
    }

    /// Whether the receiver has to begin anew.
    pub fn is_abandoned(&self) -> bool {
        self.queue.lock().is_abandoned
    }

    /// Forgets what is there; the applier begins anew.
    pub fn restart(&self) {
        let mut queue = self.queue.lock();
        queue.forget();
        queue.has_restarted = false;
        queue.is_abandoned = false;
        queue.items.push_back(Relayed::Restart);
        drop(queue);
        self.news.wake_all();
    }

    /// The applier has begun anew, so that what is applied does not change any more.
    pub fn has_restarted(&self) -> bool {
        self.queue.lock().has_restarted
    }

    pub fn bytes(&self) -> usize {
        self.queue.lock().bytes
    }

    pub fn is_empty(&self) -> bool {
        self.queue.lock().items.is_empty()
    }

    /// Anything has come, gone, or was asked for; registered before the look.
    pub fn news(&self) -> Waiter<'_> {
        self.news.register()
    }

    pub fn wake(&self) {
        self.news.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_relay_takes_nothing_and_a_restart_empties_it() {
        let relay = Relay::default();
        let event = vec![0; BYTES_MAX / 2];
        assert!(relay.offer(&event) && relay.offer(&event) && !relay.offer(&event));
        assert_eq!(relay.take(), Some(Relayed::Event(event.clone())));
        assert!(relay.offer(&event));
        relay.restart();
        assert!(!relay.has_restarted());
        assert_eq!(relay.take(), Some(Relayed::Restart));
        assert!(relay.has_restarted() && relay.is_empty() && relay.bytes() == 0);
    }

    #[test]
    fn events_are_looked_at_by_their_numbers_before_they_are_taken() {
        let relay = Relay::default();
        let number_of = |from| relay.look(from, |number, event| (number, event.to_vec()));
        assert!(relay.offer(b"a") && relay.offer(b"b"));
        assert_eq!(number_of(0), Some((0, b"a".to_vec())));
        assert_eq!(number_of(1), Some((1, b"b".to_vec())));
        assert_eq!(number_of(2), None);
        relay.take();
        assert_eq!((relay.first(), number_of(0)), (1, Some((1, b"b".to_vec()))));
        // What is forgotten has had its numbers; a restart is passed over.
        relay.restart();
        assert!(relay.offer(b"c"));
        assert_eq!(number_of(0), Some((3, b"c".to_vec())));
    }
}
