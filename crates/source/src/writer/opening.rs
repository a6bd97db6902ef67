//! How the writer begins: where the note of the position ends, or with new files.
//!
//! Invariant: what is behind the note is written from the engine's log before anything else is. Called by `BinaryLog`.
use super::{WRITE_BYTES, Writer, dependencies_behind};
use crate::SourceError;
use crate::files::{files_on_disk, listed_files, read};
use crate::log::BinaryLog;
use crate::position::{Position, load_position, store_position};
use binlog::{Checksum, FormatDescription, MAGIC, event_type, split_event};
use engine::LogPin;
use env::OpenOptions;
use std::sync::Arc;

impl Writer {
    /// Completes what the note names, and begins a new file; all files are new if the name is another one.
    pub async fn open(log: Arc<BinaryLog>) -> Result<Writer, SourceError> {
        match load_position(&log.env).await? {
            Some(at) if goes_on(&log, &at).await? => {
                let mut writer = Writer::complete(log, at).await?;
                // Each start begins a file.
                writer.rotate(false).await?;
                // Those that are left were of no commit.
                writer.log.engine.remove_event_files().await?;
                Ok(writer)
            }
            found => Writer::begin(log, found.unwrap_or_default()).await,
        }
    }

    /// Goes on where the note ends, with all that the engine's log has behind it.
    async fn complete(log: Arc<BinaryLog>, mut at: Position) -> Result<Writer, SourceError> {
        if at.log_from == 0 {
            // They were whole when a server without a binary log began.
            at.log_from = log.engine.events_taken_to(at.lsn);
            at.lsn = at.log_from;
        }
        let hold = log.engine.hold_log(at.log_from).ok_or_else(gone)?;
        let mut writer = Writer::resume(log, at, hold).await?;
        writer.take_up().await?;
        Ok(writer)
    }

    /// Writes what the engine's log has behind the note.
    async fn take_up(&mut self) -> Result<(), SourceError> {
        let mut logged = self.log.engine.logged_events(self.at.log_from, self.at.lsn).await?;
        while let Some(commit) = logged.next().await? {
            self.add(&commit).await?;
            if self.out.len() >= WRITE_BYTES {
                self.write().await?;
            }
        }
        self.write().await
    }

    /// Makes the files whole that the note names, and ends there. Where they are gone a new one has what is left to write: the
    /// identifiers of these transactions are given to no others. Tells whether they were there.
    pub async fn close_unopened(log: Arc<BinaryLog>, at: Position) -> Result<bool, SourceError> {
        let is_there = !matches!(log.open_file(at.file).await, Err(SourceError::UnknownFile(_)));
        let mut writer = match is_there {
            true => Writer::complete(log, at).await?,
            false => {
                let (lsn, log_from) = (at.lsn, at.log_from);
                let mut writer = Writer::begin_from(log, at, (lsn, log_from)).await?;
                writer.take_up().await?;
                writer.log_identifiers();
                writer
            }
        };
        writer.store().await?;
        writer.log.engine.remove_event_files().await?;
        let at = Position { base: writer.log.config.base.clone(), log_from: 0, ..writer.at };
        store_position(&writer.log.env, &at).await?;
        Ok(is_there)
    }

    /// The first file of this name, or the one behind those that an earlier start had under it. What was executed under another name
    /// is not in them.
    async fn begin(log: Arc<BinaryLog>, before: Position) -> Result<Writer, SourceError> {
        let lsn = log.engine.events_taken_to(before.lsn);
        let writer = Writer::begin_from(log, before, (lsn, lsn)).await?;
        writer.log_identifiers();
        Ok(writer)
    }

    async fn begin_from(
        log: Arc<BinaryLog>,
        before: Position,
        (lsn, log_from): (u64, u64),
    ) -> Result<Writer, SourceError> {
        let listed = listed_files(&log).await?.unwrap_or_default();
        let mut files = files_on_disk(&log).await?;
        files.retain(|file| listed.contains(&file.number));
        let last = files.last().map_or(0, |file| file.number);
        let last = if before.base == log.config.base { last.max(before.file) } else { last };
        log.published.lock().files = files;
        let at = Position {
            base: log.config.base.clone(),
            file: last,
            lsn,
            log_from,
            purged: before.executed.clone(),
            executed: before.executed,
            ..Position::default()
        };
        let hold = log.engine.hold_log(log_from).ok_or_else(gone)?;
        let file = log.env.disk.open(&log.file_name(at.file + 1), OpenOptions::create()).await?;
        let checksum = log.config.checksum;
        let dependencies = dependencies_behind(&log, &at);
        let (out, copied) = (Vec::new(), Vec::new());
        let mut writer =
            Writer { log, file, checksum, at, synced_length: 0, hold, dependencies, out, copied };
        writer.next_file_from(log_from).await?;
        Ok(writer)
    }

    /// The file that the note names, without what is behind the note.
    async fn resume(log: Arc<BinaryLog>, at: Position, hold: LogPin) -> Result<Writer, SourceError> {
        let mut files = files_on_disk(&log).await?;
        // A reset that a crash has cut off leaves a file of before, which the index has no more.
        if let Some(listed) = listed_files(&log).await? {
            files.retain(|file| file.number >= at.file || listed.contains(&file.number));
        }
        for later in files.iter().filter(|file| file.number > at.file) {
            log.env.disk.remove(&log.file_name(later.number)).await?;
        }
        files.retain(|file| file.number <= at.file);
        let file = log.open_file(at.file).await?;
        if file.len().await? < at.length {
            return Err(SourceError::Damaged(format!("{} is too short", log.file_name(at.file))));
        }
        file.set_len(at.length).await?;
        if let Some(last) = files.last_mut() {
            last.length = at.length;
        }
        let head = read(&*file, 0, at.length.min(512)).await?;
        let checksum = match head.get(MAGIC.len()..).map(|rest| split_event(rest, Checksum::Crc32)) {
            Some(Ok(raw)) if raw.header.event_type == event_type::FORMAT_DESCRIPTION => {
                FormatDescription::decode(raw.body)?.checksum
            }
            _ => return Err(SourceError::Damaged(format!("{} has no header", log.file_name(at.file)))),
        };
        {
            let mut published = log.published.lock();
            published.files = files;
            published.executed = at.executed.clone();
            published.purged = at.purged.clone();
        }
        let synced_length = at.length;
        let dependencies = dependencies_behind(&log, &at);
        let (out, copied) = (Vec::new(), Vec::new());
        Ok(Writer { log, file, checksum, at, synced_length, hold, dependencies, out, copied })
    }
}

/// Whether the files go on that the note names: they have this name, and are there or missed.
async fn goes_on(log: &BinaryLog, at: &Position) -> Result<bool, SourceError> {
    let has_name = at.base.is_empty() || at.base == log.config.base;
    match log.open_file(at.file).await {
        // Given up by a start without a binary log.
        Err(SourceError::UnknownFile(_)) if at.log_from == 0 => Ok(false),
        _ => Ok(has_name),
    }
}

fn gone() -> SourceError {
    SourceError::Damaged("the engine's log behind the binary log is gone".into())
}
