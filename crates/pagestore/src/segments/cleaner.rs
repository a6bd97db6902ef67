//! The cleaner: copies what lives out of the emptiest segment, so that the segment dies.
//!
//! It works in steps that nobody minds: one read of a part of the victim and one chunk of copies. A victim is read from
//! one end to the other, without the parts in which nothing lives; its summaries say which pages it held, the words
//! which of them are still there. Images are checked before they are copied: a damaged one stays where it is, and its
//! segment with it. Copies go to segments of their own, victim by victim so that each dies soon.

use super::core::Core;
use super::place::{BLOCK_BYTES, Place};
use super::reader::verify_image;
use super::state::State;
use super::summary::{Effect, Entry, Stream, Summary};
use super::table::Use;
use super::tree::BlockName;
use crate::{PageId, StoreError};
use env::{IoBuf, yield_now};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One read of a victim: sequential for the disk, and soon over.
const STEP_BYTES: u64 = 256 << 10;
/// So many chunks of copies may be on their way: they share syncs, which cost more than the writes.
const CHUNKS_IN_FLIGHT: usize = 8;
/// Reads of whole segments, for checks.
const READ_BYTES: u64 = 1 << 20;

/// What is left to do between two steps.
#[derive(Default)]
pub(super) struct Cleaner {
    victim: Option<Victim>,
    /// Images that were read and are not written yet.
    pending: Vec<Pending>,
    /// The newest chunks of copies, in order.
    launched: VecDeque<u64>,
}

/// A segment that is being read.
struct Victim {
    segment: u32,
    /// The use of the segment that is meant.
    generation: u64,
    /// Where its next chunk begins, if there is one.
    offset: u64,
    /// What lived in the chunk before that when its summary was read, in order of place, and has not been read.
    left: VecDeque<(PageId, Place)>,
}

struct Pending {
    page: PageId,
    from: Place,
    /// The use of the segment that `from` means: a word that names the same address in a later one is another image.
    generation: u64,
    image: Box<[u8]>,
}

impl Cleaner {
    /// Copies of two segments make fewer chunks together; those of one alone would only change places.
    fn gains(&self, core: &Core) -> bool {
        let segment = |copy: &Pending| core.geometry.segment_of(copy.from);
        let first = self.pending.first().map(segment);
        self.pending.iter().any(|copy| Some(segment(copy)) != first)
    }
}

impl Core {
    /// The segment that is cleaned next.
    fn best_victim(&self, state: &State) -> Option<u32> {
        let size = self.geometry.page_size.bytes();
        let limit = self.geometry.items_per_segment(size) * size as u64;
        state.table.emptiest(limit, state.durable_through)
    }

    /// Whether a step could gain anything.
    pub(super) fn can_clean(&self, state: &State) -> bool {
        let begun = |cleaner: &Cleaner| cleaner.victim.is_some() || cleaner.gains(self);
        !state.pace.cleaner_blocked && (begun(&self.cleaner.lock()) || self.best_victim(state).is_some())
    }

    /// Reads a part of a victim and writes a chunk of copies, if there are enough; with no victim left it writes what
    /// is pending. True if anything was done.
    pub(super) async fn clean_step(self: &Arc<Self>) -> Result<bool, StoreError> {
        let victim = self.take_victim();
        let found = victim.is_some();
        if let Some(mut victim) = victim {
            if self.read_on(&mut victim).await {
                self.cleaner.lock().victim = Some(victim);
            } else {
                self.counters.segments_cleaned.fetch_add(1, Ordering::Relaxed);
            }
        }
        let written = self.write_copies(!found).await?;
        self.state.lock().pace.just_cycled = false;
        Ok(found || written)
    }

    /// The victim that was begun, or a new one.
    fn take_victim(&self) -> Option<Victim> {
        let mut state = self.state.lock();
        let mut cleaner = self.cleaner.lock();
        if cleaner.pending.len() >= 2 * self.copies_per_chunk(self.geometry.segment_bytes) {
            // There was no segment to write them to.
            return None;
        }
        if let Some(victim) = cleaner.victim.take() {
            return Some(victim);
        }
        let segment = self.best_victim(&state)?;
        state.table.start_cleaning(segment);
        // Copies pay when they are written. Map blocks are written by the next cycle, and a segment that yields nothing
        // must not be owed for ever.
        let entry = *state.table.get(segment);
        let live = if entry.stream == Stream::Map { entry.live } else { 0 };
        state.pace.clean_debt -= (live as i64).max(BLOCK_BYTES as i64);
        Some(Victim { segment, generation: entry.generation, offset: 0, left: VecDeque::new() })
    }

    fn copies_per_chunk(&self, room: u64) -> usize {
        self.geometry.items_copied_in(room, self.geometry.page_size.bytes())
    }

    /// Reads the next part of a victim and notes what lives in it; false when nothing is left of it.
    async fn read_on(self: &Arc<Self>, victim: &mut Victim) -> bool {
        let start = victim.left.front().map_or(victim.offset, |(_, place)| self.geometry.offset_of(*place));
        let length = STEP_BYTES.min(self.geometry.segment_bytes - start);
        let reading = self.gates.enter(victim.segment);
        let same_use = |entry: &super::table::Segment| {
            entry.usage == Use::Cleaning && entry.generation == victim.generation
        };
        if !same_use(self.state.lock().table.get(victim.segment)) {
            // Everything in it has died meanwhile.
            return false;
        }
        let (buffer, result) = self.files.read(victim.segment, start, IoBuf::zeroed(length as usize)).await;
        drop(reading);
        // An unreadable segment keeps its pages; whoever asks for one of them gets the error.
        result.is_ok() && self.collect(victim, start, buffer.as_slice())
    }

    /// Takes what lives from a part of the victim that begins at `start`; false when the rest is of no interest.
    fn collect(&self, victim: &mut Victim, start: u64, bytes: &[u8]) -> bool {
        let size = self.geometry.page_size.bytes();
        let end = start + bytes.len() as u64;
        let segment_end = self.geometry.segment_bytes;
        loop {
            while let Some((page, from)) = victim.left.front().copied() {
                let at = self.geometry.offset_of(from);
                if at + size as u64 > end {
                    return true;
                }
                victim.left.pop_front();
                let image = &bytes[(at - start) as usize..][..size];
                if self.map.load(page) == from && verify_image(image, page, victim.generation).is_ok() {
                    let (image, generation) = (image.into(), victim.generation);
                    self.cleaner.lock().pending.push(Pending { page, from, generation, image });
                }
            }
            let block_end = victim.offset + BLOCK_BYTES as u64;
            if block_end > end.min(segment_end) {
                return block_end <= segment_end;
            }
            let block = &bytes[(victim.offset - start) as usize..][..BLOCK_BYTES];
            let summary = self.summary_at(victim.segment, victim.generation, victim.offset, block);
            let Some(summary) = summary else { return false };
            victim.offset += summary.chunk_bytes();
            victim.left = self.living(&summary);
        }
    }

    /// The pages of a chunk that are still there. Map blocks among them will leave with the next cycle.
    fn living(&self, summary: &Summary) -> VecDeque<(PageId, Place)> {
        let size = self.geometry.page_size.bytes() as u64;
        let mut living = VecDeque::new();
        for (entry, place) in summary.places(self.geometry) {
            let page = PageId(entry.subject);
            if entry.effect == Effect::MapBlock {
                self.evacuate_block(entry.subject, place);
            } else if !place.is_nowhere() && place.bytes() == size && self.map.load(page) == place {
                living.push_back((page, place));
            }
        }
        living
    }

    pub(super) async fn read_segment(&self, segment: u32) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::with_capacity(self.geometry.segment_bytes as usize);
        while (bytes.len() as u64) < self.geometry.segment_bytes {
            let length = READ_BYTES.min(self.geometry.segment_bytes - bytes.len() as u64);
            let read = self.files.read(segment, bytes.len() as u64, IoBuf::zeroed(length as usize));
            let (buffer, result) = read.await;
            result?;
            bytes.extend_from_slice(buffer.as_slice());
        }
        Ok(bytes)
    }

    /// The chunks of one use of a segment, from its bytes.
    pub(super) fn walk(&self, segment: u32, generation: u64, bytes: &[u8]) -> Vec<Summary> {
        let mut found = Vec::new();
        let mut offset = 0;
        while let Some(block) = bytes.get(offset..offset + BLOCK_BYTES)
            && let Some(summary) = self.summary_at(segment, generation, offset as u64, block)
        {
            offset += summary.chunk_bytes() as usize;
            found.push(summary);
        }
        found
    }

    /// The summary in a block, if it belongs to this place in this use of the segment.
    fn summary_at(&self, segment: u32, generation: u64, offset: u64, block: &[u8]) -> Option<Summary> {
        let store = self.state.lock().identity.store;
        Summary::decode(block).filter(|summary| {
            summary.store == store
                && summary.generation == generation
                && summary.segment == segment
                && summary.offset == offset
                && offset + summary.chunk_bytes() <= self.geometry.segment_bytes
        })
    }

    /// A map block that lives here is written anew by the next cycle.
    fn evacuate_block(&self, subject: u64, place: Place) {
        let Some(name) = BlockName::from_subject(subject) else { return };
        let mut state = self.state.lock();
        let mut tree = self.tree.lock();
        if tree.pointer(name).place != place {
            return;
        }
        match name.level {
            0 if self.map.touch(name.index) => state.dirty_leaves.push(name.index),
            0 => {}
            _ => tree.touch(name),
        }
    }

    /// Writes a chunk of copies if there are enough for a full one, with `all` in any case.
    async fn write_copies(self: &Arc<Self>, all: bool) -> Result<bool, StoreError> {
        let Some((summary, buffer)) = self.place_copies(all) else { return Ok(false) };
        let bytes = summary.chunk_bytes();
        self.counters.relocated_bytes.fetch_add(bytes, Ordering::Relaxed);
        {
            let mut state = self.state.lock();
            state.pace.clean_debt -= bytes as i64;
            state.pace.note_written(bytes);
        }
        let oldest = {
            let mut cleaner = self.cleaner.lock();
            cleaner.launched.push_back(summary.sequence);
            let is_enough = cleaner.launched.len() >= CHUNKS_IN_FLIGHT;
            is_enough.then(|| cleaner.launched.pop_front()).flatten()
        };
        self.launch(summary, buffer);
        self.space.wake_all();
        yield_now().await;
        if let Some(oldest) = oldest {
            self.wait_durable(oldest).await?;
        }
        Ok(true)
    }

    fn place_copies(&self, all: bool) -> Option<(Summary, IoBuf)> {
        let size = self.geometry.page_size.bytes();
        let mut state = self.state.lock();
        let mut cleaner = self.cleaner.lock();
        // Rewritten, freed or moved since: nothing to copy.
        cleaner.pending.retain(|copy| {
            let generation = self.gates.generation(self.geometry.segment_of(copy.from));
            self.map.load(copy.page) == copy.from && generation == copy.generation
        });
        if cleaner.pending.is_empty() {
            return None;
        }
        let floor = self.limits(state.table.len()).map_floor;
        let count = match self.copies_per_chunk(state.room(Stream::Relocated)) {
            0 => self.copies_per_chunk(self.geometry.segment_bytes),
            count => count,
        };
        if cleaner.pending.len() < count && !(all && cleaner.gains(self)) {
            return None;
        }
        if state.make_room(Stream::Relocated, size, floor, &self.gates) == 0 {
            state.pace.cleaner_blocked = true;
            return None;
        }
        let count = count.min(cleaner.pending.len());
        let copies: Vec<_> = cleaner.pending.drain(..count).collect();
        let entry = |copy: &Pending| Entry {
            subject: copy.page.0,
            effect: Effect::Replace { from: copy.from.address() },
            bytes: size as u64,
            checksum: 0,
        };
        let summary = state.start(Stream::Relocated, copies.iter().map(entry).collect());
        drop(state);
        let mut buffer = IoBuf::zeroed(BLOCK_BYTES + count * size);
        let images = buffer.as_mut_slice()[BLOCK_BYTES..].chunks_exact_mut(size);
        for (image, copy) in images.zip(&copies) {
            image.copy_from_slice(&copy.image);
        }
        Some((summary, buffer))
    }
}
