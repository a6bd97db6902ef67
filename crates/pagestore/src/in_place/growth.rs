//! Growth of the data file: space is filled with zeros before it counts.
//!
//! Order: reserve, fill, sync in full, superblock. Only then pages there can be written, so none of them ever lies in a block
//! that the file system may hold for unwritten after a power cut (`fill`). Filling does not keep batches from being written.
//!
//! Invariant: `page_count` never exceeds what the durable superblock says. A growth that is cut off leaves a longer file, and
//! is done again.

use super::{InPlaceStore, superblock};
use crate::fill::fill_with_zeros;
use crate::{PageStore, StoreError};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// The file grows by an eighth of its size within these bounds: few growths of large files, little waste in small ones, and
/// whoever asks does not wait for long.
pub(super) const BYTES_MIN: u64 = 1 << 20;
const BYTES_MAX: u64 = 8 << 20;

impl InPlaceStore {
    /// See `PageStore::extend`.
    pub(super) async fn grow_to(&self, page_count: u64) -> Result<(), StoreError> {
        let _growth = self.growth_turn.take().await;
        self.check_healthy()?;
        let current = self.page_count();
        if page_count <= current {
            return Ok(());
        }
        let size = self.page_size.bytes() as u64;
        let (filled, needed) = (current * size, page_count * size);
        let step = (filled / 8).clamp(BYTES_MIN, BYTES_MAX);
        let generous = needed.max((filled + step).next_multiple_of(size));
        let end = match self.prepare(filled..generous).await {
            // Near the end of the disk only what is needed may still fit.
            Err(error) if error.is_no_space() && generous > needed => {
                self.prepare(filled..needed).await?;
                needed
            }
            result => result.map(|()| generous)?,
        };
        debug_assert!(end >= needed, "a growth brings what was asked for");
        debug_assert_eq!(end % size, 0, "a store consists of whole pages");
        debug_assert_eq!(current, self.page_count(), "one growth at a time");
        let _turn = self.turn.take().await;
        self.check_healthy()?;
        let synced = self.data.sync_all().await;
        self.note_failure(synced.map_err(StoreError::from))?;
        let grown = self.superblock.lock().grown(end / size);
        self.note_failure(self.changes.save(grown.sequence).await.map_err(StoreError::from))?;
        self.note_failure(superblock::write(&self.data, self.page_size, &grown).await)?;
        *self.superblock.lock() = grown;
        debug_assert!(end / size > current, "a store only grows");
        self.page_count.store(end / size, Ordering::Release);
        Ok(())
    }

    async fn prepare(&self, space: Range<u64>) -> Result<(), StoreError> {
        self.data.allocate(space.end).await?;
        debug_assert!(space.start < space.end, "a growth is not empty");
        Ok(fill_with_zeros(&self.data, space).await?)
    }
}
