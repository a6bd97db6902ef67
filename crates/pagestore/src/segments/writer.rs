//! Writing chunks: placed and started in one step, synced in epochs that share one flush, installed in order.
//!
//! Invariant: a chunk that has a sequence is written, whoever waits for it or not: later chunks depend on it.

use super::PlantedFault;
use super::core::Core;
use super::pace::Limits;
use super::place::BLOCK_BYTES;
use super::state::State;
use super::summary::{ENTRIES_MAX, Effect, Entry, Stream, Summary};
use crate::{BATCH_HEADER_BYTES, PageBatch, PageId, StoreError, header};
use env::{IoBuf, IoError, yield_now};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const _: () = assert!(BATCH_HEADER_BYTES == BLOCK_BYTES, "a summary fits where a batch leaves room");

/// What wants to be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Page,
    /// Frees make space in the end, so they may use what is kept for the cleaner, and never wait for it.
    Free,
}

impl Class {
    fn floor(self, limits: Limits) -> u32 {
        match self {
            Self::Page => limits.fresh_floor,
            Self::Free => limits.map_floor,
        }
    }
}

/// Pages that a batch writes for the first time; given back when the batch is over.
struct Arrival<'c> {
    core: &'c Core,
    pages: u64,
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.core.state.lock().arriving_pages -= self.pages;
        self.core.progress.wake_all();
    }
}

impl Core {
    /// Writes a batch, as several chunks if it does not fit into the open segment.
    pub(super) async fn write_pages(self: &Arc<Self>, batch: PageBatch) -> Result<(), StoreError> {
        let size = self.geometry.page_size.bytes();
        let newest_lsn = (0..batch.len()).map(|index| header::lsn(batch.image(index))).max().unwrap_or(0);
        let (pages, buffer) = batch.into_parts();
        let _arrival = self.admit_arrivals(&pages).await?;
        let mut whole = Some(buffer);
        let (mut done, mut last) = (0, 0);
        while done < pages.len() {
            self.admit(Class::Page).await?;
            let Some(summary) = self.place_fresh(&pages[done..], newest_lsn) else {
                // Every free segment is still being read.
                yield_now().await;
                continue;
            };
            let count = summary.entries.len();
            last = summary.sequence;
            if count == pages.len() {
                self.launch(summary, whole.take().expect("the batch is taken once"));
            } else {
                let batch = whole.as_ref().expect("a batch in pieces stays");
                let start = BLOCK_BYTES + done * size;
                let mut piece = IoBuf::zeroed(BLOCK_BYTES + count * size);
                let images = &batch.as_slice()[start..start + count * size];
                piece.as_mut_slice()[BLOCK_BYTES..].copy_from_slice(images);
                self.launch(summary, piece);
            }
            done += count;
        }
        self.wait_durable(last).await
    }

    /// Frees pages. The entries go to the log like images and take only the summary's own space.
    pub(super) async fn free_pages(self: &Arc<Self>, pages: &[PageId]) -> Result<(), StoreError> {
        let mut last = 0;
        for pages in pages.chunks(ENTRIES_MAX) {
            let summary = loop {
                self.admit(Class::Free).await?;
                if let Some(summary) = self.place_frees(pages) {
                    break summary;
                }
                yield_now().await;
            };
            last = summary.sequence;
            self.launch(summary, IoBuf::zeroed(BLOCK_BYTES));
        }
        self.wait_durable(last).await
    }

    fn place_frees(&self, pages: &[PageId]) -> Option<Summary> {
        let mut state = self.state.lock();
        let floor = Class::Free.floor(self.limits(state.table.len()));
        if state.make_room(Stream::Fresh, 0, floor, &self.gates) == 0 {
            return None;
        }
        let free = |page: &PageId| Entry { subject: page.0, effect: Effect::Free, bytes: 0, checksum: 0 };
        let summary = state.start(Stream::Fresh, pages.iter().map(free).collect());
        state.pace.fruitless_cycles = 0;
        state.pace.note_written(summary.chunk_bytes());
        drop(state);
        self.counters.fresh_bytes.fetch_add(summary.chunk_bytes(), Ordering::Relaxed);
        Some(summary)
    }

    /// `newest_lsn`: of the whole batch.
    fn place_fresh(&self, pages: &[PageId], newest_lsn: u64) -> Option<Summary> {
        let size = self.geometry.page_size.bytes();
        let mut state = self.state.lock();
        let limits = self.limits(state.table.len());
        let room = state.make_room(Stream::Fresh, size, limits.fresh_floor, &self.gates);
        let count = self.geometry.items_in(room, size).min(pages.len());
        if count == 0 {
            return None;
        }
        let set =
            |page: &PageId| Entry { subject: page.0, effect: Effect::Set, bytes: size as u64, checksum: 0 };
        let entries = pages[..count].iter().map(set).collect();
        state.newest_lsn = state.newest_lsn.max(newest_lsn);
        let summary = state.start(Stream::Fresh, entries);
        let (fill, free) = (self.fill(&state), state.table.free_count());
        state.pace.fruitless_cycles = 0;
        state.pace.note_fresh(summary.chunk_bytes(), fill, free, limits, self.geometry.segment_bytes);
        drop(state);
        self.counters.fresh_bytes.fetch_add(summary.chunk_bytes(), Ordering::Relaxed);
        Some(summary)
    }

    /// Completes the summary and starts the write. Pages get the chunk's sequence into their headers.
    pub(super) fn launch(self: &Arc<Self>, mut summary: Summary, mut buffer: IoBuf) {
        let bytes = buffer.as_mut_slice();
        let mut start = BLOCK_BYTES;
        for entry in &mut summary.entries {
            let image = &mut bytes[start..start + entry.bytes as usize];
            start += image.len();
            match entry.effect {
                Effect::Set | Effect::Replace { .. } => {
                    header::set_chunk_sequence(image, summary.sequence);
                    header::seal(image);
                    entry.checksum = header::checksum(image);
                }
                Effect::MapBlock => entry.checksum = crc_fast::crc32_iscsi(image),
                Effect::Free => {}
            }
        }
        summary.encode(&mut bytes[..BLOCK_BYTES]);
        let write = self.files.write(summary.segment, summary.offset, buffer);
        let core = self.clone();
        let finish = async move {
            let (_, result) = write.await;
            core.chunk_written(summary.sequence, result).await;
        };
        self.env.spawner.spawn("segment-chunk", Box::pin(finish));
        self.kick();
    }

    async fn chunk_written(self: &Arc<Self>, sequence: u64, result: Result<(), IoError>) {
        match result {
            Ok(()) => self.state.lock().note_written(sequence),
            Err(error) => return self.fail(error.into()),
        }
        while self.flush_epoch().await {}
    }

    /// Makes durable what is written so far and installs it; false if there is nothing to do or somebody is at it.
    pub(super) async fn flush_epoch(self: &Arc<Self>) -> bool {
        if self.check_healthy().is_err() {
            return false;
        }
        let Some((through, mut numbers)) = self.state.lock().begin_epoch() else { return false };
        if self.is_planted(PlantedFault::AcknowledgeUnsynced) {
            numbers.clear();
        }
        let sync = |(number, has_grown)| {
            let file = self.files.file(number);
            if has_grown { file.sync_all() } else { file.sync() }
        };
        let syncs: Vec<_> = numbers.into_iter().map(sync).collect();
        let mut outcome = Ok(());
        for sync in syncs {
            outcome = outcome.and(sync.await);
        }
        if let Err(error) = outcome {
            // The epoch does not end, so that nobody syncs again, even who found the store healthy just now.
            self.fail(error.into());
            return false;
        }
        let made_room;
        {
            let mut state = self.state.lock();
            state.end_epoch(through, &self.map);
            state.pace.stuck = false;
            let (freed, freed_map) = match self.is_planted(PlantedFault::ReuseAtOnce) {
                true => state.table.promote(u64::MAX, u64::MAX),
                false => state.promote(),
            };
            state.pace.note_freed(freed, freed_map);
            made_room = freed + freed_map > 0;
        }
        self.counters.epochs.fetch_add(1, Ordering::Relaxed);
        self.progress.wake_all();
        if made_room {
            self.space.wake_all();
        }
        self.kick();
        true
    }

    /// Counts the pages of a batch that are new, and makes sure that there is space for them for good.
    async fn admit_arrivals(self: &Arc<Self>, pages: &[PageId]) -> Result<Arrival<'_>, StoreError> {
        loop {
            let waiter = self.progress.register();
            self.check_healthy()?;
            let (others, segments) = {
                let mut state = self.state.lock();
                let new = self.count_unmapped(pages);
                let limits = self.limits(state.table.len());
                let wanted = state.mapped_pages + state.arriving_pages + new;
                if new == 0 || wanted <= limits.pages_max {
                    state.arriving_pages += new;
                    return Ok(Arrival { core: self, pages: new });
                }
                (state.arriving_pages, state.table.len())
            };
            if others > 0 {
                // Some of those may be mapped by now and counted twice.
                waiter.await;
                continue;
            }
            self.grow_to(segments + 1).await?;
        }
    }

    /// Waits until a chunk may be placed.
    async fn admit(self: &Arc<Self>, class: Class) -> Result<(), StoreError> {
        let mut delayed = false;
        loop {
            let waiter = self.space.register();
            self.check_healthy()?;
            {
                let mut state = self.state.lock();
                let limits = self.limits(state.table.len());
                let free = state.table.free_count();
                let bytes = if class == Class::Page { self.geometry.page_size.bytes() } else { 0 };
                let fits =
                    state.room(Stream::Fresh) >= (BLOCK_BYTES + bytes) as u64 || free > class.floor(limits);
                let paid = class == Class::Free
                    || state.pace.allows_fresh(free, limits, self.geometry.segment_bytes);
                if fits && paid {
                    return Ok(());
                }
                if std::mem::take(&mut state.pace.stuck) {
                    drop(state);
                    return Err(self.no_space());
                }
            }
            if !std::mem::replace(&mut delayed, true) {
                self.counters.writes_delayed.fetch_add(1, Ordering::Relaxed);
            }
            self.kick();
            waiter.await;
        }
    }

    /// The living share of the space that pages can use.
    pub(super) fn fill(&self, state: &State) -> f64 {
        let size = self.geometry.page_size.bytes();
        let usable = u64::from(state.table.len()) * self.geometry.items_per_segment(size) * size as u64;
        state.table.live_bytes() as f64 / usable.max(1) as f64
    }
}
