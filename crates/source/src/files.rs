//! The files of the binary log on the disk: which there are, what their headers say, and pieces of them.
//!
//! Invariant: nothing is changed here. Called by the writer and by streams.
use crate::SourceError;
use crate::log::{BinaryLog, LogFile};
use binlog::{Event, EventHeader, Events, GtidSet, HEADER_BYTES, MAGIC};
use env::{Env, File, IoBuf, OpenOptions};

/// The numbers that the index has; `None` without an index.
pub(crate) async fn listed_files(log: &BinaryLog) -> Result<Option<Vec<u64>>, SourceError> {
    let file = match log.env.disk.open(&log.index_name(), OpenOptions::existing()).await {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let bytes = read(&*file, 0, file.len().await?).await?;
    let prefix = format!("./{}.", log.config.base);
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.lines().filter_map(|line| line.strip_prefix(&prefix)?.parse().ok()).collect()))
}

/// What the files of a note without a name are called: an index tells that has the current one.
pub async fn base_on_disk(env: &Env, current: u64) -> Result<Option<String>, SourceError> {
    let names = env.disk.list("").await?;
    let mut bases = names.iter().filter_map(|name| name.strip_suffix(".index"));
    let has_current = |base: &&str| names.contains(&format!("{base}.{current:06}"));
    Ok(bases.find(has_current).map(str::to_owned))
}

/// The files by their names, with their lengths.
pub(crate) async fn files_on_disk(log: &BinaryLog) -> Result<Vec<LogFile>, SourceError> {
    let mut files = Vec::new();
    let prefix = format!("{}.", log.config.base);
    for name in log.env.disk.list("").await? {
        let Some(number) = name.strip_prefix(&prefix).and_then(|number| number.parse().ok()) else {
            continue;
        };
        let file = log.open_file(number).await?;
        let length = file.len().await?;
        let head = read(&*file, 0, length.min(64)).await?;
        let header = head.get(MAGIC.len()..).and_then(EventHeader::read);
        files.push(LogFile { number, length, begun_at: header.map_or(0, |header| header.timestamp) });
    }
    files.sort_by_key(|file| file.number);
    Ok(files)
}

/// What a file's header says of the files before it.
pub(crate) async fn previous_gtids(log: &BinaryLog, number: u64) -> Result<GtidSet, SourceError> {
    let file = log.open_file(number).await?;
    let length = file.len().await?;
    let mut wanted = 4096;
    loop {
        let head = read(&*file, 0, length.min(wanted)).await?;
        for raw in Events::of_file(&head)? {
            if let Event::PreviousGtids(set) = Event::decode(&raw?)? {
                return Ok(set);
            }
        }
        if wanted >= length {
            return Err(SourceError::Damaged(format!("{} has no header", log.file_name(number))));
        }
        wanted *= 4;
    }
}

pub(crate) async fn read(file: &dyn File, offset: u64, length: u64) -> Result<Vec<u8>, SourceError> {
    let (buffer, result) = file.read_at(offset, IoBuf::for_overwriting(length as usize)).await;
    result?;
    Ok(buffer.as_slice().to_vec())
}

/// What is behind `position`: at least one whole event, at most `length` bytes if that is enough for it. `None` if no event begins
/// there that ends before `end`.
pub(crate) async fn read_events(
    file: &dyn File,
    position: u64,
    end: u64,
    length: u64,
) -> Result<Option<Vec<u8>>, SourceError> {
    let rest = end.saturating_sub(position);
    let mut wanted = rest.min(length);
    loop {
        let piece = read(file, position, wanted).await?;
        let Some(header) = EventHeader::read(&piece) else { return Ok(None) };
        match u64::from(header.length) {
            length if length < HEADER_BYTES as u64 || length > rest => return Ok(None),
            length if length > wanted => wanted = length,
            _ => return Ok(Some(piece)),
        }
    }
}
