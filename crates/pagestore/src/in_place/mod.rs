//! The in-place store: one data file with page `n` at `n * page size`, and a doublewrite file against torn pages.
//!
//! A batch is written in these steps, one batch at a time:
//! 1. header (page ids, checksums) and images go to the doublewrite file in one write, then sync;
//! 2. the images go to their home, neighbours in one write, then sync.
//!
//! Invariant: at any moment a page is intact at home, or intact in the doublewrite file whose header names it.
//! `open` restores damaged home pages from there (`reopen`). `growth` adds places. `versions` knows what should be at home, `changes`
//! what was written since a moment.

mod changes;
mod copy;
mod doublewrite;
mod growth;
mod reopen;
mod superblock;
mod versions;

#[cfg(test)]
mod tests;

use crate::fill::fill_with_zeros;
use crate::pieces::{Part, images, pieces, span};
use crate::turn::Turn;
use crate::{
    BATCH_HEADER_BYTES, CopiedImages, CorruptPage, FIRST_FREE_PAGE, PAGE_ID_MAX, PageBatch, PageFault,
    PageId, PageSize, PageStore, StoreError, StoreStats, header,
};
pub use changes::ChangePoint;
use changes::Changes;
pub use copy::StoreCopy;
use doublewrite::Doublewrite;
use env::sync::Mutex;
use env::{BoxFuture, Env, File, IoBuf, OpenOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use superblock::SuperblockState;
use versions::Versions;

const DATA_FILE: &str = "pages.db";
const DOUBLEWRITE_FILE: &str = "doublewrite.db";

/// How often a page is read before it counts as damaged: what is wrong may have happened on the way.
const READS_MAX: usize = 3;

/// The files of a segment page store: its superblock, and how the names of the others begin.
const SEGMENT_SUPERBLOCK_FILE: &str = "superblock.db";
const SEGMENT_FILE_PREFIX: &str = "segments-";

/// One home write is at most this large.
const RUN_PAGES_MAX: usize = 32;

/// See the module's documentation.
pub struct InPlaceStore {
    page_size: PageSize,
    data: Arc<dyn File>,
    doublewrite: Doublewrite,
    page_count: AtomicU64,
    superblock: Mutex<SuperblockState>,
    versions: Versions,
    changes: Changes,
    /// Batches, superblock writes and the end of each growth take turns: held across awaits, hence not a mutex.
    turn: Turn,
    /// One growth at a time; taken before `turn`.
    growth_turn: Turn,
    /// The first failed write or sync; see `check_healthy`.
    failed: Mutex<Option<StoreError>>,
}

impl InPlaceStore {
    /// Creates an empty store in the directory, which must exist. What a crash left of an earlier creation is
    /// overwritten; a store with a checkpoint record is refused.
    pub async fn create(env: &Env, directory: &str, page_size: PageSize) -> Result<Self, StoreError> {
        let data = open_file(env, directory, DATA_FILE, OpenOptions::create().direct()).await?;
        let copies = open_file(env, directory, DOUBLEWRITE_FILE, OpenOptions::create().direct()).await?;
        match superblock::load(&data).await {
            Ok((_, found)) if !found.record.is_empty() => {
                return Err(StoreError::AlreadyExists { path: data.path().to_owned() });
            }
            Ok(_) | Err(StoreError::NoSuperblock { .. }) => {}
            Err(error) => return Err(error),
        }
        data.set_len(0).await?;
        copies.set_len(0).await?;
        data.allocate(growth::BYTES_MIN).await?;
        fill_with_zeros(&data, 0..growth::BYTES_MIN).await?;
        data.sync_all().await?;
        doublewrite::fill(&copies, page_size, 0).await?;
        let page_count = growth::BYTES_MIN / page_size.bytes() as u64;
        let versions = Versions::create(env, directory).await?;
        let superblock = superblock::format(&data, page_size, page_count).await?;
        env.disk.sync_dir(directory).await?;
        let changes = Changes::new(env.disk.clone(), directory, map_name(env, 0));
        let known = Known { versions, changes };
        Ok(Self::assemble(page_size, data, Doublewrite::new(copies, 0, 0), known, page_count, superblock))
    }

    /// Opens an existing store and repairs pages that a crash left half written.
    pub async fn open(env: &Env, directory: &str) -> Result<Self, StoreError> {
        refuse_segments(env, directory).await?;
        let data = open_file(env, directory, DATA_FILE, OpenOptions::existing().direct()).await?;
        let copies = open_file(env, directory, DOUBLEWRITE_FILE, OpenOptions::create().direct()).await?;
        let (page_size, superblock) = superblock::load(&data).await?;
        let reopened = reopen::reopen(env, directory, &data, copies, page_size, superblock).await?;
        let reopen::Reopened { copies, page_count, sequence, newest_lsn, superblock } = reopened;
        let doublewrite = Doublewrite::new(copies, sequence, newest_lsn);
        let versions = Versions::open(env, directory, superblock.sequence).await?;
        let name = map_name(env, superblock.sequence);
        let changes = Changes::open(env.disk.clone(), directory, name, superblock.sequence).await?;
        let known = Known { versions, changes };
        Ok(Self::assemble(page_size, data, doublewrite, known, page_count, superblock))
    }

    /// The superblock slots, for people.
    pub async fn describe_superblocks(env: &Env, directory: &str) -> Result<String, StoreError> {
        refuse_segments(env, directory).await?;
        let data = open_file(env, directory, DATA_FILE, OpenOptions::existing().direct()).await?;
        superblock::describe(&data).await
    }

    fn assemble(
        page_size: PageSize,
        data: Arc<dyn File>,
        doublewrite: Doublewrite,
        known: Known,
        page_count: u64,
        superblock: SuperblockState,
    ) -> Self {
        let Known { versions, changes } = known;
        debug_assert!(page_count <= PAGE_ID_MAX, "each page has an id");
        Self {
            page_size,
            data,
            doublewrite,
            page_count: AtomicU64::new(page_count),
            superblock: Mutex::new(superblock),
            versions,
            changes,
            turn: Turn::default(),
            growth_turn: Turn::default(),
            failed: Mutex::new(None),
        }
    }

    /// After a failed write or sync nothing more is written: the kernel reports a lost write once and then
    /// lets later syncs succeed, and another batch would overwrite the only intact copies of torn pages.
    fn check_healthy(&self) -> Result<(), StoreError> {
        self.failed.lock().clone().map_or(Ok(()), Err)
    }

    fn note_failure<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            self.failed.lock().get_or_insert_with(|| error.clone());
        }
        result
    }

    fn offset(&self, page: PageId) -> u64 {
        debug_assert!(page.0 <= PAGE_ID_MAX, "page ids have 40 bits");
        page.0 * self.page_size.bytes() as u64
    }

    /// Writes the images to their home; neighbours in the batch that are neighbours on disk share a write.
    async fn write_home(&self, pages: &[PageId], batch: IoBuf) -> Result<(), StoreError> {
        let batch = Arc::new(batch);
        let size = self.page_size.bytes();
        debug_assert_eq!(batch.len(), BATCH_HEADER_BYTES + pages.len() * size, "each page has an image");
        let mut writes = Vec::new();
        let mut start = 0;
        while start < pages.len() {
            let mut end = start + 1;
            while end < pages.len() && end - start < RUN_PAGES_MAX && pages[end].0 == pages[end - 1].0 + 1 {
                end += 1;
            }
            assert!(pages[start] >= FIRST_FREE_PAGE, "the superblock's place is no page's");
            assert!(pages[end - 1].0 < self.page_count(), "pages are written below the end of the store");
            let run = BATCH_HEADER_BYTES + start * size..BATCH_HEADER_BYTES + end * size;
            let run = IoBuf::part_of(&batch, run);
            writes.push(self.data.write_at(self.offset(pages[start]), run));
            start = end;
        }
        // Every write is awaited even after a failure: the next batch may touch the same pages.
        let mut outcome = Ok(());
        for write in writes {
            let (_, result) = write.await;
            outcome = outcome.and(result);
        }
        outcome?;
        self.data.sync().await?;
        Ok(())
    }
}

impl PageStore for InPlaceStore {
    fn page_size(&self) -> PageSize {
        self.page_size
    }

    fn page_count(&self) -> u64 {
        self.page_count.load(Ordering::Acquire)
    }

    fn newest_lsn(&self) -> u64 {
        self.doublewrite.newest_lsn.load(Ordering::Relaxed)
    }

    fn store_stats(&self) -> StoreStats {
        StoreStats {
            doublewrite_batches: self.doublewrite.batches.load(Ordering::Relaxed),
            doublewrite_pages: self.doublewrite.pages.load(Ordering::Relaxed),
        }
    }

    fn read(&self, page: PageId, buffer: IoBuf) -> BoxFuture<'_, (IoBuf, Result<(), StoreError>)> {
        assert_eq!(buffer.len(), self.page_size.bytes());
        Box::pin(async move {
            if page.0 >= self.page_count() {
                return (buffer, Err(CorruptPage { page, fault: PageFault::BeyondEnd }.into()));
            }
            let mut buffer = buffer;
            let mut result = Ok(());
            for _ in 0..READS_MAX {
                let (bytes, read) = self.data.read_at(self.offset(page), buffer).await;
                buffer = bytes;
                if let Err(error) = read {
                    return (buffer, Err(error.into()));
                }
                result = self.verify(page, buffer.as_slice());
                if result.is_ok() {
                    break;
                }
            }
            (buffer, result.map_err(StoreError::from))
        })
    }

    fn read_many<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Vec<Option<IoBuf>>> {
        let size = self.page_size.bytes();
        Box::pin(async move {
            let inside = pages.iter().enumerate().filter(|(_, page)| page.0 < self.page_count());
            let parts = inside.map(|(index, page)| Part { index, address: self.offset(*page) }).collect();
            let read = |piece: Vec<Part>| {
                let target = IoBuf::for_overwriting(span(&piece, size as u64) as usize);
                (self.data.read_at(piece[0].address, target), piece)
            };
            let reads: Vec<_> = pieces(parts, size as u64).into_iter().map(read).collect();
            let mut found: Vec<Option<IoBuf>> = pages.iter().map(|_| None).collect();
            for (read, piece) in reads {
                if let (bytes, Ok(())) = read.await {
                    images(&piece, bytes, size).for_each(|(index, image)| found[index] = Some(image));
                }
            }
            found
        })
    }

    fn verify(&self, page: PageId, image: &[u8]) -> Result<(), CorruptPage> {
        header::verify(image, page)?;
        self.versions.check(page, image)
    }

    fn write_batch(&self, mut batch: PageBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        assert_eq!(batch.page_size(), self.page_size);
        let beyond = batch.pages().iter().find(|page| page.0 >= self.page_count());
        assert!(beyond.is_none(), "page {beyond:?} is beyond the end: extend the store first");
        Box::pin(async move {
            if batch.is_empty() {
                return Ok(());
            }
            let _turn = self.turn.take().await;
            self.check_healthy()?;
            self.note_failure(self.versions.expect_writes().await.map_err(StoreError::from))?;
            batch.seal(self.versions.epoch());
            batch.pages().iter().for_each(|page| self.changes.note(*page));
            let lsns: Vec<u64> = (0..batch.len()).map(|index| header::lsn(batch.image(index))).collect();
            let written = self.doublewrite.write(batch).await;
            let (pages, buffer) = self.note_failure(written)?;
            let result = self.write_home(&pages, buffer).await;
            self.note_failure(result)?;
            pages.iter().zip(lsns).for_each(|(page, lsn)| self.versions.note(*page, lsn));
            Ok(())
        })
    }

    fn extend(&self, page_count: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.grow_to(page_count))
    }

    fn read_superblock(&self) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let record = self.superblock.lock().record.clone();
        Box::pin(async move { Ok(Some(record).filter(|record| !record.is_empty())) })
    }

    fn write_superblock<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let _turn = self.turn.take().await;
            self.check_healthy()?;
            self.note_failure(self.versions.save_part().await.map_err(StoreError::from))?;
            let next = self.superblock.lock().next(bytes);
            debug_assert!(next.page_count == 0 || next.page_count >= self.page_count(), "it tells the size");
            self.note_failure(self.changes.save(next.sequence).await.map_err(StoreError::from))?;
            self.note_failure(superblock::write(&self.data, self.page_size, &next).await)?;
            *self.superblock.lock() = next;
            Ok(())
        })
    }

    fn copy_pages<'a>(
        &'a self,
        copy: &'a mut StoreCopy,
        count: u64,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(self.copy_run(copy, count))
    }

    fn finish_copy<'a>(&'a self, copy: StoreCopy, record: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.finish_the_copy(copy, record))
    }

    fn copy_images<'a>(&'a self, pages: &'a [PageId]) -> BoxFuture<'a, Result<CopiedImages, StoreError>> {
        Box::pin(self.images_of(pages))
    }

    fn is_newest(&self, page: PageId, lsn: u64) -> Option<bool> {
        self.versions.is_newest(page, lsn)
    }

    fn begin_change_point(&self) -> BoxFuture<'_, Result<ChangePoint, StoreError>> {
        Box::pin(async move {
            let _turn = self.turn.take().await;
            self.check_healthy()?;
            let sequence = self.superblock.lock().sequence;
            Ok(self.changes.begin_point(sequence).await?)
        })
    }

    fn changed_since(&self, point: ChangePoint) -> Option<Vec<PageId>> {
        self.changes.since(point)
    }

    fn note_changed(&self, page: PageId) {
        self.changes.note(page);
    }

    fn first_free_epoch(&self) -> u32 {
        self.versions.reserved()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let _turn = self.turn.take().await;
            self.check_healthy()?;
            let sequence = self.superblock.lock().sequence;
            match self.versions.save_all(sequence).await {
                Err(error) if error.is_failed_sync() => self.note_failure(Err(error.into())),
                Err(error) if !error.is_no_space() => Err(error.into()),
                _ => Ok(()),
            }
        })
    }
}

/// What the store knows about its pages.
struct Known {
    versions: Versions,
    changes: Changes,
}

/// What a map of changes that begins now is called.
fn map_name(env: &Env, sequence: u64) -> u64 {
    env.clock.unix_us().wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ sequence
}

/// A directory with a segment page store must not pass for an empty one: what it holds would be made anew.
async fn refuse_segments(env: &Env, directory: &str) -> Result<(), StoreError> {
    let names = match env.disk.list(directory).await {
        Err(error) if error.is_not_found() => return Ok(()),
        names => names?,
    };
    let of_segments =
        |name: &String| name == SEGMENT_SUPERBLOCK_FILE || name.starts_with(SEGMENT_FILE_PREFIX);
    match names.iter().find(|name| of_segments(name)) {
        Some(name) => Err(StoreError::SegmentStore { path: path_of(directory, name) }),
        None => Ok(()),
    }
}

fn path_of(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

async fn open_file(
    env: &Env,
    directory: &str,
    name: &str,
    options: OpenOptions,
) -> Result<Arc<dyn File>, StoreError> {
    Ok(env.disk.open(&path_of(directory, name), options).await?)
}
