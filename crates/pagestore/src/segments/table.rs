//! The segment table: what each segment is used for and how much of it lives.
//!
//! Invariants: `live` counts the bytes of images that a word or the map tree names, and of those that are on their
//! way there. A segment in which nothing lives is retired with the next sequence F, and becomes free only by `promote`
//! (see there). Only free segments are opened, and none while a read of it is in flight (`gates`). The sealed ones are
//! kept in order of life, so nothing here looks at all segments while the store runs.

use super::gates::Gates;
use super::summary::Stream;
use std::collections::{BTreeSet, VecDeque};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Free,
    /// Free in a moment: zeros are being written to it.
    Filling,
    /// A stream appends to it.
    Open,
    /// Full or left behind; a candidate for the cleaner.
    Sealed,
    /// The cleaner has read it; what it relocated dies here soon.
    Cleaning,
    /// Nothing lives here, but replay or a torn chunk may still need it.
    Retired,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) usage: Use,
    pub(super) stream: Stream,
    pub(super) live: u64,
    /// The sequence of its first chunk in this use.
    pub(super) generation: u64,
    pub(super) last_sequence: u64,
    /// The newest copy out of this use that took no effect, because its page had changed meanwhile.
    pub(super) stale_copy: u64,
    /// It was written through once, so that further writes change no file metadata.
    pub(super) is_filled: bool,
}

impl Default for Segment {
    fn default() -> Self {
        Self {
            usage: Use::Free,
            stream: Stream::Fresh,
            live: 0,
            generation: 0,
            last_sequence: 0,
            stale_copy: 0,
            is_filled: false,
        }
    }
}

/// The sealed segments are sorted by life in so many steps.
const LIFE_STEPS: u64 = 64;

pub(super) struct SegmentTable {
    segments: Vec<Segment>,
    free: VecDeque<u32>,
    /// With the step of their life.
    sealed: BTreeSet<(u64, u32)>,
    step_bytes: u64,
    unfilled: u32,
    /// With the sequence at which each was freed.
    retired: Vec<(u64, u32)>,
    /// How many of them held map blocks.
    retired_map: u32,
    live_bytes: u64,
}

impl SegmentTable {
    pub(super) fn new(segment_bytes: u64) -> Self {
        Self {
            segments: Vec::new(),
            free: VecDeque::new(),
            sealed: BTreeSet::new(),
            step_bytes: segment_bytes.div_ceil(LIFE_STEPS),
            unfilled: 0,
            retired: Vec::new(),
            retired_map: 0,
            live_bytes: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    pub(super) fn get(&self, segment: u32) -> &Segment {
        &self.segments[segment as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Segment)> {
        self.segments.iter().enumerate().map(|(index, segment)| (index as u32, segment))
    }

    pub(super) fn free_count(&self) -> u32 {
        self.free.len() as u32
    }

    /// Retired segments that held pages.
    pub(super) fn retired_count(&self) -> u32 {
        self.retired.len() as u32 - self.retired_map
    }

    pub(super) fn retired_map_count(&self) -> u32 {
        self.retired_map
    }

    pub(super) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Adds free segments at the end.
    pub(super) fn grow(&mut self, count: u32) {
        let first = self.len();
        self.segments.extend((0..count).map(|_| Segment::default()));
        self.free.extend(first..first + count);
        self.unfilled += count;
    }

    /// Takes a free segment that was never written, to fill it. `finish_filling` gives it back.
    pub(super) fn start_filling(&mut self) -> Option<u32> {
        if self.unfilled == 0 {
            return None;
        }
        let unfilled = self.free.iter().position(|segment| !self.segments[*segment as usize].is_filled)?;
        let index = self.free.remove(unfilled).expect("the position was just found");
        self.segments[index as usize].usage = Use::Filling;
        Some(index)
    }

    pub(super) fn finish_filling(&mut self, segment: u32, is_filled: bool) {
        let entry = &mut self.segments[segment as usize];
        assert_eq!(entry.usage, Use::Filling);
        entry.usage = Use::Free;
        entry.is_filled = is_filled;
        self.unfilled -= u32::from(is_filled);
        self.free.push_front(segment);
    }

    /// Some free segments have never been written.
    pub(super) fn wants_filling(&self) -> bool {
        self.unfilled > 0
    }

    /// Takes a free segment that nobody reads, if more than `floor` are free.
    pub(super) fn open(&mut self, stream: Stream, sequence: u64, floor: u32, gates: &Gates) -> Option<u32> {
        if self.free_count() <= floor {
            return None;
        }
        let is_quiet = |segment: &u32| !gates.is_read(*segment);
        let is_filled = |segment: &u32| self.segments[*segment as usize].is_filled;
        let filled = self.free.iter().position(|segment| is_filled(segment) && is_quiet(segment));
        let quiet = filled.or_else(|| self.free.iter().position(is_quiet))?;
        let index = self.free.remove(quiet).expect("the position was just found");
        let segment = &mut self.segments[index as usize];
        assert!(segment.usage == Use::Free && segment.live == 0, "a free segment holds nothing");
        self.unfilled -= u32::from(!segment.is_filled);
        *segment = Segment {
            usage: Use::Open,
            stream,
            live: 0,
            generation: sequence,
            last_sequence: sequence,
            stale_copy: 0,
            is_filled: true,
        };
        gates.set_generation(index, sequence);
        Some(index)
    }

    /// A chunk with `bytes` of images was placed in an open segment.
    pub(super) fn place(&mut self, segment: u32, sequence: u64, bytes: u64) {
        let entry = &mut self.segments[segment as usize];
        assert_eq!(entry.usage, Use::Open);
        entry.last_sequence = sequence;
        entry.live += bytes;
        self.live_bytes += bytes;
    }

    /// No more chunks go to an open segment.
    pub(super) fn seal(&mut self, segment: u32, next_sequence: u64) {
        let entry = &mut self.segments[segment as usize];
        assert_eq!(entry.usage, Use::Open);
        entry.usage = Use::Sealed;
        self.sealed.insert((entry.live / self.step_bytes, segment));
        self.retire_if_dead(segment, next_sequence);
    }

    /// An image died.
    pub(super) fn release(&mut self, segment: u32, bytes: u64, next_sequence: u64) {
        let entry = &mut self.segments[segment as usize];
        let before = entry.live / self.step_bytes;
        entry.live = entry.live.checked_sub(bytes).expect("no image dies twice");
        let after = entry.live / self.step_bytes;
        if entry.usage == Use::Sealed && before != after {
            self.sealed.remove(&(before, segment));
            self.sealed.insert((after, segment));
        }
        self.live_bytes -= bytes;
        self.retire_if_dead(segment, next_sequence);
    }

    /// A copy out of the segment, in the chunk of this sequence, came too late.
    pub(super) fn note_stale_copy(&mut self, segment: u32, sequence: u64) {
        let entry = &mut self.segments[segment as usize];
        entry.stale_copy = entry.stale_copy.max(sequence);
    }

    fn retire_if_dead(&mut self, segment: u32, next_sequence: u64) {
        let entry = &mut self.segments[segment as usize];
        if entry.live == 0 && matches!(entry.usage, Use::Sealed | Use::Cleaning) {
            self.sealed.remove(&(0, segment));
            entry.usage = Use::Retired;
            self.retired_map += u32::from(entry.stream == Stream::Map);
            self.retired.push((next_sequence, segment));
        }
    }

    /// Frees retired segments; returns how many of pages and of the map. Two things may still need one:
    /// - replay from the durable checkpoint, unless all its chunks are before that checkpoint's `scan_from`;
    /// - a copy that came too late, at run time, but would find its source again at replay: if a block of the map that is
    ///   being checkpointed has the page in the segment's next use, at the very address. So everything that was placed
    ///   before the segment died must be installed, and no late copy be in the log from `next_scan_from` on.
    pub(super) fn promote(
        &mut self,
        scan_from: u64,
        durable_through: u64,
        next_scan_from: Option<u64>,
    ) -> (u32, u32) {
        let (mut pages, mut map) = (0, 0);
        for (freed_at, segment) in std::mem::take(&mut self.retired) {
            let entry = &self.segments[segment as usize];
            let is_logged = entry.last_sequence >= scan_from;
            let is_confusable = next_scan_from.is_some_and(|from| entry.stale_copy >= from);
            if is_logged || is_confusable || freed_at > durable_through + 1 {
                self.retired.push((freed_at, segment));
                continue;
            }
            let entry = &mut self.segments[segment as usize];
            assert!(entry.usage == Use::Retired && entry.live == 0, "nothing comes to life again");
            entry.usage = Use::Free;
            self.free.push_back(segment);
            match entry.stream {
                Stream::Map => map += 1,
                Stream::Fresh | Stream::Relocated => pages += 1,
            }
        }
        self.retired_map -= map;
        (pages, map)
    }

    /// The sealed segment with the least life in it, if that is less than `limit` bytes. All its chunks are durable.
    /// Segments of the map only if they are half dead: their blocks move with every cycle anyway.
    pub(super) fn emptiest(&self, limit: u64, durable_through: u64) -> Option<u32> {
        let worth = |segment: &Segment| match segment.stream {
            Stream::Map => segment.live <= limit / 2,
            Stream::Fresh | Stream::Relocated => segment.live < limit,
        };
        let gainful = self.sealed.iter().take_while(|(step, _)| step * self.step_bytes < limit);
        gainful.map(|(_, index)| *index).find(|index| {
            let segment = self.get(*index);
            segment.last_sequence <= durable_through && worth(segment)
        })
    }

    pub(super) fn start_cleaning(&mut self, segment: u32) {
        let entry = &mut self.segments[segment as usize];
        assert_eq!(entry.usage, Use::Sealed);
        self.sealed.remove(&(entry.live / self.step_bytes, segment));
        entry.usage = Use::Cleaning;
    }

    /// Recovery: takes the counts that it has found and sorts the segments. Those that are `needed` hold what another
    /// opening from the same superblock may want.
    pub(super) fn rebuild(
        segments: Vec<Segment>,
        segment_bytes: u64,
        needed: &BTreeSet<u32>,
        next_sequence: u64,
    ) -> Self {
        let mut table = Self { segments, ..Self::new(segment_bytes) };
        for index in 0..table.len() {
            let segment = &mut table.segments[index as usize];
            table.live_bytes += segment.live;
            segment.is_filled = true;
            if segment.live > 0 {
                segment.usage = Use::Sealed;
                table.sealed.insert((segment.live / table.step_bytes, index));
            } else if needed.contains(&index) {
                segment.usage = Use::Retired;
                table.retired_map += u32::from(segment.stream == Stream::Map);
                table.retired.push((next_sequence, index));
            } else {
                segment.usage = Use::Free;
                table.free.push_back(index);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_free_again_only_after_a_checkpoint_and_its_readers() {
        let (mut table, gates) = (SegmentTable::new(16384), Gates::default());
        table.grow(2);
        gates.grow(2);
        let first = table.open(Stream::Fresh, 10, 0, &gates).unwrap();
        assert!(table.open(Stream::Map, 11, 1, &gates).is_none(), "the floor is kept");
        table.place(first, 10, 8192);
        table.seal(first, 11);
        assert_eq!(table.emptiest(9000, 10), Some(first));
        assert_eq!((table.emptiest(8192, 10), table.emptiest(9000, 9)), (None, None));
        table.release(first, 4096, 12);
        table.release(first, 4096, 13);
        assert_eq!((table.get(first).usage, table.retired_count()), (Use::Retired, 1));
        table.note_stale_copy(first, 12);
        assert_eq!(table.promote(10, 12, None), (0, 0), "its chunk is in the log");
        assert_eq!(table.promote(11, 11, None), (0, 0), "not all is installed");
        assert_eq!(table.promote(11, 12, Some(12)), (0, 0), "a late copy would be in the next log");
        assert_eq!(table.promote(11, 12, Some(13)), (1, 0));
        let guard = gates.enter(first);
        let second = table.open(Stream::Fresh, 14, 0, &gates).unwrap();
        assert_ne!(second, first);
        assert!(table.open(Stream::Fresh, 15, 0, &gates).is_none());
        drop(guard);
        assert_eq!(table.open(Stream::Fresh, 15, 0, &gates), Some(first));
        assert_eq!(gates.generation(first), 15);
    }

    #[test]
    fn the_emptiest_segment_is_found_as_life_goes_on() {
        let (mut table, gates) = (SegmentTable::new(64 * 4096), Gates::default());
        table.grow(4);
        gates.grow(4);
        for sequence in 1..=4 {
            let segment = table.open(Stream::Fresh, sequence, 0, &gates).unwrap();
            table.place(segment, sequence, 40 * 4096);
            table.seal(segment, sequence + 1);
        }
        assert_eq!(table.emptiest(40 * 4096, 4), None);
        table.release(2, 3 * 4096, 9);
        table.release(1, 4096, 9);
        assert_eq!(table.emptiest(40 * 4096, 4), Some(2));
        table.start_cleaning(2);
        table.release(2, 4096, 9);
        assert_eq!(table.emptiest(40 * 4096, 4), Some(1));
        assert_eq!(table.emptiest(40 * 4096, 1), None, "segment 1 holds sequence 2");
    }

    #[test]
    fn a_segment_is_filled_before_its_first_use_if_there_is_time() {
        let (mut table, gates) = (SegmentTable::new(16384), Gates::default());
        table.grow(3);
        gates.grow(3);
        assert_eq!((table.start_filling(), table.free_count()), (Some(0), 2));
        assert_eq!(table.open(Stream::Fresh, 1, 0, &gates), Some(1), "nobody waits for the zeros");
        table.finish_filling(0, false);
        assert_eq!(table.start_filling(), Some(0));
        table.finish_filling(0, true);
        assert_eq!(table.start_filling(), Some(2));
        table.finish_filling(2, true);
        assert!(!table.wants_filling() && table.start_filling().is_none());
        assert_eq!(table.free_count(), 2);
    }
}
