//! Making room: segments are added at the end, filled with zeros and synced before anybody may use them, so that later
//! writes change no file metadata.

use super::core::Core;
use super::map::{MAP_PAGES_MAX, blocks_for};
use super::pace::Limits;
use crate::StoreError;
use crate::fill::fill_with_zeros;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One step of unasked growth, at most.
const STEP_BYTES_MAX: u64 = 1 << 30;

impl Core {
    /// Adds segments until there are `wanted`. On a full disk those that fitted stay.
    pub(super) async fn grow_to(self: &Arc<Self>, wanted: u32) -> Result<(), StoreError> {
        let _turn = self.growth_turn.take().await;
        loop {
            self.check_healthy()?;
            let count = self.state.lock().table.len();
            if count >= wanted {
                return Ok(());
            }
            let left_in_file = self.geometry.segments_per_file - count % self.geometry.segments_per_file;
            self.add_segments(count, (wanted - count).min(left_in_file)).await?;
            self.space.wake_all();
            self.progress.wake_all();
        }
    }

    /// Adds segments of one file.
    async fn add_segments(self: &Arc<Self>, first: u32, count: u32) -> Result<(), StoreError> {
        let file = self.files.file_or_new(&self.env, first).await?;
        let start = self.geometry.file_of(first).1;
        let end = start + u64::from(count) * self.geometry.segment_bytes;
        file.allocate(end).await?;
        fill_with_zeros(&file, start..end).await?;
        self.sync_grown(self.geometry.file_of(first).0).await?;
        self.gates.grow_to(first + count);
        let mut state = self.state.lock();
        state.table.grow(count);
        state.pace.stuck = false;
        Ok(())
    }

    /// Syncs a file with the next epoch. A task does it, because the caller may be given up.
    async fn sync_grown(self: &Arc<Self>, file: usize) -> Result<(), StoreError> {
        let epoch = self.state.lock().sync_with_next_epoch(file);
        let core = self.clone();
        let work = async move { while core.flush_epoch().await {} };
        self.env.spawner.spawn("segment-growth", Box::pin(work));
        loop {
            let waiter = self.progress.register();
            if self.state.lock().has_ended(epoch) {
                return Ok(());
            }
            self.check_healthy()?;
            waiter.await;
        }
    }

    /// Unasked growth when the space is well used: an eighth at a time, less if the disk has no more.
    pub(super) async fn grow_step(self: &Arc<Self>) -> Result<(), StoreError> {
        let count = self.state.lock().table.len();
        let step_max = (STEP_BYTES_MAX / self.geometry.segment_bytes).max(1) as u32;
        let step = (count / 8).clamp(1, step_max);
        match self.grow_to(count + step).await {
            Err(error) if error.is_no_space() => {
                let mut state = self.state.lock();
                // Ask again when a sixteenth of the space has been written.
                state.pace.growth_pause = u64::from(count) * self.geometry.segment_bytes / 16;
                Ok(())
            }
            result => result,
        }
    }

    /// Promises that pages below `page_count` can be written: there is space for all of them, or an error.
    pub(super) async fn extend_to(self: &Arc<Self>, page_count: u64) -> Result<(), StoreError> {
        self.check_healthy()?;
        let current = self.page_count();
        if page_count <= current {
            return Ok(());
        }
        if page_count > MAP_PAGES_MAX {
            return Err(self.no_space());
        }
        let generous = (current + current / 8).min(MAP_PAGES_MAX);
        let mut promised = page_count;
        if generous > page_count && self.make_space_for(generous).await.is_ok() {
            promised = generous;
        } else {
            self.make_space_for(page_count).await?;
        }
        self.put_superblock(|superblock| superblock.page_count = superblock.page_count.max(promised)).await?;
        self.page_count.fetch_max(promised, Ordering::AcqRel);
        Ok(())
    }

    /// How many page ids so many segments allow.
    pub(super) fn pages_for(&self, segments: u32) -> u64 {
        let spread = u64::from(self.options.ids_per_page.max(1));
        // The map takes the more space the more pages there are; two rounds come close enough from below.
        let guess = Limits::new(self.geometry, &self.options, segments, 4).pages_max * spread;
        Limits::new(self.geometry, &self.options, segments, blocks_for(guess)).pages_max * spread
    }

    async fn make_space_for(self: &Arc<Self>, pages: u64) -> Result<(), StoreError> {
        let blocks = blocks_for(pages);
        let pages = pages / u64::from(self.options.ids_per_page.max(1));
        let mut segments = self.state.lock().table.len();
        while Limits::new(self.geometry, &self.options, segments, blocks).pages_max < pages {
            segments += 1 + segments / 64;
        }
        self.grow_to(segments).await
    }
}
