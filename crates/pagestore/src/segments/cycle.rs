//! The checkpoint of the map: a cycle that writes the dirty blocks a few at a time and ends with a superblock.
//!
//! Order: the leaves that were dirty when the cycle began, then the nodes above, level by level, then the root. A leaf
//! that changes again meanwhile is the next cycle's. Old places are released only when the superblock is durable.

use super::core::Core;
use super::place::{BLOCK_BYTES, Place};
use super::summary::{Effect, Entry, Stream, Summary};
use super::tree::{BlockName, Pointer, ROOT_LEVEL, Tree};
use crate::StoreError;
use env::{IoBuf, yield_now};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// 256 KB: large enough to be sequential, small enough not to be felt.
const BLOCKS_PER_STEP: usize = 64;

pub(super) struct Cycle {
    scan_from: u64,
    straddling: Vec<u32>,
    level: usize,
    /// Blocks of this level that are still to be written.
    todo: Vec<u32>,
    /// Where blocks were before.
    replaced: Vec<Place>,
    last_sequence: u64,
    /// Of an opening: so many sequences are skipped before the log begins again.
    opening_gap: Option<u64>,
}

impl Cycle {
    /// Goes up to the next level with something to write.
    fn climb(&mut self, tree: &Tree) {
        while self.todo.is_empty() && self.level < ROOT_LEVEL {
            self.level += 1;
            self.todo = tree.dirty(self.level);
        }
    }

    /// Places that the checkpoint on disk still needs.
    pub(super) fn replaced(&self) -> impl Iterator<Item = Place> {
        self.replaced.iter().copied()
    }
}

impl Core {
    /// Everything is in the words, nothing is in flight: the log can begin anew behind this checkpoint.
    pub(super) fn begin_opening_cycle(&self, gap: u64) {
        let cycle = Cycle { opening_gap: Some(gap), ..self.begin_cycle() };
        *self.cycle.lock() = Some(cycle);
    }

    fn begin_cycle(&self) -> Cycle {
        let mut state = self.state.lock();
        state.pace.cycle_active = true;
        state.pace.cycle_bytes = 0;
        state.next_scan_from = Some(state.durable_through + 1);
        let mut todo = std::mem::take(&mut state.dirty_leaves);
        todo.sort_unstable_by(|one, other| other.cmp(one));
        Cycle {
            scan_from: state.durable_through + 1,
            straddling: state.straddling(),
            level: 0,
            todo,
            replaced: Vec::new(),
            last_sequence: 0,
            opening_gap: None,
        }
    }

    /// Goes on with the cycle, or begins one. True when one has ended.
    pub(super) async fn cycle_step(self: &Arc<Self>) -> Result<bool, StoreError> {
        let cycle = self.cycle.lock().take();
        let mut cycle = cycle.unwrap_or_else(|| self.begin_cycle());
        cycle.climb(&self.tree.lock());
        if cycle.todo.is_empty() {
            self.end_cycle(cycle).await?;
            return Ok(true);
        }
        self.write_blocks(&mut cycle).await?;
        *self.cycle.lock() = Some(cycle);
        Ok(false)
    }

    async fn write_blocks(self: &Arc<Self>, cycle: &mut Cycle) -> Result<(), StoreError> {
        loop {
            self.check_healthy()?;
            let Some((summary, buffer)) = self.place_blocks(cycle) else {
                let (free, segments) = {
                    let table = &self.state.lock().table;
                    (table.free_count(), table.len())
                };
                match free {
                    // The floors of everybody else are there to prevent this, but an opening may need more segments for its
                    // log, and for the images that doubtful chunks have replaced, than was free.
                    0 => self.grow_to(segments + 1).await?,
                    // Every free segment is still being read.
                    _ => yield_now().await,
                }
                continue;
            };
            let bytes = summary.chunk_bytes();
            self.counters.map_bytes.fetch_add(bytes, Ordering::Relaxed);
            self.state.lock().pace.map_debt -= bytes as i64;
            self.launch(summary, buffer);
            return Ok(());
        }
    }

    /// Captures blocks and points the tree to their new places. Children come before their parents in the chunk.
    fn place_blocks(&self, cycle: &mut Cycle) -> Option<(Summary, IoBuf)> {
        let mut state = self.state.lock();
        let mut tree = self.tree.lock();
        let room = state.make_room(Stream::Map, BLOCK_BYTES, 0, &self.gates);
        let count_max = self.geometry.items_in(room, BLOCK_BYTES).min(BLOCKS_PER_STEP);
        if count_max == 0 {
            return None;
        }
        let mut buffer = IoBuf::zeroed(BLOCK_BYTES * (count_max + 1));
        let mut entries = Vec::with_capacity(count_max);
        for block in buffer.as_mut_slice()[BLOCK_BYTES..].chunks_exact_mut(BLOCK_BYTES) {
            cycle.climb(&tree);
            let Some(index) = cycle.todo.pop() else { break };
            let name = BlockName { level: cycle.level, index };
            match name.level {
                0 => self.map.capture(name.index, block),
                _ => tree.capture(name, block),
            }
            let place = state.next_place(Stream::Map, entries.len());
            let checksum = crc_fast::crc32_iscsi(block);
            let before = tree.set_pointer(name, Pointer { place, checksum });
            if !before.is_nowhere() {
                cycle.replaced.push(before);
            }
            let (subject, bytes) = (name.subject(), BLOCK_BYTES as u64);
            entries.push(Entry { subject, effect: Effect::MapBlock, bytes, checksum: 0 });
        }
        buffer.set_len(BLOCK_BYTES * (entries.len() + 1));
        let summary = state.start(Stream::Map, entries);
        cycle.last_sequence = summary.sequence;
        Some((summary, buffer))
    }

    async fn end_cycle(self: &Arc<Self>, mut cycle: Cycle) -> Result<(), StoreError> {
        self.wait_durable(cycle.last_sequence).await?;
        let incarnation = {
            let mut state = self.state.lock();
            if let Some(gap) = cycle.opening_gap {
                state.skip_sequences(gap);
                cycle.scan_from = state.next_sequence;
                state.next_scan_from = Some(cycle.scan_from);
                cycle.straddling = state.straddling();
            }
            state.identity.incarnation
        };
        let root = self.tree.lock().root();
        let Cycle { scan_from, straddling, .. } = cycle;
        self.put_superblock(move |superblock| {
            superblock.incarnation = incarnation;
            superblock.root = root;
            superblock.scan_from = scan_from;
            superblock.straddling = straddling;
        })
        .await?;
        {
            let mut state = self.state.lock();
            for place in cycle.replaced {
                state.release(place);
            }
            state.scan_from = scan_from;
            state.next_scan_from = None;
            let (freed, freed_map) = state.promote();
            state.pace.note_cycle(freed, freed_map);
        }
        self.counters.cycles.fetch_add(1, Ordering::Relaxed);
        self.space.wake_all();
        Ok(())
    }
}
