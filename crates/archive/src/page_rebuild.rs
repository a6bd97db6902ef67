//! One page out of a backup, the archived log and the log of the server, as the log has left it (decision 0060).
//!
//! Invariant: the log is read without a gap from the checkpoint at the backup's beginning to its durable end, or the answer is an error.
//! Backup and archive are only read, memory holds one piece of log. Called by whoever repairs damaged pages.

use crate::backup_file::BackupReader;
use crate::restore::Sources;
use crate::{ArchiveError, Progress};
use engine::{BackupRecord, CorruptPage, Engine, PageId, PageRebuild};
use env::{Disk, Env};
use std::io::Read;
use std::sync::Arc;
use wal::{LogPiece, Lsn};

const PIECE_BYTES: u64 = 1 << 20;

/// A backup that is read more than once.
pub enum PageSource<'a, R> {
    /// A directory.
    Directory(&'a Env),
    /// How many files there are, the full backup first, and what opens one.
    Files(usize, &'a (dyn Fn(usize) -> Result<BackupReader<R>, ArchiveError> + Sync)),
}

/// A page that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuiltPage {
    /// Not sealed.
    pub image: Vec<u8>,
    /// So far the log was read.
    pub log_to: u64,
}

/// Makes the page. `lsn`: which version is wanted, if that is known; else the newest.
pub async fn rebuild_page<R: Read>(
    source: PageSource<'_, R>,
    archive: Option<Arc<dyn Disk>>,
    engine: &Arc<Engine>,
    page: PageId,
    lsn: Option<u64>,
    progress: Progress<'_>,
) -> Result<RebuiltPage, ArchiveError> {
    let size = engine.page_size_bytes();
    let lsn = lsn.map(Lsn);
    let (mut sources, mut rebuild) = match source {
        PageSource::Directory(env) => {
            let extent = engine::copy_extent(env).await?;
            let image = engine::copy_page(env, page).await?;
            let sources = Sources::open(env, archive, extent).await?;
            (sources, PageRebuild::new(page, size, image.as_deref(), Lsn(extent.from_lsn), lsn))
        }
        PageSource::Files(count, open) => {
            of_files(count, open, archive, engine, (page, lsn), progress).await?
        }
    };
    while let Some(piece) = sources.next().await? {
        add(&mut rebuild, &piece)?;
        progress(piece.bytes().len() as u64)?;
    }
    let mut place = sources.place;
    let Some(mut tap) = engine.tap_log(Some(place)) else {
        return Err(ArchiveError::Unfit(format!(
            "the log from LSN {place} on is neither in an archive nor in the server's own log any more"
        )));
    };
    let mut thread = sources.thread;
    while let Some(piece) = tap.next(PIECE_BYTES).await? {
        if thread.is_some_and(|thread| !piece.follows(thread)) {
            return Err(ArchiveError::Unfit(format!(
                "the server's log goes on in another way at LSN {place}"
            )));
        }
        thread = Some(piece.thread());
        add(&mut rebuild, &piece)?;
        place = piece.end().0;
        progress(piece.bytes().len() as u64)?;
    }
    let image = rebuild.finish().map_err(|fault| {
        ArchiveError::Unfit(format!("backup and log give no such page: {}", CorruptPage { page, fault }))
    })?;
    Ok(RebuiltPage { image, log_to: place })
}

fn add(rebuild: &mut PageRebuild, piece: &LogPiece) -> Result<(), ArchiveError> {
    for group in piece.groups() {
        rebuild.add(&group).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
    }
    Ok(())
}

/// Finds the page in the newest file that has it, and takes the log of the last one.
async fn of_files<R: Read>(
    count: usize,
    open: &(dyn Fn(usize) -> Result<BackupReader<R>, ArchiveError> + Sync),
    archive: Option<Arc<dyn Disk>>,
    engine: &Arc<Engine>,
    (page, lsn): (PageId, Option<Lsn>),
    progress: Progress<'_>,
) -> Result<(Sources, PageRebuild), ArchiveError> {
    let mut image = None;
    for index in (0..count).rev() {
        image = image_in(&mut open(index)?, page, engine.page_size_bytes(), progress)?;
        if image.is_some() {
            break;
        }
    }
    let last = count.checked_sub(1).ok_or_else(|| ArchiveError::Unfit("no backup was given".into()))?;
    let mut last = open(last)?;
    let head = *last.head();
    if head.page_size_bytes != engine.page_size_bytes() as u64 || head.log_id != engine.log_id() {
        return Err(ArchiveError::Unfit(format!("{} is of another server", last.name())));
    }
    let begin = Lsn(head.from_lsn);
    let mut rebuild = PageRebuild::new(page, engine.page_size_bytes(), image.as_deref(), begin, lsn);
    let first = wal::segment_start(begin, head.segment_bytes);
    let mut sources = Sources::of_archive(archive, head.segment_bytes, first).await?;
    let mut is_whole = false;
    while let Some(record) = last.next_record()? {
        match record {
            BackupRecord::Log(piece) => {
                if !sources.take(&piece) {
                    return Err(last.damaged(last.position()));
                }
                add(&mut rebuild, &piece)?;
            }
            BackupRecord::End(_) => is_whole = true,
            BackupRecord::Head(_) | BackupRecord::Pages { .. } => {}
        }
    }
    if !is_whole {
        return Err(last.damaged(last.position()));
    }
    Ok((sources, rebuild))
}

/// The image of the page in one file, the last one if it is there more than once.
fn image_in<R: Read>(
    file: &mut BackupReader<R>,
    page: PageId,
    size: usize,
    progress: Progress<'_>,
) -> Result<Option<Vec<u8>>, ArchiveError> {
    let mut found = None;
    while let Some(record) = file.next_record()? {
        if let BackupRecord::Pages { ids, images } = record {
            progress(images.len() as u64)?;
            for (id, image) in ids.iter().zip(images.chunks_exact(size)) {
                if *id == page {
                    found = Some(image.to_vec());
                }
            }
        }
    }
    Ok(found)
}
