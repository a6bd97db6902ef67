//! The log in memory: the streams that are open, the chunks in flight, and what is durable. All under one lock.
//!
//! Invariant: chunks become durable and are installed in order of sequence. Everything through `durable_through` is in
//! the page map and nothing after it is.

use super::gates::Gates;
use super::map::{PageMap, leaf_of};
use super::pace::Pace;
use super::place::{BLOCK_BYTES, Geometry, Place};
use super::summary::{Effect, Entry, Stream, Summary};
use super::table::SegmentTable;
use crate::PageId;
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy)]
struct OpenSegment {
    segment: u32,
    /// Where the next chunk goes.
    offset: u64,
}

/// A chunk that is being written or waits for its sync.
struct InFlight {
    sequence: u64,
    segment: u32,
    written: bool,
    effects: Vec<(Entry, Place)>,
}

/// What names the chunks of this store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    pub(super) store: u64,
    pub(super) incarnation: u32,
}

pub(super) struct State {
    geometry: Geometry,
    pub(super) identity: Identity,
    pub(super) table: SegmentTable,
    pub(super) next_sequence: u64,
    pub(super) durable_through: u64,
    /// The highest LSN of all pages that were ever placed: the log is durable up to there.
    pub(super) newest_lsn: u64,
    queue: VecDeque<InFlight>,
    open: [Option<OpenSegment>; 3],
    /// Where the log of the durable checkpoint begins.
    pub(super) scan_from: u64,
    /// The same of the checkpoint that is being written.
    pub(super) next_scan_from: Option<u64>,
    /// An epoch is being flushed; after a failed one for good.
    syncing: bool,
    /// Files that have grown since the last epoch began.
    grown: Vec<usize>,
    epochs_begun: u64,
    epochs_done: u64,
    /// Leaves of the map that changed since they were captured last.
    pub(super) dirty_leaves: Vec<u32>,
    pub(super) mapped_pages: u64,
    /// Pages that are being written for the first time and are not mapped yet.
    pub(super) arriving_pages: u64,
    pub(super) pace: Pace,
}

impl State {
    pub(super) fn new(geometry: Geometry, identity: Identity, next_sequence: u64) -> Self {
        Self {
            geometry,
            identity,
            table: SegmentTable::default(),
            next_sequence,
            durable_through: next_sequence - 1,
            newest_lsn: 0,
            queue: VecDeque::new(),
            open: [None; 3],
            scan_from: next_sequence,
            next_scan_from: None,
            syncing: false,
            grown: Vec::new(),
            epochs_begun: 0,
            epochs_done: 0,
            dirty_leaves: Vec::new(),
            mapped_pages: 0,
            arriving_pages: 0,
            pace: Pace::default(),
        }
    }

    /// The bytes that the stream's open segment has left.
    pub(super) fn room(&self, stream: Stream) -> u64 {
        self.open[stream as usize].map_or(0, |open| self.geometry.segment_bytes - open.offset)
    }

    /// The same after a new segment was opened, if there was no room for a summary and `bytes`. 0 if that would
    /// leave no more than `floor` free segments.
    pub(super) fn make_room(&mut self, stream: Stream, bytes: usize, floor: u32, gates: &Gates) -> u64 {
        if self.room(stream) < (BLOCK_BYTES + bytes) as u64 {
            let Some(segment) = self.table.open(stream, self.next_sequence, floor, gates) else { return 0 };
            if let Some(full) = self.open[stream as usize].replace(OpenSegment { segment, offset: 0 }) {
                self.table.seal(full.segment, self.next_sequence);
            }
        }
        self.room(stream)
    }

    /// Where the block at `index` of the stream's next chunk will be.
    pub(super) fn next_place(&self, stream: Stream, index: usize) -> Place {
        let open = self.open[stream as usize].expect("there is room");
        let offset = open.offset + (BLOCK_BYTES * (index + 1)) as u64;
        self.geometry.place(open.segment, offset, BLOCK_BYTES as u64)
    }

    /// Gives a chunk its place and sequence. The checksums of its entries are still to be filled in.
    pub(super) fn start(&mut self, stream: Stream, entries: Vec<Entry>) -> Summary {
        let open = self.open[stream as usize].as_mut().expect("there is room");
        let sequence = self.next_sequence;
        let summary = Summary {
            store: self.identity.store,
            sequence,
            durable_through: self.durable_through,
            generation: self.table.get(open.segment).generation,
            segment: open.segment,
            offset: open.offset,
            incarnation: self.identity.incarnation,
            stream,
            newest_lsn: self.newest_lsn,
            entries,
        };
        open.offset += summary.chunk_bytes();
        assert!(open.offset <= self.geometry.segment_bytes, "the chunk fits");
        self.next_sequence += 1;
        let live = summary.entries.iter().map(|entry| entry.bytes).sum();
        self.table.place(open.segment, sequence, live);
        let effects = summary.places(self.geometry).collect();
        self.queue.push_back(InFlight { sequence, segment: summary.segment, written: false, effects });
        summary
    }

    /// Leaves out sequences; only when nothing is in flight.
    pub(super) fn skip_sequences(&mut self, count: u64) {
        assert!(self.is_settled(), "chunks in flight are numbered without gaps");
        self.next_sequence += count;
        self.durable_through = self.next_sequence - 1;
    }

    pub(super) fn is_settled(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn note_written(&mut self, sequence: u64) {
        let first = self.queue.front().expect("it is in flight").sequence;
        self.queue[(sequence - first) as usize].written = true;
    }

    /// Begins to make durable what is written so far: the last sequence that the syncs of these files will cover, and of each
    /// file whether it has grown, so that everything about it must be synced. `None` if there is nothing to do, somebody is at it, or one has failed: the kernel reports a lost write once,
    /// so a second sync would seem to succeed.
    pub(super) fn begin_epoch(&mut self) -> Option<(u64, BTreeMap<usize, bool>)> {
        if self.syncing {
            return None;
        }
        let mut files: BTreeMap<_, _> = self.grown.drain(..).map(|file| (file, true)).collect();
        let mut through = self.durable_through;
        for chunk in self.queue.iter().take_while(|chunk| chunk.written) {
            through = chunk.sequence;
            files.entry(self.geometry.file_of(chunk.segment).0).or_insert(false);
        }
        if files.is_empty() {
            return None;
        }
        self.syncing = true;
        self.epochs_begun += 1;
        Some((through, files))
    }

    /// All syncs of the epoch have succeeded. A failed epoch never ends.
    pub(super) fn end_epoch(&mut self, through: u64, map: &PageMap) {
        self.syncing = false;
        self.epochs_done = self.epochs_begun;
        self.install(through, map);
    }

    /// A file that has grown is synced with the next epoch, because a sync beside an epoch could swallow the error that
    /// concerns the epoch's chunks. Returns the number of that epoch.
    pub(super) fn sync_with_next_epoch(&mut self, file: usize) -> u64 {
        self.grown.push(file);
        self.epochs_begun + 1
    }

    pub(super) fn has_ended(&self, epoch: u64) -> bool {
        self.epochs_done >= epoch
    }

    /// Everything through `through` is durable: its effects come into force.
    fn install(&mut self, through: u64, map: &PageMap) {
        while let Some(chunk) = self.queue.front()
            && chunk.sequence <= through
        {
            let chunk = self.queue.pop_front().expect("just seen");
            for (entry, place) in chunk.effects {
                self.apply(entry, place, map);
            }
            self.durable_through = chunk.sequence;
        }
    }

    fn apply(&mut self, entry: Entry, place: Place, map: &PageMap) {
        let page = PageId(entry.subject);
        match entry.effect {
            Effect::MapBlock => return,
            Effect::Replace { from } => {
                let current = map.load(page);
                if current.is_nowhere() || current.address() != from {
                    // The page was rewritten meanwhile: the copy is garbage.
                    self.release(place);
                    return;
                }
            }
            Effect::Set | Effect::Free => {}
        }
        let (before, became_dirty) = map.store(page, place);
        if became_dirty {
            self.dirty_leaves.push(leaf_of(page));
        }
        self.mapped_pages += u64::from(!place.is_nowhere());
        self.mapped_pages -= u64::from(!before.is_nowhere());
        if !before.is_nowhere() {
            self.release(before);
        }
    }

    /// Frees the retired segments that nothing needs any more; returns how many of pages and of the map.
    pub(super) fn promote(&mut self) -> (u32, u32) {
        let horizon = self.next_scan_from.unwrap_or(self.durable_through + 1);
        self.table.promote(self.scan_from, horizon)
    }

    /// The image at a place died.
    pub(super) fn release(&mut self, place: Place) {
        let segment = self.geometry.segment_of(place);
        self.table.release(segment, place.bytes(), self.next_sequence);
    }

    /// The segments that began before the next scan-from and may still get, or have, later chunks.
    pub(super) fn straddling(&self) -> Vec<u32> {
        let scan_from = self.durable_through + 1;
        let mut found: Vec<u32> = Vec::new();
        for (index, segment) in self.table.iter() {
            let is_open = self.open.iter().flatten().any(|open| open.segment == index);
            let began = segment.generation < scan_from;
            let used = segment.usage != super::table::Use::Free;
            if used && began && (is_open || segment.last_sequence >= scan_from) {
                found.push(index);
            }
        }
        found
    }
}
