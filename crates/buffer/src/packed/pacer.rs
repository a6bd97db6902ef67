//! How much of the pool's memory packed pages have: a share that grows while it pays, a step at a time, and shrinks when it
//! does not.
//!
//! It pays when pages are slow to come from the disk while processors have nothing to do: packing a page and unpacking it
//! takes some 25 us of a processor, reading it from a volume of a few thousand operations per second many milliseconds. Where
//! processors are the limit it never does. Both are looked at in return for pages that came into memory, never by the clock.
//!
//! What packing costs does not depend on the share, as each page that leaves is packed. So it begins with a trial: pages are packed
//! that nobody has room for, until the next look, which sees how short they become and what the processors have left.
//!
//! Invariant: a look changes the share by one step. Used by `eviction`, which asks before it packs and counts arrivals, and by
//! `resize`, which gives the memory.

use crate::pool::BufferPool;
use env::ProcessorTimes;
use env::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

/// When pages are packed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Packing {
    Never,
    /// While it spares more than it costs.
    #[default]
    WhenWorthwhile,
    /// With this share of the memory from the start on, in sixteenths: for tests and measurements.
    Sixteenths(u8),
}

/// The share is counted in parts of this size.
const PARTS: u8 = 16;
/// Frames that are left however many pages are packed: what runs at one time needs them,
const FRAMES_MIN: usize = 1024;
/// and this part of the memory is left for them: the upper levels of the trees, which are used all the time, have less.
const FRAMES_PART: usize = 32;
/// So many pages come into memory between two looks, at least,
const LOOK_ARRIVALS: u32 = 512;
/// and so much time passes: processor times are counted in ticks of ten milliseconds.
const LOOK_US: u64 = 500_000;
/// A read that takes this long is slow; below the second figure it is not any more.
const SLOW_READ_US: u64 = 2_000;
const QUICK_READ_US: u64 = 500;
/// With this part of the processors' time unused a trial can do no harm; while pages are packed the share grows above the
/// second figure, and shrinks below the third.
const SPARE_AMPLE: f64 = 0.5;
const SPARE_ENOUGH: f64 = 0.25;
const SPARE_LITTLE: f64 = 0.10;
/// Looks between a trial that has failed and the next.
const REST_LOOKS: u8 = 32;
/// Pages that must have been tried before anything is said about how many become short.
const TRIED_MIN: u64 = 16;
/// Another step is for those who have filled what they have to this part.
const FULL_SHARE: f64 = 0.9;

/// See the module's documentation.
pub(crate) struct Pacer {
    adapts: bool,
    frame_cost: usize,
    parts: AtomicU8,
    /// Pages are packed: there is a share for them, or a trial.
    is_on: AtomicBool,
    last: Mutex<Look>,
}

/// What was counted by the last look.
#[derive(Default)]
struct Look {
    at_us: u64,
    /// Asked for only while reads are slow or pages are packed.
    times: Option<ProcessorTimes>,
    reads: u64,
    waited_us: u64,
    tried: u64,
    packed: u64,
    /// Looks until the next trial.
    rest: u8,
}

/// What has happened between two looks.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The mean wait for a page to be read; `None`: none was.
    read_us: Option<u64>,
    /// The part of the processors' time that nobody used; `None`: not known yet.
    spare: Option<f64>,
    tried: u64,
    packed: u64,
    is_full: bool,
}

impl Pacer {
    pub(crate) fn new(packing: Packing, frame_cost: usize) -> Pacer {
        let parts = match packing {
            Packing::Never | Packing::WhenWorthwhile => 0,
            Packing::Sixteenths(parts) => parts.min(PARTS - 1),
        };
        Pacer {
            adapts: packing == Packing::WhenWorthwhile,
            frame_cost,
            parts: AtomicU8::new(parts),
            is_on: AtomicBool::new(parts > 0),
            last: Mutex::default(),
        }
    }

    /// The largest share of this memory that leaves enough frames.
    fn share_max(&self, memory_bytes: usize) -> usize {
        let frames = FRAMES_MIN.saturating_mul(self.frame_cost).max(memory_bytes / FRAMES_PART);
        memory_bytes.saturating_sub(frames)
    }

    /// In how many parts it is reached, the last of which may be a smaller one.
    fn parts_max(&self, memory_bytes: usize) -> u8 {
        let part = (memory_bytes / usize::from(PARTS)).max(1);
        self.share_max(memory_bytes).div_ceil(part).min(usize::from(PARTS)) as u8
    }

    /// What packed pages are to have of this memory.
    pub(crate) fn share_of(&self, memory_bytes: usize) -> usize {
        let share = memory_bytes / usize::from(PARTS) * usize::from(self.parts.load(Relaxed));
        // It may be another memory than the share has grown in.
        if self.adapts { share.min(self.share_max(memory_bytes)) } else { share }
    }

    #[cfg(test)]
    pub(crate) fn set_parts(&self, parts: u8) {
        self.parts.store(parts, Relaxed);
        self.is_on.store(parts > 0, Relaxed);
    }

    /// Whether the share changes by itself.
    pub(crate) fn adapts(&self) -> bool {
        self.adapts
    }

    /// Whether pages that leave are packed.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }
}

impl BufferPool {
    /// So many pages have come into memory: looks from time to time whether packing pays.
    #[inline]
    pub(crate) fn pace_packing(&self, arrivals: u32) {
        if self.pacer.adapts() && arrivals.is_multiple_of(LOOK_ARRIVALS) {
            self.look_at_packing();
        }
    }

    #[cold]
    fn look_at_packing(&self) {
        let pacer = &self.pacer;
        // Two looks at one time would share what they see.
        let Some(mut last) = pacer.last.try_lock() else { return };
        let now_us = self.env.clock.now_us();
        let elapsed_us = now_us.saturating_sub(last.at_us);
        if elapsed_us < LOOK_US {
            return;
        }
        let packed = self.packed.stats();
        let pages_read = self.counters.pages_read.load(Relaxed);
        let waited_us = self.counters.read_waits.stats().time_us;
        let reads = pages_read - last.reads;
        let read_us = (reads > 0).then(|| (waited_us - last.waited_us) / reads);
        let is_of_interest = pacer.is_on() || read_us.is_some_and(|us| us > QUICK_READ_US);
        let times = is_of_interest.then(|| self.env.processors.times());
        let spare = times.zip(last.times).map(|(now, before)| now.spare_since(&before, elapsed_us));
        let seen = Seen {
            read_us,
            spare,
            tried: packed.tried - last.tried,
            packed: packed.packed - last.packed,
            // Frames may still be giving it up.
            is_full: packed.bytes as f64
                >= (self.packed_share() as f64 + packed.borrowed_bytes as f64) * FULL_SHARE,
        };
        let before = State { parts: pacer.parts.load(Relaxed), is_on: pacer.is_on(), rest: last.rest };
        let next = before.next(pacer.parts_max(self.memory_bytes()), &seen);
        *last = Look {
            at_us: now_us,
            times,
            reads: pages_read,
            waited_us,
            tried: packed.tried,
            packed: packed.packed,
            rest: next.rest,
        };
        drop(last);
        pacer.is_on.store(next.is_on, Relaxed);
        if next.parts != before.parts {
            pacer.parts.store(next.parts, Relaxed);
            self.share_memory();
        } else if next.parts > 0 {
            // The logs of dirty pages use more or less than at the last look.
            self.set_packed_budget();
        }
    }
}

/// What a look decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    parts: u8,
    is_on: bool,
    rest: u8,
}

impl State {
    const OFF: State = State { parts: 0, is_on: false, rest: 0 };

    fn next(self, parts_max: u8, seen: &Seen) -> State {
        let is_slow = seen.read_us.is_some_and(|us| us > SLOW_READ_US);
        let is_quick = seen.read_us.is_some_and(|us| us < QUICK_READ_US);
        let has_spare = |least: f64| seen.spare.is_some_and(|spare| spare >= least);
        let is_busy = seen.spare.is_some() && !has_spare(SPARE_LITTLE);
        let is_known = seen.tried >= TRIED_MIN;
        let stay_long = is_known && seen.packed * 2 < seen.tried;
        if !self.is_on {
            let is_time = is_slow && has_spare(SPARE_AMPLE) && self.rest == 0 && parts_max > 0;
            return State { is_on: is_time, rest: self.rest.saturating_sub(1), ..self };
        }
        let pays = is_slow && has_spare(SPARE_ENOUGH) && !stay_long;
        let parts = match self.parts {
            parts if is_busy || is_quick || stay_long => parts.saturating_sub(1),
            parts if pays && is_known && seen.is_full => (parts + 1).min(parts_max),
            parts => parts,
        };
        if parts > 0 || (pays && !is_known) {
            return State { parts, ..self };
        }
        State { rest: REST_LOOKS, ..Self::OFF }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Seen =
        Seen { read_us: Some(9_000), spare: Some(0.8), tried: 500, packed: 480, is_full: true };

    fn on(parts: u8) -> State {
        State { parts, is_on: true, rest: 0 }
    }

    #[test]
    fn the_share_grows_while_the_disk_is_slow_and_processors_idle() {
        let (mut state, mut looks) = (State::OFF, 0);
        while state.parts < 15 {
            let seen = if state.is_on { SLOW } else { Seen { tried: 0, packed: 0, ..SLOW } };
            state = state.next(15, &seen);
            looks += 1;
        }
        assert_eq!(looks, 16, "one begins the trial, one for each part");
        assert_eq!(on(15).next(15, &SLOW), on(15));
        // What there is is filled first; and nobody knows yet how short pages become.
        assert_eq!(on(3).next(15, &Seen { is_full: false, ..SLOW }), on(3));
        assert_eq!(on(0).next(15, &Seen { tried: 3, packed: 3, ..SLOW }), on(0));
        // With the trial's own work the processors have less left.
        assert_eq!(on(0).next(15, &Seen { spare: Some(0.3), ..SLOW }), on(1));
    }

    #[test]
    fn the_share_shrinks_when_it_does_not_pay() {
        let rest = State { rest: REST_LOOKS, ..State::OFF };
        for seen in [
            Seen { spare: Some(0.05), ..SLOW },
            Seen { read_us: Some(200), ..SLOW },
            Seen { packed: 100, ..SLOW },
        ] {
            assert_eq!([3, 2, 1].map(|parts| on(parts).next(15, &seen)), [on(2), on(1), rest]);
            assert_eq!(on(0).next(15, &seen), rest, "a trial that fails");
        }
        let mut state = rest;
        let mut looks = 0;
        while !state.is_on {
            state = state.next(15, &SLOW);
            looks += 1;
        }
        assert_eq!(looks, u32::from(REST_LOOKS) + 1);
    }

    #[test]
    fn in_between_nothing_changes() {
        for seen in [
            Seen { spare: Some(0.2), ..SLOW },
            Seen { read_us: Some(1_000), ..SLOW },
            Seen { read_us: None, ..SLOW },
            Seen { spare: None, ..SLOW },
        ] {
            assert_eq!(on(4).next(15, &seen), on(4));
            assert_eq!(State::OFF.next(15, &seen), State::OFF);
        }
        assert_eq!(State::OFF.next(15, &Seen { spare: Some(0.3), ..SLOW }), State::OFF);
    }

    #[test]
    fn a_small_pool_keeps_its_frames() {
        let pacer = Pacer::new(Packing::WhenWorthwhile, 8256);
        assert_eq!(
            [4 << 20, 16 << 20, 64 << 20, 1 << 30].map(|memory| pacer.parts_max(memory)),
            [0, 8, 14, 16]
        );
        assert_eq!((pacer.share_of(1 << 30), State::OFF.next(0, &SLOW)), (0, State::OFF));
        // Also one that was larger when its share grew.
        pacer.set_parts(16);
        assert_eq!(
            [4, 16, 1024].map(|mb| pacer.share_of(mb << 20)),
            [0, (16 << 20) - 1024 * 8256, 992 << 20]
        );
        let fixed = Pacer::new(Packing::Sixteenths(8), 8256);
        assert_eq!((fixed.share_of(1 << 20), fixed.is_on(), fixed.adapts), (512 << 10, true, false));
    }
}
