//! The segment table: what each segment is used for and how much of it lives.
//!
//! Invariants: `live` counts the bytes of images that a word or the map tree names, and of those that are on their
//! way there. A segment in which nothing lives is retired with the next sequence F, and becomes free only by `promote`
//! (see there). Only free segments are opened, and none while a read of it is in flight (`gates`).

use super::gates::Gates;
use super::summary::Stream;
use std::collections::{BTreeSet, VecDeque};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Free,
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
}

impl Default for Segment {
    fn default() -> Self {
        Self { usage: Use::Free, stream: Stream::Fresh, live: 0, generation: 0, last_sequence: 0 }
    }
}

#[derive(Default)]
pub(super) struct SegmentTable {
    segments: Vec<Segment>,
    free: VecDeque<u32>,
    /// With the sequence at which each was freed.
    retired: Vec<(u64, u32)>,
    /// How many of them held map blocks.
    retired_map: u32,
    live_bytes: u64,
}

impl SegmentTable {
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
    }

    /// Takes a free segment that nobody reads, if more than `floor` are free.
    pub(super) fn open(&mut self, stream: Stream, sequence: u64, floor: u32, gates: &Gates) -> Option<u32> {
        if self.free_count() <= floor {
            return None;
        }
        let quiet = self.free.iter().position(|segment| !gates.is_read(*segment))?;
        let index = self.free.remove(quiet).expect("the position was just found");
        let segment = &mut self.segments[index as usize];
        assert!(segment.usage == Use::Free && segment.live == 0, "a free segment holds nothing");
        *segment =
            Segment { usage: Use::Open, stream, live: 0, generation: sequence, last_sequence: sequence };
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
        self.retire_if_dead(segment, next_sequence);
    }

    /// An image died.
    pub(super) fn release(&mut self, segment: u32, bytes: u64, next_sequence: u64) {
        let entry = &mut self.segments[segment as usize];
        entry.live = entry.live.checked_sub(bytes).expect("no image dies twice");
        self.live_bytes -= bytes;
        self.retire_if_dead(segment, next_sequence);
    }

    fn retire_if_dead(&mut self, segment: u32, next_sequence: u64) {
        let entry = &mut self.segments[segment as usize];
        if entry.live == 0 && matches!(entry.usage, Use::Sealed | Use::Cleaning) {
            entry.usage = Use::Retired;
            self.retired_map += u32::from(entry.stream == Stream::Map);
            self.retired.push((next_sequence, segment));
        }
    }

    /// Frees retired segments; returns how many of pages and of the map. Two things may still need one:
    /// - replay from the durable checkpoint, unless all its chunks are before that checkpoint's `scan_from`;
    /// - a replay that meets an address of this use and of the next: excluded if everything that was placed before it
    ///   died is before `horizon`, and every checkpoint to come scans from `horizon` or later.
    pub(super) fn promote(&mut self, scan_from: u64, horizon: u64) -> (u32, u32) {
        let (mut pages, mut map) = (0, 0);
        for (freed_at, segment) in std::mem::take(&mut self.retired) {
            let entry = &self.segments[segment as usize];
            if entry.last_sequence >= scan_from || freed_at > horizon {
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
        let sealed = self.iter().filter(|(_, segment)| {
            segment.usage == Use::Sealed && segment.last_sequence <= durable_through && worth(segment)
        });
        sealed.min_by_key(|(_, segment)| segment.live).map(|(index, _)| index)
    }

    pub(super) fn start_cleaning(&mut self, segment: u32) {
        let entry = &mut self.segments[segment as usize];
        assert_eq!(entry.usage, Use::Sealed);
        entry.usage = Use::Cleaning;
    }

    /// Recovery: takes the counts that it has found and sorts the segments. Those that are `needed` hold what another
    /// opening from the same superblock may want.
    pub(super) fn rebuild(segments: Vec<Segment>, needed: &BTreeSet<u32>, next_sequence: u64) -> Self {
        let mut table = Self { segments, ..Self::default() };
        for index in 0..table.len() {
            let segment = &mut table.segments[index as usize];
            table.live_bytes += segment.live;
            if segment.live > 0 {
                segment.usage = Use::Sealed;
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
        let (mut table, gates) = (SegmentTable::default(), Gates::default());
        table.grow(2);
        gates.grow_to(2);
        let first = table.open(Stream::Fresh, 10, 0, &gates).unwrap();
        assert!(table.open(Stream::Map, 11, 1, &gates).is_none(), "the floor is kept");
        table.place(first, 10, 8192);
        table.seal(first, 11);
        assert_eq!(table.emptiest(9000, 10), Some(first));
        assert_eq!((table.emptiest(8192, 10), table.emptiest(9000, 9)), (None, None));
        table.release(first, 4096, 12);
        table.release(first, 4096, 13);
        assert_eq!((table.get(first).usage, table.retired_count()), (Use::Retired, 1));
        assert_eq!(table.promote(10, 13), (0, 0));
        assert_eq!(table.promote(11, 12), (0, 0));
        assert_eq!(table.promote(11, 13), (1, 0));
        let guard = gates.enter(first);
        let second = table.open(Stream::Fresh, 14, 0, &gates).unwrap();
        assert_ne!(second, first);
        assert!(table.open(Stream::Fresh, 15, 0, &gates).is_none());
        drop(guard);
        assert_eq!(table.open(Stream::Fresh, 15, 0, &gates), Some(first));
        assert_eq!(gates.generation(first), 15);
    }
}
