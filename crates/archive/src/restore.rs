//! A database of a backup and the log behind it, as of a moment.
//!
//! The pages are the backup's. The log is made of the backup's own and of the archive's, piece by piece, and ends with the last
//! commit before the moment; opening the database is recovery. Invariant: the log is one thread without a gap, from the
//! backup's checkpoint on at least to where the newest of its pages may be. What is made is no database before the data file is
//! there under its name. Called by the program's `restore`.

use crate::ArchiveError;
use crate::folder::FolderReader;
use crate::identifiers::Identifiers;
use binlog::Gtid;
use engine::CopyExtent;
use env::{Disk, Env, IoBuf, OpenOptions};
use std::sync::Arc;
use wal::{LogBuilder, LogFiles, LogGroup, LogPiece, Lsn};

pub(crate) const LOG_DIRECTORY: &str = "wal";
pub(crate) const DATA_DIRECTORY: &str = "data";
const COPY_BYTES: u64 = 1 << 20;
const PIECE_BYTES: u64 = 1 << 20;
/// An LSN may be so far behind the last group and mean the same moment.
const CHUNK_HEADER_BYTES: u64 = 64;

/// The moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All that there is.
    End,
    /// The commits whose log ends at this LSN or before.
    Lsn(u64),
    /// The commits that were made at this time or before, in microseconds since 1970.
    Time(u64),
    /// The commits up to this transaction.
    Transaction {
        /// Its identifier.
        gtid: Gtid,
        /// The transaction itself is wanted as well.
        is_wanted: bool,
    },
}

/// Is told of bytes that were read; its error ends the work.
pub type Progress<'a> = &'a (dyn Fn(u64) -> Result<(), ArchiveError> + Sync);

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The backup's part of the log.
    pub backup: (u64, u64),
    /// The end of the last group.
    pub to_lsn: u64,
    /// The time of the newest commit that says one, in microseconds since 1970.
    pub last_commit_us: Option<u64>,
    /// False when the log ended before the moment: what was committed between is not in it.
    pub is_reached: bool,
    /// So far the log has been looked through.
    pub read_to_lsn: u64,
}

/// Makes a database on an empty disk. `backup` is that of a copy that nobody uses; reading it changes its files, if it is opened
/// for that, no more than an opening does.
pub async fn restore(
    backup: &Env,
    archive: Option<Arc<dyn Disk>>,
    target: Arc<dyn Disk>,
    until: Until,
    progress: Progress<'_>,
) -> Result<Restored, ArchiveError> {
    let extent = engine::copy_extent(backup).await?;
    if let Until::Lsn(lsn) = until
        && lsn < extent.to_lsn
    {
        return Err(ArchiveError::TooNew(format!(
            "the backup is complete at LSN {}, behind LSN {lsn}: an older backup is needed",
            extent.to_lsn
        )));
    }
    let mut sources = Sources::open(backup, archive, extent).await?;
    let segment_bytes = sources.segment_bytes;
    let mut builder = LogBuilder::create(target.clone(), LOG_DIRECTORY, segment_bytes, sources.place).await?;
    let mut end = End::new(until, extent);
    continue_log(&mut sources, &mut end, &mut builder, progress).await?;
    builder.finish().await?;
    copy_data(&*backup.disk, &*target, progress).await?;
    Ok(end.restored(sources.place))
}

/// Adds all log of the sources up to the moment, which has to be in it.
pub(crate) async fn continue_log(
    sources: &mut Sources,
    end: &mut End,
    builder: &mut LogBuilder,
    progress: Progress<'_>,
) -> Result<(), ArchiveError> {
    let (until, extent) = (end.until, end.extent);
    while let Some(piece) = sources.next().await? {
        match end.of(&piece)? {
            None => builder.add(&piece).await?,
            Some(cut) => {
                if let Some(rest) = piece.cut(Lsn(cut)) {
                    builder.add(&rest).await?;
                }
                break;
            }
        }
        progress(piece.bytes().len() as u64)?;
    }
    if end.lsn < extent.to_lsn {
        return Err(sources.lacking(extent.to_lsn));
    }
    if let Until::Lsn(lsn) = until
        && !end.is_reached
        && sources.place + CHUNK_HEADER_BYTES < lsn
    {
        return Err(sources.lacking(lsn));
    }
    if let Until::Transaction { gtid, .. } = until
        && !end.is_reached
    {
        return Err(ArchiveError::Unfit(match end.identifiers.has(gtid) {
            Some(_) => format!("there is no transaction {gtid} in the log, which ends at LSN {}", end.lsn),
            None => format!(
                "there is no transaction {gtid} in the log, which does not say of its transactions which they are: the server had no \
                 binary log, or gtid_mode was OFF"
            ),
        }));
    }
    Ok(())
}

/// Looks for the place in the log where it has to end.
pub(crate) struct End {
    pub until: Until,
    pub extent: CopyExtent,
    pub last_us: Option<u64>,
    /// The end of the last group that stays.
    pub lsn: u64,
    pub is_reached: bool,
    identifiers: Identifiers,
}

impl End {
    pub fn new(until: Until, extent: CopyExtent) -> End {
        let identifiers = Identifiers::default();
        End { until, extent, last_us: None, lsn: 0, is_reached: until == Until::End, identifiers }
    }

    pub fn restored(&self, read_to_lsn: u64) -> Restored {
        let is_reached = self.is_reached || matches!(self.until, Until::Lsn(_));
        let backup = (self.extent.from_lsn, self.extent.to_lsn);
        Restored { backup, to_lsn: self.lsn, last_commit_us: self.last_us, is_reached, read_to_lsn }
    }

    /// Where the log is to be cut, if that is in this piece.
    pub(crate) fn of(&mut self, piece: &LogPiece) -> Result<Option<u64>, ArchiveError> {
        for group in piece.groups() {
            let time = engine::committed_at_us(&group);
            let is_behind = match self.until {
                Until::End => false,
                Until::Lsn(lsn) => group.end.0 > lsn,
                Until::Time(until) => time.is_some_and(|time| time > until),
                Until::Transaction { gtid, is_wanted } => self.is_behind(&group, gtid, is_wanted)?,
            };
            if is_behind && group.end.0 <= self.extent.to_lsn && group.end.0 > self.extent.from_lsn {
                return Err(ArchiveError::TooNew(
                    "the backup has commits of later than that moment: an older backup is needed".into(),
                ));
            }
            if is_behind && group.end.0 > self.extent.from_lsn {
                self.is_reached = true;
                // What the backup ends with may be a chunk without a group.
                self.lsn = self.lsn.max(self.extent.to_lsn);
                return Ok(Some(self.lsn));
            }
            self.lsn = group.end.0;
            self.last_us = time.or(self.last_us);
            self.is_reached |= self.until == Until::Lsn(self.lsn);
        }
        // A chunk that only opens a thread has no group.
        self.lsn = self.lsn.max(piece.end().0);
        Ok(None)
    }

    /// Whether the group is behind the commit of a transaction, or is it and is not wanted.
    fn is_behind(&mut self, group: &LogGroup<'_>, gtid: Gtid, is_wanted: bool) -> Result<bool, ArchiveError> {
        if self.is_reached {
            return Ok(true);
        }
        if self.identifiers.of(group)? == Some(gtid) {
            self.is_reached = true;
            return Ok(!is_wanted);
        }
        match self.identifiers.has(gtid) {
            Some(true) => Err(ArchiveError::TooNew(format!(
                "the transaction {gtid} was committed before LSN {}, where the backup begins: an older backup is needed",
                group.start.0
            ))),
            _ => Ok(false),
        }
    }
}

/// The pieces of the log in order: those of the backup, then those of the archive.
pub(crate) struct Sources {
    /// The backup's, as long as there is more in them.
    files: Option<LogFiles>,
    archive: Option<FolderReader>,
    segment_bytes: u64,
    /// Where the next piece begins, and what it continues.
    pub place: u64,
    pub thread: Option<wal::LogThread>,
}

impl Sources {
    pub async fn open(
        backup: &Env,
        archive: Option<Arc<dyn Disk>>,
        extent: CopyExtent,
    ) -> Result<Sources, ArchiveError> {
        let files = LogFiles::of_directory(backup.disk.clone(), LOG_DIRECTORY).await?;
        let files = files.ok_or_else(|| ArchiveError::Damaged("the backup has no log".into()))?;
        let place = files.place_before(Lsn(extent.from_lsn));
        let sources = Self::of_archive(archive, files.segment_bytes(), place).await?;
        Ok(Sources { files: Some(files), ..sources })
    }

    /// Without a directory of log.
    pub async fn of_archive(
        archive: Option<Arc<dyn Disk>>,
        segment_bytes: u64,
        place: u64,
    ) -> Result<Sources, ArchiveError> {
        let archive = match archive {
            Some(disk) => Some(FolderReader::open(disk).await?),
            None => None,
        };
        Ok(Sources { files: None, archive, segment_bytes, place, thread: None })
    }

    /// Takes a piece that comes from elsewhere; false if it is not what comes next.
    pub fn take(&mut self, piece: &LogPiece) -> bool {
        let follows = self.thread.is_none_or(|thread| piece.follows(thread));
        if piece.start() != self.place || !follows {
            return false;
        }
        debug_assert!(piece.next(self.segment_bytes) > self.place, "each piece leads further");
        self.place = piece.next(self.segment_bytes);
        self.thread = Some(piece.thread());
        true
    }

    pub async fn next(&mut self) -> Result<Option<LogPiece>, ArchiveError> {
        loop {
            let piece = match (&mut self.files, &mut self.archive) {
                (Some(files), _) => of_backup(files, self.place).await?,
                (None, Some(archive)) => archive.piece_at(self.place).await?,
                (None, None) => None,
            };
            match piece {
                Some(piece) if self.take(&piece) => return Ok(Some(piece)),
                // What lies behind the end of a log is of an earlier use of its file.
                _ if self.files.is_some() => self.files = None,
                Some(_) => {
                    return Err(ArchiveError::Unfit(format!(
                        "the archive has another continuation of the log at LSN {} than the backup: they are not of the same \
                         server, or one of them is of after a restore",
                        self.place
                    )));
                }
                None => return Ok(None),
            }
        }
    }

    /// The log ends too early.
    fn lacking(&self, lsn: u64) -> ArchiveError {
        let ends = self.place;
        let behind = self.archive.as_ref().and_then(|archive| archive.begins_behind(self.place));
        ArchiveError::Unfit(match (&self.archive, behind) {
            (None, _) => {
                format!("the backup's log ends at LSN {ends}, and LSN {lsn} is asked for: give its archive")
            }
            (Some(_), Some(begins)) => format!(
                "the archive lacks the log from LSN {ends} to {begins}, and LSN {lsn} is asked for: a backup made behind that gap is \
                 needed"
            ),
            (Some(_), None) => format!("the archive ends at LSN {ends}, and LSN {lsn} is asked for"),
        })
    }
}

async fn of_backup(files: &mut LogFiles, place: u64) -> Result<Option<LogPiece>, ArchiveError> {
    match files.piece(place, Lsn(u64::MAX / 2), PIECE_BYTES).await {
        Err(wal::WalError::Io(error)) if error.is_not_found() => Ok(None),
        piece => Ok(piece?),
    }
}

/// The files of pages, the data file's name last.
async fn copy_data(from: &dyn Disk, to: &dyn Disk, progress: Progress<'_>) -> Result<(), ArchiveError> {
    to.create_dir(DATA_DIRECTORY).await?;
    for name in from.list(DATA_DIRECTORY).await? {
        let path = format!("{DATA_DIRECTORY}/{name}");
        let source = from.open(&path, OpenOptions::existing()).await?;
        let target = to.open(&path, OpenOptions::create()).await?;
        let (mut at, length) = (0, source.len().await?);
        while at < length {
            let buffer = IoBuf::for_overwriting((length - at).min(COPY_BYTES) as usize);
            let (buffer, result) = source.read_at(at, buffer).await;
            result?;
            let count = buffer.len() as u64;
            let (_, result) = target.write_at(at, buffer).await;
            result?;
            at += count;
            progress(count)?;
        }
        target.sync_all().await?;
    }
    to.sync_dir(DATA_DIRECTORY).await?;
    Ok(to.sync_dir("").await?)
}
