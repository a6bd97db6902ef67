//! How far apart flushes begin while transactions wait long for pages, or for the log itself.
//!
//! A flush costs the disk two operations, a write and a flush, and the processors some 50 us, whether it makes one commit durable or a
//! hundred. Where transactions wait long for the disk, it or the processors have little to spare, and a commit that waits a part of
//! that time longer shares its flush with more others. So flushes begin at least half a page's wait apart, and half of what a commit
//! waits for the log, by the means of the last ones. Where flushes take equally long, half of a commit's wait is less than one flush (three
//! quarters of it) and holds nothing back. It does where they come in bursts, as writes of a disk with a limit do: few
//! commits go with each of the many quick flushes that use up the limit, and most wait in the few slow ones that this leads to.
//!
//! Invariant: nothing is held back when there are few waits for pages to a commit (many commits should not go by what one
//! reader waits for) or the single wait is short (nor one writer by how many readers there are), for longer than
//! `SPACING_US_MAX`, or, beyond the millisecond for which the flusher's thread may sleep by itself, when much is staged.
//! Commits' own waits hold back no longer than these take (with flushes of `f` a wait is at most `f` and the distance, which is half of it),
//! and no client that is alone.
//! Callers: `log` (what is counted), `flusher` (the pace).

use env::Env;
use env::sync::Notify;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;

/// The part of a wait for a page, or of a commit's for the log, that flushes are apart.
const WAIT_PART: u64 = 2;
const SPACING_US_MAX: u64 = 10_000;
/// Longer waits of commits count for this: a disk that stood still once should not be remembered for long.
const COMMIT_WAIT_US_MAX: u64 = SPACING_US_MAX * WAIT_PART;
/// Less is shorter than what a sleep takes longer than it should.
const HOLD_US_MIN: u64 = 30;
/// What was counted before a flush loses this part of its weight with it.
const FADING: u64 = 64;
/// What a sum becomes that one is added to before each flush.
const SUM_OF_ONES: u64 = FADING * FADING;

/// What is counted between two flushes.
#[derive(Default)]
pub(crate) struct Spacing {
    page_waits: AtomicU64,
    page_wait_us: AtomicU64,
    commits: AtomicU64,
    commit_wait_us: AtomicU64,
    /// How far apart flushes begin now.
    pub(crate) us: AtomicU64,
    /// Ends the holding back at once.
    pub(crate) urgent: Notify,
}

impl Spacing {
    pub(crate) fn note_page_wait(&self, took_us: u64) {
        self.page_waits.fetch_add(1, Relaxed);
        self.page_wait_us.fetch_add(took_us, Relaxed);
    }

    pub(crate) fn note_commit_wait(&self, took_us: u64) {
        self.commits.fetch_add(1, Relaxed);
        self.commit_wait_us.fetch_add(took_us.min(COMMIT_WAIT_US_MAX), Relaxed);
    }
}

/// The flusher's part.
#[derive(Default)]
pub(crate) struct Pace {
    /// Sums in which later counts weigh more, times `FADING`.
    page_waits: u64,
    page_wait_us: u64,
    commits: u64,
    commit_wait_us: u64,
    begun_us: u64,
}

impl Pace {
    /// Waits until the next flush may begin, and answers when that is.
    pub(crate) async fn hold_back(&self, spacing: &Spacing, env: &Env) -> u64 {
        let due_us = self.begun_us + spacing.us.load(Relaxed);
        let now_us = env.clock.now_us();
        let rest_us = due_us.saturating_sub(now_us);
        if rest_us < HOLD_US_MIN {
            return now_us;
        }
        let mut sleep = env.clock.sleep(rest_us);
        let mut urgent = pin!(spacing.urgent.notified());
        std::future::poll_fn(|context| {
            let is_over = sleep.as_mut().poll(context).is_ready() || urgent.as_mut().poll(context).is_ready();
            if is_over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        env.clock.now_us()
    }

    /// A flush begins: looks at what was counted since the one before.
    pub(crate) fn begin(&mut self, spacing: &Spacing, now_us: u64) {
        debug_assert!(now_us >= self.begun_us, "flushes begin one after another");
        self.begun_us = now_us;
        for (sum, counted) in [
            (&mut self.page_waits, &spacing.page_waits),
            (&mut self.page_wait_us, &spacing.page_wait_us),
            (&mut self.commits, &spacing.commits),
            (&mut self.commit_wait_us, &spacing.commit_wait_us),
        ] {
            *sum = *sum - sum.div_ceil(FADING) + counted.swap(0, Relaxed) * FADING;
        }
        // The mean wait for a page, and less where several commits share one.
        let for_page_us = self.page_wait_us.checked_div(self.commits.max(self.page_waits)).unwrap_or(0);
        // The mean of a commit that goes with others: a flush is there for the first anyway.
        let with_others = self.commits.saturating_sub(SUM_OF_ONES);
        let for_log_us =
            self.commit_wait_us.checked_div(self.commits).unwrap_or(0) * with_others / self.commits.max(1);
        spacing.us.store((for_page_us.max(for_log_us) / WAIT_PART).min(SPACING_US_MAX), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log {
        spacing: Spacing,
        pace: Pace,
    }

    impl Log {
        /// One flush after commits that waited so long for the one before.
        fn flush(&mut self, commits: u64, wait_us: u64) {
            (0..commits).for_each(|_| self.spacing.note_commit_wait(wait_us));
            self.pace.begin(&self.spacing, 0);
        }

        /// The spacing after many flushes, before each of which there were so many commits, and waits of so long for pages.
        fn after(&mut self, commits: u64, waits: u64, wait_us: u64) -> u64 {
            for _ in 0..1000 {
                (0..waits).for_each(|_| self.spacing.note_page_wait(wait_us));
                self.flush(commits, 0);
            }
            self.us()
        }

        fn us(&self) -> u64 {
            self.spacing.us.load(Relaxed)
        }
    }

    #[test]
    fn flushes_are_apart_while_pages_are_slow() {
        let mut log = Log::default();
        let slow = log.after(10, 10, 12_000);
        assert!((5_900..=6_100).contains(&slow), "{slow}");
        let quick = log.after(10, 10, 900);
        assert!((440..=460).contains(&quick), "{quick}");
        assert_eq!(log.after(1, 4, 1_000_000), SPACING_US_MAX);
        assert_eq!(log.after(30, 0, 0), 0);
    }

    #[test]
    fn few_are_not_held_back_by_many() {
        let mut log = Log::default();
        let one_writer = log.after(1, 60, 1_200);
        assert!((590..=610).contains(&one_writer), "{one_writer}");
        let one_reader = log.after(30, 1, 3_000);
        assert!(one_reader <= 50, "{one_reader}");
    }

    #[test]
    fn flushes_of_one_length_are_not_held_back() {
        let mut log = Log::default();
        let flush_us = 1_000;
        for _ in 0..1000 {
            // Commits come all the time: those of one flush have waited for half of the one before, and for it.
            log.flush(10, flush_us * 3 / 2);
        }
        assert!(log.us() < flush_us, "{}", log.us());
    }

    #[test]
    fn flushes_are_apart_while_most_commits_wait_for_the_few_slow_ones() {
        let mut log = Log::default();
        for _ in 0..1000 {
            (0..9).for_each(|_| log.flush(1, 100));
            log.flush(50, 8_000);
        }
        assert!((2_500..=3_100).contains(&log.us()), "{}", log.us());
    }

    #[test]
    fn who_is_alone_is_not_held_back_by_slow_flushes() {
        let mut log = Log::default();
        for _ in 0..1000 {
            (0..9).for_each(|_| log.flush(1, 100));
            log.flush(1, 8_000);
        }
        assert_eq!(log.us(), 0);
    }

    #[test]
    fn a_disk_that_stood_still_once_is_soon_forgotten() {
        let mut log = Log::default();
        (0..1000).for_each(|_| log.flush(10, 300));
        log.flush(60, 2_000_000);
        assert!(log.us() < 1_100, "{}", log.us());
        (0..64).for_each(|_| log.flush(10, 300));
        assert!(log.us() < 500, "{}", log.us());
    }
}
