//! A backup that leaves the server part by part, whole or as an increment: whoever asked takes the parts when he can (decision 0056).
//!
//! It is the copy of `backup` in another form: pages as they lie on disk, at different moments, and the log from the checkpoint at the
//! beginning up to its end. An increment has the pages that were written since its base was begun, as of the moment at which it
//! is begun itself; whatever is written later has its changes in the log behind the checkpoint of that moment.
//!
//! Invariants: the point of change is begun before the first page is read, so no write is behind the base and before the increment.
//! Log that was not taken yet stays; a backup that is taken so slowly that writers would have to wait for its log ends instead.
//! Called by `session`.

use crate::EngineError;
use crate::checkpoints::superblock::Superblock;
use crate::copies::backup::{BackupProgress, Pace, copy_error};
use crate::copies::backup_record::{BackupBase, BackupEnd, BackupHead, BackupRecord};
use crate::engine::Engine;
use crate::log::log_tap::LogTap;
use crate::storage::files::store_error;
use pagestore::{CopiedImages, FIRST_FREE_PAGE, PageId};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The pages of one part take so many bytes at most.
const PART_BYTES: u64 = 512 << 10;
/// A piece of log as part.
const LOG_PART_BYTES: u64 = 512 << 10;

/// How a backup is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackupOptions {
    /// The backup that it continues; all pages without.
    pub base: Option<BackupBase>,
    /// So many bytes of pages in a second at most; 0: as many as users leave.
    pub bytes_per_second: u64,
}

enum Pages {
    /// All from here on, those too that are made meanwhile.
    From(PageId),
    /// These, from a place in the list on.
    Listed(Vec<PageId>, usize),
}

enum Step {
    Head,
    Pages,
    /// The log is complete up to here.
    Log(u64),
    Over,
}

/// A backup under way. See the head of this file.
pub struct BackupStream {
    engine: Arc<Engine>,
    head: BackupHead,
    superblock: Superblock,
    pages: Pages,
    damaged: Vec<u64>,
    tap: LogTap,
    /// The log is taken up to here before the next pages.
    log_to: u64,
    pace: Pace,
    step: Step,
    progress: Arc<BackupProgress>,
}

impl Engine {
    /// Begins a backup.
    pub async fn stream_backup(
        self: &Arc<Self>,
        options: BackupOptions,
        progress: Arc<BackupProgress>,
    ) -> Result<BackupStream, EngineError> {
        let BackupOptions { base, bytes_per_second } = options;
        if base.is_some_and(|base| base.log_id != self.log_id()) {
            return Err(EngineError::Io { what: "the base of the increment is of another server".into() });
        }
        let (superblock, pin) = self.begin_backup().await?;
        let store = self.pool.store();
        let tap = self.tap_with(superblock.checkpoint_lsn, pin);
        debug_assert!(tap.place() <= superblock.checkpoint_lsn, "the log is taken from the checkpoint on");
        let point = store.begin_change_point().await.map_err(store_error)?;
        let changed = base.and_then(|base| store.changed_since(base.point));
        let page_size_bytes = store.page_size().bytes() as u64;
        let pages_total = changed.as_ref().map_or(store.page_count(), |pages| pages.len() as u64);
        progress.page_size_bytes.store(page_size_bytes, Ordering::Relaxed);
        progress.pages_total.store(pages_total, Ordering::Relaxed);
        let head = BackupHead {
            id: self.env.random.u64().max(1),
            base: base.map_or(0, |base| base.id),
            point,
            log_id: self.log_id(),
            page_size_bytes,
            segment_bytes: tap.segment_bytes(),
            from_lsn: superblock.checkpoint_lsn,
            begun_us: self.env.clock.unix_us(),
            pages_total,
            is_partial: changed.is_some(),
        };
        let pages = changed.map_or(Pages::From(FIRST_FREE_PAGE), |pages| Pages::Listed(pages, 0));
        Ok(BackupStream {
            engine: self.clone(),
            head,
            superblock,
            pages,
            damaged: Vec::new(),
            log_to: self.wal.durable_lsn().0,
            tap,
            pace: Pace::new(self, bytes_per_second),
            step: Step::Head,
            progress,
        })
    }
}

impl BackupStream {
    /// What it is.
    pub fn head(&self) -> &BackupHead {
        &self.head
    }

    /// The next part; `None` behind the last one.
    pub async fn next(&mut self) -> Result<Option<BackupRecord>, EngineError> {
        if matches!(self.step, Step::Head) {
            self.step = Step::Pages;
            return Ok(Some(BackupRecord::Head(self.head)));
        }
        if matches!(self.step, Step::Over) {
            return Ok(None);
        }
        self.check_speed()?;
        loop {
            if self.tap.place() < self.log_to
                && let Some(piece) = self.tap.next(LOG_PART_BYTES).await?
            {
                self.tap.release(self.tap.place());
                let copied = self.tap.place().saturating_sub(self.head.from_lsn);
                self.progress.log_bytes.store(copied, Ordering::Relaxed);
                return Ok(Some(BackupRecord::Log(piece)));
            }
            if let Step::Log(to) = self.step {
                assert!(self.tap.place() >= to, "a backup ends with all the log that it needs");
                self.step = Step::Over;
                return Ok(Some(BackupRecord::End(self.end(to))));
            }
            match self.next_pages().await? {
                Some(pages) => return Ok(Some(pages)),
                None => {
                    // From here on the backup is complete as soon as it has the log of this moment.
                    let end = self.engine.wal.end_lsn();
                    let durable = self.engine.wal.wait_durable(end).await;
                    durable.map_err(|error| self.engine.log_failed(&error))?;
                    debug_assert!(self.engine.wal.durable_lsn() >= end, "what was waited for is durable");
                    self.log_to = end.0;
                    self.step = Step::Log(end.0);
                }
            }
        }
    }

    /// Writers must not wait for log that is held for this.
    fn check_speed(&self) -> Result<(), EngineError> {
        if self.tap.held_bytes() > self.tap.capacity_bytes() / 4 * 3 {
            return Err(EngineError::Io {
                what: "the backup is taken too slowly: the log that it still needs would stop writers".into(),
            });
        }
        Ok(())
    }

    /// The next pages that are not empty; `None` when all have been taken.
    async fn next_pages(&mut self) -> Result<Option<BackupRecord>, EngineError> {
        let store = self.engine.pool.store().clone();
        let count = (PART_BYTES / self.head.page_size_bytes).max(1) as usize;
        loop {
            let ids = self.pages.take(count, store.page_count());
            if ids.is_empty() {
                return Ok(None);
            }
            let reads = ids.chunk_by(|one, next| one.0 + 1 == next.0).count() as u64;
            let run = self.pace.begin();
            let CopiedImages { images, damaged } = store.copy_images(&ids).await.map_err(copy_error)?;
            debug_assert_eq!(images.len(), ids.len(), "each page has its image");
            self.damaged.extend(damaged.iter().map(|page| page.0));
            self.progress.pages.fetch_add(ids.len() as u64, Ordering::Relaxed);
            let total = self.progress.pages.load(Ordering::Relaxed);
            self.progress.pages_total.fetch_max(total, Ordering::Relaxed);
            self.pace.rest(run, reads, ids.len() as u64 * self.head.page_size_bytes).await;
            self.log_to = self.engine.wal.durable_lsn().0;
            let (mut kept, mut bytes) = (Vec::with_capacity(ids.len()), Vec::new());
            for (id, image) in ids.into_iter().zip(&images) {
                let image = image.as_slice();
                // What was never written is made again as zeros.
                if image.iter().any(|byte| *byte != 0) {
                    bytes.extend_from_slice(image);
                    kept.push(id);
                }
            }
            debug_assert_eq!(
                bytes.len() as u64,
                kept.len() as u64 * self.head.page_size_bytes,
                "images are whole"
            );
            if !kept.is_empty() {
                return Ok(Some(BackupRecord::Pages { ids: kept, images: bytes }));
            }
        }
    }

    fn end(&self, to_lsn: u64) -> BackupEnd {
        debug_assert!(to_lsn >= self.head.from_lsn, "a backup has the log that its opening reads");
        let store = self.engine.pool.store();
        let superblock = Superblock { known_durable_lsn: to_lsn, clean: false, ..self.superblock };
        BackupEnd {
            to_lsn,
            page_count: store.page_count(),
            first_epoch: store.first_free_epoch(),
            damaged: self.damaged.clone(),
            superblock: superblock.encode(),
        }
    }
}

impl Pages {
    fn take(&mut self, count: usize, page_count: u64) -> Vec<PageId> {
        match self {
            Pages::From(next) => {
                let end = page_count.min(next.0 + count as u64);
                let ids = (next.0..end).map(PageId).collect();
                debug_assert!(end <= next.0 + count as u64, "no more pages than one part takes");
                *next = PageId(end.max(next.0));
                ids
            }
            Pages::Listed(pages, next) => {
                let end = pages.len().min(*next + count);
                debug_assert!(*next <= end, "the list is taken from its beginning to its end");
                let ids = pages[*next..end].to_vec();
                *next = end;
                ids
            }
        }
    }
}
