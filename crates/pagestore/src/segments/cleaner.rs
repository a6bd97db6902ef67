//! The cleaner: copies what lives out of the emptiest segment, so that the segment dies.
//!
//! A victim is read from one end to the other; its summaries say which pages it held, the words which of them are
//! still there. Images are checked before they are copied: a damaged one stays where it is, and its segment with it.
//! Copies go to segments of their own, victim by victim so that each dies soon, in order of page ids.

use super::core::Core;
use super::place::{BLOCK_BYTES, Place};
use super::reader::verify_image;
use super::state::State;
use super::summary::{Effect, Entry, Stream, Summary};
use super::tree::BlockName;
use crate::{PageId, StoreError};
use env::{IoBuf, yield_now};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const READ_BYTES: u64 = 1 << 20;

/// Images that were read and are not written yet.
#[derive(Default)]
pub(super) struct Cleaner {
    pending: Vec<Pending>,
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
    fn victim(&self, state: &State) -> Option<u32> {
        let size = self.geometry.page_size.bytes();
        let limit = self.geometry.items_per_segment(size) * size as u64;
        state.table.emptiest(limit, state.durable_through)
    }

    /// Whether a step could gain anything.
    pub(super) fn can_clean(&self, state: &State) -> bool {
        !state.pace.cleaner_blocked && (self.victim(state).is_some() || self.cleaner.lock().gains(self))
    }

    /// Cleans one segment. With no victim left it writes what is pending. True if anything was done.
    pub(super) async fn clean_step(self: &Arc<Self>) -> Result<bool, StoreError> {
        let victim = self.take_victim();
        if let Some(victim) = victim {
            self.collect(victim).await?;
            self.counters.segments_cleaned.fetch_add(1, Ordering::Relaxed);
        }
        let written = self.write_copies(victim.is_none()).await?;
        self.state.lock().pace.just_cycled = false;
        Ok(victim.is_some() || written)
    }

    fn take_victim(&self) -> Option<u32> {
        let mut state = self.state.lock();
        let waiting = self.cleaner.lock().pending.len() as u64;
        if waiting >= self.geometry.items_per_segment(self.geometry.page_size.bytes()) {
            // There was no segment to write them to.
            return None;
        }
        let victim = self.victim(&state)?;
        state.table.start_cleaning(victim);
        // Copies pay when they are written. Map blocks are written by the next cycle, and a segment that yields nothing
        // must not be owed for ever.
        let segment = *state.table.get(victim);
        let live = if segment.stream == Stream::Map { segment.live } else { 0 };
        state.pace.clean_debt -= (live as i64).max(BLOCK_BYTES as i64);
        Some(victim)
    }

    /// Reads a victim and notes what lives in it.
    async fn collect(self: &Arc<Self>, victim: u32) -> Result<(), StoreError> {
        let reading = self.gates.enter(victim);
        let generation = self.gates.generation(victim);
        let bytes = self.read_segment(victim).await;
        drop(reading);
        // An unreadable segment keeps its pages; whoever asks for one of them gets the error.
        let Ok(bytes) = bytes else { return Ok(()) };
        let size = self.geometry.page_size.bytes() as u64;
        let mut pending = Vec::new();
        for summary in self.walk(victim, generation, &bytes) {
            for (entry, place) in summary.places(self.geometry) {
                if entry.effect == Effect::MapBlock {
                    self.evacuate_block(entry.subject, place);
                    continue;
                }
                let page = PageId(entry.subject);
                if place.is_nowhere() || place.bytes() != size || self.map.load(page) != place {
                    continue;
                }
                let start = self.geometry.offset_of(place) as usize;
                let image = &bytes[start..start + size as usize];
                if verify_image(image, page, generation).is_ok() {
                    pending.push(Pending { page, from: place, generation, image: image.into() });
                }
            }
        }
        pending.sort_unstable_by_key(|copy| copy.page);
        self.cleaner.lock().pending.append(&mut pending);
        Ok(())
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
        let store = self.state.lock().identity.store;
        let mut found = Vec::new();
        let mut offset = 0;
        while let Some(block) = bytes.get(offset..offset + BLOCK_BYTES) {
            let Some(summary) = Summary::decode(block) else { break };
            let fits = offset as u64 + summary.chunk_bytes() <= self.geometry.segment_bytes;
            let ours = summary.store == store
                && summary.generation == generation
                && summary.segment == segment
                && summary.offset == offset as u64;
            if !fits || !ours {
                break;
            }
            offset += summary.chunk_bytes() as usize;
            found.push(summary);
        }
        found
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

    /// Writes full chunks of copies, with `all` the rest too.
    async fn write_copies(self: &Arc<Self>, all: bool) -> Result<bool, StoreError> {
        let mut last = None;
        while let Some((summary, buffer)) = self.place_copies(all) {
            let bytes = summary.chunk_bytes();
            self.counters.relocated_bytes.fetch_add(bytes, Ordering::Relaxed);
            {
                let mut state = self.state.lock();
                state.pace.clean_debt -= bytes as i64;
                state.pace.note_written(bytes);
            }
            last = Some(summary.sequence);
            self.launch(summary, buffer);
            yield_now().await;
        }
        let Some(last) = last else { return Ok(false) };
        self.wait_durable(last).await?;
        self.space.wake_all();
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
        let room = match self.geometry.items_in(state.room(Stream::Relocated), size) {
            0 => self.geometry.segment_bytes,
            _ => state.room(Stream::Relocated),
        };
        let count = self.geometry.items_in(room, size);
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
