//! In which order the tasks of one worker are polled (decision 0026).
//!
//! Invariants: of `SHARE` polls one is for those who begin something first and one for those who have yielded, of `SHARE_OF_PARKED`
//! one for those who wait for a slice, so nobody waits for ever; a turn has at most `TURN` polls, and ends when nobody but those
//! who wait for a slice is left, so that sockets, ring and timers are asked for others before one of these goes on. Called by
//! `tasks`, which knows who belongs in which queue.

use std::collections::VecDeque;

/// Polls before the messages that were posted leave and sockets, ring and timers are asked: many messages share a system call, and
/// a turn of these takes some milliseconds at most.
pub(super) const TURN: usize = 200;
/// Of so many polls one is for those who begin something first, and one for those who have yielded.
pub(super) const SHARE: usize = 8;
/// Of so many polls one is for those who wait for a slice.
pub(super) const SHARE_OF_PARKED: usize = 64;
/// So many get a slice in a turn in which nobody else has anything to do: enough to keep the disk busy, few enough to see soon
/// who else has come.
pub(super) const RESUMED_AT_ONCE: usize = 4;

/// In the order in which they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// Those in the middle of something.
    Begun,
    /// Those who begin something.
    New,
    /// Those who have let others go first in the middle of something.
    Yielded,
    /// Those who wait for a slice.
    Parked,
}

pub(super) struct Queues<T> {
    queues: [VecDeque<T>; 4],
    /// In all turns.
    polls: usize,
    /// What this turn still allows.
    polls_left: usize,
    resumes_left: usize,
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self { queues: Default::default(), polls: 0, polls_left: 0, resumes_left: 0 }
    }
}

impl<T> Queues<T> {
    pub(super) fn push(&mut self, queue: Queue, task: T) {
        self.queues[queue as usize].push_back(task);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    pub(super) fn parked(&self) -> usize {
        self.queues[Queue::Parked as usize].len()
    }

    pub(super) fn begin_turn(&mut self) {
        self.polls_left = TURN;
        self.resumes_left = if self.has_only_parked() { RESUMED_AT_ONCE } else { 0 };
    }

    /// Who is polled next; `None` when the turn is over.
    pub(super) fn next(&mut self) -> Option<T> {
        self.polls_left = self.polls_left.checked_sub(1)?;
        self.polls = self.polls.wrapping_add(1);
        let preferred = preferred(self.polls) as usize;
        let in_order = || [preferred, Queue::Begun as usize, Queue::New as usize, Queue::Yielded as usize];
        if let Some(task) = in_order().into_iter().find_map(|queue| self.queues[queue].pop_front()) {
            return Some(task);
        }
        self.resumes_left = self.resumes_left.checked_sub(1)?;
        self.queues[Queue::Parked as usize].pop_front()
    }

    fn has_only_parked(&self) -> bool {
        self.queues[..Queue::Parked as usize].iter().all(VecDeque::is_empty)
    }
}

/// Whose poll this is, if there is one of them.
fn preferred(poll: usize) -> Queue {
    const FOR_NEW: usize = SHARE / 2;
    match poll % SHARE {
        _ if poll % SHARE_OF_PARKED == 1 => Queue::Parked,
        0 => Queue::Yielded,
        FOR_NEW => Queue::New,
        _ => Queue::Begun,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a turn polls when the same tasks come back to their queues after each poll.
    fn turn(queues: &mut Queues<Queue>) -> Vec<Queue> {
        queues.begin_turn();
        let mut polled = Vec::new();
        while let Some(task) = queues.next() {
            polled.push(task);
            queues.push(task, task);
        }
        polled
    }

    fn with(tasks: &[Queue]) -> Queues<Queue> {
        let mut queues = Queues::default();
        tasks.iter().for_each(|task| queues.push(*task, *task));
        queues
    }

    #[test]
    fn each_queue_has_its_share() {
        let mut queues = with(&[Queue::Parked, Queue::Yielded, Queue::New, Queue::Begun]);
        let polled: Vec<_> = (0..64).flat_map(|_| turn(&mut queues)).collect();
        let of = |queue| polled.iter().filter(|polled| **polled == queue).count();
        assert_eq!(polled.len(), 64 * TURN);
        assert_eq!(of(Queue::Parked), polled.len() / SHARE_OF_PARKED);
        assert_eq!(of(Queue::New), polled.len() / SHARE);
        assert_eq!(of(Queue::Yielded), polled.len() / SHARE);
    }

    #[test]
    fn a_share_that_nobody_takes_goes_to_the_first_in_order() {
        let polled = turn(&mut with(&[Queue::Yielded, Queue::New]));
        let yielded = polled.iter().filter(|queue| **queue == Queue::Yielded).count();
        assert_eq!((polled.len(), yielded), (TURN, TURN / SHARE));
    }

    #[test]
    fn a_turn_ends_before_the_parked_when_it_had_others() {
        let mut queues = with(&[Queue::Parked, Queue::Begun, Queue::New]);
        // The first poll of all is one of the parked's.
        queues.begin_turn();
        assert_eq!(queues.next(), Some(Queue::Parked));
        queues.push(Queue::Parked, Queue::Parked);
        assert_eq!(queues.next(), Some(Queue::Begun));
        assert_eq!(queues.next(), Some(Queue::New));
        assert_eq!(queues.next(), None);
        assert!(!queues.is_empty());
        assert_eq!(queues.parked(), 1);
    }

    #[test]
    fn some_parked_are_resumed_in_a_turn_that_had_nobody_else() {
        let mut queues = with(&[Queue::Parked; 10]);
        queues.polls = 1;
        queues.begin_turn();
        let resumed = std::iter::from_fn(|| queues.next()).count();
        assert_eq!(resumed, RESUMED_AT_ONCE);
        assert_eq!(queues.parked(), 10 - RESUMED_AT_ONCE);
    }
}
