//! How far apart flushes begin while transactions wait long for pages.
//!
//! A flush costs the disk two operations, a write and a flush, and the processors some 50 us, whether it makes one commit durable or a
//! hundred. Where transactions wait long for pages, the disk or the processors have little to spare, and a commit that waits a part of
//! that time longer shares its flush with more others. So flushes begin at least half a page's wait apart, by the mean of the last ones.
//! Where pages come quickly that is less than a flush takes, and nothing is held back.
//!
//! Invariant: nothing is held back when there are few waits for pages to a commit (many commits should not go by what one
//! reader waits for) or the single wait is short (nor one writer by how many readers there are), for longer than
//! `SPACING_US_MAX`, or, beyond the millisecond for which the flusher's thread may sleep by itself, when much is staged.
//! Callers: `log` (what is counted), `flusher` (the pace).

use env::Env;
use env::sync::Notify;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;

/// The part of a wait for a page that flushes are apart.
const WAIT_PART: u64 = 2;
const SPACING_US_MAX: u64 = 10_000;
/// Less is shorter than what a sleep takes longer than it should.
const HOLD_US_MIN: u64 = 30;
/// What was counted before a flush loses this part of its weight with it.
const FADING: u64 = 64;

/// What is counted between two flushes.
#[derive(Default)]
pub(crate) struct Spacing {
    pub(crate) page_waits: AtomicU64,
    pub(crate) page_wait_us: AtomicU64,
    pub(crate) commits: AtomicU64,
    /// How far apart flushes begin now.
    pub(crate) us: AtomicU64,
    /// Ends the holding back at once.
    pub(crate) urgent: Notify,
}

/// The flusher's part.
#[derive(Default)]
pub(crate) struct Pace {
    /// Sums in which later counts weigh more, times `FADING`.
    page_waits: u64,
    page_wait_us: u64,
    commits: u64,
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
        self.begun_us = now_us;
        for (sum, counted) in [
            (&mut self.page_waits, &spacing.page_waits),
            (&mut self.page_wait_us, &spacing.page_wait_us),
            (&mut self.commits, &spacing.commits),
        ] {
            *sum = *sum - sum.div_ceil(FADING) + counted.swap(0, Relaxed) * FADING;
        }
        // The mean wait for a page, and less where several commits share one.
        let wait_us = self.page_wait_us.checked_div(self.commits.max(self.page_waits)).unwrap_or(0);
        spacing.us.store((wait_us / WAIT_PART).min(SPACING_US_MAX), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spacing after many flushes, before each of which there were so many commits, and waits of so long.
    fn after(pace: &mut Pace, commits: u64, waits: u64, wait_us: u64) -> u64 {
        let spacing = Spacing::default();
        for _ in 0..1000 {
            spacing.commits.fetch_add(commits, Relaxed);
            spacing.page_waits.fetch_add(waits, Relaxed);
            spacing.page_wait_us.fetch_add(waits * wait_us, Relaxed);
            pace.begin(&spacing, 0);
        }
        spacing.us.load(Relaxed)
    }

    #[test]
    fn flushes_are_apart_while_pages_are_slow() {
        let mut pace = Pace::default();
        let slow = after(&mut pace, 10, 10, 12_000);
        assert!((5_900..=6_100).contains(&slow), "{slow}");
        let quick = after(&mut pace, 10, 10, 900);
        assert!((440..=460).contains(&quick), "{quick}");
        assert_eq!(after(&mut pace, 1, 4, 1_000_000), SPACING_US_MAX);
        assert_eq!(after(&mut pace, 30, 0, 0), 0);
    }

    #[test]
    fn few_are_not_held_back_by_many() {
        let mut pace = Pace::default();
        let one_writer = after(&mut pace, 1, 60, 1_200);
        assert!((590..=610).contains(&one_writer), "{one_writer}");
        let one_reader = after(&mut pace, 30, 1, 3_000);
        assert!(one_reader <= 50, "{one_reader}");
    }
}
