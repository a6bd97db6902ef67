//! In which order the tasks of one worker are polled (decision 0026).
//!
//! Invariants: of `SHARE` polls one is for those who begin something first and one for those who have yielded, of `SHARE_OF_PARKED`
//! one for those who wait for a slice, so nobody waits for ever; a turn has at most `TURN` polls, and those who wait for a slice go
//! on in a turn that began without anybody before them, so that sockets, ring and timers were asked for others. Called by
//! `tasks`, which knows who belongs in which queue.

use std::collections::VecDeque;

/// Polls before the messages that were posted leave and sockets, ring and timers are asked: many messages share a system call, and
/// a turn of these takes some milliseconds at most.
pub(super) const TURN: usize = 200;
/// Of so many polls one is for those who begin something first, and one for those who have yielded.
pub(super) const SHARE: usize = 8;
/// Of so many polls one is for those who wait for a slice.
pub(super) const SHARE_OF_PARKED: usize = 64;
/// So many get a slice in a turn in which nobody else begins something or goes on: enough to keep the disk busy, few enough to see soon
/// who else has come.
pub(super) const RESUMED_AT_ONCE: usize = 4;

/// In the order in which they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// Those in the middle of something.
    Begun,
    /// Those who begin something.
    New,
    /// Those who wait for a slice.
    Parked,
    /// Those who have let others go first in the middle of something.
    Yielded,
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
        let is_time_for_parked = self.is_empty_of(Queue::Begun) && self.is_empty_of(Queue::New);
        self.resumes_left = if is_time_for_parked { RESUMED_AT_ONCE } else { 0 };
    }

    /// Who is polled next; `None` when the turn is over.
    pub(super) fn next(&mut self) -> Option<T> {
        self.polls_left = self.polls_left.checked_sub(1)?;
        self.polls = self.polls.wrapping_add(1);
        [preferred(self.polls), Queue::Begun, Queue::New]
            .into_iter()
            .find_map(|queue| self.pop(queue))
            .or_else(|| self.resume())
            .or_else(|| self.pop(Queue::Yielded))
    }

    fn resume(&mut self) -> Option<T> {
        self.resumes_left = self.resumes_left.checked_sub(1)?;
        self.pop(Queue::Parked)
    }

    fn pop(&mut self, queue: Queue) -> Option<T> {
        self.queues[queue as usize].pop_front()
    }

    fn is_empty_of(&self, queue: Queue) -> bool {
        self.queues[queue as usize].is_empty()
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
        let mut queues = with(&[Queue::Parked, Queue::Yielded, Queue::Begun, Queue::New]);
        // The first poll of all is one of the parked's.
        queues.polls = 1;
        queues.begin_turn();
        let polled: Vec<_> = std::iter::from_fn(|| queues.next()).collect();
        assert_eq!(polled, [Queue::Begun, Queue::New, Queue::Yielded]);
        assert!(!queues.is_empty());
        assert_eq!(queues.parked(), 1);
    }

    /// A large statement has something to do all the time; nobody who works in slices shall have less because of that.
    #[test]
    fn some_parked_are_resumed_in_a_turn_without_others_before_a_large_statement_goes_on() {
        for others in [0, 1] {
            let mut queues = with(&[Queue::Parked; 10]);
            (0..others).for_each(|_| queues.push(Queue::Yielded, Queue::Yielded));
            queues.polls = 1;
            queues.begin_turn();
            let polled: Vec<_> = std::iter::from_fn(|| queues.next()).collect();
            let mut expected = vec![Queue::Parked; RESUMED_AT_ONCE];
            expected.extend(vec![Queue::Yielded; others]);
            assert_eq!(polled, expected);
            assert_eq!(queues.parked(), 10 - RESUMED_AT_ONCE);
        }
    }
}
