//! The folder of an archive: files that are written one after the other, and read piece by piece.
//!
//! Invariant: `FolderWriter::place` is where the next piece has to lie; what is before it is in the files, and for certain once
//! `sync` has returned. After any failure or crash an opening finds the same state again: whole files by the manifest,
//! the one that was being written by its frames. Used by `archiver` (writing) and `restore` (reading).

use crate::ArchiveError;
use crate::frame::{self, FRAME_HEADER_BYTES, FrameHeader, HEAD_BYTES, Head};
use crate::manifest::{self, ArchivedFile, MANIFEST, file_name, place_of};
use crate::retention::needed_from;
use env::{Disk, File, IoBuf, OpenOptions};
use std::sync::Arc;
use wal::{LogPiece, LogThread};

/// A file of this length is finished.
const FILE_BYTES: u64 = 16 << 20;

/// What is known of a file while it is written or read.
struct Tally {
    file: ArchivedFile,
    crc: crc_fast::Digest,
}

impl Tally {
    fn new(first: u64, head: Head) -> Tally {
        let thread = LogThread { log_id: head.log_id, epoch: 0 };
        let file = ArchivedFile {
            first,
            next: first,
            end_lsn: first,
            thread,
            first_us: 0,
            last_us: 0,
            bytes: 0,
            crc: 0,
        };
        let mut tally = Tally { file, crc: crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi) };
        tally.add_bytes(&head.encode());
        tally
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.file.bytes += bytes.len() as u64;
        self.file.crc = self.crc.finalize() as u32;
    }

    fn add(&mut self, piece: &LogPiece, frame: &[u8], segment_bytes: u64) {
        debug_assert_eq!(piece.start(), self.file.next, "pieces follow each other in a file");
        debug_assert!(piece.end().0 >= self.file.end_lsn, "the log of a file only grows");
        self.add_bytes(frame);
        self.file.next = piece.next(segment_bytes);
        self.file.end_lsn = piece.end().0;
        self.file.thread = piece.thread();
        for time in piece.groups().filter_map(|group| engine::committed_at_us(&group)) {
            self.file.last_us = time;
            if self.file.first_us == 0 {
                self.file.first_us = time;
            }
        }
    }
}

/// An archive that is written.
pub(crate) struct FolderWriter {
    disk: Arc<dyn Disk>,
    files: Vec<ArchivedFile>,
    open: Option<(Arc<dyn File>, Tally, Head)>,
}

impl FolderWriter {
    /// Finds what is there; the file that was being written ends with its last whole frame.
    pub async fn open(disk: Arc<dyn Disk>) -> Result<FolderWriter, ArchiveError> {
        let mut files = match manifest::load(&*disk).await? {
            Some(files) => files,
            None => {
                manifest::store(&*disk, &[]).await?;
                Vec::new()
            }
        };
        let known = files.last().map_or(0, |file| file.next);
        for place in places(&*disk).await? {
            if files.iter().any(|file| file.first == place) {
                continue;
            }
            let name = file_name(place);
            let found = if place >= known { scan(&*disk, place).await? } else { None };
            match found.filter(|found| found.end_lsn > place) {
                // Also what `remove_before` was cut off in comes here.
                None => disk.remove(&name).await?,
                Some(found) => {
                    let file = disk.open(&name, OpenOptions::existing()).await?;
                    file.set_len(found.bytes).await?;
                    file.sync_all().await?;
                    disk.sync_dir("").await?;
                    files.push(found);
                    manifest::store(&*disk, &files).await?;
                }
            }
        }
        Ok(FolderWriter { disk, files, open: None })
    }

    /// Where the next piece has to lie, and what it has to follow; `None` in an empty archive.
    pub fn place(&self) -> Option<(u64, LogThread)> {
        let open = self.open.as_ref().map(|(_, tally, _)| &tally.file).filter(|file| file.next > file.first);
        open.or(self.files.last()).map(|file| (file.next, file.thread))
    }

    /// Adds a piece. Behind a gap a new file begins.
    pub async fn add(&mut self, piece: &LogPiece, segment_bytes: u64) -> Result<(), ArchiveError> {
        let head = Head { segment_bytes, log_id: piece.thread().log_id };
        let goes_on = |(_, tally, open): &(Arc<dyn File>, Tally, Head)| {
            tally.file.next == piece.start() && tally.file.bytes < FILE_BYTES && *open == head
        };
        if !self.open.as_ref().is_some_and(goes_on) {
            self.finish_file().await?;
            let file = self.disk.open(&file_name(piece.start()), OpenOptions::create()).await?;
            file.set_len(0).await?;
            let (_, result) = file.write_at(0, IoBuf::copy_of(&head.encode())).await;
            result?;
            file.sync_all().await?;
            self.disk.sync_dir("").await?;
            self.open = Some((file, Tally::new(piece.start(), head), head));
        }
        let (file, tally, _) = self.open.as_mut().expect("it was opened");
        debug_assert_eq!(tally.file.next, piece.start(), "a file goes on with the next piece");
        let frame = frame::encode(piece);
        let (_, result) = file.write_at(tally.file.bytes, IoBuf::copy_of(&frame)).await;
        result?;
        tally.add(piece, &frame, segment_bytes);
        Ok(())
    }

    /// Makes everything durable that was added.
    pub async fn sync(&mut self) -> Result<(), ArchiveError> {
        match &self.open {
            Some((file, ..)) => Ok(file.sync_all().await?),
            None => Ok(()),
        }
    }

    /// Ends the present file and names it in the manifest.
    pub async fn finish_file(&mut self) -> Result<(), ArchiveError> {
        let Some((file, tally, _)) = self.open.take() else { return Ok(()) };
        file.sync_all().await?;
        debug_assert!(
            self.files.last().is_none_or(|last| last.next <= tally.file.first),
            "files are in the order of the log"
        );
        self.files.push(tally.file);
        manifest::store(&*self.disk, &self.files).await
    }

    /// Removes finished files all of whose commits are older than this, but not the newest, nor what backups need.
    pub async fn remove_before(&mut self, unix_us: u64) -> Result<(), ArchiveError> {
        if self.files.first().is_none_or(|file| file.last_us >= unix_us) {
            return Ok(());
        }
        let needed = needed_from(&*self.disk).await;
        let is_old = |file: &&ArchivedFile| file.last_us < unix_us && file.next < needed;
        let old = self.files.iter().take_while(is_old).count().min(self.files.len().saturating_sub(1));
        if old == 0 {
            return Ok(());
        }
        let gone: Vec<ArchivedFile> = self.files.drain(..old).collect();
        debug_assert!(!self.files.is_empty(), "the newest file stays");
        manifest::store(&*self.disk, &self.files).await?;
        for file in gone {
            self.disk.remove(&file.name()).await?;
        }
        Ok(self.disk.sync_dir("").await?)
    }
}

/// The places of all files, in order.
async fn places(disk: &dyn Disk) -> Result<Vec<u64>, ArchiveError> {
    let mut places: Vec<u64> = disk.list("").await?.iter().filter_map(|name| place_of(name)).collect();
    places.sort_unstable();
    Ok(places)
}

/// What the whole frames at the beginning of a file have; `None` if it has no head.
async fn scan(disk: &dyn Disk, place: u64) -> Result<Option<ArchivedFile>, ArchiveError> {
    let Some(mut frames) = Frames::open(disk, place).await? else { return Ok(None) };
    let mut tally = Tally::new(place, frames.head);
    while let Some((piece, frame)) = frames.next().await? {
        if piece.start() != tally.file.next {
            break;
        }
        tally.add(&piece, &frame, frames.head.segment_bytes);
    }
    Ok(Some(tally.file))
}

/// The frames of one file.
struct Frames {
    file: Arc<dyn File>,
    head: Head,
    at: u64,
    length: u64,
}

impl Frames {
    async fn open(disk: &dyn Disk, place: u64) -> Result<Option<Frames>, ArchiveError> {
        let file = disk.open(&file_name(place), OpenOptions::existing()).await?;
        let length = file.len().await?;
        if length < HEAD_BYTES as u64 {
            return Ok(None);
        }
        let head = Head::decode(&read(&*file, 0, HEAD_BYTES).await?);
        Ok(head.map(|head| Frames { file, head, at: HEAD_BYTES as u64, length }))
    }

    /// The next piece with the bytes of its frame; `None` at the end, and where no whole frame is.
    async fn next(&mut self) -> Result<Option<(LogPiece, Vec<u8>)>, ArchiveError> {
        let left = self.length - self.at;
        if left < FRAME_HEADER_BYTES as u64 {
            return Ok(None);
        }
        let header = FrameHeader::decode(&read(&*self.file, self.at, FRAME_HEADER_BYTES).await?);
        let Some(header) = header.filter(|header| (FRAME_HEADER_BYTES + header.stored_bytes) as u64 <= left)
        else {
            return Ok(None);
        };
        let frame = read(&*self.file, self.at, FRAME_HEADER_BYTES + header.stored_bytes).await?;
        let Some(piece) = header.piece(&frame) else { return Ok(None) };
        self.at += frame.len() as u64;
        Ok(Some((piece, frame)))
    }
}

async fn read(file: &dyn File, offset: u64, length: usize) -> Result<Vec<u8>, ArchiveError> {
    let (buffer, result) = file.read_at(offset, IoBuf::for_overwriting(length)).await;
    result?;
    Ok(buffer.as_slice().to_vec())
}

/// An archive that is read, piece by piece.
pub(crate) struct FolderReader {
    disk: Arc<dyn Disk>,
    named: Vec<ArchivedFile>,
    places: Vec<u64>,
    open: Option<(usize, Frames)>,
}

impl FolderReader {
    pub async fn open(disk: Arc<dyn Disk>) -> Result<FolderReader, ArchiveError> {
        let missing = || ArchiveError::Unfit("there is no archive of the log in that folder".into());
        let named = manifest::load(&*disk).await?.ok_or_else(missing)?;
        let places = places(&*disk).await?;
        Ok(FolderReader { disk, named, places, open: None })
    }

    /// The piece that begins at `place`, or the part of one from there on; `None` if the archive has none. An error if it should.
    pub async fn piece_at(&mut self, place: u64) -> Result<Option<LogPiece>, ArchiveError> {
        loop {
            if self.open.is_none() {
                let Some(index) = self.places.iter().rposition(|first| *first <= place) else {
                    return Ok(None);
                };
                match Frames::open(&*self.disk, self.places[index]).await? {
                    Some(frames) => self.open = Some((index, frames)),
                    None if self.is_named(index) => return Err(self.damaged(index, 0)),
                    None => return Ok(None),
                }
            }
            let Some((index, mut frames)) = self.open.take() else { continue };
            let at = frames.at;
            match frames.next().await? {
                Some((piece, _)) => {
                    let segment_bytes = frames.head.segment_bytes;
                    self.open = Some((index, frames));
                    if piece.next(segment_bytes) > place {
                        return Ok(piece.from_place(place).filter(|piece| piece.start() == place));
                    }
                }
                None if self.is_named(index) && at != self.named_length(index) => {
                    return Err(self.damaged(index, at));
                }
                // The next file may begin with it.
                None if self.places.get(index + 1).is_some_and(|first| *first <= place) => {}
                None => return Ok(None),
            }
        }
    }

    /// Where the archive goes on behind a gap.
    pub fn begins_behind(&self, place: u64) -> Option<u64> {
        self.places.iter().copied().find(|first| *first > place)
    }

    fn named_length(&self, index: usize) -> u64 {
        let first = self.places[index];
        self.named.iter().find(|file| file.first == first).map_or(0, |file| file.bytes)
    }

    fn is_named(&self, index: usize) -> bool {
        self.named_length(index) > 0
    }

    fn damaged(&self, index: usize, offset: u64) -> ArchiveError {
        let name = file_name(self.places[index]);
        ArchiveError::Damaged(format!("the archive's file {name} is damaged at byte {offset}"))
    }
}

/// What a look at all files has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FolderCheck {
    /// The files, the one that is being written last.
    pub files: Vec<ArchivedFile>,
    /// What is damaged or missing, a line each.
    pub faults: Vec<String>,
    /// Log that is not in the archive: from, to.
    pub gaps: Vec<(u64, u64)>,
}

/// Whether the folder is an archive of a log.
pub async fn is_archive(disk: &dyn Disk) -> Result<bool, ArchiveError> {
    match disk.open(MANIFEST, OpenOptions::existing()).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reads every byte of an archive.
pub async fn check_folder(disk: &dyn Disk) -> Result<FolderCheck, ArchiveError> {
    let named = manifest::load(disk).await?.unwrap_or_default();
    let mut check = FolderCheck::default();
    for file in &named {
        let found = match disk.open(&file.name(), OpenOptions::existing()).await {
            Ok(_) => scan(disk, file.first).await?,
            Err(error) if error.is_not_found() => {
                check.faults.push(format!("{} is missing", file.name()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match found {
            Some(found) if found == *file => {}
            Some(found) => {
                let (name, at) = (file.name(), found.bytes.min(file.bytes));
                let of = found.next;
                check.faults.push(format!("{name} is damaged at byte {at}, at the log from LSN {of} on"));
            }
            None => check.faults.push(format!("{} is damaged at byte 0", file.name())),
        }
    }
    check.files = named;
    let known = check.files.last().map_or(0, |file| file.next);
    for place in places(disk).await?.into_iter().filter(|place| *place >= known) {
        check.files.extend(scan(disk, place).await?.filter(|file| file.next > file.first));
    }
    let gaps = check.files.windows(2).filter(|pair| pair[0].next != pair[1].first);
    check.gaps = gaps.map(|pair| (pair[0].next, pair[1].first)).collect();
    Ok(check)
}
