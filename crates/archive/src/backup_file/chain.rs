//! A database of a full backup, its increments and the archived log behind them, as of a moment.
//!
//! The files are read once each, in order, so each may be a stream. Pages of a later file take the place of earlier ones; the log is that
//! of the last file and, behind it, of the archive. Invariant: each increment continues the file before it; what is made is no database
//! before all has been read and is right. Called by the program's `restore`.

use super::reader::BackupReader;
use crate::restore::{DATA_DIRECTORY, End, LOG_DIRECTORY, Sources, continue_log};
use crate::{ArchiveError, Progress, Restored, Until};
use engine::{BackupEnd, BackupHead, BackupRecord, CopyExtent};
use env::{Disk, IoBuf};
use pagestore::{PageId, PageSize, StoreCopy, StoreError};
use std::io::Read;
use std::sync::Arc;
use wal::{LogBuilder, LogPiece, Lsn};

/// Makes a database on an empty disk. `files`: the full backup and its increments, the oldest first.
pub async fn restore_chain<R: Read>(
    mut files: Vec<BackupReader<R>>,
    archive: Option<Arc<dyn Disk>>,
    target: Arc<dyn Disk>,
    until: Until,
    progress: Progress<'_>,
) -> Result<Restored, ArchiveError> {
    check_order(&files)?;
    let Some(mut last) = files.pop() else {
        return Err(ArchiveError::Unfit("no backup was given".into()));
    };
    let head = *last.head();
    let page_size = PageSize::from_bytes(head.page_size_bytes).ok_or_else(|| last.damaged(0))?;
    let mut store =
        StoreCopy::create(target.clone(), DATA_DIRECTORY, page_size).await.map_err(store_error)?;
    for file in &mut files {
        while let Some(record) = file.next_record()? {
            if let BackupRecord::Pages { ids, images } = record {
                place(&mut store, &ids, &images, page_size).await?;
                progress(images.len() as u64)?;
            }
        }
    }
    let begin = Lsn(head.from_lsn);
    let first = wal::segment_start(begin, head.segment_bytes);
    let sources = Sources::of_archive(archive, head.segment_bytes, first).await?;
    let builder = LogBuilder::create(target, LOG_DIRECTORY, head.segment_bytes, first).await?;
    let extent = CopyExtent { from_lsn: head.from_lsn, to_lsn: 0 };
    let mut log = Log { sources, builder, end: End::new(until, extent), is_cut: false };
    let mut end = None;
    while let Some(record) = last.next_record()? {
        match record {
            BackupRecord::Head(_) => return Err(last.damaged(last.position())),
            BackupRecord::Pages { ids, images } => {
                place(&mut store, &ids, &images, page_size).await?;
                progress(images.len() as u64)?;
            }
            BackupRecord::Log(piece) => {
                log.add(&piece).await?.ok_or_else(|| last.damaged(last.position()))?;
                progress(piece.bytes().len() as u64)?;
            }
            BackupRecord::End(found) => end = Some(found),
        }
    }
    let BackupEnd { to_lsn, page_count, first_epoch, superblock, .. } =
        end.ok_or_else(|| last.damaged(last.position()))?;
    let restored = log.finish(to_lsn, progress).await?;
    store.finish(page_count, first_epoch, &superblock).await.map_err(store_error)?;
    Ok(restored)
}

/// Whether each file continues the one before it.
fn check_order<R: Read>(files: &[BackupReader<R>]) -> Result<(), ArchiveError> {
    let unfit = |what: String| Err(ArchiveError::Unfit(what));
    let Some(first) = files.first() else { return Ok(()) };
    if first.head().base != 0 {
        return unfit(format!(
            "{} is an increment: begin with the full backup (--from) and give the increments in their order",
            first.name()
        ));
    }
    for pair in files.windows(2) {
        let (one, next) = (pair[0].head(), pair[1].head());
        let (one_name, next_name) = (pair[0].name(), pair[1].name());
        let is_known = |file: &BackupReader<R>| file.head().id == next.base;
        if next.base == 0 {
            return unfit(format!("{next_name} is a full backup, no increment: give it with --from"));
        }
        if one.log_id != next.log_id || one.page_size_bytes != next.page_size_bytes {
            return unfit(format!("{next_name} is of another server than {one_name}"));
        }
        if next.base != one.id {
            return match files.iter().find(|file| is_known(file)) {
                Some(base) => unfit(format!(
                    "{next_name} continues {}, not {one_name}: the order is wrong",
                    base.name()
                )),
                None => unfit(format!(
                    "{next_name} does not continue {one_name}: the backup {:016x} between them is missing",
                    next.base
                )),
            };
        }
    }
    Ok(())
}

async fn place(
    store: &mut StoreCopy,
    ids: &[PageId],
    images: &[u8],
    page_size: PageSize,
) -> Result<(), ArchiveError> {
    let size = page_size.bytes();
    if images.len() != ids.len() * size {
        return Err(ArchiveError::Damaged("the pages of a backup have another size than it says".into()));
    }
    let mut rest = images;
    for run in ids.chunk_by(|one, next| one.0 + 1 == next.0) {
        let (these, behind) = rest.split_at(run.len() * size);
        debug_assert_eq!(these.len(), run.len() * size, "each page has an image");
        store.place(run[0], IoBuf::copy_of(these)).await.map_err(store_error)?;
        rest = behind;
    }
    Ok(())
}

fn store_error(error: StoreError) -> ArchiveError {
    match error {
        StoreError::Io(error) => error.into(),
        other => ArchiveError::Damaged(other.to_string()),
    }
}

/// The log of the new database.
struct Log {
    sources: Sources,
    builder: LogBuilder,
    end: End,
    is_cut: bool,
}

impl Log {
    /// Adds a piece of the backup; `None` if it is not what comes next.
    async fn add(&mut self, piece: &LogPiece) -> Result<Option<()>, ArchiveError> {
        if self.is_cut {
            return Ok(Some(()));
        }
        if !self.sources.take(piece) {
            return Ok(None);
        }
        match self.end.of(piece)? {
            None => self.builder.add(piece).await?,
            Some(cut) => {
                self.is_cut = true;
                if let Some(rest) = piece.cut(Lsn(cut)) {
                    self.builder.add(&rest).await?;
                }
            }
        }
        Ok(Some(()))
    }

    /// Goes on with the archive, now that it is known how new the pages may be.
    async fn finish(mut self, to_lsn: u64, progress: Progress<'_>) -> Result<Restored, ArchiveError> {
        self.end.extent.to_lsn = to_lsn;
        let is_early = matches!(self.end.until, Until::Lsn(lsn) if lsn < to_lsn);
        if is_early || self.is_cut && self.end.lsn < to_lsn {
            return Err(ArchiveError::TooNew(format!(
                "the last of the backups has commits of later than that moment (it ends at LSN {to_lsn}): leave it out, or use an older \
                 one"
            )));
        }
        if !self.is_cut {
            continue_log(&mut self.sources, &mut self.end, &mut self.builder, progress).await?;
        }
        self.builder.finish().await?;
        Ok(self.end.restored(self.sources.place))
    }
}

/// What is said of a file in messages.
pub(super) fn kind_of(head: &BackupHead) -> &'static str {
    match (head.base, head.is_partial) {
        (0, _) => "full backup",
        (_, true) => "increment",
        (_, false) => "increment with all pages",
    }
}
